#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct scene;

// The GLB wrapper: a JSON chunk and at most one binary chunk. Faults name byte offsets.
struct glb {
    const char *json; // borrowed from the input
    size_t json_bytes;
    const uint8_t *bin; // NULL when there is none
    size_t bin_bytes;
};

bool glb_is(const uint8_t *bytes, size_t size_bytes); // starts with the magic
MUST_CHECK enum err glb_split(const uint8_t *bytes, size_t size_bytes, struct glb *out,
                              struct scene *notes, struct fault *fault);
