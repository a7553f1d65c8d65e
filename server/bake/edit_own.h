#pragma once
#include <cjson/cJSON.h>

#include "server/bake/drivers.h"
#include "server/bake/edit.h"

// What edit*.c share: a builder that stands where compile_scene's would, filled from a model.
struct editing {
    struct scene scene; // holds only the pool and the notes
    struct builder b;
    struct rig rig;
    struct pool pool;
    struct driver_bake k;
    cJSON *report; // of the model as it was
    bool rig_changed;
    bool base_changed;
    struct edit_result *out;
};

MUST_CHECK enum err edit_open(const struct model *m, struct editing *e, struct fault *fault);
void edit_close(struct editing *e);
MUST_CHECK enum err edit_base_step(struct editing *e, struct edit *step); // edit_base.c
// Largest distance between two surfaces; refused when further than the body is high.
MUST_CHECK enum err edit_measure(struct editing *e, const struct edit *step, const double *before,
                                 const double *after);
// The surface that a step asks for, given the one that stands.
MUST_CHECK enum err edit_wanted(struct editing *e, const struct edit *step, const double *before,
                                double *after);
