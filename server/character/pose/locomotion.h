#pragma once
#include <stdbool.h>

#include "server/character/input/control.h"
#include "server/model/model.h"

// Where a character goes and how fast: its place on the ground, its heading, its speed and the
// phase of its stride. Steps of at most 1/240 s with springs in closed form, so that tick rates
// agree. No libm: the same bits everywhere. Model's unit, seconds, radians; yaw about +Y. It turns
// to where it goes; while it aims (the left trigger) it looks along the view and goes any way that
// it has moves for.
struct locomotion {
    double position[2], yaw; // x, z in the scene
    double facing[2];        // unit vector of the yaw: x, z
    double view[2];          // what "forward" of move means; look turns it
    double rise;             // of the view over level, radians; look tilts it
    double speed, speed_rate;
    double turning; // radians a second
    double course;  // where it goes, from its facing to its left
    double phase;   // of the stride, 0 .. 1
    double runs;    // share of running in going ahead; follows the speed with a limited pace
    // of the model
    double height;
    double speeds[MODEL_MOVE_COUNT];  // that a move goes at, 0: the character has no such
    double strides[MODEL_MOVE_COUNT]; // how far one cycle goes
    bool idles;                       // there is a clip to stand in
};
struct locomotion locomotion_of(const struct model *m);
// The clip that a kind of movement is shown by (enum model_move_kind), or NULL.
const struct model_move *locomotion_move(const struct model *m, uint32_t kind);
// Put somewhere: `yaw` is the model's.
void locomotion_place(struct locomotion *l, const struct model *m, const float position[3],
                      float yaw_rad);
// scale: of the character in the scene.
void locomotion_advance(struct locomotion *l, struct control *c, double dt_s, double scale);
// Where it goes now: x, z in the scene, the model's unit a second.
void locomotion_velocity(const struct locomotion *l, double out[2]);
// The player holds the left trigger.
bool locomotion_aims(const struct control *c);
// Shares of the moves from idle to the side steps; their sum is 1.
void locomotion_weights(const struct locomotion *l, double out[MODEL_MOVE_COUNT]);
