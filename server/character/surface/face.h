#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/simd.h"
#include "server/character/surface/turn.h"
#include "server/model/model.h"

// Morph channels, applied in base space before skinning:
//   x   = M0 + sum over channels of weight * delta
//   n0' = n0 + sum of weight * normal delta where the channel has them; else n0 turned by the
//         shortest turn from m(M0) to m(x), m the angle-weighted normal over welded positions.
//         Where both kinds meet, the turn begins at M0 plus the deltas that brought normals.
// n0' is not normalised (skinning does). Channels of weight 0 cost nothing; a block that no
// active channel reaches is not copied; a vertex whose surroundings stay keeps its bits.

// What a model's channels can reach; built once a model, immutable and shared then. Its rows are
// those of `turns`.
struct face_map {
    struct turn_map turns;
    size_t delta_count;               // morph blocks of all channels
    const uint32_t *delta_rows;       // [morph block] the row that it moves
    const uint32_t *delta_channels;   // [morph block] whose it is
    const struct normals_place *rest; // [row * MODEL_LANES + lane] M0
};
size_t face_map_bytes(const struct model *m); // arena space, scratch included
void face_map_build(const struct model *m, struct arena *a, struct face_map *out);

// One frame's face.
#define FACE_NONE UINT32_MAX
struct face {
    const struct model *model;
    const struct face_map *map;
    const float *weights; // channels_count
    bool any;             // some channel that moves something has weight
    bool turning;         // an active channel has no normal deltas of its own
    bool mixed;           // ... and another active one has
    // Each row's active deltas in channel order: the first, and the next of each; FACE_NONE ends.
    // `first` is set where copied.
    uint32_t *first, *next;          // [row], [morph block]
    uint8_t *copied;                 // [row] 1: `moved` stands in for the model's rest
    struct model_rest_block *moved;  // [row] x and n0'; set where copied
    uint8_t *turned;                 // [row] channels without normals move some of it
    uint8_t *looked_at;              // [row] some turn needs its places
    struct normals_place *from, *to; // [row * MODEL_LANES + lane] where turns begin, and x
    enum simd_level level;           // set after face_begin
};
size_t face_bytes(const struct face_map *map);
// Borrows all pointers for the frame. No stage has run yet.
struct face face_begin(const struct model *m, const struct face_map *map, const float *weights,
                       struct arena *a);

// The two stages, over ranges of rows, and of the turn map's groups. Ranges may run on
// several threads; all moves must be done before the first turn begins. Any split gives the same
// bits.
void face_move(const struct face *f, size_t first, size_t count);
void face_turn_normals(const struct face *f, size_t first, size_t count);

// The block's base-space content: the model's own rest, or what the stages made of it.
const struct model_rest_block *face_block(const struct face *f, size_t block);
