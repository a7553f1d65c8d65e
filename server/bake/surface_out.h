#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/model/model.h"

// A surface in the forms that modelling tools read, vertices in source order. `positions`: world
// space at the example's pose, or base space with `example` EDIT_BASE (edit.h). Blocking; *out is
// malloc'd.
enum surface_form { SURFACE_F32, SURFACE_OBJ, SURFACE_GLB, SURFACE_FORMS };
extern const char *const surface_form_names[SURFACE_FORMS],
    *const surface_form_types[SURFACE_FORMS];

// GLB: one mesh, a primitive a part, its joints in the example's pose. Inverse bind matrices are
// those of that pose, so that the mesh is what was given and moves with its joints from there. A
// node's extras say its place in the source: `node` N, "#N" in a POSE.
struct surface_file {
    uint8_t *bytes;
    size_t size_bytes;
};
MUST_CHECK enum err surface_out(const struct model *m, int32_t example, const float *positions,
                                enum surface_form form, struct surface_file *out,
                                struct fault *fault);
