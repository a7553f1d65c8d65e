#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"

// The terminal's keyboard as a gamepad: w a s d or the arrows move, space jumps, q ends. A
// terminal tells of presses only, so a direction holds until it was not repeated for a while.
struct keys {
    bool open;
    struct termios before;
    uint64_t held_until_us[4]; // forward, back, left, right
    float move[2];             // as it was last sent
};
MUST_CHECK enum err keys_open(struct keys *k, struct fault *fault); // ERR_USAGE: no terminal
bool keys_step(struct keys *k, struct sinew_client *client);        // false: q was pressed
void keys_close(struct keys *k); // the terminal as it was; safe on zero
