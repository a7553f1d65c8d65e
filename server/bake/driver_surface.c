#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/file.h"
#include "server/bake/compile.h"
#include "server/bake/drivers.h"
#include "server/bake/import.h"
#include "server/bake/rig.h"
#include "server/character/surface/surface.h"
#include "server/model/lookup.h"
#include "server/model/model_file.h"

// Example surfaces: .f32 as eval writes it, OBJ, GLB of the same topology, or a morph target.

enum { SURFACE_BYTES_MAX = 1 << 30 };

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static enum err wrong(struct driver_bake *k, const struct example_plan *e, const char *what)
{
    return fault_set(k->fault, ERR_MALFORMED, "%s/surface: %s", e->path, what);
}

static enum err count_is(struct driver_bake *k, const struct example_plan *e, size_t got,
                         size_t want)
{
    if (got == want) return ERR_OK;
    return fault_set(k->fault, ERR_MALFORMED,
                     "%s/surface: the file has %zu vertices, the model %zu: it must keep the "
                     "topology and the order",
                     e->path, got, want);
}

// ---- .f32

static enum err copy_floats(struct driver_bake *k, const struct example_plan *e,
                            const uint8_t *bytes, size_t first_vertex, size_t count, double *out)
{
    for (size_t i = 0; i < count * 3; i++) {
        float f;
        memcpy(&f, bytes + (first_vertex * 3 + i) * sizeof f, sizeof f);
        if (!isfinite(f))
            return fault_set(k->fault, ERR_MALFORMED, "%s/surface: vertex %zu is not finite",
                             e->path, first_vertex + i / 3);
        out[i] = (double)f;
    }
    return ERR_OK;
}

// Base space: once a mesh primitive in file order; every node that shows it takes the same.
static enum err spread_primitives(struct driver_bake *k, const struct example_plan *e,
                                  const uint8_t *bytes, size_t vertex_count, double *positions)
{
    const struct scene *s = k->b->scene;
    size_t first = 0, total = 0;
    for (uint32_t i = 0; i < s->mesh_count; i++)
        for (uint32_t p = 0; p < s->meshes[i].primitive_count; p++)
            total += s->meshes[i].primitives[p].vertex_count;
    enum err err = count_is(k, e, vertex_count, total);
    for (uint32_t i = 0; i < s->mesh_count && err == ERR_OK; i++)
        for (uint32_t p = 0; p < s->meshes[i].primitive_count; p++) {
            uint32_t count = s->meshes[i].primitives[p].vertex_count;
            for (size_t q = 0; q < k->b->model.parts_count && err == ERR_OK; q++) {
                const struct model_part *part = &k->b->parts[q];
                if (part->mesh != i || part->primitive != p) continue;
                err = count_is(k, e, count, part->vertex_count);
                if (err == ERR_OK)
                    err = copy_floats(k, e, bytes, first, count,
                                      positions + (size_t)part->vertex_first * 3);
            }
            first += count;
        }
    return err;
}

static enum err read_f32(struct driver_bake *k, const struct example_plan *e, const uint8_t *bytes,
                         size_t size_bytes, bool is_base, double *positions)
{
    size_t vertex_count = size_bytes / (3 * sizeof(float));
    if (size_bytes % (3 * sizeof(float)) != 0)
        return wrong(k, e, "a .f32 file holds x, y, z as float32: its size is no multiple of 12");
    if (is_base) return spread_primitives(k, e, bytes, vertex_count, positions);
    enum err err = count_is(k, e, vertex_count, model_vertex_count(&k->b->model));
    return err == ERR_OK ? copy_floats(k, e, bytes, 0, vertex_count, positions) : err;
}

// ---- OBJ: only its vertices matter, in their order

static enum err read_obj_vertex(struct driver_bake *k, const struct example_plan *e,
                                const char *line, size_t index, double *out)
{
    char *at = NULL;
    const char *from = line;
    for (int r = 0; r < 3; r++, from = at) {
        out[r] = strtod(from, &at);
        if (at == from || !isfinite((float)out[r]))
            return fault_set(k->fault, ERR_MALFORMED,
                             "%s/surface: vertex %zu of the OBJ is no position", e->path, index);
    }
    return ERR_OK;
}

static enum err read_obj(struct driver_bake *k, const struct example_plan *e, char *text,
                         double *positions)
{
    size_t count = 0, want = model_vertex_count(&k->b->model);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (line[0] != 'v' || (line[1] != ' ' && line[1] != '\t')) continue;
        if (count < want) {
            enum err err = read_obj_vertex(k, e, line + 1, count, positions + count * 3);
            if (err != ERR_OK) return err;
        }
        count++;
    }
    return count_is(k, e, count, want);
}

// ---- GLB: its own rest surface, evaluated as ours is

struct corners { // of one triangle, ascending: a tool may turn it, a node may mirror it
    uint32_t vertices[3];
};

static int corners_order(const void *a, const void *b)
{
    const struct corners *x = a, *y = b;
    for (int i = 0; i < 3; i++)
        if (x->vertices[i] != y->vertices[i]) return x->vertices[i] < y->vertices[i] ? -1 : 1;
    return 0;
}

static void swap_if_more(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;
    if (*a <= *b) return;
    *a = *b;
    *b = kept;
}

static struct corners *list_corners(struct driver_bake *k, const struct model *m)
{
    struct corners *list = DRIVERS_ARRAY(k, struct corners, m->indices_count / 3);
    for (size_t i = 0; list && i + 2 < m->indices_count; i += 3) {
        uint32_t *v = list[i / 3].vertices;
        memcpy(v, m->indices + i, 3 * sizeof *v);
        swap_if_more(&v[0], &v[1]);
        swap_if_more(&v[1], &v[2]);
        swap_if_more(&v[0], &v[1]);
    }
    if (list) qsort(list, m->indices_count / 3, sizeof *list, corners_order);
    return list;
}

// The same parts of the same triangles, in whatever order.
static bool same_triangles(struct driver_bake *k, const struct model *a, const struct model *b)
{
    if (a->parts_count != b->parts_count || a->indices_count != b->indices_count) return false;
    for (size_t i = 0; i < a->parts_count; i++)
        if (a->parts[i].topology != b->parts[i].topology ||
            a->parts[i].vertex_count != b->parts[i].vertex_count ||
            a->parts[i].index_count != b->parts[i].index_count)
            return false;
    struct corners *x = list_corners(k, a), *y = list_corners(k, b);
    return x && y && memcmp(x, y, a->indices_count / 3 * sizeof *x) == 0;
}

static enum err evaluate_rest(struct driver_bake *k, const struct example_plan *e,
                              const struct model *m, double *positions)
{
    struct arena arena, scratch;
    enum err err = count_is(k, e, model_vertex_count(m), model_vertex_count(&k->b->model));
    if (err != ERR_OK) return err;
    if (!same_triangles(k, m, &k->b->model))
        return wrong(k, e, "the file has other triangles: it must keep the topology");
    size_t block_bytes = m->blocks_count * sizeof(struct surface_block);
    size_t vertices = model_vertex_count(m);
    if (!arena_create(&arena, face_map_bytes(m) + pose_bytes(m) + block_bytes +
                                  vertices * 3 * sizeof(float) + 4096))
        return drivers_no_memory(k);
    struct face_map map;
    face_map_build(m, &arena, &map);
    struct surface_job job = {.model = m,
                              .map = &map,
                              .pose = pose_take(m, &arena),
                              .level = SIMD_PLAIN,
                              .out = arena_take(&arena, block_bytes)};
    float *floats = ARENA_ARRAY(&arena, float, vertices * 3);
    if (!arena_create(&scratch, surface_bytes(m, &map, NULL))) {
        arena_destroy(&arena);
        return drivers_no_memory(k);
    }
    pose_rest(m, job.pose);
    surface_run(&job, &scratch);
    surface_gather(m, job.out, floats, NULL);
    for (size_t i = 0; i < vertices * 3; i++)
        positions[i] = (double)floats[i];
    arena_destroy(&scratch);
    arena_destroy(&arena);
    return ERR_OK;
}

static enum err read_glb(struct driver_bake *k, const struct example_plan *e, const uint8_t *glb,
                         size_t glb_bytes, const char *path, double *positions)
{
    struct import_limits limits = import_limits_default();
    struct scene scene = {0};
    struct fault inner = {0};
    struct compile_settings settings = {.source_name = "example"};
    struct model_file *file = NULL;
    uint8_t *bytes = NULL;
    size_t size_bytes = 0;
    enum err err = import_bytes(glb, glb_bytes, path, &limits, &scene, &inner);
    if (err == ERR_OK) err = compile_scene(&scene, &settings, &bytes, &size_bytes, &inner);
    scene_free(&scene);
    if (err == ERR_OK) err = model_file_from_bytes(bytes, size_bytes, &file, &inner);
    free(bytes);
    if (err != ERR_OK) return fault_set(k->fault, err, "%s/surface/file: %s", e->path, inner.line);
    err = evaluate_rest(k, e, model_file_model(file), positions);
    model_file_unref(file);
    return err;
}

// ---- morph target

static enum err read_morph(struct driver_bake *k, const struct example_plan *e, const char *name,
                           double *positions)
{
    const struct model *m = &k->b->model;
    char where[128];
    uint32_t shape;
    (void)snprintf(where, sizeof where, "%s/surface/morph", e->path);
    enum err err = lookup_name(m, LOOKUP_SHAPE, name, where, &shape, k->fault);
    if (err != ERR_OK) return err;
    for (size_t i = 0; i < model_vertex_count(m) * 3; i++)
        positions[i] = (double)k->b->positions[i];
    for (size_t c = 0; c < m->channels_count; c++) {
        if (m->channels[c].shape != shape) continue;
        for (uint32_t i = 0; i < m->channels[c].block_count; i++) {
            const struct model_morph_block *mb = &m->morph_blocks[m->channels[c].block_first + i];
            for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
                uint32_t v = k->vertex_of_lane[mb->block * MODEL_LANES + lane];
                for (size_t r = 0; v != UINT32_MAX && r < 3; r++)
                    positions[(size_t)v * 3 + r] += (double)mb->position[r][lane];
            }
        }
    }
    return ERR_OK;
}

// ---- all

static bool has_ending(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n > k && strcmp(name + n - k, ending) == 0;
}

static enum err read_file(struct driver_bake *k, const struct example_plan *e, const char *name,
                          bool is_base, double *positions)
{
    char path[2048];
    struct fault inner = {0};
    uint8_t *bytes = NULL;
    size_t size_bytes = 0;
    if (file_beside(k->rig->path, name, path, sizeof path) != ERR_OK)
        return fault_set(k->fault, ERR_DENIED,
                         "%s/surface/file must stay in the rig file's folder: %.100s", e->path,
                         name);
    bool glb = has_ending(name, ".glb") || has_ending(name, ".gltf") || has_ending(name, ".vrm");
    if (!has_ending(name, ".f32") && !has_ending(name, ".obj") && !glb)
        return wrong(k, e, "the file must be .f32, .obj or .glb");
    if (is_base && !has_ending(name, ".f32"))
        return wrong(k, e, "only .f32 files can be in base space");
    enum err err = file_read(path, SURFACE_BYTES_MAX, &bytes, &size_bytes, &inner);
    if (err != ERR_OK) return fault_set(k->fault, err, "%s/surface/file: %s", e->path, inner.line);
    if (glb)
        err = read_glb(k, e, bytes, size_bytes, path, positions);
    else
        err = has_ending(name, ".obj") ? read_obj(k, e, (char *)bytes, positions)
                                       : read_f32(k, e, bytes, size_bytes, is_base, positions);
    free(bytes);
    return err;
}

enum err driver_surface_read(struct driver_bake *k, const struct example_plan *e, double *positions,
                             bool *is_base)
{
    const char *file = text_of(e->surface, "file"), *morph = text_of(e->surface, "morph");
    const char *space = text_of(e->surface, "space");
    *is_base = morph || (space && strcmp(space, "base") == 0);
    if (morph && space && strcmp(space, "base") != 0)
        return fault_set(k->fault, ERR_MALFORMED, "%s/surface/space: a blendshape is in base space",
                         e->path);
    return morph ? read_morph(k, e, morph, positions) : read_file(k, e, file, *is_base, positions);
}

enum err driver_surface_parse(struct driver_bake *k, const struct example_plan *e,
                              enum driver_surface_format format, uint8_t *bytes, size_t size_bytes,
                              double *positions)
{
    switch (format) {
    case DRIVER_SURFACE_OBJ:
        return read_obj(k, e, (char *)bytes, positions);
    case DRIVER_SURFACE_GLB: // from memory: it may name no files beside it
        return read_glb(k, e, bytes, size_bytes, "/dev/null/surface.glb", positions);
    case DRIVER_SURFACE_F32:
        break;
    }
    return read_f32(k, e, bytes, size_bytes, false, positions);
}
