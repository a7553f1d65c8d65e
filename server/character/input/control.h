#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/input_messages.h"
#include "server/model/model.h"

// What a player's hands say, as CONTROL brings it: states that hold, and presses that each act
// once. Events ride in every message until they are acknowledged; their numbers tell which have
// been seen. Plain data; one owner.
enum { CONTROL_PRESSES_MAX = 32 }; // between two ticks; the oldest go first
struct control {
    float move[2], look[2], triggers[2];
    float go_to[2];
    float view[3]; // direction in the scene; said once, it holds against look
    bool viewed;
    bool going;
    bool live; // somebody has moved, pressed or gone: motion drives the pose
    uint32_t event_seen;
    uint64_t pressed; // since it began
    uint32_t press_count;
    uint32_t presses[CONTROL_PRESSES_MAX]; // into model->actions, in order
};

// True: it asks for something to be done (rather than for nothing). A press whose name is no
// action of this character is skipped: clients may know more buttons than it has actions.
bool control_take(struct control *c, const struct model *m, const struct input_control *message);
