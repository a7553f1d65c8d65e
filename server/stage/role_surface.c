#include <mbedtls/sha256.h>
#include <string.h>

#include "common/check.h"
#include "proto/appearance_message.h"
#include "proto/wire.h"
#include "server/character/surface/surface.h"
#include "server/stage/role_own.h"

// Topology as SURFACE carries it. Three numberings: source vertex (the model's), stream vertex
// (place in detail 0), detail vertex (place in a coarser detail, ascending by stream vertex).

struct topology {
    struct role_build *b;
    const struct model *m;
    size_t vertex_count;
    uint32_t *order; // [stream] -> source
    uint32_t *place; // [source] -> stream
    struct surface_message_source message;
};

static enum err check_limits(struct role_build *b)
{
    const struct model *m = b->role->model;
    if (m->vertex_lanes_count <= SURFACE_VERTICES_MAX && m->indices_count <= SURFACE_INDICES_MAX &&
        m->parts_count <= SURFACE_PARTS_MAX && m->materials_count <= APPEARANCE_MATERIALS_MAX)
        return ERR_OK;
    return fault_set(b->fault, ERR_LIMIT,
                     "%s has %zu vertices, %zu indices, %zu parts and %zu materials; a stream "
                     "carries %d, %d, %d and %d at most",
                     b->options->name, m->vertex_lanes_count, m->indices_count, m->parts_count,
                     m->materials_count, SURFACE_VERTICES_MAX, SURFACE_INDICES_MAX,
                     SURFACE_PARTS_MAX, APPEARANCE_MATERIALS_MAX);
}

// Rows of the rest surface by source vertex: what the order is chosen with.
static enum err rest_rows(struct topology *t, struct surface_row *rows)
{
    const struct model *m = t->m;
    struct role *r = t->b->role;
    struct arena arena;
    size_t out_bytes = m->blocks_count * sizeof(struct surface_block);
    if (!arena_create(&arena, surface_bytes(m, &r->map, NULL) + pose_bytes(m) + out_bytes + 4096))
        return role_no_memory(t->b);
    struct surface_job job = {.model = m,
                              .map = &r->map,
                              .pose = pose_take(m, &arena),
                              .skinning = (enum model_skinning)m->info->skinning,
                              .level = SIMD_PLAIN, // the same order on every machine
                              .out = arena_take(&arena, out_bytes)};
    pose_rest(m, job.pose);
    surface_run(&job, &arena);
    struct surface_row *lane_rows =
        ROLE_SCRATCH(t->b, struct surface_row, m->blocks_count * MODEL_LANES);
    if (lane_rows) {
        struct surface_quantise_job quantise = {
            .level = SIMD_PLAIN,
            .blocks = job.out[0].position[0],
            .block_count = m->blocks_count,
            .grid = surface_grid_fit(m->info->box_min, m->info->box_max, SURFACE_BITS_DEFAULT, 0),
            .rows = lane_rows};
        (void)surface_quantise(&quantise); // clamped rows are good enough to compare orders
        for (size_t v = 0; v < t->vertex_count; v++)
            rows[v] = lane_rows[m->vertex_lanes[v]];
    }
    arena_destroy(&arena);
    return lane_rows ? ERR_OK : role_no_memory(t->b);
}

// Corners of triangle parts, by `to` (source vertex -> number); lines and points are left out.
static size_t list_triangles(const struct model *m, const struct model_detail *d,
                             const uint32_t *to, uint32_t *out)
{
    size_t count = 0;
    for (size_t i = 0; i < m->parts_count; i++) {
        if (m->parts[i].topology != MODEL_TRIANGLES) continue;
        const struct model_detail_part *range = d ? &m->detail_parts[d->part_first + i] : NULL;
        const uint32_t *from =
            range ? m->detail_indices + range->index_first : m->indices + m->parts[i].index_first;
        uint32_t n = range ? range->index_count : m->parts[i].index_count;
        for (uint32_t k = 0; k < n; k++)
            out[count++] = to ? to[from[k]] : from[k];
    }
    return count;
}

static enum err choose_order(struct topology *t)
{
    struct role_build *b = t->b;
    uint32_t *triangles = ROLE_SCRATCH(b, uint32_t, t->m->indices_count);
    struct surface_row *rows = ROLE_SCRATCH(b, struct surface_row, t->vertex_count);
    t->order = ROLE_KEEP(b, uint32_t, t->vertex_count);
    t->place = ROLE_SCRATCH(b, uint32_t, t->vertex_count);
    if (!triangles || !rows || !t->order || !t->place) return role_no_memory(b);
    enum err e = rest_rows(t, rows);
    if (e != ERR_OK) return e;
    size_t count = list_triangles(t->m, NULL, NULL, triangles);
    if (surface_order_choose(triangles, count, t->m->weld, rows, t->vertex_count, t->order))
        return role_no_memory(b);
    for (uint32_t i = 0; i < t->vertex_count; i++)
        t->place[t->order[i]] = i;
    return ERR_OK;
}

// The first in `sources` of those at one place stands for all of them.
static uint32_t *weld_list(struct topology *t, const uint32_t *sources, uint32_t count)
{
    uint32_t *first = ROLE_SCRATCH(t->b, uint32_t, t->vertex_count);
    uint32_t *weld = ROLE_SCRATCH(t->b, uint32_t, count);
    if (!first || !weld) return NULL;
    for (uint32_t i = count; i-- > 0;)
        first[t->m->weld[sources[i]]] = i;
    for (uint32_t i = 0; i < count; i++)
        weld[i] = first[t->m->weld[sources[i]]];
    return weld;
}

static void fill_parts(const struct topology *t, const struct model_detail *d, const uint32_t *to,
                       struct surface_part *parts, uint32_t *indices, uint32_t *index_count)
{
    const struct model *m = t->m;
    uint32_t at = 0;
    for (size_t i = 0; i < m->parts_count; i++) {
        const struct model_part *p = &m->parts[i];
        const struct model_detail_part *range = d ? &m->detail_parts[d->part_first + i] : NULL;
        const uint32_t *from =
            range ? m->detail_indices + range->index_first : m->indices + p->index_first;
        uint32_t n = range ? range->index_count : p->index_count;
        parts[i] = (struct surface_part){
            .node = m->nodes[p->node].source,
            .mesh = p->mesh,
            .primitive = p->primitive,
            .material = p->material == MODEL_NONE ? UINT32_MAX : (uint32_t)p->material,
            .topology = p->topology, // the two enums agree
            .source_first = p->vertex_first,
            .source_count = p->vertex_count,
            .index_first = at,
            .index_count = n};
        for (uint32_t k = 0; k < n; k++)
            indices[at++] = to[from[k]];
    }
    *index_count = at;
}

// One detail; `sources`: the source vertex of each of its vertices, in its order.
static enum err add_detail(struct topology *t, const struct model_detail *d,
                           const uint32_t *sources, uint32_t count)
{
    struct role_build *b = t->b;
    struct role *r = b->role;
    size_t indices_max = d ? t->m->detail_indices_count : t->m->indices_count;
    uint32_t *to = ROLE_SCRATCH(b, uint32_t, t->vertex_count);
    uint32_t *triangles = ROLE_SCRATCH(b, uint32_t, indices_max);
    uint32_t *indices = ROLE_SCRATCH(b, uint32_t, indices_max);
    uint32_t *vertices = ROLE_SCRATCH(b, uint32_t, count);
    struct surface_part *parts = ROLE_SCRATCH(b, struct surface_part, t->m->parts_count);
    uint32_t *lanes = ROLE_KEEP(b, uint32_t, count);
    uint16_t *predictors = ROLE_KEEP(b, uint16_t, (size_t)count * SURFACE_PREDICTORS_WIDTH);
    uint32_t *weld = weld_list(t, sources, count);
    if (!to || !triangles || !indices || !vertices || !parts || !lanes || !predictors || !weld)
        return role_no_memory(b);
    for (uint32_t i = 0; i < count; i++) {
        to[sources[i]] = i;
        lanes[i] = t->m->vertex_lanes[sources[i]];
        vertices[i] = d ? t->place[sources[i]] : sources[i];
    }
    size_t triangle_count = list_triangles(t->m, d, to, triangles);
    if (surface_predictors_make(triangles, triangle_count, weld, count, predictors))
        return role_no_memory(b);
    uint32_t index_count;
    fill_parts(t, d, to, parts, indices, &index_count);
    r->details[r->detail_count] = (struct role_detail){.vertex_count = count,
                                                       .index_count = index_count,
                                                       .error = d ? d->error : 0,
                                                       .lanes = lanes,
                                                       .predictors = predictors};
    t->message.lods[r->detail_count++] =
        (struct surface_message_lod){.vertex_count = count,
                                     .index_count = index_count,
                                     .part_count = (uint32_t)t->m->parts_count,
                                     .error = d ? d->error : 0,
                                     .parts = parts,
                                     .indices = indices,
                                     .vertices = vertices,
                                     .predictors = predictors};
    t->message.lod_count = r->detail_count;
    return ERR_OK;
}

static enum err add_coarser(struct topology *t, const struct model_detail *d)
{
    uint8_t *used = ROLE_SCRATCH(t->b, uint8_t, t->vertex_count);
    uint32_t *sources = ROLE_SCRATCH(t->b, uint32_t, d->vertex_count);
    if (!used || !sources) return role_no_memory(t->b);
    for (uint32_t k = 0; k < d->vertex_count; k++)
        used[t->m->detail_vertices[d->vertex_first + k]] = 1;
    uint32_t count = 0;
    for (size_t i = 0; i < t->vertex_count; i++)
        if (used[t->order[i]]) sources[count++] = t->order[i];
    CHECK(count == d->vertex_count);
    return add_detail(t, d, sources, count);
}

static uint8_t to_byte(float value)
{
    float scaled = value * 255.0f + 0.5f;
    return (uint8_t)(scaled > 255 ? 255 : scaled > 0 ? scaled : 0);
}

// UV and colour sets in stream order; parts that lack a set get zeros, and white.
static enum err add_attributes(struct topology *t)
{
    const struct model *m = t->m;
    struct surface_message_source *s = &t->message;
    for (size_t i = 0; i < m->parts_count; i++) {
        uint32_t uv = m->parts[i].uv_set_count, color = m->parts[i].color_set_count;
        if (uv > s->uv_set_count) s->uv_set_count = uv;
        if (color > s->color_set_count) s->color_set_count = color;
    }
    if (s->uv_set_count > SURFACE_UV_SETS_MAX) s->uv_set_count = SURFACE_UV_SETS_MAX;
    if (s->color_set_count > SURFACE_UV_SETS_MAX) s->color_set_count = SURFACE_UV_SETS_MAX;
    for (uint32_t set = 0; set < s->uv_set_count; set++) {
        float *uvs = ROLE_SCRATCH(t->b, float, 2 * t->vertex_count);
        if (!uvs) return role_no_memory(t->b);
        for (size_t i = 0; i < m->parts_count; i++) {
            const struct model_part *p = &m->parts[i];
            for (uint32_t v = 0; set < p->uv_set_count && v < p->vertex_count; v++)
                memcpy(uvs + 2 * (size_t)t->place[p->vertex_first + v],
                       m->uvs + 2 * ((size_t)p->uv_first + (size_t)set * p->vertex_count + v),
                       2 * sizeof(float));
        }
        s->uvs[set] = uvs;
    }
    for (uint32_t set = 0; set < s->color_set_count; set++) {
        uint8_t *colors = ROLE_SCRATCH(t->b, uint8_t, 4 * t->vertex_count);
        if (!colors) return role_no_memory(t->b);
        memset(colors, 255, 4 * t->vertex_count);
        for (size_t i = 0; i < m->parts_count; i++) {
            const struct model_part *p = &m->parts[i];
            const float *from =
                m->colors + 4 * ((size_t)p->color_first + (size_t)set * p->vertex_count);
            for (size_t k = 0; set < p->color_set_count && k < 4 * (size_t)p->vertex_count; k++)
                colors[4 * (size_t)t->place[p->vertex_first + k / 4] + k % 4] = to_byte(from[k]);
        }
        s->colors[set] = colors;
    }
    return ERR_OK;
}

static enum err encode(struct topology *t)
{
    enum { VERSION_AT = 4, HASH_AT = 48 }; // in SURFACE: proto/README.md
    struct role_build *b = t->b;
    const struct model_info *info = t->m->info;
    struct surface_message_source *s = &t->message;
    s->model = b->role->number;
    s->unit_m = info->unit_m;
    memcpy(s->box_min, info->box_min, sizeof s->box_min);
    memcpy(s->box_max, info->box_max, sizeof s->box_max);
    size_t bound = surface_message_bound(s), size = 0;
    uint8_t *bytes = bound ? ROLE_SCRATCH(b, uint8_t, bound) : NULL;
    if (!bytes) return role_no_memory(b);
    enum err e = surface_message_encode(s, bytes, bound, &size);
    if (e != ERR_OK)
        return fault_set(b->fault, e, "the surface of %s cannot be sent: %s", b->options->name,
                         err_text(e));
    uint8_t *kept = ROLE_KEEP(b, uint8_t, size);
    if (!kept) return role_no_memory(b);
    // Of the content as it is sent, so that two bakes that look the same to a client are the same.
    uint8_t digest[32];
    if (mbedtls_sha256_ret(bytes, size, digest, 0) != 0) return role_no_memory(b);
    memcpy(kept, bytes, size);
    memcpy(kept + HASH_AT, digest, sizeof(uint64_t));
    struct wire_writer version = wire_write(kept + VERSION_AT, sizeof(uint32_t));
    wire_put_u32(&version, b->role->version);
    b->role->own->surface_version = kept + VERSION_AT;
    b->role->surface = kept;
    b->role->surface_bytes = size;
    return ERR_OK;
}

enum err role_build_surface(struct role_build *b)
{
    struct topology t = {
        .b = b, .m = b->role->model, .vertex_count = model_vertex_count(b->role->model)};
    enum err e = check_limits(b);
    if (e == ERR_OK) e = choose_order(&t);
    if (e == ERR_OK) e = add_detail(&t, NULL, t.order, (uint32_t)t.vertex_count);
    for (size_t i = 0; e == ERR_OK && i < t.m->details_count; i++)
        e = add_coarser(&t, &t.m->details[i]);
    if (e == ERR_OK) e = add_attributes(&t);
    if (e == ERR_OK) e = encode(&t);
    return e;
}
