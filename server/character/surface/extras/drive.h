#pragma once
#include <stdbool.h>

#include "server/character/surface/extras/extra.h"

// Points that skinning carries through the scene, between the instants at which they are known:
// cubic by both ends, so that what is stepped at a fixed rate feels the same motion at any frame
// rate. Scene axes, model lengths.
struct drive {
    double from[3], to[3];      // at both ends of the frame
    double leave[3], arrive[3]; // velocities there
    double slope[3];            // how it went in the frame, a second
};
void drive_settle(struct drive *d, const double at[3]);
// On to `to` after dt_s > 0; slope_s: of the frame before, 0: there was none. `cut`: it has not
// moved there, it is there. False: it has not moved.
bool drive_next(struct drive *d, const double to[3], double dt_s, double slope_s, bool cut);
// A frame in which it stands.
void drive_stand(struct drive *d);

// Where in the frame: the same weights for all points.
struct drive_weights {
    double from, to, leave, arrive;      // of the position
    double at_step, at_leave, at_arrive; // of the velocity; at_step times to - from
};
struct drive_weights drive_weights_at(double dt_s, double left_s);
void drive_at(const struct drive *d, const struct drive_weights *w, double at[3],
              double velocity[3]);

// The scene as the model stands in it.
struct drive_scene {
    double cosine, sine, place[3];
};
struct drive_scene drive_scene_of(const struct extra_motion *now);
void drive_to_scene(const struct drive_scene *s, const double at[3], double out[3]);
void drive_turn(const struct drive_scene *s, double direction, const double in[3], double out[3]);
