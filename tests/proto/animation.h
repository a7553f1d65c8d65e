#pragma once
#include "proto/surface/codec.h"
#include "tests/testing.h"

// A made-up body in motion, for tests and benchmarks: a tube of ring * along vertices that bends,
// breathes and ripples, in the kernels' layout (blocks of 16 lanes). The same numbers on every
// machine as far as sinf is.
struct animation {
    uint32_t vertex_count, index_count, block_count;
    uint32_t *indices, *lanes, *order; // order: stream place -> vertex; lanes: stream place -> lane
    float *blocks;
    uint16_t *predictors;
};

static inline void animation_frame(struct animation *a, uint32_t ring, float t)
{
    for (uint32_t lane = 0; lane < a->block_count * SURFACE_LANES; lane++) {
        uint32_t v = lane < a->vertex_count ? lane : a->vertex_count - 1; // padding repeats
        float around = (float)(v % ring) / (float)ring * 6.2831853f;
        float along = (float)(v / ring) / (float)(a->vertex_count / ring) * 1.7f;
        float radius = 0.15f + 0.02f * sinf(9 * along) + 0.004f * sinf(3 * around + 5 * t);
        float bend = 0.5f * sinf(2.5f * t) * along * along;
        float n[3] = {cosf(around), 0.1f * sinf(9 * along + t), sinf(around)};
        float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        float *block = a->blocks + (size_t)(lane / SURFACE_LANES) * 96 + lane % SURFACE_LANES;
        block[0] = radius * cosf(around) + bend;
        block[16] = along + 0.01f * sinf(4 * t);
        block[32] = radius * sinf(around) + 0.1f * sinf(3 * t) * along;
        for (int k = 0; k < 3; k++)
            block[48 + 16 * k] = n[k] / length;
    }
}

static inline struct animation animation_make(uint32_t ring, uint32_t along)
{
    struct animation a = {.vertex_count = ring * along};
    a.block_count = (a.vertex_count + SURFACE_LANES - 1) / SURFACE_LANES;
    a.indices = malloc((size_t)ring * along * 6 * sizeof *a.indices);
    a.lanes = malloc(a.vertex_count * sizeof *a.lanes);
    a.order = malloc(a.vertex_count * sizeof *a.order);
    a.blocks = aligned_alloc(64, (size_t)a.block_count * 96 * sizeof(float));
    a.predictors = malloc((size_t)a.vertex_count * SURFACE_PREDICTORS_WIDTH * 2);
    for (uint32_t j = 0; j + 1 < along; j++)
        for (uint32_t i = 0; i < ring; i++) {
            uint32_t p = j * ring + i, q = j * ring + (i + 1) % ring;
            uint32_t quad[6] = {p, q, p + ring, p + ring, q, q + ring};
            memcpy(a.indices + a.index_count, quad, sizeof quad);
            a.index_count += 6;
        }
    if (surface_order_make(a.indices, a.index_count, a.vertex_count, a.order)) abort();
    uint32_t *place = malloc(a.vertex_count * sizeof *place);
    for (uint32_t i = 0; i < a.vertex_count; i++) {
        a.lanes[i] = a.order[i]; // lane = vertex here
        place[a.order[i]] = i;
    }
    for (uint32_t i = 0; i < a.index_count; i++)
        a.indices[i] = place[a.indices[i]];
    free(place);
    if (surface_predictors_make(a.indices, a.index_count, NULL, a.vertex_count, a.predictors))
        abort();
    animation_frame(&a, ring, 0);
    return a;
}

static inline void animation_free(struct animation *a)
{
    free(a->indices);
    free(a->lanes);
    free(a->order);
    free(a->blocks);
    free(a->predictors);
}
