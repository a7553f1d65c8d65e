#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/simd.h"
#include "server/character/pose/skeleton.h"
#include "server/character/surface/block.h"
#include "server/model/model.h"

// Skinning of blocks: base space in, model space out.
//   LBS: T = sum w S, L its 3x3 part; K = T x
//   DQ:  S = R H (polar); L = R H with H = sum w H first, then the dual quaternion of the R with
//        signs aligned to the influence that weighs most (the first of equals)
//   n = normalise(sign(det L) * cofactor(L) * n0'); where that vanishes (an axis scaled to
//   nothing) n0' itself.
// Kernels: plain, NEON, AVX2, AVX-512, within 1e-5 of the box diagonal of each other; within one
// kernel a block's bits depend on nothing but its own input.
struct skin_job {
    const struct model *model;
    enum simd_level level;                         // simd_best(), asked once at start
    enum model_skinning skinning;                  // which of the two palettes is read
    const struct skeleton_slot *palette;           // slots_count; LBS
    const struct skeleton_dual_slot *dual_palette; // skeleton_dual_count; DQ
    size_t block_first, block_count;               // range of the model's blocks; may be empty
    const struct model_rest_block *rest;           // of block_first: model->rest + block_first,
                                                   // or the face's copy of these blocks
    struct surface_block *out;                     // block_count; overlaps no input
};
// Borrows all pointers for the call; safe to run concurrently on jobs whose outputs are disjoint.
void skin_run(const struct skin_job *job);

// Several roots under dual quaternions do not fold: each root carries the vertex by itself, and the
// places are mixed by the roots' shares; L is the mix of theirs. What a root's gain leaves is
// carried by the first root's pose of the same joints. One lane at a time.
bool skin_is_apart(const struct skin_job *job);
void skin_apart(const struct skin_job *job);

// Tangents of the same range: L t, made square to the skinned normal, unit. `skinned` is
// what skin_run gave. Models without tangents (tangents_count == 0) must not call it.
void skin_tangents(const struct skin_job *job, const struct surface_block *skinned,
                   struct surface_tangent_block *out);

// The 3x3 part L that carries base-space directions of one lane (block * 16 + place) into the
// pose: for correctives and for the bake. Columns. The first is LBS's, the second DQ's R H.
void skin_linear_part(const struct model *m, const struct skeleton_slot *palette, uint32_t lane,
                      double linear[3][3]);
void skin_dual_linear_part(const struct model *m, const struct skeleton_dual_slot *palette,
                           uint32_t lane, double linear[3][3]);
// And where DQ carries the point x of base space, with that L: mixed over the roots.
void skin_dual_point(const struct model *m, const struct skeleton_dual_slot *palette, uint32_t lane,
                     const double x[3], double position[3], double linear[3][3]);
