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

// The contribution of the triangle (at, next, last) to m at `at`, added to sum.
void normals_add_corner(const double at[3], const double next[3], const double last[3],
                        double sum[3]);

// Turns v by the shortest turn that carries `from` to `to` (any lengths). Left as it is, bit for
// bit, when the two are equal or one of them is zero; a half turn goes about an axis square to
// `from`.
void normals_turn(const double from[3], const double to[3], float v[3]);
