#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/bake/scene.h"

// The whole bake: a source or a rig file in, the bytes of a .sinew file out.

struct bake_result {
    uint8_t *bytes; // malloc'd
    size_t size_bytes;
    struct note *notes; // malloc'd: what was read, repaired and left out
    uint32_t note_count;
};

// `input` is a source (GLB, glTF, VRM) or a rig file that names one; `rig_path` may be NULL.
// Blocking and heavy: command line or background pool only. On failure *out is zero.
MUST_CHECK enum err bake_run(const char *input, const char *rig_path, struct bake_result *out,
                             struct fault *fault);
void bake_free(struct bake_result *r); // safe on zero
