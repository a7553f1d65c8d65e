#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "server/model/model.h"

// Things by the names that people use: the exact name, or `#N`, the glTF index; joints also by
// VRM bone (`humanoid:hips`), shapes also by the ARKit spellings (`eyeBlinkLeft`, `eyeBlink_L`).
// ERR_NOT_FOUND with a list of what there is; ERR_AMBIGUOUS with the `#N` candidates. `where`
// begins the line, e.g. "--clip" or a JSON path. *out is untouched on failure.
// Parameters of customisation and roots: `#N` is their place in the model's list.
enum lookup_kind {
    LOOKUP_NODE,
    LOOKUP_CLIP,
    LOOKUP_SHAPE,
    LOOKUP_MATERIAL,
    LOOKUP_PARAMETER,
    LOOKUP_ROOT
};

MUST_CHECK enum err lookup_name(const struct model *m, enum lookup_kind kind, const char *name,
                                const char *where, uint32_t *out, struct fault *fault);
// Two ARKit spellings of one shape: `eyeBlinkLeft`, `eyeBlink_L`.
bool lookup_same_shape(const char *a, const char *b);
