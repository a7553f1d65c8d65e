#pragma once
#include <stdint.h>

#include "proto/surface/kernels.h"

// Inside the codec: payload layout and the integer arithmetic that both ends must share bit for
// bit. proto/README.md and client/web/src/proto/surface.ts say the same.
//
// Payload: u8 predictor, u8 planes present (bit k: plane k), u8 packing, u8 zero, then the planes.

enum { PAYLOAD_HEAD_BYTES = 4 };
enum payload_packing { PAYLOAD_STORED, PAYLOAD_ZSTD };

// The signed byte that a sum wraps to.
static inline int16_t payload_wrap8(int value)
{
    int low = value & 0xff;
    return (int16_t)(low < 128 ? low : low - 256);
}
static inline uint16_t payload_zigzag16(uint16_t r)
{
    return (uint16_t)(r << 1 ^ (r & 0x8000 ? 0xffff : 0));
}
static inline uint16_t payload_unzigzag16(uint16_t z)
{
    return (uint16_t)(z >> 1 ^ (z & 1 ? 0xffff : 0));
}
static inline uint8_t payload_zigzag8(uint8_t r)
{
    return (uint8_t)(r << 1 ^ (r & 0x80 ? 0xff : 0));
}
static inline uint8_t payload_unzigzag8(uint8_t z)
{
    return (uint8_t)(z >> 1 ^ (z & 1 ? 0xff : 0));
}

static inline void payload_channels(const struct surface_row *row, int16_t out[5])
{
    for (int k = 0; k < 3; k++)
        out[k] = (int16_t)row->position[k];
    out[3] = row->normal[0];
    out[4] = row->normal[1];
}

// What the parents of `at` foretell. Sums of two 16-bit numbers; shifts round towards minus
// infinity. One pair rounds up and the other down, so that the mean has no drift.
static inline void payload_predict(const struct surface_row *at, const uint16_t *back,
                                   enum surface_predictor predictor, int16_t out[5])
{
    int16_t parents[4][5] = {{0}};
    const uint16_t *use = predictor == SURFACE_MEAN ? back : back + 4;
    int parent_count = predictor == SURFACE_MEAN ? 4 : 3;
    for (int j = 0; j < parent_count; j++)
        payload_channels(at - use[j], parents[j]);
    for (int k = 0; k < 5; k++) {
        int a = parents[0][k], b = parents[1][k], c = parents[2][k];
        if (predictor == SURFACE_PARALLELOGRAM) {
            out[k] = (int16_t)(a + b - c);
            continue;
        }
        int d = parents[3][k];
        out[k] = (int16_t)((((a + b + 1) >> 1) + ((c + d) >> 1) + 1) >> 1);
    }
}
