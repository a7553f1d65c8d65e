// What import makes of each feature of glTF and VRM, on small sources made here.
#include <sys/stat.h>
#include <unistd.h>

#include "server/bake/import.h"
#include "tests/bake/build.h"
#include "tests/bake/scene_check.h"
#include "tests/testing.h"

int testing_failures;
static struct fault last;

static bool open_built(struct built built, struct scene *out)
{
    struct import_limits limits = import_limits_default();
    last = (struct fault){0};
    enum err e = import_bytes(built.bytes, built.size_bytes, NULL, &limits, out, &last);
    if (e == ERR_OK) EXPECT(!scene_check(out));
    free(built.bytes);
    return e == ERR_OK;
}

static bool open_body(const struct build *b, const char *body, struct scene *out)
{
    bool ok = open_built(build_gltf(b, body), out);
    if (!ok) printf("  %s\n", last.line);
    EXPECT(ok);
    return ok;
}

static bool has_note(const struct scene *s, enum note_kind kind, const char *part)
{
    for (uint32_t i = 0; i < s->notes.count; i++)
        if (s->notes.items[i].kind == kind && strstr(s->notes.items[i].text, part)) return true;
    for (uint32_t i = 0; i < s->notes.count; i++)
        printf("  note: %s\n", s->notes.items[i].text);
    return false;
}

#define MESH(attributes, rest)                                                                     \
    "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{" attributes "}" rest  \
    "}]}],"
#define POSITION_ACCESSOR "{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"}"

static const float triangle[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};

// ---- accessors

static void components_of_every_type_are_read(void)
{
    static const struct {
        int type;
        bool normalised;
        uint8_t bytes[4];
        size_t size;
        double value;
    } kinds[] = {
        {5120, false, {0x80}, 1, -128},    {5120, true, {0x80}, 1, -1},
        {5120, true, {0x7f}, 1, 1},        {5121, false, {200}, 1, 200},
        {5121, true, {51}, 1, 0.2},        {5122, false, {0x00, 0x80}, 2, -32768},
        {5122, true, {0x00, 0x80}, 2, -1}, {5123, false, {0xff, 0xff}, 2, 65535},
        {5123, true, {0xff, 0xff}, 2, 1},  {5126, false, {0, 0, 0xc0, 0xbf}, 4, -1.5},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct build b = {0};
        uint8_t element[12] = {0};
        char body[1024];
        struct scene s;
        memcpy(element, kinds[i].bytes, kinds[i].size);
        build_view(&b, element, sizeof element, 0);
        snprintf(body, sizeof body,
                 MESH("\"POSITION\":0", "") "\"accessors\":[{\"bufferView\":0,\"componentType\":%d,"
                                            "\"normalized\":%s,\"count\":1,\"type\":\"VEC3\"}]",
                 kinds[i].type, kinds[i].normalised ? "true" : "false");
        if (!open_body(&b, body, &s)) continue;
        EXPECT_NEAR(s.meshes[0].primitives[0].positions[0].x, kinds[i].value, 1e-6);
        EXPECT_NEAR(s.meshes[0].primitives[0].positions[0].y, 0, 1e-6);
        scene_free(&s);
    }
}

static void strides_offsets_and_interleaving_are_followed(void)
{
    struct build b = {0};
    float vertices[3][6] = {{1, 2, 3, 0, 0, 1}, {4, 5, 6, 0, 1, 0}, {7, 8, 9, 1, 0, 0}};
    struct scene s;
    build_view(&b, vertices, sizeof vertices, sizeof vertices[0]);
    if (!open_body(
            &b,
            MESH("\"POSITION\":0,\"NORMAL\":1",
                 "") "\"accessors\":[" POSITION_ACCESSOR
                     ",{\"bufferView\":0,\"byteOffset\":12,\"componentType\":5126,\"count\":3,"
                     "\"type\":\"VEC3\"}]",
            &s))
        return;
    const struct scene_primitive *p = &s.meshes[0].primitives[0];
    EXPECT_NEAR(p->positions[1].y, 5, 0);
    EXPECT_NEAR(p->positions[2].z, 9, 0);
    EXPECT_NEAR(p->normals[0].z, 1, 0);
    EXPECT_NEAR(p->normals[2].x, 1, 0);
    EXPECT(p->index_count == 3 && p->indices[2] == 2); // made, since the file has none
    scene_free(&s);
}

static void sparse_values_replace_the_base_or_zeros(void)
{
    struct build b = {0};
    uint16_t places[2] = {0, 2};
    float values[6] = {9, 8, 7, 6, 5, 4};
    struct scene s;
    build_floats(&b, triangle, 9);
    build_view(&b, places, sizeof places, 0);
    build_floats(&b, values, 6);
#define SPARSE                                                                                     \
    "\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\"sparse\":{\"count\":2,\"indices\":{"   \
    "\"bufferView\":1,\"componentType\":5123},\"values\":{\"bufferView\":2}}}"
    if (!open_body(&b,
                   "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}},"
                   "{\"attributes\":{\"POSITION\":1}}]}],\"accessors\":[{\"bufferView\":0," SPARSE
                   ",{" SPARSE "]",
                   &s))
        return;
    const struct vec3 *based = s.meshes[0].primitives[0].positions;
    const struct vec3 *bare = s.meshes[0].primitives[1].positions;
    EXPECT_NEAR(based[0].x, 9, 0);
    EXPECT_NEAR(based[1].x, 1, 0);
    EXPECT_NEAR(based[2].z, 4, 0);
    EXPECT_NEAR(bare[0].y, 8, 0);
    EXPECT_NEAR(bare[1].x, 0, 0);
    scene_free(&s);
}

static void what_is_shared_is_kept_once(void)
{
    struct build b = {0};
    struct scene s;
    build_floats(&b, triangle, 9);
    if (!open_body(&b,
                   "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}},"
                   "{\"attributes\":{\"POSITION\":0}}]}],\"accessors\":[" POSITION_ACCESSOR "]",
                   &s))
        return;
    EXPECT(s.meshes[0].primitives[0].positions == s.meshes[0].primitives[1].positions);
    EXPECT(s.meshes[0].primitives[0].indices == s.meshes[0].primitives[1].indices);
    scene_free(&s);
}

// ---- meshes

static void expect_indices(int mode, const char *wanted)
{
    struct build b = {0};
    float points[15] = {0};
    char body[1024], got[256] = "";
    struct scene s;
    build_floats(&b, points, 15);
    snprintf(body, sizeof body,
             MESH("\"POSITION\":0",
                  ",\"mode\":%d") "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,"
                                  "\"count\":5,\"type\":\"VEC3\"}]",
             mode);
    if (!open_body(&b, body, &s)) return;
    const struct scene_primitive *p = &s.meshes[0].primitives[0];
    for (uint32_t i = 0; i < p->index_count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%u", p->indices[i]);
    if (strcmp(got, wanted) != 0) printf("  mode %d: %s, not %s\n", mode, got, wanted);
    EXPECT(strcmp(got, wanted) == 0);
    scene_free(&s);
}

static void strips_fans_and_loops_become_lists(void)
{
    expect_indices(0, "01234");
    expect_indices(1, "0123"); // a leftover is dropped
    expect_indices(2, "0112233440");
    expect_indices(3, "01122334");
    expect_indices(4, "012");
    expect_indices(5, "012132234");
    expect_indices(6, "120230340");
}

static void restarts_break_strips(void)
{
    struct build b = {0};
    float points[18] = {0};
    uint8_t indices[7] = {0, 1, 2, 255, 3, 4, 5};
    struct scene s;
    build_floats(&b, points, 18);
    build_view(&b, indices, sizeof indices, 0);
    if (!open_body(&b,
                   MESH("\"POSITION\":0",
                        ",\"indices\":1,\"mode\":5") "\"accessors\":[{\"bufferView\":0,"
                                                     "\"componentType\":5126,\"count\":6,\"type\":"
                                                     "\"VEC3\"},{\"bufferView\":1,"
                                                     "\"componentType\":5121,\"count\":7,\"type\":"
                                                     "\"SCALAR\"}]",
                   &s))
        return;
    EXPECT(s.meshes[0].primitives[0].index_count == 6);
    EXPECT(has_note(&s, NOTE_REPAIRED, "restart"));
    scene_free(&s);
}

static void influences_of_several_sets_stand_side_by_side(void)
{
    struct build b = {0};
    uint8_t joints[2][12] = {{0, 1, 9, 0, 0, 1, 0, 0, 1, 0, 0, 0}, {1, 0, 0, 0, 0}};
    float weights[2][12] = {{0.5F, 0.25F, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, {0.25F, -1, 0, 0, 0}};
    struct scene s;
    build_floats(&b, triangle, 9);
    build_view(&b, joints[0], 12, 0);
    build_floats(&b, weights[0], 12);
    build_view(&b, joints[1], 12, 0);
    build_floats(&b, weights[1], 12);
    if (!open_body(&b,
                   "\"nodes\":[{\"mesh\":0,\"skin\":0},{},{}],\"skins\":[{\"joints\":[1,2]}],"
                   "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,"
                   "\"WEIGHTS_0\":2,\"JOINTS_1\":3,\"WEIGHTS_1\":4,\"JOINTS_2\":1}}]}],"
                   "\"accessors\":[" POSITION_ACCESSOR
                   ",{\"bufferView\":1,\"componentType\":5121,\"count\":3,\"type\":\"VEC4\"}"
                   ",{\"bufferView\":2,\"componentType\":5126,\"count\":3,\"type\":\"VEC4\"}"
                   ",{\"bufferView\":3,\"componentType\":5121,\"count\":3,\"type\":\"VEC4\"}"
                   ",{\"bufferView\":4,\"componentType\":5126,\"count\":3,\"type\":\"VEC4\"}]",
                   &s))
        return;
    const struct scene_primitive *p = &s.meshes[0].primitives[0];
    EXPECT(p->influences_per_vertex == 8);
    EXPECT(p->joints[2] == 0); // weightless joint 9 is no joint of the skin: harmless
    EXPECT(p->joints[4] == 1 && p->weights[4] == 0.25F);
    EXPECT(p->weights[5] == 0);
    EXPECT(has_note(&s, NOTE_REPAIRED, "skin weights below 0"));
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "JOINTS_2"));
    EXPECT(s.skins[0].inverse_binds[1].col[0][0] == 1);
    scene_free(&s);
}

static void morph_targets_keep_what_they_touch(void)
{
    struct build b = {0};
    float points[24] = {0}, deltas[24] = {0};
    struct scene s;
    deltas[3 * 5] = 0.5F;
    build_floats(&b, points, 24);
    build_floats(&b, deltas, 24);
    if (!open_body(&b,
                   "\"meshes\":[{\"weights\":[0.5],\"extras\":{\"targetNames\":[\"one\"]},"
                   "\"primitives\":[{\"attributes\":{\"POSITION\":0},\"targets\":[{\"POSITION\":1,"
                   "\"NORMAL\":0}]}]}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,"
                   "\"count\":8,\"type\":\"VEC3\"},{\"bufferView\":1,\"componentType\":5126,"
                   "\"count\":8,\"type\":\"VEC3\"}]",
                   &s))
        return;
    const struct scene_target *t = &s.meshes[0].primitives[0].targets[0];
    EXPECT(t->count == 1 && t->vertices && t->vertices[0] == 5);
    EXPECT(t->positions[0].x == 0.5F);
    EXPECT(t->normals && t->normals[0].x == 0); // deltas of 0: normals stay
    EXPECT(strcmp(s.meshes[0].target_names[0], "one") == 0 && s.meshes[0].weights[0] == 0.5F);
    scene_free(&s);
}

static void colours_widen_and_unit_vectors_are_mended(void)
{
    struct build b = {0};
    float normals[9] = {0, 0, 2, 0, 0, 0, 0, 1, 0};
    uint8_t colors[12] = {255, 0, 51, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct scene s;
    build_floats(&b, triangle, 9);
    build_floats(&b, normals, 9);
    build_view(&b, colors, 12, 4);
    if (!open_body(
            &b,
            MESH("\"POSITION\":0,\"NORMAL\":1,\"COLOR_0\":2",
                 "") "\"accessors\":[" POSITION_ACCESSOR
                     ",{\"bufferView\":1,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"}"
                     ",{\"bufferView\":2,\"componentType\":5121,\"normalized\":true,\"count\":3,"
                     "\"type\":\"VEC3\"}]",
            &s))
        return;
    const struct scene_primitive *p = &s.meshes[0].primitives[0];
    EXPECT_NEAR(p->normals[0].z, 1, 0);
    EXPECT_NEAR(p->colors[0][0][2], 0.2, 1e-6);
    EXPECT_NEAR(p->colors[0][2][3], 1, 0);
    EXPECT(has_note(&s, NOTE_REPAIRED, "without a direction"));
    EXPECT(has_note(&s, NOTE_REPAIRED, "not unit"));
    scene_free(&s);
}

// ---- nodes, scenes, clips

static void the_default_scene_reaches_down(void)
{
    struct build b = {0};
    struct scene s;
    if (!open_body(&b,
                   "\"scene\":1,\"scenes\":[{\"nodes\":[3]},{\"nodes\":[0]}],\"nodes\":[{"
                   "\"children\":[1]},{\"children\":[2]},{\"matrix\":[0,2,0,0,-2,0,0,0,0,0,2,0,1,2,"
                   "3,1]},{}]",
                   &s))
        return;
    EXPECT(s.nodes[0].in_default_scene && s.nodes[2].in_default_scene);
    EXPECT(!s.nodes[3].in_default_scene);
    EXPECT(s.nodes[2].has_matrix && s.nodes[2].matrix_is_exact && s.nodes[2].parent == 1);
    EXPECT_NEAR(s.nodes[2].rest.scale.x, 2, 1e-6);
    EXPECT_NEAR(s.nodes[2].rest.rotation.z, 0.70710678, 1e-6);
    EXPECT_NEAR(s.nodes[2].rest.translation.z, 3, 1e-6);
    scene_free(&s);
}

static void keys_are_mended_or_left_out(void)
{
    struct build b = {0};
    float times[4] = {0, 0.5F, 0.5F, 1},
          turns[16] = {0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1};
    struct scene s;
    build_floats(&b, times, 4);
    build_floats(&b, turns, 16);
    if (!open_body(&b,
                   "\"nodes\":[{}],\"animations\":[{\"name\":\"a\",\"samplers\":[{\"input\":0,"
                   "\"output\":1}],\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":"
                   "\"rotation\"}},{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"rotation\"}},"
                   "{\"sampler\":0,\"target\":{\"path\":\"rotation\"}},{\"sampler\":0,\"target\":{"
                   "\"path\":\"pointer\"}}]}],\"accessors\":[{\"bufferView\":0,\"componentType\":"
                   "5126,\"count\":4,\"type\":\"SCALAR\"},{\"bufferView\":1,\"componentType\":5126,"
                   "\"count\":4,\"type\":\"VEC4\"}]",
                   &s))
        return;
    EXPECT(s.clip_count == 1 && s.clips[0].channel_count == 1 && s.clips[0].duration_s == 1);
    const struct scene_channel *c = &s.clips[0].channels[0];
    EXPECT(c->key_count == 3 && c->times[1] == 0.5F);
    EXPECT(c->values[4] == 1); // of two keys at one time the last
    EXPECT(c->values[3] == 1);
    EXPECT(has_note(&s, NOTE_REPAIRED, "not unit"));
    EXPECT(has_note(&s, NOTE_REPAIRED, "at the time of the next"));
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "second channels"));
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "without a target node"));
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "KHR_animation_pointer"));
    scene_free(&s);
}

// ---- looks

static void materials_and_textures_pass_through(void)
{
    struct scene s;
    if (!open_built(build_seed(0), &s)) return;
    EXPECT(s.material_count == 1 && s.texture_count == 1 && s.image_count == 1);
    const struct scene_material *m = &s.materials[0];
    EXPECT_NEAR(m->base_color[2], 0.25, 0);
    EXPECT(m->alpha == SCENE_ALPHA_MASK && m->double_sided && !m->unlit);
    EXPECT(m->base_color_texture.texture == 0 && m->base_color_texture.scale[0] == 2);
    EXPECT(m->normal_texture.texture == SCENE_NONE);
    EXPECT(s.textures[0].wrap_s == 33071 && s.textures[0].wrap_t == 10497);
    EXPECT(strcmp(s.images[0].mime_type, "image/png") == 0 && s.images[0].size_bytes == 8);
    EXPECT(memcmp(s.images[0].bytes, "\x89PNG\r\n\x1a\n", 8) == 0);
    scene_free(&s);
}

// ---- compression

static void compressed_views_decode(void)
{
    struct scene s;
    bool ok = open_built(build_seed(3), &s);
    EXPECT(ok);
    if (!ok) return;
    const struct scene_primitive *p = &s.meshes[0].primitives[0];
    EXPECT(p->vertex_count == 16 && p->index_count == 42);
    EXPECT_NEAR(p->positions[7].x, 3, 0);
    EXPECT_NEAR(p->positions[7].y, 1, 0);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < p->index_count; i++)
        sum += p->indices[i];
    EXPECT(sum == 14 * 13 / 2 * 3 + 14 * 3); // the encoder may turn triangles
    scene_free(&s);
}

// ---- VRM

static bool json_has(const struct scene *s, const char *part)
{
    if (strstr(s->vrm.json, part)) return true;
    printf("  %s\n  lacks %s\n", s->vrm.json, part);
    return false;
}

static void vrm_0_speaks_vrm_1(void)
{
    struct scene s;
    bool ok = open_built(build_seed(4), &s);
    EXPECT(ok);
    if (!ok) return;
    EXPECT(s.vrm.version == 1 && s.vrm.bone_count == 3);
    EXPECT(strcmp(s.vrm.bones[0].bone, "hips") == 0 && s.vrm.bones[0].node == 0);
    EXPECT(strcmp(s.vrm.bones[2].bone, "leftThumbMetacarpal") == 0);
    EXPECT(json_has(&s, "\"happy\":{\"isBinary\":true"));
    EXPECT(json_has(&s, "{\"node\":5,\"index\":0,\"weight\":0.5}")); // mesh 0 stands at node 5
    EXPECT(json_has(&s, "\"custom\":{\"Own\":"));
    EXPECT(json_has(&s, "\"sphere\":{\"offset\":[0.1,0.2,-0.3],\"radius\":0.4")); // z turned
    EXPECT(json_has(&s, "\"offsetFromHeadBone\":[0,0.1,-0.2]"));
    EXPECT(json_has(&s, "\"joints\":[{\"node\":2,\"hitRadius\":0.01,\"stiffness\":0.5"));
    EXPECT(json_has(&s, "\"endLength\":0.07"));
    EXPECT(json_has(&s, "\"type\":\"both\""));
    scene_free(&s);
}

static void vrm_1_is_kept(void)
{
    struct scene s;
    bool ok = open_built(build_seed(5), &s);
    EXPECT(ok);
    if (!ok) return;
    EXPECT(s.vrm.version == 2 && s.vrm.bone_count == 2);
    EXPECT(json_has(&s, "\"overrideBlink\":\"block\""));
    EXPECT(json_has(&s, "\"shape\":{\"plane\":{\"offset\":[0,0,0],\"normal\":[0,1,0]}}"));
    EXPECT(json_has(&s, "\"aim\":{\"source\":0,\"aimAxis\":\"PositiveX\",\"weight\":0.5}"));
    EXPECT(json_has(&s, "\"inputMaxValue\":30"));
    EXPECT(json_has(&s, "\"center\":0"));
    scene_free(&s);
}

static void a_broken_vrm_part_does_not_stop_the_model(void)
{
    struct build b = {0};
    struct scene s;
    if (!open_body(&b,
                   "\"nodes\":[{}],\"extensions\":{\"VRMC_vrm\":{\"humanoid\":{\"humanBones\":{"
                   "\"hips\":{\"node\":0},\"head\":{\"node\":7}}},\"expressions\":{\"preset\":{"
                   "\"happy\":{\"morphTargetBinds\":[{\"node\":0,\"index\":3}]}}},\"lookAt\":7},"
                   "\"VRMC_springBone\":{\"colliders\":[{\"node\":9},{\"node\":0,\"shape\":{"
                   "\"sphere\":{\"radius\":1}}}],\"colliderGroups\":[{\"colliders\":[0,1]}]}}",
                   &s))
        return;
    EXPECT(s.vrm.bone_count == 1);
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "/extensions/VRMC_vrm/humanoid/humanBones/head/node"));
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "morphTargetBinds/0"));
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "/extensions/VRMC_vrm/lookAt"));
    EXPECT(has_note(&s, NOTE_LEFT_OUT, "/extensions/VRMC_springBone/colliders/0"));
    EXPECT(json_has(&s, "\"morphTargetBinds\":[]"));
    EXPECT(json_has(&s, "\"colliders\":[0]}")); // what was number 1
    scene_free(&s);
}

// ---- refusals

static void refuse(const char *text, const char *path)
{
    struct import_limits limits = import_limits_default();
    struct scene s;
    struct fault fault = {0};
    enum err e = import_bytes((const uint8_t *)text, strlen(text), NULL, &limits, &s, &fault);
    if (e == ERR_OK || strncmp(fault.line, path, strlen(path)) != 0)
        printf("  %s\n  said: %s\n  want: %s\n", text, fault.line, path);
    EXPECT(e != ERR_OK && strncmp(fault.line, path, strlen(path)) == 0);
    if (e == ERR_OK) scene_free(&s);
}

#define A            "{\"asset\":{\"version\":\"2.0\"},"
#define TRIANGLE_URI "\"data:;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA\""
#define T                                                                                          \
    A "\"buffers\":[{\"byteLength\":36,\"uri\":" TRIANGLE_URI                                      \
      "}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":36}],"

static void every_fault_names_its_place(void)
{
    static const char *const cases[][2] = {
        {"", "byte 0: the file is empty"},
        {"[]", "byte 0"},
        {"{", "JSON does not parse at byte"},
        {"{}", "/asset: is missing"},
        {"{\"asset\":{\"version\":\"1.0\"}}", "/asset/version"},
        {"{\"asset\":{\"version\":\"2.0\",\"minVersion\":\"2.1\"}}", "/asset/minVersion"},
        {A "\"extensionsRequired\":[\"KHR_draco_mesh_compression\"]}",
         "/extensionsRequired/0: the file requires KHR_draco_mesh_compression"},
        {A "\"nodes\":[{\"name\":\"a\",\"name\":\"b\"}]}", "/nodes/0/name: the same key twice"},
        {A "\"nodes\":{}}", "/nodes: must be an array"},
        {A "\"nodes\":[{\"mesh\":1.5}]}", "/nodes/0/mesh"},
        {A "\"nodes\":[{\"mesh\":99999999999}]}", "/nodes/0/mesh"},
        {A "\"nodes\":[{\"mesh\":-1}]}", "/nodes/0/mesh"},
        {A "\"nodes\":[{\"mesh\":0}]}", "/nodes/0/mesh"},
        {A "\"nodes\":[{\"name\":7}]}", "/nodes/0/name"},
        {A "\"nodes\":[{\"scale\":[1,1]}]}", "/nodes/0/scale"},
        {A "\"nodes\":[{\"scale\":[1,1,1e999]}]}", "/nodes/0/scale/2"},
        {A "\"nodes\":[{\"scale\":[1,1,1e39]}]}", "/nodes/0/scale/2"},
        {A "\"nodes\":[{\"children\":[1]},{\"children\":[0]}]}", "/nodes/0/children"},
        {A "\"nodes\":[{\"children\":[0]}]}", "/nodes/0/children"},
        {A "\"nodes\":[{\"children\":[2]},{\"children\":[2]},{}]}", "/nodes/1/children/0"},
        {A "\"scene\":1,\"scenes\":[{}]}", "/scene"},
        {A "\"nodes\":[{}],\"skins\":[{\"joints\":[3]}]}", "/skins/0/joints/0"},
        {A "\"nodes\":[{}],\"skins\":[{\"joints\":[]}]}", "/skins/0/joints"},
        {A "\"buffers\":[{\"byteLength\":4,\"uri\":\"data:;base64,AA==\"}],\"bufferViews\":[{"
           "\"buffer\":0,\"byteLength\":4}],\"images\":[{\"bufferView\":0}]}",
         "/buffers/0: holds 1 bytes"},
        {A "\"buffers\":[{\"byteLength\":4,\"uri\":\"data:;base64,A*==\"}],\"bufferViews\":[{"
           "\"buffer\":0,\"byteLength\":4}],\"images\":[{\"bufferView\":0}]}",
         "/buffers/0/uri"},
        {A "\"buffers\":[{\"byteLength\":4,\"uri\":\"x.bin\"}],\"bufferViews\":[{\"buffer\":0,"
           "\"byteLength\":4}],\"images\":[{\"bufferView\":0}]}",
         "/buffers/0/uri"},
        {A "\"buffers\":[{\"byteLength\":4}],\"bufferViews\":[{\"buffer\":0,\"byteOffset\":2,"
           "\"byteLength\":4}]}",
         "/bufferViews/0"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5127,\"count\":1,\"type\":"
           "\"VEC3\"}]}",
         "/accessors/0/componentType"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":1,\"type\":"
           "\"VEC5\"}]}",
         "/accessors/0/type"},
        {T "\"accessors\":[{\"bufferView\":1,\"componentType\":5126,\"count\":1,\"type\":"
           "\"VEC3\"}]}",
         "/accessors/0/bufferView"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":"
           "\"VEC3\"}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]}",
         "/meshes/0/primitives/0/attributes/POSITION"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":"
           "\"VEC3\"}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,"
           "\"TEXCOORD_0\":0}}]}]}",
         "/meshes/0/primitives/0/attributes/TEXCOORD_0"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":"
           "\"VEC3\"},{\"bufferView\":0,\"componentType\":5121,\"count\":36,\"type\":\"SCALAR\"}],"
           "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}]}",
         "/meshes/0/primitives/0/indices: index"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":"
           "\"VEC3\"}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"targets\":[{"
           "}]},{\"attributes\":{\"POSITION\":0}}]}]}",
         "/meshes/0/primitives/1/targets"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":9,\"type\":"
           "\"SCALAR\"},{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"}],"
           "\"nodes\":[{}],\"animations\":[{\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":"
           "[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"translation\"}}]}]}",
         "/animations/0/samplers/0/output"},
        {T "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":5,\"type\":"
           "\"SCALAR\"},{\"componentType\":5126,\"count\":5,\"type\":\"VEC3\"}],"
           "\"nodes\":[{}],\"animations\":[{\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":"
           "[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"translation\"}}]}]}",
         "/animations/0/samplers/0/input"},
        {T "\"images\":[{\"bufferView\":4}]}", "/images/0/bufferView"},
        {T "\"textures\":[{\"source\":0}]}", "/textures/0/source"},
        {T "\"materials\":[{\"alphaMode\":\"FOG\"}]}", "/materials/0/alphaMode"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(cases[i][0], cases[i][1]);
}

// ---- files beside the source

static void write_file(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    EXPECT(f && fwrite(bytes, 1, size, f) == size);
    if (f) fclose(f);
}

static enum err import_uri(const char *folder, const char *uri)
{
    char json[1024], path[512];
    struct import_limits limits = import_limits_default();
    struct scene s;
    snprintf(json, sizeof json,
             A "\"buffers\":[{\"byteLength\":36,\"uri\":\"%s\"}],\"bufferViews\":[{\"buffer\":0,"
               "\"byteLength\":36}],\"accessors\":[" POSITION_ACCESSOR
               "],\"images\":[{\"uri\":\"gone.png\"}],\"meshes\":[{\"primitives\":[{"
               "\"attributes\":{\"POSITION\":0}}]}]}",
             uri);
    write_file(folder, "model.gltf", json, strlen(json));
    snprintf(path, sizeof path, "%s/model.gltf", folder);
    last = (struct fault){0};
    enum err e = import_file(path, &limits, &s, &last);
    if (e == ERR_OK) {
        EXPECT(has_note(&s, NOTE_LEFT_OUT, "gone.png is missing"));
        EXPECT(s.images[0].bytes == NULL);
        EXPECT_NEAR(s.meshes[0].primitives[0].positions[1].x, 1, 0);
        scene_free(&s);
    }
    return e;
}

static void files_are_read_inside_the_folder_only(void)
{
    char outside[] = "/tmp/sinew_import_XXXXXX", folder[64], link[128], target[128];
    EXPECT(mkdtemp(outside) != NULL);
    snprintf(folder, sizeof folder, "%s/in", outside);
    EXPECT(mkdir(folder, 0700) == 0);
    write_file(folder, "a b.bin", triangle, sizeof triangle);
    write_file(outside, "secret.bin", triangle, sizeof triangle);
    snprintf(link, sizeof link, "%s/link.bin", folder);
    snprintf(target, sizeof target, "%s/secret.bin", outside);
    EXPECT(symlink(target, link) == 0);
    EXPECT(import_uri(folder, "a%20b.bin") == ERR_OK);
    EXPECT(import_uri(folder, "./a%20b.bin") == ERR_OK);
    EXPECT(import_uri(folder, "../secret.bin") == ERR_DENIED);
    EXPECT(import_uri(folder, "%2e%2e/secret.bin") == ERR_DENIED);
    EXPECT(import_uri(folder, "%2E%2E%2Fsecret.bin") == ERR_DENIED);
    EXPECT(import_uri(folder, target) == ERR_DENIED);
    EXPECT(import_uri(folder, "file:///etc/passwd") == ERR_DENIED);
    EXPECT(import_uri(folder, "link.bin") == ERR_DENIED);
    EXPECT(import_uri(folder, "gone.bin") == ERR_NOT_FOUND);
    EXPECT(strncmp(last.line, "/buffers/0/uri: ", 16) == 0 && strstr(last.line, "gone.bin"));
    EXPECT(import_uri(folder, "a%00b.bin") == ERR_MALFORMED);
    unlink(link);
    unlink(target);
    snprintf(target, sizeof target, "%s/a b.bin", folder);
    unlink(target);
    snprintf(target, sizeof target, "%s/model.gltf", folder);
    unlink(target);
    rmdir(folder);
    rmdir(outside);
}

static void the_same_source_gives_the_same_vrm_text(void)
{
    struct scene a, b;
    if (!open_built(build_seed(4), &a)) return;
    if (open_built(build_seed(4), &b)) {
        EXPECT(strcmp(a.vrm.json, b.vrm.json) == 0);
        scene_free(&b);
    }
    scene_free(&a);
}

int main(void)
{
    RUN(components_of_every_type_are_read);
    RUN(strides_offsets_and_interleaving_are_followed);
    RUN(sparse_values_replace_the_base_or_zeros);
    RUN(what_is_shared_is_kept_once);
    RUN(strips_fans_and_loops_become_lists);
    RUN(restarts_break_strips);
    RUN(influences_of_several_sets_stand_side_by_side);
    RUN(morph_targets_keep_what_they_touch);
    RUN(colours_widen_and_unit_vectors_are_mended);
    RUN(the_default_scene_reaches_down);
    RUN(keys_are_mended_or_left_out);
    RUN(materials_and_textures_pass_through);
    RUN(compressed_views_decode);
    RUN(vrm_0_speaks_vrm_1);
    RUN(vrm_1_is_kept);
    RUN(a_broken_vrm_part_does_not_stop_the_model);
    RUN(every_fault_names_its_place);
    RUN(files_are_read_inside_the_folder_only);
    RUN(the_same_source_gives_the_same_vrm_text);
    TESTING_MAIN_END;
}
