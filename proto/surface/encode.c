#include <math.h>
#include <string.h>
#include <zstd.h>

#include "common/check.h"
#include "proto/surface/kernels.h"
#include "proto/surface/payload.h"

size_t surface_encode_bound(size_t vertex_count)
{
    size_t grid = PAYLOAD_HEAD_BYTES + ZSTD_compressBound(SURFACE_PLANES * vertex_count);
    size_t raw = SURFACE_RAW_VERTEX_BYTES * vertex_count;
    return grid > raw ? grid : raw;
}

void surface_delta_plain(const struct surface_encode_job *job, struct surface_row *deltas)
{
    static const struct surface_row zero = {0};
    for (size_t i = 0; i < job->vertex_count; i++) {
        const struct surface_row *row = &job->lane_rows[job->lanes[i]];
        const struct surface_row *from = job->anchor ? &job->anchor[i] : &zero;
        struct surface_row d = {0};
        for (int k = 0; k < 3; k++)
            d.position[k] = (uint16_t)(row->position[k] - from->position[k]);
        for (int k = 0; k < 2; k++)
            d.normal[k] = payload_wrap8(row->normal[k] - from->normal[k]);
        job->current[i] = *row;
        deltas[i] = d;
    }
}

void surface_residual_plain(const struct surface_row *deltas, const uint16_t *predictors,
                            enum surface_predictor predictor, size_t first, size_t count,
                            uint8_t *planes)
{
    for (size_t i = first; i < count; i++) {
        int16_t p[5], d[5];
        payload_predict(deltas + i, predictors + SURFACE_PREDICTORS_WIDTH * i, predictor, p);
        payload_channels(deltas + i, d);
        for (size_t k = 0; k < 3; k++) {
            uint16_t z = payload_zigzag16((uint16_t)(d[k] - p[k]));
            planes[k * count + i] = (uint8_t)(z >> 8);
            planes[(3 + k) * count + i] = (uint8_t)z;
        }
        for (size_t k = 3; k < 5; k++)
            planes[(3 + k) * count + i] = payload_zigzag8((uint8_t)(d[k] - p[k]));
    }
}

// Drops planes of zeros; returns which are left, packed to the front.
static uint8_t squeeze_planes(uint8_t *planes, size_t count)
{
    uint8_t mask = 0;
    uint8_t *to = planes;
    for (int k = 0; k < SURFACE_PLANES; k++) {
        const uint8_t *plane = planes + (size_t)k * count;
        if (count == 0 || (plane[0] == 0 && memcmp(plane, plane + 1, count - 1) == 0)) continue;
        mask = (uint8_t)(mask | 1u << k);
        if (to != plane) memmove(to, plane, count);
        to += count;
    }
    return mask;
}

void surface_encode(struct surface_encode_job *job, struct surface_packer *packer)
{
    size_t count = job->vertex_count;
    CHECK(count <= packer->vertices_max);
    CHECK(job->capacity_bytes >= surface_encode_bound(count));
    CHECK(job->current != job->anchor);
    DCHECK(surface_predictors_valid(job->predictors, count));
    enum surface_predictor predictor = job->anchor ? SURFACE_MEAN : SURFACE_PARALLELOGRAM;
    struct surface_row *deltas = packer->deltas + 1;
#if defined(__x86_64__)
    if (job->level >= SIMD_AVX2) {
        surface_delta_avx2(job, deltas);
        surface_residual_avx2(deltas, job->predictors, predictor, 0, count, packer->planes);
    } else
#endif
    {
        surface_delta_plain(job, deltas);
        surface_residual_plain(deltas, job->predictors, predictor, 0, count, packer->planes);
    }
    uint8_t mask = squeeze_planes(packer->planes, count);
    job->still = job->anchor && mask == 0;
    job->size_bytes = 0;
    if (job->still) return;
    size_t kept = 0;
    for (int k = 0; k < SURFACE_PLANES; k++)
        kept += mask >> k & 1;
    size_t packed =
        surface_packer_pack(packer, packer->planes, kept * count, job->out + PAYLOAD_HEAD_BYTES,
                            job->capacity_bytes - PAYLOAD_HEAD_BYTES);
    bool stored = packed == 0 || packed >= kept * count;
    if (stored) {
        packed = kept * count;
        if (packed) memcpy(job->out + PAYLOAD_HEAD_BYTES, packer->planes, packed);
    }
    job->out[0] = (uint8_t)predictor;
    job->out[1] = mask;
    job->out[2] = stored ? PAYLOAD_STORED : PAYLOAD_ZSTD;
    job->out[3] = 0;
    job->size_bytes = PAYLOAD_HEAD_BYTES + packed;
}

void surface_encode_raw(const float *blocks, const uint32_t *lanes, size_t vertex_count,
                        uint8_t *out)
{
    for (size_t i = 0; i < vertex_count; i++, out += SURFACE_RAW_VERTEX_BYTES) {
        const float *lane = blocks + (size_t)(lanes[i] / SURFACE_LANES) * SURFACE_BLOCK_FLOATS +
                            lanes[i] % SURFACE_LANES;
        for (size_t k = 0; k < 6; k++) {
            float value = lane[k * SURFACE_LANES];
            if (!isfinite(value)) value = 0; // a decoder refuses what is not finite
            memcpy(out + 4 * k, &value, 4);  // little-endian: surface_message.c asserts it
        }
    }
}
