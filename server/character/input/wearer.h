#pragma once
#include <stdbool.h>

#include "server/character/input/calibration.h"
#include "server/character/input/sensor.h"
#include "server/character/pose/body.h"

// The wearer of devices fitted to a character: where its joints should be, from what the devices
// say. The tracking space ends here; what comes out is in the character's body frame (human.h).
//
// Proportions: the head, the trunk and the legs are scaled by the ratio of eye heights, so that a
// character of any size stands when its wearer stands. Hands and elbows, by choice, are scaled too,
// with the arms' own ratio about the shoulders (a stretched arm is stretched), or meet the world
// where the wearer's do.
//
// Pure but for its state; no allocation. One owner.
struct wearer {
    struct sensor sensor;
    struct calibration calibration;
    bool changed; // the calibration has been measured or asked for: whoever keeps it clears this

    // private
    double steady_s;      // that the head has stood still as high as this
    double steady_height; // running, above the floor
    double trackers_s;    // that unknown trackers have been there
    uint32_t settled;     // devices whose seats have been looked for
};

// A keeper's calibration, before the first sample or at any time.
void wearer_calibrate(struct wearer *w, const struct calibration *saved);

// The frame of this tick, dt_s after the one before. `place_scale` is the character's in its scene.
// Uses up the requests.
void wearer_frame(struct wearer *w, const struct human *h, double dt_s, double place_scale,
                  struct body_frame *out);

// Turn of a device in the body frame (identity: it faces where the character does at rest).
// False: its rotation is not valid.
bool wearer_turn(const struct wearer *w, uint8_t device, double out[4]);
