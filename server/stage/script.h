#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/stage/input.h"

struct cJSON;

// A script: JSON lines that act on one character at ticks of its own time (contracts.md, Script).
// `{"t_s": 0.5, "pose": {...}, "place": {...}, "face": {...}}`; "tick" may stand for "t_s", as
// `sinew play --applied` writes it. Offline only: allocates.
struct script_line {
    uint64_t tick;      // the first whose time is >= t_s
    uint32_t number;    // in the file, from 1
    struct cJSON *json; // owned
};
struct script {
    struct script_line *lines; // by tick; lines of one tick in the file's order
    size_t line_count;
};

enum { SCRIPT_BYTES_MAX = 64 << 20, SCRIPT_LINES_MAX = 1 << 20, SCRIPT_HZ_MAX = 1000 };

// `hz`: ticks a second, 1 .. SCRIPT_HZ_MAX. ERR_UNSUPPORTED: a kind of input that is not made yet.
// The fault names the line. On error *out is empty.
MUST_CHECK enum err script_read(const char *text, size_t size_bytes, uint32_t hz,
                                struct script *out, struct fault *fault);
void script_free(struct script *s); // safe on zero

// What the line says, to the body.
MUST_CHECK enum err script_apply(const struct script_line *line, struct input_desk *desk,
                                 struct body *b, struct fault *fault);
