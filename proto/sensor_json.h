#pragma once
#include "common/err.h"
#include "proto/input_messages.h"

// The JSON form of SENSOR, for scripts of both ends: one reader, so that a streamed script and its
// replay give the same bits.
//
//   {"devices": {NAME: {"position": [x, y, z], "rotation": [x, y, z, w], "position_valid": bool,
//                       "rotation_valid": bool, "tracked": bool}},
//    "fingers": {"left" | "right": {"curl": [5], "splay": [5], "joints": [25 or 26 rotations],
//                                   "trigger": 0..1, "grip": 0..1, "thumb": 0..1}},
//    "calibrate": true, "hands": "world" | "scaled", "forget": true}
//
// A device is valid in what it gives unless it says otherwise, and tracked unless `tracked` is
// false. `joints` are in OpenXR's order; 25 of them are WebXR's, without the palm. trigger, grip
// and thumb curl the index finger, the last three, and the thumb.
struct cJSON;

// Unknown members are refused by name. `head` and the time are left alone. Offline only.
MUST_CHECK enum err sensor_json_read(const struct cJSON *json, struct input_sensor *out,
                                     struct fault *fault);
