#pragma once
#include <stdbool.h>

#include "server/character/surface/extras/extra.h"

// A mass on a damped spring behind a point that a joint carries through the scene: what jiggles,
// and what a muscle does when it is hit. It steps at a fixed rate over the point's path, which is
// smooth between the instants that are known, so that frame rates do not change how it swings.
struct swing {
    double anchor[3];         // where the joint has the point, scene axes, model lengths
    double velocity[3];       // of its path there
    double slope[3], slope_s; // how it went in the step before, and how long that took
    double mass[3], speed[3]; // the mass, alike
    double phase_s;           // since the last whole step
    double before[3];         // the anchor then
    double shown[3];          // displacement at this instant, model space
};
struct swing_spring {
    double frequency_hz, damping_ratio, amount;
    double reach; // `shown` / amount approaches it smoothly
};

void swing_settle(struct swing *s, const struct model_extra *e, const struct extra_motion *now);
// False: at rest, and then exactly. Steps of the point faster than SWING_JUMP_M_S are cuts (a clip
// that begins anew, a character put elsewhere): the mass goes along.
#define SWING_JUMP_M_S 15.0
bool swing_advance(struct swing *s, const struct model_extra *e, const struct swing_spring *k,
                   const struct extra_motion *now);
