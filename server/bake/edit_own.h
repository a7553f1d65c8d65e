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
MUST_CHECK enum err edit_base_step(struct editing *e, struct edit *step);       // edit_base.c
MUST_CHECK enum err edit_root_step(struct editing *e, const struct edit *step); // edit_root.c
MUST_CHECK enum err edit_correction_step(struct editing *e, const struct edit *step);
MUST_CHECK enum err edit_correction_surface(struct editing *e, uint32_t row, double *positions);
// Largest distance between two surfaces; refused when further than the body is high.
MUST_CHECK enum err edit_measure(struct editing *e, const struct edit *step, const double *before,
                                 const double *after);
// The surface that a step asks for, given the one that stands.
MUST_CHECK enum err edit_wanted(struct editing *e, const struct edit *step, const double *before,
                                double *after);

// Examples by their place in the model, drivers by name; NULL: there is none.
struct example_plan *edit_example_at(struct editing *e, int32_t index, struct driver_plan **d);
struct driver_plan *edit_driver(struct editing *e, const char *name);
// The driver has to be solved anew; one that mirrored another stands on its own from now on.
void edit_touch(struct editing *e, struct driver_plan *d);
// The steps (edit_example.c).
MUST_CHECK enum err edit_example_sculpt(struct editing *e, struct edit *step,
                                        struct example_plan *x);
MUST_CHECK enum err edit_example_pose(struct editing *e, const struct edit *step,
                                      struct example_plan *x);
MUST_CHECK enum err edit_example_new(struct editing *e, const struct edit *step);
MUST_CHECK enum err edit_example_mirror(struct editing *e, const struct edit *step,
                                        struct driver_plan *d, struct example_plan *x);
MUST_CHECK enum err edit_example_take(struct editing *e, const struct edit *step);
void edit_example_remove(struct editing *e, struct driver_plan *d, struct example_plan *x);
