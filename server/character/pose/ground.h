#pragma once
#include <stddef.h>

// What a scene's characters stand on: the plane y = 0, and boxes on it (steps, platforms) with flat
// tops and sides along x and z. Scene space, metres or whatever unit the scene's characters have.
// Read only while characters move; any thread.
struct ground_box {
    double low[2], high[2]; // x, z
    double top;
};
struct ground {
    const struct ground_box *boxes; // borrowed
    size_t box_count;
};
// How high the ground lies there; NULL: the plane alone.
double ground_height(const struct ground *g, double x, double z);
