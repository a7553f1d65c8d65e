#include <string.h>

#include "common/check.h"
#include "proto/surface/kernels.h"
#include "proto/surface/payload.h"
#include "proto/wire.h"

void surface_restore_plain(struct surface_row *deltas, const uint16_t *predictors,
                           enum surface_predictor predictor, size_t first, size_t count,
                           const uint8_t *planes)
{
    for (size_t i = first; i < count; i++) {
        int16_t p[5];
        struct surface_row d = {0};
        payload_predict(deltas + i, predictors + SURFACE_PREDICTORS_WIDTH * i, predictor, p);
        for (size_t k = 0; k < 3; k++) {
            uint16_t z = (uint16_t)(planes[k * count + i] << 8 | planes[(3 + k) * count + i]);
            d.position[k] = (uint16_t)(p[k] + payload_unzigzag16(z));
        }
        for (size_t k = 0; k < 2; k++)
            d.normal[k] = payload_wrap8(p[3 + k] + payload_unzigzag8(planes[(6 + k) * count + i]));
        deltas[i] = d;
    }
}

bool surface_add_plain(const struct surface_decode_job *job, const struct surface_row *deltas)
{
    static const struct surface_row zero = {0};
    uint32_t seen = 0; // all position bits that occur
    bool normals_fit = true;
    for (size_t i = 0; i < job->vertex_count; i++) {
        const struct surface_row *from = job->anchor ? &job->anchor[i] : &zero;
        struct surface_row row = {0};
        for (int k = 0; k < 3; k++) {
            row.position[k] = (uint16_t)(deltas[i].position[k] + from->position[k]);
            seen |= row.position[k];
        }
        for (int k = 0; k < 2; k++) {
            row.normal[k] = payload_wrap8(deltas[i].normal[k] + from->normal[k]);
            normals_fit &= row.normal[k] != -128;
        }
        job->rows[i] = row;
    }
    return normals_fit && seen >> job->bits == 0;
}

// The planes that are missing are zero; those that are there move from the front to their place.
static void spread_planes(uint8_t *planes, uint8_t mask, size_t kept, size_t count)
{
    for (int k = SURFACE_PLANES - 1; k >= 0; k--) {
        uint8_t *plane = planes + (size_t)k * count;
        if (mask >> k & 1) {
            kept--;
            if (count) memmove(plane, planes + kept * count, count);
        } else if (count) {
            memset(plane, 0, count);
        }
    }
}

enum err surface_decode(const struct surface_decode_job *job, struct surface_packer *packer)
{
    size_t count = job->vertex_count;
    CHECK(count <= packer->vertices_max);
    CHECK(job->bits >= SURFACE_BITS_MIN && job->bits <= SURFACE_BITS_MAX);
    CHECK(job->rows != job->anchor);
    DCHECK(surface_predictors_valid(job->predictors, count));
    if (job->size_bytes < PAYLOAD_HEAD_BYTES) return ERR_TRUNCATED;
    uint8_t predictor = job->payload[0], mask = job->payload[1], packing = job->payload[2];
    if (predictor > SURFACE_PARALLELOGRAM || packing > PAYLOAD_ZSTD || job->payload[3] != 0)
        return ERR_MALFORMED;
    size_t kept = 0, packed_bytes = job->size_bytes - PAYLOAD_HEAD_BYTES;
    const uint8_t *packed = job->payload + PAYLOAD_HEAD_BYTES;
    for (int k = 0; k < SURFACE_PLANES; k++)
        kept += mask >> k & 1;
    if (packing == PAYLOAD_STORED) {
        if (packed_bytes < kept * count) return ERR_TRUNCATED;
        if (packed_bytes > kept * count) return ERR_MALFORMED;
        if (packed_bytes) memcpy(packer->planes, packed, packed_bytes);
    } else if (!surface_packer_unpack(packer, packed, packed_bytes, packer->planes, kept * count)) {
        return ERR_MALFORMED;
    }
    spread_planes(packer->planes, mask, kept, count);
    struct surface_row *deltas = packer->deltas + 1;
#if defined(__x86_64__)
    if (job->level >= SIMD_AVX2) {
        surface_restore_avx2(deltas, job->predictors, predictor, count, packer->planes);
        return surface_add_avx2(job, deltas) ? ERR_OK : ERR_MALFORMED;
    }
#endif
    surface_restore_plain(deltas, job->predictors, predictor, 0, count, packer->planes);
    return surface_add_plain(job, deltas) ? ERR_OK : ERR_MALFORMED;
}

enum err surface_decode_raw_check(const uint8_t *payload, size_t size_bytes, size_t vertex_count)
{
    if (size_bytes < vertex_count * SURFACE_RAW_VERTEX_BYTES) return ERR_TRUNCATED;
    if (size_bytes > vertex_count * SURFACE_RAW_VERTEX_BYTES) return ERR_MALFORMED;
    struct wire_reader r = wire_read(payload, size_bytes);
    for (size_t i = 0; i < vertex_count * 6; i++) {
        float value = wire_f32(&r);
        if (!wire_finite(&value, 1)) return ERR_MALFORMED;
    }
    return ERR_OK;
}
