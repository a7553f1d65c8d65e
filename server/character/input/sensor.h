#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/input_messages.h"

// What a wearer's devices have said: the newest state of each, which holds until another message
// sets it. OpenXR's axes, metres, in the wearer's tracking space. Plain data; one owner.
struct sensor {
    uint32_t given; // bit [enum input_device_id]: heard of at all
    struct input_device devices[INPUT_DEVICE_COUNT];
    struct input_hand hands[2]; // left, right; fields as given
    uint64_t sample_us;         // of the newest message that told when it was measured
    uint16_t requests;          // enum input_sensor_requests since they were looked at
    bool live;                  // somebody has told anything: sensors drive the body
};

// ERR_STALE: measured before what is known, by the same clock; ERR_MALFORMED, ERR_LIMIT: what a
// decoder would have refused. Then *s is untouched. Places further than 100 m count as not valid.
MUST_CHECK enum err sensor_take(struct sensor *s, const struct input_sensor *message);

// The device, or NULL: not heard of.
const struct input_device *sensor_device(const struct sensor *s, uint8_t id);
