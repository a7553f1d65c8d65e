#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "server/character/input/calibration.h"
#include "server/character/input/osc_source.h"

// Sensor input of an actor that does not come as its session's messages. Loop thread, between two
// ticks.
struct stage;

// What a source of UDP has said, of which `news` (enum osc_news) is new. An unknown id, and a
// character that is no human body: nothing happens.
void stage_hear(struct stage *s, uint64_t id, const struct osc_said *said, uint32_t news);
// As a SENSOR message with these requests (enum input_sensor_requests).
MUST_CHECK enum err stage_calibrate(struct stage *s, uint64_t id, uint16_t requests,
                                    struct fault *fault);
// The calibration of the actor's wearer, to be kept, when it has changed since it was asked for
// last; else NULL.
const struct calibration *stage_calibration(struct stage *s, uint64_t id);
void stage_set_calibration(struct stage *s, uint64_t id, const struct calibration *saved);
