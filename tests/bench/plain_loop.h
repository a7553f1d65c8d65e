#pragma once
#include <stddef.h>
#include <stdint.h>

#include "server/character/pose/skeleton.h"

// The reference of the skinning benches: what is written by hand when nothing special is done.
// Source order, one vertex at a time, the same mathematics as the kernels (blend, cofactor
// normals, normalisation), compiled at the baseline with -O3 in a file of its own.
struct plain_influence {
    float weight;
    uint32_t slot;
};
struct plain_vertex {
    float position[3], normal[3];
    uint32_t influence_first, influence_count; // no work for influences that are not there
};

void plain_loop(size_t vertex_count, const struct skeleton_slot *palette,
                const struct plain_vertex *vertices, const struct plain_influence *influences,
                float *positions, float *normals);
