#pragma once
#include "server/stage/body.h"

// Sensor input to bodies: devices (SENSOR, and what a lease of OSC hears), bones of a client with
// its own solver, and blendshapes by name. The newest of POSE, CONTROL and these drives.
// ERR_UNSUPPORTED: this character is no human body, the fault says why; ERR_STALE: measured before
// what is known.
MUST_CHECK enum err input_sensor(struct body *b, const struct input_sensor *message,
                                 struct fault *fault);
MUST_CHECK enum err input_bones(struct body *b, const struct input_bones *bones,
                                struct fault *fault);
// All at once: shapes that several names move get the sum. Names that the character has not are
// skipped; returns how many it has.
size_t input_blends(struct body *b, const struct osc_blend *blends, size_t count);
