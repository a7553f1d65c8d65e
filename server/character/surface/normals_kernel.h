#pragma once
#include <stdint.h>

#include "server/character/surface/normals.h"
#include "server/model/model.h"

// Turns the normals of one row: what m of its vertices was before, what it is after, the shortest
// turn from one to the other. Each kernel in a file of its own for one instruction set; contraction
// is off and every vertex sums its corners in the same order, so all kernels give the same bits.

// Places in space, x y z and a fourth that counts for nothing.
struct normals_place {
    _Alignas(16) float at[4];
};

struct normals_row {
    const struct normals_place *before, *after; // by place: row * MODEL_LANES + lane
    const struct normals_corner *triangles;     // places
    uint32_t triangle_count;                    // whole batches, <= NORMALS_ROW_TRIANGLES
    const uint16_t *uses;                       // the corners of all turning vertices
    uint32_t turn_count;                        // <= MODEL_LANES
    const uint32_t *lanes, *corner_counts;      // turn_count
    float (*normal)[MODEL_LANES];               // x, y, z: turned in place
};
typedef void normals_row_fn(const struct normals_row *row);
normals_row_fn normals_row_plain, normals_row_avx2, normals_row_avx512, normals_row_neon;
