#include "tests/support/sample.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = 8, TRIANGLES = 6 };

struct sample_buffer {              // offsets are what the JSON below says
    float positions[VERTICES][3];   // 0
    float weights[VERTICES][4];     // 96
    uint8_t joints[VERTICES][4];    // 224
    uint16_t indices[TRIANGLES][3]; // 256
    uint8_t pad[4];                 // 292
    float inverse_binds[2][16];     // 296
    float wide[VERTICES][3];        // 424
    float times[2];                 // 520
    float rotations[2][4];          // 528
};
_Static_assert(sizeof(struct sample_buffer) == 560, "the JSON's byteLength");

static void fill(struct sample_buffer *b)
{
    memset(b, 0, sizeof *b);
    for (int v = 0; v < VERTICES; v++) {
        float along = (float)(v / 2);
        b->positions[v][0] = v % 2 ? 0.5f : -0.5f;
        b->positions[v][1] = along;
        b->positions[v][2] = along * 0.125f;
        b->weights[v][0] = 1 - along / 3;
        b->weights[v][1] = along / 3;
        b->joints[v][1] = 1;
        b->wide[v][0] = v % 2 ? 0.25f : -0.25f;
    }
    for (int t = 0; t < TRIANGLES; t++) {
        static const uint16_t quad[2][3] = {{0, 1, 2}, {2, 1, 3}};
        for (int k = 0; k < 3; k++)
            b->indices[t][k] = (uint16_t)(quad[t % 2][k] + t / 2 * 2);
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 4; i++)
            b->inverse_binds[j][i * 5] = 1;
    b->inverse_binds[1][13] = -1.5f;
    b->times[1] = 1;
    b->rotations[0][3] = 1;
    b->rotations[1][2] = b->rotations[1][3] = 0.70710678f;
}

static void base64(const uint8_t *bytes, size_t size, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t n = (uint32_t)bytes[i] << 16;
        if (i + 1 < size) n |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < size) n |= bytes[i + 2];
        *out++ = digits[n >> 18];
        *out++ = digits[n >> 12 & 63];
        *out++ = i + 1 < size ? digits[n >> 6 & 63] : '=';
        *out++ = i + 2 < size ? digits[n & 63] : '=';
    }
    *out = 0;
}

char *sample_gltf(size_t *size_bytes)
{
    struct sample_buffer buffer;
    char encoded[sizeof buffer * 4 / 3 + 8];
    enum { TEXT_BYTES = 8192 };
    char *text = malloc(TEXT_BYTES);
    fill(&buffer);
    base64((const uint8_t *)&buffer, sizeof buffer, encoded);
    int n = snprintf(
        text, TEXT_BYTES,
        "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0,2]}],"
        "\"nodes\":[{\"name\":\"lower\",\"children\":[1]},{\"name\":\"upper\",\"translation\":[0,1."
        "5,0]},"
        "{\"name\":\"bar\",\"mesh\":0,\"skin\":0}],"
        "\"skins\":[{\"joints\":[0,1],\"inverseBindMatrices\":4}],"
        "\"materials\":[{\"name\":\"red\",\"pbrMetallicRoughness\":{\"baseColorFactor\":[1,0,0,1]}}"
        "],"
        "\"meshes\":[{\"name\":\"bar\",\"weights\":[0],\"extras\":{\"targetNames\":[\"wide\"]},"
        "\"primitives\":[{\"attributes\":{\"POSITION\":0,\"WEIGHTS_0\":1,\"JOINTS_0\":2},"
        "\"indices\":3,"
        "\"material\":0,\"targets\":[{\"POSITION\":5}]}]}],"
        "\"animations\":[{\"name\":\"bend\",\"samplers\":[{\"input\":6,\"output\":7}],"
        "\"channels\":[{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}}]}],"
        "\"accessors\":["
        "{\"bufferView\":0,\"componentType\":5126,\"count\":8,\"type\":\"VEC3\",\"min\":[-0.5,0,0],"
        "\"max\":[0.5,3,0.375]},"
        "{\"bufferView\":1,\"componentType\":5126,\"count\":8,\"type\":\"VEC4\"},"
        "{\"bufferView\":2,\"componentType\":5121,\"count\":8,\"type\":\"VEC4\"},"
        "{\"bufferView\":3,\"componentType\":5123,\"count\":18,\"type\":\"SCALAR\"},"
        "{\"bufferView\":4,\"componentType\":5126,\"count\":2,\"type\":\"MAT4\"},"
        "{\"bufferView\":5,\"componentType\":5126,\"count\":8,\"type\":\"VEC3\",\"min\":[-0.25,0,0]"
        ",\"max\":[0.25,0,0]},"
        "{\"bufferView\":6,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\",\"min\":[0],"
        "\"max\":[1]},"
        "{\"bufferView\":7,\"componentType\":5126,\"count\":2,\"type\":\"VEC4\"}],"
        "\"bufferViews\":["
        "{\"buffer\":0,\"byteOffset\":0,\"byteLength\":96},{\"buffer\":0,\"byteOffset\":96,"
        "\"byteLength\":128},"
        "{\"buffer\":0,\"byteOffset\":224,\"byteLength\":32},{\"buffer\":0,\"byteOffset\":256,"
        "\"byteLength\":36},"
        "{\"buffer\":0,\"byteOffset\":296,\"byteLength\":128},{\"buffer\":0,\"byteOffset\":424,"
        "\"byteLength\":96},"
        "{\"buffer\":0,\"byteOffset\":520,\"byteLength\":8},{\"buffer\":0,\"byteOffset\":528,"
        "\"byteLength\":32}],"
        "\"buffers\":[{\"byteLength\":560,\"uri\":\"data:application/octet-stream;base64,%s\"}]}",
        encoded);
    *size_bytes = (size_t)n;
    return text;
}
