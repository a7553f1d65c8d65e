#pragma once
#include <stdbool.h>

#include "common/arena.h"
#include "server/character/pose/ground.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Feet that stay where they stand: the last step of motion. Whatever a blend, a change of speed or
// a turn makes of a foot while it stands is taken back by two-bone IK, and dies away once it
// swings. A leg that is left standing away from where the pose has it makes a small step of its own
// when the character stands still. On uneven ground feet are set down on it and the body sinks as
// far as legs reach.
//
// Joints turn no faster than the pose's own by more than TURN_MOST (plant.c): where a pose changes
// violently a foot slides rather than that a knee snaps.
//
// What it remembers (all of it in struct plant, no pointers but to scratch): of each leg how far
// its foot stands from where the pose has it, how far it is turned, where its soles were, how its
// joints were turned, whether it is held, and a step that is under way; how far the body sinks.
// Model's unit, scene directions, seconds.
struct plant_leg {
    double off[3], twist;           // added to the pose's foot; the twist is about +Y
    double was[MODEL_SOLES_MAX][3]; // soles in the scene (over its scale) without `off`
    double posed[3][4],
        shown[3][4]; // local turns of hip, knee and ankle (or foot), before and after
    double contact;  // as it was taken
    double stood;    // the contact with `hold`, in the tick before
    double hold;     // 1; falls to 0 where the foot would have to stay out of reach
    bool released;   // for the rest of its time on the ground
    double step_s;   // of a step of its own; < 0: none
    double step_from[3], step_twist; // `off` and `twist` at its beginning
};
struct plant {
    bool started;
    double yaw, sink, still_s;
    struct plant_leg legs[MODEL_LEGS_MAX];
    // of the model
    int32_t body; // the node that carries all legs, or MODEL_NONE
    double height;
    struct xform *nodes; // [node] scratch
};
size_t plant_bytes(const struct model *m);
struct plant plant_take(const struct model *m, struct arena *a);
// Put somewhere: feet stand where the pose has them.
void plant_reset(struct plant *p);

struct plant_tick {
    double dt_s;
    double position[3], yaw; // scene from model, over its scale
    double velocity[2];      // x, z, of the character in the scene over its scale, a second
    double scale;
    double contact[MODEL_LEGS_MAX]; // 0: swings, 1: stands
    double
        height[MODEL_LEGS_MAX];  // of the lowest sole where it stands on flat ground, in the model
    double lift;                 // 0 .. 1: feet that swing are to leave the ground
    bool still;                  // it stands and does nothing else
    const struct ground *ground; // NULL: flat, at the character's own height
};
void plant_feet(struct plant *p, const struct model *m, const struct plant_tick *t,
                struct trs *locals);
