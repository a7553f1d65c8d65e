#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/file.h"
#include "common/mesh_out.h"

// Layout of the binary chunk, each a buffer view of its own:
//   0 positions of frame 0 · 1 normals of frame 0 · 2 UVs · 3 indices of all parts · 4 times ·
//   5 weights, frame_count rows · 6 position deltas of frames 1 .. · 7 normal deltas of frames 1 ..
enum { VIEW_COUNT = 8, MAGIC_GLTF = 0x46546c67, CHUNK_JSON = 0x4e4f534a, CHUNK_BIN = 0x004e4942 };
enum glb_view { POSITIONS, NORMALS, UVS, INDICES, TIMES, WEIGHTS, DELTAS, NORMAL_DELTAS };

struct glb {
    const struct mesh_out_clip *clip;
    char *json;
    size_t json_used, json_capacity;
    uint8_t *bin;
    size_t at[VIEW_COUNT], size[VIEW_COUNT], bin_bytes;
    int view_number[VIEW_COUNT]; // in the file: empty ones are left out
    uint32_t accessor_count;
    bool failed;
};

static void PRINTF_LIKE(2, 3) add(struct glb *g, const char *format, ...)
{
    for (;;) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(g->json + g->json_used, g->json_capacity - g->json_used, format, args);
        va_end(args);
        CHECK(n >= 0);
        if (g->json_used + (size_t)n < g->json_capacity) {
            g->json_used += (size_t)n;
            return;
        }
        size_t capacity = (g->json_capacity + (size_t)n) * 2 + 4096;
        char *grown = g->failed ? NULL : realloc(g->json, capacity);
        if (!grown) {
            g->failed = true;
            return;
        }
        g->json = grown;
        g->json_capacity = capacity;
    }
}

static void add_text(struct glb *g, const char *text)
{
    add(g, "\"");
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\')
            add(g, "\\u%04x", c);
        else
            add(g, "%c", *text);
    }
    add(g, "\"");
}

static void add_floats(struct glb *g, const float *values, int count)
{
    for (int i = 0; i < count; i++)
        add(g, "%s%.9g", i ? "," : "[", (double)values[i]);
    add(g, "]");
}

// ---- the binary chunk ----

static uint32_t part_indices(const struct mesh_out_part *p)
{
    return p->index_count;
}

static void lay_out(struct glb *g)
{
    const struct mesh_out_clip *c = g->clip;
    size_t vertices = c->vertex_count, frames = c->frame_count, indices = 0;
    for (uint32_t i = 0; i < c->part_count; i++)
        indices += part_indices(&c->parts[i]);
    g->size[POSITIONS] = vertices * 12;
    g->size[NORMALS] = c->normals ? vertices * 12 : 0;
    g->size[UVS] = c->uvs ? vertices * 8 : 0;
    g->size[INDICES] = indices * 4;
    g->size[TIMES] = frames > 1 ? frames * 4 : 0;
    g->size[WEIGHTS] = frames > 1 ? frames * (frames - 1) * 4 : 0;
    g->size[DELTAS] = (frames - 1) * vertices * 12;
    g->size[NORMAL_DELTAS] = c->normals ? (frames - 1) * vertices * 12 : 0;
    int number = 0;
    for (int v = 0; v < VIEW_COUNT; v++) {
        g->at[v] = g->bin_bytes;
        g->bin_bytes += g->size[v];
        g->view_number[v] = g->size[v] ? number++ : -1;
    }
}

static void put_float(uint8_t *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int b = 0; b < 4; b++)
        to[b] = (uint8_t)(bits >> (8 * b));
}

static void put_floats(uint8_t *to, const float *values, const float *minus, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_float(to + i * 4, minus ? values[i] - minus[i] : values[i]);
}

static void fill_animation(struct glb *g)
{
    size_t frames = g->clip->frame_count;
    put_floats(g->bin + g->at[TIMES], g->clip->times_s, NULL, frames);
    for (size_t f = 0; f < frames; f++)
        for (size_t k = 1; k < frames; k++)
            put_float(g->bin + g->at[WEIGHTS] + (f * (frames - 1) + k - 1) * 4, f == k ? 1.0f : 0);
}

static void fill(struct glb *g)
{
    const struct mesh_out_clip *c = g->clip;
    size_t floats = (size_t)c->vertex_count * 3;
    put_floats(g->bin + g->at[POSITIONS], c->positions[0], NULL, floats);
    if (c->normals) put_floats(g->bin + g->at[NORMALS], c->normals[0], NULL, floats);
    if (c->uvs) put_floats(g->bin + g->at[UVS], c->uvs, NULL, (size_t)c->vertex_count * 2);
    uint8_t *to = g->bin + g->at[INDICES];
    for (uint32_t i = 0; i < c->part_count; i++)
        for (uint32_t k = 0; k < part_indices(&c->parts[i]); k++, to += 4) {
            uint32_t index = c->parts[i].indices[k] - c->parts[i].vertex_first;
            for (int b = 0; b < 4; b++)
                to[b] = (uint8_t)(index >> (8 * b));
        }
    if (c->frame_count > 1) fill_animation(g);
    for (size_t f = 1; f < c->frame_count; f++) {
        size_t at = (f - 1) * floats * 4;
        put_floats(g->bin + g->at[DELTAS] + at, c->positions[f], c->positions[0], floats);
        if (c->normals)
            put_floats(g->bin + g->at[NORMAL_DELTAS] + at, c->normals[f], c->normals[0], floats);
    }
}

// ---- the JSON chunk ----

static void add_accessor(struct glb *g, enum glb_view view, size_t offset, int component,
                         size_t count, const char *type)
{
    add(g,
        "%s{\"bufferView\":%d,\"byteOffset\":%zu,\"componentType\":%d,\"count\":%zu,"
        "\"type\":\"%s\"",
        g->accessor_count++ ? ",\n" : "", g->view_number[view], offset, component, count, type);
}

// POSITION accessors must carry their bounds.
static void add_bounds(struct glb *g, const float *values, const float *minus, size_t count)
{
    float low[3], high[3];
    for (size_t k = 0; k < 3; k++) {
        low[k] = INFINITY;
        high[k] = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            float v = values[i * 3 + k] - (minus ? minus[i * 3 + k] : 0);
            if (v < low[k]) low[k] = v;
            if (v > high[k]) high[k] = v;
        }
    }
    add(g, ",\"min\":");
    add_floats(g, low, 3);
    add(g, ",\"max\":");
    add_floats(g, high, 3);
}

// Accessors of one part, in the order that add_primitive counts on.
static void add_part_accessors(struct glb *g, const struct mesh_out_part *p, size_t index_at)
{
    const struct mesh_out_clip *c = g->clip;
    size_t first = (size_t)p->vertex_first, count = p->vertex_count;
    add_accessor(g, POSITIONS, first * 12, 5126, count, "VEC3");
    add_bounds(g, c->positions[0] + first * 3, NULL, count);
    add(g, "}");
    if (c->normals) {
        add_accessor(g, NORMALS, first * 12, 5126, count, "VEC3");
        add(g, "}");
    }
    if (c->uvs) {
        add_accessor(g, UVS, first * 8, 5126, count, "VEC2");
        add(g, "}");
    }
    if (part_indices(p)) {
        add_accessor(g, INDICES, index_at, 5125, part_indices(p), "SCALAR");
        add(g, "}");
    }
    for (size_t f = 1; f < c->frame_count; f++) {
        size_t at = ((f - 1) * c->vertex_count + first) * 12;
        add_accessor(g, DELTAS, at, 5126, count, "VEC3");
        add_bounds(g, c->positions[f] + first * 3, c->positions[0] + first * 3, count);
        add(g, "}");
        if (!c->normals) continue;
        add_accessor(g, NORMAL_DELTAS, at, 5126, count, "VEC3");
        add(g, "}");
    }
}

// Returns how many accessors it has used from `a` on.
static uint32_t add_primitive(struct glb *g, const struct mesh_out_part *p, uint32_t a)
{
    static const int modes[] = {
        [MESH_OUT_TRIANGLES] = 4, [MESH_OUT_LINES] = 1, [MESH_OUT_POINTS] = 0};
    const struct mesh_out_clip *c = g->clip;
    uint32_t begun = a;
    add(g, "{\"mode\":%d,\"attributes\":{\"POSITION\":%u", modes[p->topology], a++);
    if (c->normals) add(g, ",\"NORMAL\":%u", a++);
    if (c->uvs) add(g, ",\"TEXCOORD_0\":%u", a++);
    add(g, "}");
    if (part_indices(p)) add(g, ",\"indices\":%u", a++);
    if (p->material < c->material_count) add(g, ",\"material\":%u", p->material);
    for (uint32_t f = 1; f < c->frame_count; f++) {
        add(g, "%s{\"POSITION\":%u", f == 1 ? ",\"targets\":[" : ",", a++);
        if (c->normals) add(g, ",\"NORMAL\":%u", a++);
        add(g, "}");
    }
    add(g, "%s}", c->frame_count > 1 ? "]" : "");
    return a - begun;
}

static bool is_drawn(const struct mesh_out_part *p)
{
    return p->vertex_count > 0; // an accessor of nothing is not allowed
}

static void add_mesh(struct glb *g)
{
    const struct mesh_out_clip *c = g->clip;
    uint32_t accessor = 0;
    bool first = true;
    add(g, ",\n\"meshes\":[{\"name\":");
    add_text(g, c->name);
    add(g, ",\"primitives\":[");
    for (uint32_t i = 0; i < c->part_count; i++) {
        if (!is_drawn(&c->parts[i])) continue;
        add(g, "%s", first ? "" : ",\n");
        accessor += add_primitive(g, &c->parts[i], accessor);
        first = false;
    }
    add(g, "]");
    for (uint32_t f = 1; f < c->frame_count; f++)
        add(g, "%s", f == 1 ? ",\"weights\":[0" : ",0");
    add(g, "%s}]", c->frame_count > 1 ? "]" : "");
}

static void add_materials(struct glb *g)
{
    static const char *const alphas[] = {"OPAQUE", "MASK", "BLEND"};
    for (uint32_t i = 0; i < g->clip->material_count; i++) {
        const struct mesh_out_material *m = &g->clip->materials[i];
        add(g, "%s{\"name\":", i ? ",\n" : ",\n\"materials\":[");
        add_text(g, m->name);
        add(g, ",\"pbrMetallicRoughness\":{\"baseColorFactor\":");
        add_floats(g, m->base_color, 4);
        add(g, ",\"metallicFactor\":%.9g,\"roughnessFactor\":%.9g},\"emissiveFactor\":",
            (double)m->metallic, (double)m->roughness);
        add_floats(g, m->emissive, 3);
        add(g, ",\"alphaMode\":\"%s\",\"doubleSided\":%s", alphas[m->alpha],
            m->double_sided ? "true" : "false");
        if (m->alpha == MESH_OUT_MASK) add(g, ",\"alphaCutoff\":%.9g", (double)m->alpha_cutoff);
        add(g, "}");
    }
    if (g->clip->material_count) add(g, "]");
}

static void add_views(struct glb *g)
{
    add(g, "],\n\"bufferViews\":[");
    for (int v = 0; v < VIEW_COUNT; v++)
        if (g->size[v])
            add(g, "%s{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu}",
                g->view_number[v] ? "," : "", g->at[v], g->size[v]);
    add(g, "],\n\"buffers\":[{\"byteLength\":%zu}]}", g->bin_bytes);
}

static void make_json(struct glb *g)
{
    const struct mesh_out_clip *c = g->clip;
    size_t index_at = 0;
    add(g, "{\"asset\":{\"version\":\"2.0\",\"generator\":");
    add_text(g, c->generator);
    add(g, "},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"name\":");
    add_text(g, c->name);
    add(g, "}]");
    add_mesh(g);
    add_materials(g);
    add(g, ",\n\"accessors\":[");
    for (uint32_t i = 0; i < c->part_count; i++) {
        if (is_drawn(&c->parts[i])) add_part_accessors(g, &c->parts[i], index_at);
        index_at += (size_t)part_indices(&c->parts[i]) * 4;
    }
    uint32_t times = g->accessor_count;
    if (c->frame_count > 1) {
        add_accessor(g, TIMES, 0, 5126, c->frame_count, "SCALAR");
        add(g, ",\"min\":[%.9g],\"max\":[%.9g]}", (double)c->times_s[0],
            (double)c->times_s[c->frame_count - 1]);
        add_accessor(g, WEIGHTS, 0, 5126, (size_t)c->frame_count * (c->frame_count - 1), "SCALAR");
        add(g, "}");
        add(g, "],\n\"animations\":[{\"name\":");
        add_text(g, c->name);
        add(g,
            ",\"samplers\":[{\"input\":%u,\"output\":%u,\"interpolation\":\"LINEAR\"}],"
            "\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"weights\"}}]}",
            times, times + 1);
    }
    add_views(g);
}

static void put_u32(uint8_t *to, size_t value)
{
    for (int b = 0; b < 4; b++)
        to[b] = (uint8_t)(value >> (8 * b));
}

// Header, JSON chunk padded with blanks, binary chunk (a multiple of 4 already).
static enum err write_file(struct glb *g, const char *path, struct fault *fault)
{
    while (!g->failed && g->json_used % 4)
        add(g, " ");
    if (g->failed) return fault_set(fault, ERR_MEMORY, "no memory to write %s", path);
    size_t total = 12 + 8 + g->json_used + 8 + g->bin_bytes;
    if (total > UINT32_MAX)
        return fault_set(fault, ERR_LIMIT,
                         "%s would be larger than a GLB can be (4 GiB): record fewer frames", path);
    uint8_t *file = malloc(total);
    if (!file) return fault_set(fault, ERR_MEMORY, "no memory to write %s", path);
    put_u32(file, MAGIC_GLTF);
    put_u32(file + 4, 2);
    put_u32(file + 8, total);
    put_u32(file + 12, g->json_used);
    put_u32(file + 16, CHUNK_JSON);
    memcpy(file + 20, g->json, g->json_used);
    put_u32(file + 20 + g->json_used, g->bin_bytes);
    put_u32(file + 24 + g->json_used, CHUNK_BIN);
    memcpy(file + 28 + g->json_used, g->bin, g->bin_bytes);
    enum err e = file_write_atomic(path, file, total, fault);
    free(file);
    return e;
}

enum err mesh_out_glb(const char *path, const struct mesh_out_clip *clip, struct fault *fault)
{
    CHECK(clip->frame_count > 0);
    CHECK(clip->part_count > 0);
    enum { JSON_FIRST_BYTES = 4096 };
    struct glb g = {.clip = clip, .json_capacity = JSON_FIRST_BYTES};
    lay_out(&g);
    g.bin = malloc(g.bin_bytes + 1);
    g.json = malloc(JSON_FIRST_BYTES);
    enum err e = ERR_MEMORY;
    if (g.bin && g.json) {
        fill(&g);
        make_json(&g);
        e = write_file(&g, path, fault);
    } else {
        (void)fault_set(fault, e, "no memory to write %s", path);
    }
    free(g.bin);
    free(g.json);
    return e;
}
