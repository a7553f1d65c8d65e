#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"

// The terminal's keyboard as a gamepad: w a s d or the arrows walk, capitals run, other keys do
// what the character's bindings say of them, q ends. A terminal tells of presses only, so a
// direction holds until it was not repeated for a while.
enum { KEYS_BINDINGS_MAX = 48 };
struct keys_binding {
    char key;                    // as the terminal gives it
    char action[SINEW_NAME_MAX]; // pressed and let go at once
};
struct keys {
    bool open;
    struct termios before;
    uint64_t held_until_us[4]; // forward, back, left, right
    bool fast;                 // the last direction was a capital
    float move[2];             // as it was last sent
    bool bound;                // bindings have been read
    struct keys_binding bindings[KEYS_BINDINGS_MAX];
    uint32_t binding_count;
};
MUST_CHECK enum err keys_open(struct keys *k, struct fault *fault); // ERR_USAGE: no terminal
// Reads keys, sends what they mean. Once the bindings have come they are told on standard error.
bool keys_step(struct keys *k, struct sinew_client *client); // false: q was pressed
void keys_close(struct keys *k);                             // the terminal as it was; safe on zero

// The keys of a terminal among bindings (JSON, or NULL), and a line that tells of all keys.
void keys_bind(struct keys *k, const char *bindings);
void keys_help(const struct keys *k, char *line, size_t line_bytes);
