#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/simd.h"
#include "server/character/surface/normals.h"
#include "server/character/surface/turn_map.h"

// Turns the normals of what a stage (face, correct) has moved: by the shortest turn from m before
// to m after, group by group of a turn map. A vertex of which m stays keeps its bits.
struct turn_job {
    const struct model *model;
    const struct turn_map *map;
    enum simd_level level;
    const struct normals_place *before, *after; // by place, of all rows
    const uint8_t *moved;                       // [row] not 0: something in it has moved
    // Where the row's normals are, to be turned in place; called for rows that turn only.
    float (*(*normals)(const void *owner, size_t row))[MODEL_LANES];
    const void *owner;
};
// Groups first .. first + count; any split gives the same bits.
void turn_groups(const struct turn_job *job, size_t first, size_t count);

// A block's positions, x y z of 16 lanes, as 16 places.
void turn_take_places(const float *position, struct normals_place *out);
