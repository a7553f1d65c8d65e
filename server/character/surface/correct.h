#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/simd.h"
#include "server/character/pose/skeleton.h"
#include "server/character/surface/block.h"
#include "server/character/surface/turn.h"
#include "server/character/surface/turn_map.h"
#include "server/model/model.h"

// The corrective surface, taken out of base space and laid on the deformed one (method A):
//   C - x0 = sum over drivers and examples of w D', per vertex at most twice its largest example
//   Z      = K' + Av (C - x0)
//   n      = Q n_skin, Q the shortest turn from m(K) to m(Z)
// K is the skinned surface, K' what the extras made of it. Weights below CORRECT_WEIGHT_MIN are
// nothing and cost nothing; vertices that nothing touches keep their bits.
#define CORRECT_WEIGHT_MIN 1e-7

// What a model's drivers can reach; built once a model, immutable and shared then.
struct correct_delta {
    uint32_t weight; // among all weights of the model's drivers
    uint32_t packed; // which of the two tables holds the deltas
    uint32_t at;     // index there
};
struct correct_map {
    struct turn_map turns;
    const uint32_t *delta_first; // [row + 1] into deltas
    const struct correct_delta *deltas;
    const uint8_t *idle; // [weight] it has no deltas
    bool any;            // the model has correctives
};
size_t correct_map_bytes(const struct model *m); // arena space, scratch included
// Lanes that the model's extras move count too. `extra_lanes` [block]: more that something else may
// move between skinning and correctives, so that their normals turn; may be NULL.
void correct_map_build(const struct model *m, const uint16_t *extra_lanes, struct arena *a,
                       struct correct_map *out);

// One frame's correctives.
struct correct {
    const struct model *model;
    const struct correct_map *map;
    enum model_skinning skinning;
    enum simd_level level;
    const float *weights; // of all drivers' centers; 0 where they are nothing
    const struct skeleton_slot *palette;
    const struct skeleton_dual_slot *dual_palette; // when the skinning is DQ or lanes want R H
    struct surface_block *out;                     // K, then K', then Z
    struct normals_place *before, *after;          // [row * MODEL_LANES + lane] K and Z
    uint8_t *moved;                                // [row] Z differs from K
    bool still; // no weight and no extras: Z is K, and no stage has anything to do
};
size_t correct_bytes(const struct model *m, const struct correct_map *map);
// `weights` (driver_weights) is copied; NULL = no correctives this frame. `extras`: some may move
// vertices between correct_keep and correct_lay; normals follow what they do. The rest is borrowed
// for the frame. No stage has run yet.
struct correct correct_begin(const struct model *m, const struct correct_map *map,
                             const double *weights, bool extras, struct arena *a);

// The stages, over ranges of rows, the last of groups; each must be done everywhere before the next
// begins. Any split gives the same bits.
void correct_keep(const struct correct *c, size_t first, size_t count); // after skin, before extras
void correct_lay(const struct correct *c, size_t first, size_t count);  // after extras
// Right after correct_lay of the same rows: what they and the extras moved.
void correct_compare(const struct correct *c, size_t first, size_t count);
void correct_turn_normals(const struct correct *c, size_t first, size_t count);
