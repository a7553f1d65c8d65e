#pragma once
#include <stdbool.h>

#include "server/character/surface/extras/drive.h"

// Where what swings is carried through the scene, and the instants at which it is told. Private to
// server/stage/body*.c.
//
// Steps of the scene count in the model's lengths: a character swings alike at any scale, and a
// change of scale alone moves nothing.
struct body_way {
    double to[3], yaw_rad;          // as of the last tick
    float told[3], told_yaw_rad;    // PLACE then
    struct drive path, turn;        // over the tick; turn: the yaw, in [0]
    double dt_s, slope_s;           // of the tick, and of the one before
    double place[3], place_yaw_rad; // at the instant that is posed
};

struct body;
// Placed elsewhere since the last tick.
bool body_is_carried(const struct body *b);
// The way that `b` takes to where PLACE has it by now, over dt_s.
void body_carry(struct body *b, double dt_s);
// To the instant `left_s` before the tick's.
void body_carry_to(struct body *b, double left_s);

// What swings goes in steps of its own clock, so that it does the same at every tick rate: where
// the pose is known between two ticks (a clip, control) it is taken at the instants k / 60 s too.
// The first such instant after `from_s` and before `until_s`; false: there is none.
bool body_next_instant(double from_s, double until_s, double *at_s);
// `at_s`, or the instant that it misses by rounding; *whole: it is one.
double body_nearest_instant(double at_s, bool *whole);

// Springs and extras to the instant `at_s`, in the pose that stands. `keep`: the next one goes on
// from here; else this one is only shown.
void body_swing_springs(struct body *b, double at_s);
void body_swing_extras(struct body *b, double at_s, bool keep);
