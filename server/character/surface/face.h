#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "server/model/model.h"

// Morph channels, applied in base space before skinning:
//   x   = M0 + sum over channels of weight * delta
//   n0' = n0 + sum of weight * normal delta where the channel has them; else n0 turned by the
//         shortest turn from m(M0) to m(x), m the angle-weighted normal over welded positions.
// n0' is not normalised (skinning does). Channels of weight 0 cost nothing; a block that no
// active channel reaches is not copied and keeps the model's bits.

// Which blocks a model's channels can reach; built once a model, immutable and shared then.
struct face_map {
    size_t face_block_count;     // blocks that some channel moves or turns, ascending
    const uint32_t *blocks;      // [face block] -> block
    const int32_t *face_blocks;  // [block] -> face block or MODEL_NONE
    const uint32_t *delta_first; // [face block + 1] into deltas
    const struct face_delta *deltas;
    const uint32_t *turn_first; // [face block + 1] into turns
    const struct face_turn *turns;
};
size_t face_map_bytes(const struct model *m); // arena space, scratch included
void face_map_build(const struct model *m, struct arena *a, struct face_map *out);

struct face_rows {
    float at[3 * MODEL_LANES]; // x of 16 lanes, y, z
};

// One frame's face.
struct face {
    const struct model *model;
    const struct face_map *map;
    const float *weights;           // channels_count
    bool any;                       // some channel that moves something has weight
    bool turning;                   // an active channel has no normal deltas of its own
    bool mixed;                     // ... and another active one has
    uint8_t *copied;                // [face block] 1: `moved` stands in for the model's rest
    struct model_rest_block *moved; // [face block] x and n0'; set where copied
    uint16_t *moved_lanes;          // [face block] lanes moved by channels without normals
    struct face_rows *turn_base;    // [face block] M0 + deltas that bring normals; mixed only
};
size_t face_bytes(const struct model *m, const struct face_map *map);
// Borrows all pointers for the frame. No stage has run yet.
struct face face_begin(const struct model *m, const struct face_map *map, const float *weights,
                       struct arena *a);

// The two stages, over ranges of face blocks. Ranges may run on several threads; all positions
// must be done before the first normals begin. Any split gives the same bits.
void face_move(const struct face *f, size_t first, size_t count);
void face_turn_normals(const struct face *f, size_t first, size_t count);

// The block's base-space content: the model's own rest, or what the stages made of it.
const struct model_rest_block *face_block(const struct face *f, size_t block);
