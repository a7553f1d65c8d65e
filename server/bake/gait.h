#pragma once
#include "server/bake/builder.h"
#include "server/character/pose/pose.h"

// How a clip goes over the ground, from its poses alone: what stands on the ground does not move,
// so the body moves the other way.
struct gait { // scratch of one model
    struct builder *b;
    struct pose pose;
    struct xform *nodes;    // [node]
    double *low, *low_next; // [node][3] places in two samples
    double *reach;          // [node][4] least and most x, z of a clip
    bool skinned;           // else every node may be a foot
    double height;          // of the character, file units
    signed char *side;      // [node] 1: a left foot, -1: a right one, 0: neither
};
MUST_CHECK enum err gait_begin(struct builder *b, struct gait *out);

// quarter, speed, root and root_step of a move with a clip. `feet`: this clip shows which joints
// are the feet (call it for one clip first); phase is measured against them.
void gait_measure(struct gait *g, struct model_move *move, bool feet);
