#pragma once
#include "server/bake/builder.h"
#include "server/character/pose/pose.h"

// How a clip goes over the ground, from its poses alone: what stands on the ground does not move,
// so the body moves the other way. Heights and places in the model's space, file units.
enum { GAIT_SAMPLES = 96 }; // a clip is looked at
struct gait {               // scratch of one model
    struct builder *b;
    struct pose pose;
    struct xform *nodes;    // [node] of the last sample
    double *low, *low_next; // [node][3] places in two samples
    double *reach;          // [node][4] least and most x, z of a clip
    bool skinned;           // else every node may be a foot
    double height;          // of the character
    struct model_leg legs[MODEL_LEGS_MAX];
    uint32_t leg_count;
};
MUST_CHECK enum err gait_begin(struct builder *b, struct gait *out);

// quarter, speed, stride, root and root_step of a move with a clip.
void gait_measure(struct gait *g, struct model_move *move);
// The nodes at a share of the move's clip, its root's way taken out, into g->nodes.
void gait_sample(struct gait *g, const struct model_move *move, double share);
// Whether a sole stands that is `above` its lowest place, where the ground passes it at `passes`
// while the body goes at `speed`: clips of living things are seldom exact.
bool gait_touches(const struct gait *g, double above, double passes, double speed);
// When the legs stand in a clip, [leg]; of a move that goes, what they say of its stride too.
void gait_contacts(struct gait *g, struct model_move *move, struct model_contact *out);
// The move's phase, so that its legs stand when those of `other` (of phase 0) do.
void gait_match(const struct gait *g, struct model_move *move, const struct model_contact *contacts,
                const struct model_contact *other);
