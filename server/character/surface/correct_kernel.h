#pragma once
#include <stdint.h>

#include "server/character/pose/skeleton.h"
#include "server/character/surface/block.h"
#include "server/character/surface/correct.h"
#include "server/model/model.h"

// What the kernels of correct.c share: one row at a time, plain floats, each in a file of its own
// for one instruction set. Contraction is off and every lane is summed in the same order, so all
// kernels give the same bits.
struct correct_row {
    const struct model_block *block;
    const uint16_t *slots;              // the block's
    const float *lane_weights;          // the block's, unused with one influence
    const float *limits;                // 16
    const struct correct_delta *deltas; // delta_count
    uint32_t delta_count;
    const float *weights; // by correct_delta.weight
    const struct model_correction_block *floats;
    const struct model_packed_block *packed;
    const struct skeleton_slot *palette;
    const struct skeleton_dual_slot *dual_palette;
    uint32_t dual_lanes; // bit a lane: Av = R H
    struct surface_block *out;
};
// False when every weight is 0: nothing was touched.
typedef int correct_row_fn(const struct correct_row *row);
correct_row_fn correct_row_plain, correct_row_avx2, correct_row_avx512, correct_row_neon;
