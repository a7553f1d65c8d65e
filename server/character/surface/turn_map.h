#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "server/character/surface/normals.h"
#include "server/model/model.h"

// Whose normals turn when certain vertices move, and which corners such a turn looks at: worked
// out once a model for the vertices that a stage (face, correct) can move. A row is a block that
// the stage can move, or whose normals may turn, or that such a turn looks at.
struct turn_map {
    size_t row_count;
    const uint32_t *blocks; // [row] -> block, ascending
    const int32_t *rows;    // [block] -> row or MODEL_NONE
    // Vertices whose normals turn when their surroundings move, row by row.
    const uint32_t *turn_first;           // [row + 1] into the next two
    const uint32_t *turn_places;          // lane within the row's block
    const uint32_t *turn_corners;         // how many; they follow those of the turn before
    const uint32_t *corner_first;         // [row + 1] into corners
    const struct normals_corner *corners; // places are row * MODEL_LANES + lane
    // Rows that lie together share their triangles: NORMALS_GROUP_ROWS at most. A row with more
    // than NORMALS_GROUP_TRIANGLES is a group of its own, without triangles and uses.
    size_t group_count;
    const uint32_t *group_first;            // [group + 1] into group_rows
    const uint32_t *group_rows;             // every row once
    const uint32_t *triangle_first;         // [group + 1] into triangles
    const struct normals_corner *triangles; // the distinct ones around the group's vertices, places
    const uint32_t *triangle_rows;          // bit a row of the group that looks at the triangle
    const uint16_t *corner_uses;            // [corner] NORMALS_USE of its group's triangle
    const uint32_t *near_first;             // [row + 1] into near
    const uint32_t *near;                   // rows that the row's corners look at
    const uint32_t *seen_first;             // [row + 1] into seen
    const uint32_t *seen;                   // rows of which corners look at the row
};

size_t turn_map_bytes(const struct model *m); // arena space, scratch included
// `moving` [block]: lanes whose movement turns normals. `extra_blocks` [block]: not 0 for blocks
// that need a row all the same; may be NULL.
void turn_map_build(const struct model *m, const uint16_t *moving, const uint8_t *extra_blocks,
                    struct arena *a, struct turn_map *out);
