#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// OSC 1.0 from one datagram: bundles to messages, each parsed by liblo. Untrusted bytes; a bad
// element of a bundle is counted and skipped, the others are told. Not for the frame path: liblo
// allocates.
enum {
    OSC_DATAGRAM_MAX = 65507,
    OSC_DEPTH_MAX = 4,      // of bundles in bundles
    OSC_MESSAGES_MAX = 512, // in one datagram; the rest is refused
    OSC_ARGS_MAX = 64
};

struct osc_arg {
    char type; // i f s b h d T F
    union {
        int32_t i;
        float f;
        int64_t h;
        double d;
        const char *s; // NUL-ended, borrowed until the handler returns
    } value;
};
struct osc_message {
    const char *address; // borrowed, as the arguments
    const struct osc_arg *args;
    size_t arg_count;
};
struct osc_counts {
    uint64_t messages, malformed;
};

// on_message comes for each message in the order of the bytes.
void osc_read(const uint8_t *bytes, size_t size_bytes,
              void (*on_message)(void *owner, const struct osc_message *m), void *owner,
              struct osc_counts *counts);

// The arguments as `types` says, e.g. "sfff"; more of them are ignored. ERR_TRUNCATED: too few,
// ERR_MALFORMED: another type.
MUST_CHECK enum err osc_expect(const struct osc_message *m, const char *types);
// After osc_expect: `count` floats from `first` on.
void osc_floats(const struct osc_message *m, size_t first, size_t count, float *out);
