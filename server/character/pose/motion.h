#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "server/character/pose/aim.h"
#include "server/character/pose/blend.h"
#include "server/character/pose/locomotion.h"
#include "server/character/pose/plant.h"

// The pose that control asks for: the character's moves by speed and direction, in phase; actions
// over them; jumps and falls; feet that stay where they stand. Whatever changes at once (another
// clip, control taking over) is eased: the difference from what was shown dies away, so no pose
// ever jumps. Memory from an arena at creation; one owner.
//
// Its memory, all of it in struct motion: where it goes (locomotion.h), what control said until
// now, the action, the flight, what is left of differences, where it looks (aim.h) and its feet
// (plant.h).
enum motion_flight { MOTION_GROUND, MOTION_TAKE_OFF, MOTION_FLIGHT, MOTION_LANDING };
struct motion {
    struct locomotion way;
    struct control held; // what control said until now
    struct pose layers[MODEL_MOVE_COUNT], target, scratch;
    struct pose off, eased, shown; // off: what remains of the difference; eased: before the feet
    float *upper;                  // [node] 1: no foot hangs on it, an action may have it alone
    signed char *legs;             // [node] leg that it is part of, or -1
    float *taken;                  // [node] 1: the action's, by its mask or root
    double off_age_s, ease_rate;
    double age_s; // of the last advance
    bool started, eases;
    int32_t action, queued; // into model->actions, or MODEL_NONE
    double action_s;
    bool action_upper;          // it walks meanwhile
    double free;                // share of the legs that an action has for itself, eased
    enum motion_flight flight;  // how far a jump or a fall is
    double flight_s;            // since its stage began
    double level, above, climb; // the ground's height, how far above, and its rate; model's unit
    struct plant plant;
    struct aim aim;
    const struct ground *ground; // borrowed, or NULL
};
size_t motion_bytes(const struct model *m);
struct motion motion_take(const struct model *m, struct arena *a);

// Put somewhere, standing on the ground there: `yaw` is the model's.
void motion_place(struct motion *n, const struct model *m, const float position[3], float yaw_rad,
                  double scale);
// To `age_s`: the new pose is in `shown`. `news`: what `c` says counts from now on, and its presses
// are used up; else the instant lies between two ticks, and what was held goes on. Before the first
// call since `started` was false, `shown` must hold what was shown before, to be eased from.
void motion_advance(struct motion *n, const struct model *m, struct control *c, bool news,
                    double age_s, double scale);
// How high it is in the scene: the ground under it and what it has jumped.
double motion_height(const struct motion *n, double scale);
