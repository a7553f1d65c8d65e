#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/surface/codec.h"

// Vertices in the order in which triangles first use them; then those that no triangle uses.
// Indices come in vertex-cache order (the bake's), so neighbours end up near each other.
enum err surface_order_make(const uint32_t *indices, size_t index_count, size_t vertex_count,
                            uint32_t *order)
{
    uint8_t *used = calloc(vertex_count + 1, 1);
    if (!used) return ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < index_count; i++) {
        CHECK(indices[i] < vertex_count);
        if (used[indices[i]]) continue;
        used[indices[i]] = 1;
        order[n++] = indices[i];
    }
    for (size_t v = 0; v < vertex_count; v++)
        if (!used[v]) order[n++] = (uint32_t)v;
    CHECK(n == vertex_count);
    free(used);
    return ERR_OK;
}

// One try of an order; memory for it is taken once.
struct order_trial {
    const uint32_t *source_indices, *source_weld; // what is tried: borrowed
    const struct surface_row *rest;
    size_t index_count, vertex_count;
    struct surface_packer *packer;
    uint32_t *place, *indices, *weld, *first_at; // [vertex] -> place; indices and weld by place
    uint16_t *predictors;
    struct surface_row *current;
    uint8_t *out;
    void *memory[7];
};

static enum err trial_open(struct order_trial *t)
{
    size_t index_count = t->index_count, vertex_count = t->vertex_count;
    size_t sizes[7] = {vertex_count * 4,
                       index_count * 4,
                       vertex_count * 4,
                       vertex_count * 4,
                       vertex_count * SURFACE_PREDICTORS_WIDTH * 2,
                       vertex_count * sizeof(struct surface_row),
                       surface_encode_bound(vertex_count)};
    enum err e = surface_packer_create(vertex_count, &t->packer);
    for (int i = 0; i < 7 && !e; i++) {
        t->memory[i] = malloc(sizes[i] + 16);
        if (!t->memory[i]) e = ERR_MEMORY;
    }
    t->place = t->memory[0];
    t->indices = t->memory[1];
    t->weld = t->memory[2];
    t->first_at = t->memory[3];
    t->predictors = t->memory[4];
    t->current = t->memory[5];
    t->out = t->memory[6];
    return e;
}

static void trial_close(struct order_trial *t)
{
    surface_packer_destroy(t->packer);
    for (int i = 0; i < 7; i++)
        free(t->memory[i]);
}

static enum err trial_size(struct order_trial *t, const uint32_t *order, size_t *size_bytes)
{
    const uint32_t *indices = t->source_indices, *weld = t->source_weld;
    size_t index_count = t->index_count, vertex_count = t->vertex_count;
    for (size_t i = 0; i < vertex_count; i++)
        t->place[order[i]] = (uint32_t)i;
    for (size_t i = 0; i < index_count; i++)
        t->indices[i] = t->place[indices[i]];
    // The first in stream order of each weld stands for all of them.
    for (size_t v = 0; weld && v < vertex_count; v++)
        t->first_at[v] = UINT32_MAX;
    for (size_t i = 0; weld && i < vertex_count; i++) {
        uint32_t group = weld[order[i]];
        if (t->first_at[group] == UINT32_MAX) t->first_at[group] = (uint32_t)i;
        t->weld[i] = t->first_at[group];
    }
    enum err e = surface_predictors_make(t->indices, index_count, weld ? t->weld : NULL,
                                         vertex_count, t->predictors);
    if (e) return e;
    struct surface_encode_job job = {.level = SIMD_PLAIN,
                                     .lane_rows = t->rest,
                                     .lanes = order,
                                     .vertex_count = vertex_count,
                                     .predictors = t->predictors,
                                     .current = t->current,
                                     .out = t->out,
                                     .capacity_bytes = surface_encode_bound(vertex_count)};
    surface_encode(&job, t->packer);
    *size_bytes = job.size_bytes;
    return ERR_OK;
}

enum err surface_order_choose(const uint32_t *indices, size_t index_count, const uint32_t *weld,
                              const struct surface_row *rest, size_t vertex_count, uint32_t *order)
{
    struct order_trial t = {.source_indices = indices,
                            .source_weld = weld,
                            .rest = rest,
                            .index_count = index_count,
                            .vertex_count = vertex_count};
    size_t local = 0, source = 0;
    uint32_t *same = malloc((vertex_count + 1) * sizeof *same);
    enum err e = same ? trial_open(&t) : ERR_MEMORY;
    for (size_t v = 0; same && v < vertex_count; v++)
        same[v] = (uint32_t)v;
    if (!e) e = surface_order_make(indices, index_count, vertex_count, order);
    if (!e) e = trial_size(&t, order, &local);
    if (!e) e = trial_size(&t, same, &source);
    if (!e && source <= local && vertex_count) memcpy(order, same, vertex_count * sizeof *order);
    trial_close(&t);
    free(same);
    return e;
}
