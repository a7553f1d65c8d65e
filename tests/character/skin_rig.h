#pragma once
#include "common/arena.h"
#include "common/simd.h"
#include "server/character/pose/pose.h"
#include "server/character/surface/skin.h"
#include "tests/character/synthetic.h"

// A synthetic model, a pose, and room to skin it, with what the reference wants beside. It needs
// nothing but the kernels and the palettes, so that the test of kernels can be cross-compiled.
struct skin_rig {
    struct synthetic s;
    struct arena arena;
    struct pose pose; // begins at rest
    size_t vertices;
    double (*x)[3], (*n)[3];           // base space
    double (*want_x)[3], (*want_n)[3]; // for reference_skin
    struct xform *model_from_node;
    struct skeleton_slot *palette;
    struct skeleton_dual_slot *dual_palette;
    struct surface_block *out;
    float *positions, *normals; // of the last run, source order
};

void skin_rig_open(struct skin_rig *b, const struct synthetic_settings *settings);
void skin_rig_close(struct skin_rig *b);
double (*skin_rig_points(struct skin_rig *b))[3]; // one a vertex, from the arena
void skin_rig_pose(struct skin_rig *b, uint64_t seed, double angle_max); // random joint rotations
void skin_rig_run(struct skin_rig *b, enum model_skinning skinning, enum simd_level level);
