#pragma once
#include <stdint.h>

#include "server/character/surface/normals.h"
#include "server/model/model.h"

// Turns the normals of neighbouring rows: what m of their vertices was before, what it is after,
// the shortest turn from one to the other. Every triangle is measured once for all of them. Each
// kernel in a file of its own for one instruction set; contraction is off and every vertex sums its
// corners in the same order, so all kernels give the same bits.
enum { NORMALS_GROUP_ROWS = 32, NORMALS_GROUP_TRIANGLES = 1024 };
// Where a corner finds its share: its triangle among the group's, and which of the three it is.
#define NORMALS_USE(triangle, place) ((triangle)*3 + (place))

struct normals_row {
    const uint16_t *uses;                  // the corners of all its turning vertices
    uint32_t turn_count;                   // <= MODEL_LANES
    const uint32_t *lanes, *corner_counts; // turn_count
    float (*normal)[MODEL_LANES];          // x, y, z: turned in place; NULL: the row stays
};
struct normals_group {
    const struct normals_place *before, *after; // by place
    const struct normals_corner *triangles;     // places
    const uint32_t *triangle_rows;              // bit a row of the group that looks at it
    uint32_t triangle_count;                    // <= NORMALS_GROUP_TRIANGLES
    struct normals_row rows[NORMALS_GROUP_ROWS];
    uint32_t row_count;
};
typedef void normals_group_fn(const struct normals_group *group);
normals_group_fn normals_group_plain, normals_group_avx2, normals_group_avx512, normals_group_neon;
