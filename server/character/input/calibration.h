#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/input_messages.h"
#include "server/character/pose/human.h"

// Who wears the devices and where they sit: measured from a T-pose, from standing at ease, or from
// the first seconds. Metres. Plain data, saved as text.
enum calibration_state {
    CALIBRATION_NONE,
    CALIBRATION_GUESSED, // from the first seconds: the height may still grow
    CALIBRATION_MEASURED // asked for, or loaded: stands until asked again
};
struct calibration_seat { // of a device on a part; in the device's axes
    bool found;
    double position[3]; // of the part's joint, in the character's metres
    double rotation[4]; // turn of the part's bone from the device's rotation
};
struct calibration {
    uint32_t state;    // enum calibration_state
    bool world;        // hands meet the world rather than being scaled
    double eye_height; // of the wearer standing, above the floor
    double span;       // between the palms in a T-pose; 0: not known, as the character's in
                       // proportion
    double floor;      // its height in the tracking space
    uint8_t part_of[INPUT_TRACKERS]; // 1 + enum human_part of tracker_1 ..; 0: on none
    struct calibration_seat seats[HUMAN_PART_COUNT];
    // Of the tracking space, not saved: a runtime may have moved it by the next time.
    double origin[2], forward[2]; // x, z: below the character's place; where it faces, unit
    bool oriented;
};

enum { CALIBRATION_TEXT_BYTES = 4096 };
// One line of JSON. Returns its length.
size_t calibration_write(const struct calibration *c, char out[CALIBRATION_TEXT_BYTES]);
// ERR_MALFORMED: no calibration, or values that no wearer has; *out is untouched. Allocates.
MUST_CHECK enum err calibration_read(const char *text, size_t size_bytes, struct calibration *out);
