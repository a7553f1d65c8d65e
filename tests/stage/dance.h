#pragma once
#include <stdbool.h>

#include "common/arena.h"
#include "server/model/model_file.h"
#include "server/stage/body.h"

// A demo character with extras of a test's own, and bodies of it.
struct dance {
    struct model_file *file;
    const struct model *model;
    struct arena arena;
    struct face_map map;
    struct correct_map correct;
    double diagonal;             // of the box in the rest pose
    struct plugin_host *plugins; // of the bodies made from now on; the test's
};
// `rig` with its list of extras changed to `extras` (JSON; NULL: as it is) and without drivers when
// `plain`. False: the bake was refused, its line is printed, or copied into `line` (384 bytes).
bool dance_open(struct dance *d, const char *rig, const char *extras, bool plain, char *line);
void dance_close(struct dance *d);

enum dance_without { DANCE_EXTRAS = 1, DANCE_CORRECTIVES = 2, DANCE_SPRINGS = 4 };
// clip: by name, or NULL for none.
void dance_body(const struct dance *d, const char *clip, int without, struct body *out);
// To the instant, surface and all.
void dance_to(struct body *b, double age_s);
// The largest distance between two surfaces of a model.
double dance_distance(const struct body *a, const struct body *b);
// (a - b) - (c - d), the largest.
double dance_difference(const struct body *a, const struct body *b, const struct body *c,
                        const struct body *d);
