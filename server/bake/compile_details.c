#include <math.h>
#include <meshoptimizer.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/check.h"
#include "server/bake/builder.h"
#include "server/character/surface/surface.h"

// Two coarser details, simplified part by part in the rest pose, so that lengths mean what is
// seen. Each uses a subset of the vertices: it is streamed from the same skinned surface.
//
// Parts are simplified one by one: a triangle must not change its material. Borders that other
// parts share are locked, so that no gap opens between parts; seams of UVs and normals inside a
// part are kept together by meshoptimizer. Where topology stops it short, the detail stays finer.

enum {
    SMALL_PART_INDICES = 3 * 48, // kept whole: nothing to gain
    WORTH_PERCENT = 80           // a detail with more of the vertices before it is not made
};
static const struct {
    float keep;  // share of the full surface's triangles
    float error; // at most this much of the surface's diagonal
} levels[MODEL_DETAILS_MAX] = {{0.4f, 0.01f}, {0.12f, 0.04f}};

struct details {
    struct builder *b;
    float *positions;   // rest pose, model space, source order
    float diagonal;     // of the whole surface
    uint8_t *shared;    // [vertex] its place is used by several parts
    uint32_t *indices;  // every detail's
    size_t index_count; // used so far
    uint32_t *work[2];  // scratch, as long as `indices` of the model
    uint8_t *used;      // [vertex]
};

static enum err rest_positions(struct details *d)
{
    const struct model *m = &d->b->model;
    struct arena scratch = {0}, kept = {0};
    size_t pose_size = pose_bytes(m) + 4096,
           out_size = m->blocks_count * sizeof(struct surface_block);
    if (!arena_create(&kept, pose_size + out_size + face_map_bytes(m))) return ERR_MEMORY;
    struct face_map map;
    face_map_build(m, &kept, &map);
    struct surface_job job = {.model = m,
                              .map = &map,
                              .pose = pose_take(m, &kept),
                              .skinning = MODEL_LBS,
                              .level = SIMD_PLAIN,
                              .out = arena_take(&kept, out_size)};
    if (!arena_create(&scratch, surface_bytes(m, &map, NULL) + 4096)) {
        arena_destroy(&kept);
        return ERR_MEMORY;
    }
    pose_rest(m, job.pose);
    surface_run(&job, &scratch);
    surface_gather(m, job.out, d->positions, NULL);
    arena_destroy(&scratch);
    arena_destroy(&kept);
    return ERR_OK;
}

static void measure(struct details *d)
{
    size_t count = d->b->model.vertex_lanes_count;
    double sum = 0;
    for (size_t r = 0; r < 3; r++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t v = 0; v < count; v++) {
            low = fminf(low, d->positions[3 * v + r]);
            high = fmaxf(high, d->positions[3 * v + r]);
        }
        sum += ((double)high - (double)low) * ((double)high - (double)low);
    }
    d->diagonal = (float)sqrt(sum);
}

// Places where parts meet.
static enum err find_shared(struct details *d)
{
    const struct model *m = &d->b->model;
    uint32_t *part_of = BUILDER_ARRAY(d->b, uint32_t, m->weld_count);
    if (!part_of) return builder_no_memory(d->b);
    for (uint32_t i = 0; i < m->parts_count; i++)
        for (uint32_t v = m->parts[i].vertex_first;
             v < m->parts[i].vertex_first + m->parts[i].vertex_count; v++) {
            uint32_t place = m->weld[v];
            if (part_of[place] && part_of[place] != i + 1) d->shared[place] = 1;
            part_of[place] = i + 1;
        }
    return ERR_OK;
}

static bool part_shares(const struct details *d, const struct model_part *p)
{
    for (uint32_t v = p->vertex_first; v < p->vertex_first + p->vertex_count; v++)
        if (d->shared[d->b->model.weld[v]]) return true;
    return false;
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

// Local indices of a part in which vertices that look the same are one. Flat-shaded surfaces have
// a copy of a vertex for every triangle and no edge that could collapse: `normals` off then joins
// copies that differ in the normal only, at the price of softer shading.
static void join_copies(const struct details *d, const struct model_part *p, bool normals,
                        uint32_t *out)
{
    const struct model *m = &d->b->model;
    struct meshopt_Stream streams[2 + SCENE_UV_SETS_MAX + SCENE_COLOR_SETS_MAX];
    const size_t size3 = 3 * sizeof(float), first = 3 * (size_t)p->vertex_first;
    size_t count = 0;
    streams[count++] = (struct meshopt_Stream){d->positions + first, size3, size3};
    if (normals) streams[count++] = (struct meshopt_Stream){d->b->normals + first, size3, size3};
    for (uint32_t k = 0; k < p->uv_set_count && k < SCENE_UV_SETS_MAX; k++)
        streams[count++] = (struct meshopt_Stream){
            m->uvs + 2 * ((size_t)p->uv_first + (size_t)k * p->vertex_count), 2 * sizeof(float),
            2 * sizeof(float)};
    for (uint32_t k = 0; k < p->color_set_count && k < SCENE_COLOR_SETS_MAX; k++)
        streams[count++] = (struct meshopt_Stream){
            m->colors + 4 * ((size_t)p->color_first + (size_t)k * p->vertex_count),
            4 * sizeof(float), 4 * sizeof(float)};
    for (size_t k = 0; k < p->index_count; k++)
        d->work[1][k] = m->indices[p->index_first + k] - p->vertex_first;
    meshopt_generateShadowIndexBufferMulti(out, d->work[1], p->index_count, p->vertex_count,
                                           streams, count);
}

// The simplifier joins what lies at one place, which in the rest pose may be much of the part.
static bool part_is_crowded(struct details *d, const struct model_part *p)
{
    const size_t size3 = 3 * sizeof(float);
    const uint32_t *indices = d->b->model.indices + p->index_first;
    for (size_t k = 0; k < p->index_count; k++)
        d->work[1][k] = indices[k] - p->vertex_first;
    meshopt_generateShadowIndexBuffer(d->work[0], d->work[1], p->index_count,
                                      d->positions + 3 * (size_t)p->vertex_first, p->vertex_count,
                                      size3, size3);
    return topology_is_crowded(d->b, d->work[0], p->index_count, p->vertex_count);
}

// Simplifies a triangle part into out; returns the index count. *error grows.
static size_t simplify_part(struct details *d, const struct model_part *p, int level, uint32_t *out,
                            float *error)
{
    const float *at = d->positions + 3 * (size_t)p->vertex_first;
    size_t count = p->index_count, stride = 3 * sizeof(float), left = count;
    size_t triangles = count / 3, target = (size_t)((float)triangles * levels[level].keep) * 3;
    float scale = meshopt_simplifyScale(at, p->vertex_count, stride), strayed = 0;
    bool possible = count > SMALL_PART_INDICES && scale > 0 &&
                    all_finite(at, 3 * (size_t)p->vertex_count) && !part_is_crowded(d, p);
    for (int normals = 1; possible && normals >= 0 && left > target + target / 2; normals--) {
        join_copies(d, p, normals, d->work[0]);
        left = meshopt_simplify(out, d->work[0], count, at, p->vertex_count, stride, target,
                                d->diagonal * levels[level].error / scale,
                                part_shares(d, p) ? meshopt_SimplifyLockBorder : 0, &strayed);
    }
    if (!possible || left == 0) {
        join_copies(d, p, true, out);
        left = count;
        strayed = 0;
    }
    if (!topology_is_crowded(d->b, out, left, p->vertex_count)) {
        meshopt_optimizeVertexCache(d->work[1], out, left, p->vertex_count);
        memcpy(out, d->work[1], left * sizeof *out);
    }
    *error = fmaxf(*error, strayed * scale);
    for (size_t k = 0; k < left; k++)
        out[k] += p->vertex_first;
    return left;
}

static void take_part(struct details *d, size_t i, int level, struct model_detail_part *range,
                      float *error)
{
    const struct model *m = &d->b->model;
    const struct model_part *p = &m->parts[i];
    uint32_t *out = d->indices + d->index_count;
    size_t count = p->index_count;
    if (p->topology == MODEL_TRIANGLES)
        count = simplify_part(d, p, level, out, error);
    else
        memcpy(out, m->indices + p->index_first, count * sizeof *out);
    *range = (struct model_detail_part){(uint32_t)d->index_count, (uint32_t)count};
    for (size_t k = 0; k < count; k++)
        d->used[out[k]] = 1;
    d->index_count += count;
}

static enum err make_details(struct details *d)
{
    struct builder *b = d->b;
    struct model *m = &b->model;
    size_t vertices = m->vertex_lanes_count, kept = 0, before = vertices, listed = 0;
    struct model_detail *out = BUILDER_ARRAY(b, struct model_detail, MODEL_DETAILS_MAX);
    struct model_detail_part *parts =
        BUILDER_ARRAY(b, struct model_detail_part, m->parts_count * MODEL_DETAILS_MAX);
    uint32_t *list = BUILDER_ARRAY(b, uint32_t, vertices * MODEL_DETAILS_MAX);
    if (!out || !parts || !list) return builder_no_memory(b);
    for (int level = 0; level < MODEL_DETAILS_MAX; level++) {
        struct model_detail detail = {.vertex_first = (uint32_t)listed,
                                      .part_first = (uint32_t)(kept * m->parts_count)};
        size_t index_mark = d->index_count;
        memset(d->used, 0, vertices);
        for (size_t i = 0; i < m->parts_count; i++)
            take_part(d, i, level, &parts[detail.part_first + i], &detail.error);
        for (uint32_t v = 0; v < vertices; v++)
            if (d->used[v]) list[listed++] = v;
        detail.vertex_count = (uint32_t)(listed - detail.vertex_first);
        if (detail.vertex_count == 0 ||
            (uint64_t)detail.vertex_count * 100 > (uint64_t)before * WORTH_PERCENT) {
            listed = detail.vertex_first; // not worth its place
            d->index_count = index_mark;
            continue;
        }
        before = detail.vertex_count;
        out[kept++] = detail;
    }
    m->details = out;
    m->details_count = kept;
    m->detail_parts = parts;
    m->detail_parts_count = kept * m->parts_count;
    m->detail_vertices = list;
    m->detail_vertices_count = listed;
    m->detail_indices = d->indices;
    m->detail_indices_count = d->index_count;
    return ERR_OK;
}

enum err compile_details(struct builder *b)
{
    const struct model *m = &b->model;
    size_t vertices = m->vertex_lanes_count, indices = m->indices_count;
    struct details d = {.b = b,
                        .positions = BUILDER_ARRAY(b, float, vertices * 3),
                        .shared = BUILDER_ARRAY(b, uint8_t, vertices),
                        .indices = BUILDER_ARRAY(b, uint32_t, indices * MODEL_DETAILS_MAX),
                        .used = BUILDER_ARRAY(b, uint8_t, vertices)};
    d.work[0] = BUILDER_ARRAY(b, uint32_t, indices);
    d.work[1] = BUILDER_ARRAY(b, uint32_t, indices);
    if (!d.positions || !d.shared || !d.indices || !d.used || !d.work[0] || !d.work[1])
        return builder_no_memory(b);
    if (rest_positions(&d) != ERR_OK)
        return fault_set(b->fault, ERR_MEMORY, "no memory for the model's coarser details");
    measure(&d);
    enum err e = find_shared(&d);
    if (e == ERR_OK) e = make_details(&d);
    return e;
}
