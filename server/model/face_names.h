#pragma once
#include <stdint.h>

#include "common/err.h"
#include "server/model/model.h"

// Shapes and expressions by any of the names that people use for them: the model's own, ARKit's 52
// in both spellings, VRM 1.0 and 0.x presets, Unified Expressions, Oculus visemes (also with the
// prefixes viseme_ and vrc.v_). One table (face_names.c) maps them to each other. Where a model has
// no shape of that meaning, several of its own may stand for it, each with a share.
//
// An id is that of FACE: a shape below shapes_count, then an expression.
enum { FACE_PARTS_MAX = 12 };
struct face_part {
    uint32_t id;
    float share;
};
struct face_parts {
    uint32_t count;
    struct face_part parts[FACE_PARTS_MAX];
};
// An expression's own name comes before a shape's; `#N` is shape N. ERR_NOT_FOUND, ERR_AMBIGUOUS
// as in lookup.h.
MUST_CHECK enum err face_names_find(const struct model *m, const char *name, const char *where,
                                    struct face_parts *out, struct fault *fault);
// Names of the table that are not the model's own but find something, one after another.
// *at begins at 0; NULL at the end.
const char *face_names_next(const struct model *m, uint32_t *at, struct face_parts *out);
