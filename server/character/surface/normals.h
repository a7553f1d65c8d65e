#pragma once
#include <stddef.h>
#include <stdint.h>

// m, the angle-weighted smooth normal over welded positions: the sum over the triangle corners
// that meet at a place of (angle at the corner * the triangle's unit normal). Triangles without
// area do not count. Double arithmetic in corner order, no libm: the same bits everywhere.
struct normals_mesh {
    size_t vertex_count;
    const float *positions;       // x y z a vertex
    const uint32_t *weld;         // [vertex] lowest vertex at the same place
    const uint32_t *corner_first; // [vertex + 1] CSR of the corners that meet at a weld
    const uint32_t *corners;      // positions in `indices`
    const uint32_t *indices;      // three a triangle, beginning at multiples of three;
                                  // counter-clockwise from outside
};

// Unit normals for every vertex, x y z; vertices of one weld get the same bits. Zero where no
// triangle with area meets.
void normals_make(const struct normals_mesh *mesh, float *normals);

// The same m on blocked surfaces. A place is row * MODEL_LANES + lane.
struct normals_corner {
    uint32_t at, next, last; // places; counter-clockwise
};
struct normals_place { // x y z, and a fourth that counts for nothing
    _Alignas(16) float at[4];
};

// m of one vertex of `count` corners, in double.
void normals_sum_places(const struct normals_place *places, const struct normals_corner *corners,
                        uint32_t count, float sum[3]);

// Turns v by the shortest turn that carries `from` to `to` (any lengths). Left as it is, bit for
// bit, when the two are equal or one of them is zero; a half turn goes about an axis square to
// `from`.
void normals_turn(const float from[3], const float to[3], float v[3]);
