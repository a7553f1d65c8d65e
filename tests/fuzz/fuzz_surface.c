// The surface decoder: any payload gives an error or rows in range, the same at every SIMD level,
// and what was decoded can be encoded and decoded to itself.
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/surface/codec.h"
#include "proto/wire.h"

enum { VERTICES_MAX = 300 };
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
    struct surface_packer *packer;
    uint16_t predictors[VERTICES_MAX * SURFACE_PREDICTORS_WIDTH];
    uint32_t lanes[VERTICES_MAX];
    _Alignas(16) struct surface_row anchor[VERTICES_MAX], plain[VERTICES_MAX], wide[VERTICES_MAX];
    _Alignas(16) struct surface_row current[VERTICES_MAX];
    uint8_t out[VERTICES_MAX * SURFACE_RAW_VERTEX_BYTES + 4096];
};

static struct memory *memory(void)
{
    static struct memory m; // a fuzz target keeps it for the process
    if (m.packer) return &m;
    CHECK(surface_packer_create(VERTICES_MAX, &m.packer) == ERR_OK);
    uint32_t indices[3 * VERTICES_MAX];
    for (uint32_t i = 0; i < VERTICES_MAX; i++) {
        m.lanes[i] = i;
        for (uint32_t k = 0; k < 3; k++)
            indices[3 * i + k] = (i * (7 + k) + k) % VERTICES_MAX;
    }
    CHECK(surface_predictors_make(indices, 3 * VERTICES_MAX, NULL, VERTICES_MAX, m.predictors) ==
          ERR_OK);
    return &m;
}

static void check_rows(struct memory *m, struct surface_decode_job *job)
{
    for (size_t i = 0; i < job->vertex_count; i++) {
        const struct surface_row *r = &m->plain[i];
        CHECK((r->position[0] | r->position[1] | r->position[2]) >> job->bits == 0);
        CHECK(abs(r->normal[0]) <= 127 && abs(r->normal[1]) <= 127);
        CHECK(r->zero[0] == 0 && r->zero[1] == 0 && r->zero[2] == 0);
    }
    struct surface_encode_job encode = {.lane_rows = m->plain,
                                        .lanes = m->lanes,
                                        .vertex_count = job->vertex_count,
                                        .predictors = m->predictors,
                                        .anchor = job->anchor,
                                        .current = m->current,
                                        .out = m->out,
                                        .capacity_bytes = sizeof m->out};
    surface_encode(&encode, m->packer);
    if (encode.still) return;
    job->payload = m->out;
    job->size_bytes = encode.size_bytes;
    job->rows = m->wide;
    CHECK(surface_decode(job, m->packer) == ERR_OK);
    CHECK(memcmp(m->wide, m->plain, job->vertex_count * sizeof m->plain[0]) == 0);
}

// data: u16 vertex count, u8 bits, u8 anchor seed (0: a key frame), the payload.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory *m = memory();
    struct wire_reader r = wire_read(data, size);
    size_t vertex_count = wire_u16(&r) % (VERTICES_MAX + 1);
    uint8_t bits = (uint8_t)(SURFACE_BITS_MIN + wire_u8(&r) % 7), seed = wire_u8(&r);
    if (r.failed) return 0;
    for (uint32_t i = 0; i < VERTICES_MAX; i++)
        m->anchor[i] = (struct surface_row){
            .position = {(uint16_t)(seed * i % (1u << bits)), seed, (uint16_t)((1u << bits) - 1)},
            .normal = {(int16_t)(seed * i % 255 - 127), -127}};
    size_t left = wire_left(&r);
    uint8_t *exact = malloc(left + 1);
    memcpy(exact, r.at, left);
    struct surface_decode_job job = {.level = SIMD_PLAIN,
                                     .payload = exact,
                                     .size_bytes = left,
                                     .vertex_count = vertex_count,
                                     .bits = bits,
                                     .predictors = m->predictors,
                                     .anchor = seed ? m->anchor : NULL,
                                     .rows = m->plain};
    enum err e = surface_decode(&job, m->packer);
    if (simd_has(SIMD_AVX2)) {
        job.level = SIMD_AVX2;
        job.rows = m->wide;
        CHECK(surface_decode(&job, m->packer) == e);
        if (!e) CHECK(memcmp(m->wide, m->plain, vertex_count * sizeof m->plain[0]) == 0);
        job.level = SIMD_PLAIN;
    }
    if (!e) check_rows(m, &job);
    (void)!surface_decode_raw_check(exact, left, vertex_count);
    free(exact);
    return 0;
}
