#pragma once
#include <stddef.h>

#include "common/arena.h"
#include "common/simd.h"
#include "server/character/pose/pose.h"
#include "server/character/surface/surface.h"
#include "server/model/model_file.h"

// A model on a test stand: baked or opened, posed and evaluated into source order.
struct stand {
    struct model_file *file;
    const struct model *model;
    struct arena arena, scratch;
    struct face_map map;
    struct correct_map correct;
    double *driver_weights; // of the last frame
    struct pose pose;       // set by the test; stand_open leaves the rest pose
    struct surface_block *blocks;
    _Bool without_correctives;
    struct extras *extras;          // NULL: at rest
    const struct roots_pose *roots; // NULL: all of them in `pose`
    float *positions, *normals;     // vertex_count * 3, written by stand_evaluate
};
_Bool stand_open(struct stand *s,
                 const char *path); // prints the fault's line and is false on failure
_Bool stand_take(struct stand *s, struct model_file *file); // takes the reference over
// Face, skin, correctives (unless `without_correctives`), normals.
void stand_evaluate(struct stand *s, enum model_skinning skinning, enum simd_level level);
void stand_close(struct stand *s);
