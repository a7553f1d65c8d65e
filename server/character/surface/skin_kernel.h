#pragma once
#include <stddef.h>
#include <stdint.h>

#include "server/character/pose/skeleton.h"
#include "server/character/surface/block.h"
#include "server/model/model.h"

// What the kernels of skin.c share. Each stands in a file of its own, compiled for one
// instruction set, and sees plain floats only.
struct skin_blocks {
    size_t count;
    const struct model_block *blocks;    // count
    const struct model_rest_block *rest; // count
    struct surface_block *restrict out;  // count
    const uint16_t *block_slots;         // the model's
    const float *weights;                // the model's
    const struct skeleton_slot *palette; // linear
    const struct skeleton_dual_slot *dual_palette;
};

// Below this squared length a normal has vanished: an axis was scaled to nothing.
#define SKIN_NORMAL_VANISHED 1e-36f

// det(L)^2 over |first column|^2 |its cofactors|^2 below which L counts as flat, not as a mirror:
// an axis scaled to nothing leaves a determinant of rounding noise, and normals must not flicker.
#define SKIN_FLAT 1e-12f

void skin_linear_plain(const struct skin_blocks *b);
void skin_dual_plain(const struct skin_blocks *b);
void skin_linear_avx2(const struct skin_blocks *b);
void skin_dual_avx2(const struct skin_blocks *b);
void skin_linear_avx512(const struct skin_blocks *b);
void skin_dual_avx512(const struct skin_blocks *b);
void skin_linear_neon(const struct skin_blocks *b);
void skin_dual_neon(const struct skin_blocks *b);
