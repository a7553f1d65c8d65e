#include "tests/bake/build.h"

#include <meshoptimizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

uint32_t build_view(struct build *b, const void *bytes, size_t size_bytes, uint32_t stride)
{
    CHECK(b->bin_bytes + size_bytes + 4 < sizeof b->bin);
    char stride_text[32] = "";
    if (stride) snprintf(stride_text, sizeof stride_text, ",\"byteStride\":%u", stride);
    size_t used = strlen(b->views);
    int n = snprintf(b->views + used, sizeof b->views - used,
                     "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu%s}",
                     b->view_count ? "," : "", b->bin_bytes, size_bytes, stride_text);
    CHECK(n > 0 && (size_t)n < sizeof b->views - used);
    memcpy(b->bin + b->bin_bytes, bytes, size_bytes);
    b->bin_bytes = (b->bin_bytes + size_bytes + 3) & ~(size_t)3;
    return b->view_count++;
}

uint32_t build_floats(struct build *b, const float *values, uint32_t count)
{
    return build_view(b, values, count * sizeof *values, 0);
}

// The whole document; `uri` is the buffer's ("" = none).
static char *make_json(const struct build *b, const char *body, const char *uri)
{
    size_t room = strlen(body) + strlen(uri) + strlen(b->views) + 300;
    char *json = malloc(room);
    CHECK(json != NULL);
    char buffers[128] = "", uri_open[16] = "";
    if (b->bin_bytes)
        snprintf(buffers, sizeof buffers, "\"buffers\":[{\"byteLength\":%zu", b->bin_bytes);
    if (*uri) snprintf(uri_open, sizeof uri_open, ",\"uri\":\"");
    int n = snprintf(json, room, "{\"asset\":{\"version\":\"2.0\"},%s%s%s%s%s%s%s%s%s}", buffers,
                     uri_open, uri, *uri ? "\"" : "", b->bin_bytes ? "}]," : "",
                     b->view_count ? "\"bufferViews\":[" : "", b->views, b->view_count ? "]," : "",
                     body);
    CHECK(n > 0 && (size_t)n < room);
    return json;
}

static char *data_uri(const uint8_t *bytes, size_t size_bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char head[] = "data:application/octet-stream;base64,";
    char *uri = malloc(sizeof head + (size_bytes + 2) / 3 * 4);
    CHECK(uri != NULL);
    char *out = uri + sprintf(uri, "%s", size_bytes ? head : "");
    for (size_t i = 0; i < size_bytes; i += 3) {
        size_t left = size_bytes - i;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        for (int k = 0; k < 4; k++)
            *out++ = (size_t)k <= left ? digits[bits >> (18 - 6 * k) & 63] : '=';
    }
    *out = 0;
    return uri;
}

struct built build_gltf(const struct build *b, const char *body)
{
    char *uri = data_uri(b->bin, b->bin_bytes);
    char *json = make_json(b, body, uri);
    free(uri);
    return (struct built){(uint8_t *)json, strlen(json)};
}

static void put_u32(uint8_t *out, size_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

struct built build_glb_raw(const char *json, const uint8_t *bin, size_t bin_bytes)
{
    size_t json_bytes = (strlen(json) + 3) & ~(size_t)3, bin_room = (bin_bytes + 3) & ~(size_t)3;
    struct built out = {.size_bytes = 12 + 8 + json_bytes + (bin_bytes ? 8 + bin_room : 0)};
    out.bytes = calloc(1, out.size_bytes);
    CHECK(out.bytes != NULL);
    memcpy(out.bytes, "glTF", 4);
    put_u32(out.bytes + 4, 2);
    put_u32(out.bytes + 8, out.size_bytes);
    put_u32(out.bytes + 12, json_bytes);
    memcpy(out.bytes + 16, "JSON", 4);
    memset(out.bytes + 20, ' ', json_bytes);
    memcpy(out.bytes + 20, json, strlen(json));
    if (!bin_bytes) return out;
    uint8_t *chunk = out.bytes + 20 + json_bytes;
    put_u32(chunk, bin_room);
    memcpy(chunk + 4, "BIN", 4);
    memcpy(chunk + 8, bin, bin_bytes);
    return out;
}

struct built build_glb(const struct build *b, const char *body)
{
    char *json = make_json(b, body, "");
    struct built out = build_glb_raw(json, b->bin, b->bin_bytes);
    free(json);
    return out;
}

// ---- seeds

// A bar of 8 vertices on two joints, with a morph target, a clip and a material.
static struct built character(bool glb)
{
    struct build b = {0};
    float positions[24], normals[24], uvs[16], deltas[24] = {0};
    uint8_t joints[32] = {0};
    float weights[32] = {0};
    for (int i = 0; i < 8; i++) {
        positions[3 * i] = (float)(i % 2);
        positions[3 * i + 1] = (float)(i / 2) * 0.5F;
        positions[3 * i + 2] = 0;
        normals[3 * i] = normals[3 * i + 1] = 0;
        normals[3 * i + 2] = 1;
        uvs[2 * i] = (float)(i % 2);
        uvs[2 * i + 1] = (float)(i / 2) / 3;
        joints[4 * i + 1] = 1;
        weights[4 * i] = 1 - (float)(i / 2) / 3;
        weights[4 * i + 1] = (float)(i / 2) / 3;
    }
    deltas[3 * 6] = deltas[3 * 7] = 0.25F;
    uint16_t indices[18];
    for (uint16_t q = 0; q < 3; q++)
        for (uint16_t k = 0; k < 6; k++)
            indices[6 * q + k] = (uint16_t)(2 * q + (const uint16_t[]){0, 1, 2, 2, 1, 3}[k]);
    float binds[32] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0,      0, 1,
                       1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -0.75F, 0, 1};
    float times[3] = {0, 0.5F, 1};
    float turns[12] = {0, 0, 0, 1, 0, 0, 0.70710678F, 0.70710678F, 0, 0, 0, 1};
    float moves[27] = {0};
    float shapes[3] = {0, 1, 0};
    build_floats(&b, positions, 24);            // view 0
    build_floats(&b, normals, 24);              // 1
    build_floats(&b, uvs, 16);                  // 2
    build_view(&b, joints, sizeof joints, 0);   // 3
    build_floats(&b, weights, 32);              // 4
    build_floats(&b, deltas, 24);               // 5
    build_view(&b, indices, sizeof indices, 0); // 6
    build_floats(&b, binds, 32);                // 7
    build_floats(&b, times, 3);                 // 8
    build_floats(&b, turns, 12);                // 9
    build_floats(&b, moves, 27);                // 10
    build_floats(&b, shapes, 3);                // 11
    static const char body[] =
        "\"scene\":0,\"scenes\":[{\"nodes\":[0,2]}],"
        "\"nodes\":[{\"name\":\"lower\",\"children\":[1]},"
        "{\"name\":\"upper\",\"translation\":[0,0.75,0]},"
        "{\"name\":\"bar\",\"mesh\":0,\"skin\":0,\"weights\":[0.5]}],"
        "\"meshes\":[{\"name\":\"bar\",\"weights\":[0],\"extras\":{\"targetNames\":[\"bulge\"]},"
        "\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2,"
        "\"JOINTS_0\":3,\"WEIGHTS_0\":4},\"indices\":6,\"material\":0,"
        "\"targets\":[{\"POSITION\":5}]}]}],"
        "\"skins\":[{\"joints\":[0,1],\"inverseBindMatrices\":7,\"skeleton\":0}],"
        "\"animations\":[{\"name\":\"bend\",\"samplers\":[{\"input\":8,\"output\":9},"
        "{\"input\":8,\"output\":10,\"interpolation\":\"CUBICSPLINE\"},"
        "{\"input\":8,\"output\":11,\"interpolation\":\"STEP\"}],"
        "\"channels\":[{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}},"
        "{\"sampler\":1,\"target\":{\"node\":0,\"path\":\"translation\"}},"
        "{\"sampler\":2,\"target\":{\"node\":2,\"path\":\"weights\"}}]}],"
        "\"materials\":[{\"name\":\"skin\",\"pbrMetallicRoughness\":{\"baseColorFactor\":"
        "[1,0.5,0.25,1],\"baseColorTexture\":{\"index\":0,\"extensions\":{"
        "\"KHR_texture_transform\":{\"offset\":[0.5,0],\"scale\":[2,2]}}}},"
        "\"alphaMode\":\"MASK\",\"doubleSided\":true}],"
        "\"textures\":[{\"source\":0,\"sampler\":0}],\"samplers\":[{\"wrapS\":33071}],"
        "\"images\":[{\"uri\":\"data:image/png;base64,iVBORw0KGgo=\"}],"
        "\"accessors\":["
        "{\"bufferView\":0,\"componentType\":5126,\"count\":8,\"type\":\"VEC3\"},"
        "{\"bufferView\":1,\"componentType\":5126,\"count\":8,\"type\":\"VEC3\"},"
        "{\"bufferView\":2,\"componentType\":5126,\"count\":8,\"type\":\"VEC2\"},"
        "{\"bufferView\":3,\"componentType\":5121,\"count\":8,\"type\":\"VEC4\"},"
        "{\"bufferView\":4,\"componentType\":5126,\"count\":8,\"type\":\"VEC4\"},"
        "{\"bufferView\":5,\"componentType\":5126,\"count\":8,\"type\":\"VEC3\"},"
        "{\"bufferView\":6,\"componentType\":5123,\"count\":18,\"type\":\"SCALAR\"},"
        "{\"bufferView\":7,\"componentType\":5126,\"count\":2,\"type\":\"MAT4\"},"
        "{\"bufferView\":8,\"componentType\":5126,\"count\":3,\"type\":\"SCALAR\"},"
        "{\"bufferView\":9,\"componentType\":5126,\"count\":3,\"type\":\"VEC4\"},"
        "{\"bufferView\":10,\"componentType\":5126,\"count\":9,\"type\":\"VEC3\"},"
        "{\"bufferView\":11,\"componentType\":5126,\"count\":3,\"type\":\"SCALAR\"}]";
    return glb ? build_glb(&b, body) : build_gltf(&b, body);
}

// Quantised, interleaved, strips, sparse with and without a base, accessors without a view.
static struct built quantised(void)
{
    struct build b = {0};
    struct {
        int16_t position[4];
        int8_t normal[4];
        uint16_t uv[2];
    } vertices[6];
    memset(vertices, 0, sizeof vertices);
    for (int i = 0; i < 6; i++) {
        vertices[i].position[0] = (int16_t)(1000 * (i % 2));
        vertices[i].position[1] = (int16_t)(1000 * (i / 2));
        vertices[i].normal[2] = 127;
        vertices[i].uv[0] = (uint16_t)(65535 * (i % 2));
    }
    uint8_t strip[6] = {0, 1, 2, 3, 4, 5}, touched[2] = {1, 4};
    float moved[6] = {0, 0, 1, 0, 0, 2};
    build_view(&b, vertices, sizeof vertices, sizeof vertices[0]);
    build_view(&b, strip, sizeof strip, 0);
    build_view(&b, touched, sizeof touched, 0);
    build_floats(&b, moved, 6);
    static const char body[] =
        "\"extensionsUsed\":[\"KHR_mesh_quantization\"],"
        "\"extensionsRequired\":[\"KHR_mesh_quantization\"],"
        "\"nodes\":[{\"mesh\":0,\"matrix\":[0.001,0,0,0,0,0.001,0,0,0,0,0.001,0,1,2,3,1]},"
        "{\"mesh\":0,\"scale\":[-1,1,1],\"rotation\":[0,0.6,0,0.8]}],"
        "\"meshes\":[{\"primitives\":[{\"mode\":5,\"indices\":4,\"attributes\":{\"POSITION\":0,"
        "\"NORMAL\":1,\"TEXCOORD_0\":2,\"COLOR_0\":3},"
        "\"targets\":[{\"POSITION\":5},{\"POSITION\":6,\"NORMAL\":5},{}]},"
        "{\"mode\":2,\"attributes\":{\"POSITION\":0},\"targets\":[{},{},{}]},"
        "{\"mode\":6,\"attributes\":{\"POSITION\":6},\"targets\":[{},{},{}]}]}],"
        "\"accessors\":["
        "{\"bufferView\":0,\"componentType\":5122,\"count\":6,\"type\":\"VEC3\"},"
        "{\"bufferView\":0,\"byteOffset\":8,\"componentType\":5120,\"normalized\":true,"
        "\"count\":6,\"type\":\"VEC3\"},"
        "{\"bufferView\":0,\"byteOffset\":12,\"componentType\":5123,\"normalized\":true,"
        "\"count\":6,\"type\":\"VEC2\"},"
        "{\"bufferView\":0,\"byteOffset\":8,\"componentType\":5121,\"normalized\":true,"
        "\"count\":6,\"type\":\"VEC3\"},"
        "{\"bufferView\":1,\"componentType\":5121,\"count\":6,\"type\":\"SCALAR\"},"
        "{\"componentType\":5126,\"count\":6,\"type\":\"VEC3\",\"sparse\":{\"count\":2,"
        "\"indices\":{\"bufferView\":2,\"componentType\":5121},\"values\":{\"bufferView\":3}}},"
        "{\"componentType\":5126,\"count\":6,\"type\":\"VEC3\",\"sparse\":{\"count\":2,"
        "\"indices\":{\"bufferView\":2,\"componentType\":5121},\"values\":{\"bufferView\":3}}}]";
    return build_glb(&b, body);
}

static struct built compressed(void)
{
    struct build b = {0};
    float positions[48];
    uint32_t indices[42];
    unsigned char vertices_coded[1024], indices_coded[512];
    for (int i = 0; i < 16; i++) {
        positions[3 * i] = (float)(i % 4);
        positions[3 * i + 1] = (float)(i / 4);
        positions[3 * i + 2] = 0;
    }
    for (uint32_t i = 0; i < 14; i++)
        for (uint32_t k = 0; k < 3; k++)
            indices[3 * i + k] = i + k;
    size_t vertices_bytes =
        meshopt_encodeVertexBuffer(vertices_coded, sizeof vertices_coded, positions, 16, 12);
    meshopt_encodeIndexVersion(1);
    size_t indices_bytes =
        meshopt_encodeIndexBuffer(indices_coded, sizeof indices_coded, indices, 42);
    CHECK(vertices_bytes && indices_bytes);
    memcpy(b.bin, vertices_coded, vertices_bytes);
    size_t indices_at = (vertices_bytes + 3) & ~(size_t)3;
    memcpy(b.bin + indices_at, indices_coded, indices_bytes);
    size_t bin_bytes = (indices_at + indices_bytes + 3) & ~(size_t)3;
    char json[4096];
    snprintf(
        json, sizeof json,
        "{\"asset\":{\"version\":\"2.0\"},\"extensionsUsed\":[\"EXT_meshopt_compression\"],"
        "\"extensionsRequired\":[\"EXT_meshopt_compression\"],"
        "\"buffers\":[{\"byteLength\":%zu},{\"byteLength\":360,\"extensions\":{"
        "\"EXT_meshopt_compression\":{\"fallback\":true}}}],"
        "\"bufferViews\":[{\"buffer\":1,\"byteLength\":192,\"byteStride\":12,\"extensions\":{"
        "\"EXT_meshopt_compression\":{\"buffer\":0,\"byteLength\":%zu,\"byteStride\":12,"
        "\"count\":16,\"mode\":\"ATTRIBUTES\"}}},"
        "{\"buffer\":1,\"byteOffset\":192,\"byteLength\":168,\"extensions\":{"
        "\"EXT_meshopt_compression\":{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu,"
        "\"byteStride\":4,\"count\":42,\"mode\":\"TRIANGLES\"}}}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":16,\"type\":\"VEC3\"},"
        "{\"bufferView\":1,\"componentType\":5125,\"count\":42,\"type\":\"SCALAR\"}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}],"
        "\"nodes\":[{\"mesh\":0}]}",
        bin_bytes, vertices_bytes, indices_at, indices_bytes);
    return build_glb_raw(json, b.bin, bin_bytes);
}

#define VRM_BODY                                                                                   \
    "\"nodes\":[{\"name\":\"hips\",\"children\":[1,2]},{\"name\":\"head\",\"translation\":"        \
    "[0,1,0]},{\"name\":\"hair\",\"translation\":[0,0.5,0],\"children\":[3,4]},{\"name\":"         \
    "\"tip\",\"translation\":[0,0.5,0]},{\"name\":\"side\"},{\"name\":\"face\",\"mesh\":0%s}],"    \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"material\":0,\"targets\":["   \
    "{\"POSITION\":0}]}]}],\"materials\":[{\"name\":\"m\"}],"                                      \
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"}],"     \
    "\"extensions\":{%s}"

static struct built vrm(const char *node, const char *extension)
{
    struct build b = {0};
    float triangle[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    char body[8192];
    build_floats(&b, triangle, 9);
    int n = snprintf(body, sizeof body, VRM_BODY, node, extension);
    CHECK(n > 0 && (size_t)n < sizeof body);
    return build_glb(&b, body);
}

static struct built vrm_zero(void)
{
    return vrm(
        "",
        "\"VRM\":{\"specVersion\":\"0.0\",\"meta\":{\"title\":\"seed\",\"author\":\"us\"},"
        "\"humanoid\":{\"humanBones\":[{\"bone\":\"hips\",\"node\":0},{\"bone\":\"head\","
        "\"node\":1},{\"bone\":\"leftThumbProximal\",\"node\":4}]},"
        "\"firstPerson\":{\"firstPersonBone\":1,\"firstPersonBoneOffset\":{\"x\":0,\"y\":0.1,"
        "\"z\":0.2},\"lookAtTypeName\":\"Bone\",\"lookAtHorizontalInner\":{\"xRange\":45,"
        "\"yRange\":8},\"meshAnnotations\":[{\"mesh\":0,\"firstPersonFlag\":\"Both\"}]},"
        "\"blendShapeMaster\":{\"blendShapeGroups\":[{\"name\":\"Joy\",\"presetName\":\"joy\","
        "\"isBinary\":true,\"binds\":[{\"mesh\":0,\"index\":0,\"weight\":50}],"
        "\"materialValues\":[{\"materialName\":\"m\",\"propertyName\":\"_Color\",\"targetValue\":"
        "[1,0,0,1]}]},{\"name\":\"Own\",\"presetName\":\"unknown\",\"binds\":[]}]},"
        "\"secondaryAnimation\":{\"boneGroups\":[{\"comment\":\"hair\",\"stiffiness\":0.5,"
        "\"gravityPower\":0.1,\"gravityDir\":{\"x\":0,\"y\":-1,\"z\":0.5},\"dragForce\":0.3,"
        "\"center\":-1,\"hitRadius\":0.01,\"bones\":[2],\"colliderGroups\":[0]}],"
        "\"colliderGroups\":[{\"node\":1,\"colliders\":[{\"offset\":{\"x\":0.1,\"y\":0.2,\"z\":0.3}"
        ","
        "\"radius\":0.4}]}]}}");
}

static struct built vrm_one(void)
{
    return vrm(
        ",\"extensions\":{\"VRMC_node_constraint\":{\"constraint\":{\"aim\":{\"source\":0,"
        "\"aimAxis\":\"PositiveX\",\"weight\":0.5}}}}",
        "\"VRMC_vrm\":{\"specVersion\":\"1.0\",\"meta\":{\"name\":\"seed\",\"authors\":[\"us\"],"
        "\"licenseUrl\":\"https://vrm.dev/licenses/1.0/\"},\"humanoid\":{\"humanBones\":{\"hips\":{"
        "\"node\":0},\"head\":{\"node\":1}}},\"firstPerson\":{\"meshAnnotations\":[{\"node\":5,"
        "\"type\":\"both\"}]},\"lookAt\":{\"type\":\"expression\",\"rangeMapVerticalUp\":{"
        "\"inputMaxValue\":30,\"outputScale\":1}},\"expressions\":{\"preset\":{\"happy\":{"
        "\"overrideBlink\":\"block\",\"morphTargetBinds\":[{\"node\":5,\"index\":0,\"weight\":0.5}]"
        ","
        "\"materialColorBinds\":[{\"material\":0,\"type\":\"color\",\"targetValue\":[1,0,0,1]}],"
        "\"textureTransformBinds\":[{\"material\":0,\"scale\":[2,2]}]}},\"custom\":{\"own\":{}}}},"
        "\"VRMC_springBone\":{\"specVersion\":\"1.0\",\"colliders\":[{\"node\":1,\"shape\":{"
        "\"capsule\":{\"offset\":[0,0,0],\"radius\":0.1,\"tail\":[0,1,0]}},\"extensions\":{"
        "\"VRMC_springBone_extended_collider\":{\"specVersion\":\"1.0\",\"shape\":{\"plane\":{"
        "\"normal\":[0,1,0]}}}}}],\"colliderGroups\":[{\"name\":\"g\",\"colliders\":[0]}],"
        "\"springs\":[{\"name\":\"s\",\"center\":0,\"colliderGroups\":[0],\"joints\":[{\"node\":2,"
        "\"stiffness\":0.5},{\"node\":3}]}]}");
}

static struct built lone_triangle(void)
{
    struct build b = {0};
    float triangle[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    build_floats(&b, triangle, 9);
    return build_gltf(&b, "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{"
                          "\"POSITION\":0}}]}],\"accessors\":[{\"bufferView\":0,\"componentType\":"
                          "5126,\"count\":3,\"type\":\"VEC3\"}]");
}

const char *build_seed_name(int seed)
{
    static const char *const names[BUILD_SEED_COUNT] = {
        "character.gltf", "character.glb", "quantised.glb", "compressed.glb",
        "vrm_0.vrm",      "vrm_1.vrm",     "triangle.gltf"};
    return names[seed];
}

struct built build_seed(int seed)
{
    switch (seed) {
    case 0:
        return character(false);
    case 1:
        return character(true);
    case 2:
        return quantised();
    case 3:
        return compressed();
    case 4:
        return vrm_zero();
    case 5:
        return vrm_one();
    default:
        return lone_triangle();
    }
}
