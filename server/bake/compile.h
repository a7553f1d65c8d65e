#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/bake/scene.h"
#include "server/model/model.h"

// Arranges an imported scene for the kernels: nodes parents first, one palette, vertices grouped
// by the exact set of slots that move them, topology in vertex-cache order, morph targets and
// clips as tables. Deterministic: the same scene and settings give the same bytes.

struct rig;
struct compile_settings {
    const char *source_name; // file name to remember, without folder
    const struct rig *rig;   // what the rig file says, or NULL
};

// Works in scene->pool (its cap bounds the memory) and adds what it repairs to scene->notes. On
// success *bytes is a container image, malloc'd, the caller's to free.
MUST_CHECK enum err compile_scene(struct scene *scene, const struct compile_settings *settings,
                                  uint8_t **bytes, size_t *size_bytes, struct fault *fault);
