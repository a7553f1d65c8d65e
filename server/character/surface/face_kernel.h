#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "server/character/surface/face.h"

// What the kernels of face.c share: one row at a time, plain floats, each in a file of its own for
// one instruction set. Contraction is off and every lane is summed in channel order, so all kernels
// give the same bits.
struct face_row {
    const struct face *face;
    uint32_t first; // of the row's active deltas; there is one at least
    uint32_t lane_count;
    const struct model_rest_block *rest;
    struct model_rest_block *out;
    float *before; // x y z of 16 lanes: M0 plus the deltas that brought normals; may be NULL
};
// Whether channels without normal deltas moved any of it.
typedef bool face_row_fn(const struct face_row *row);
face_row_fn face_row_plain, face_row_avx2, face_row_avx512, face_row_neon;
