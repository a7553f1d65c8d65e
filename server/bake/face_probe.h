#pragma once
#include "common/arena.h"
#include "server/bake/face_bake.h"
#include "server/character/pose/customise.h"

// The customised face while baking, in double: any vertex under any parameters and shapes, skinned
// into the rest pose as a frame would (linear blend), pull-back settled.
struct face_probe {
    struct face_bake *k;
    struct arena arena;
    struct pose pose;
    float *values;       // [parameter] to be set before face_probe_pose
    float *weights;      // [shape]
    bool bare;           // neither corrections nor pull-back
    struct xform *nodes; // [node]
    struct xform *slots; // [slot] model from base space
};
MUST_CHECK enum err face_probe_open(struct face_bake *k, struct face_probe *out);
void face_probe_close(struct face_probe *p); // safe on zero
void face_probe_clear(struct face_probe *p); // values and weights to nothing
void face_probe_pose(struct face_probe *p);
// x: where vertex v is in base space; place: skinned; transform: its Tv. NULL: not asked for.
void face_probe_vertex(const struct face_probe *p, uint32_t v, double x[3], double place[3],
                       struct xform *transform);
// Adds `weight` times the channel's delta at v.
void face_channel_delta(const struct face_bake *k, uint32_t channel, uint32_t v, double weight,
                        double sum[3]);
