#pragma once
#include "common/arena.h"
#include "common/err.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

struct cJSON;

// The POSE object (`--pose`, rig file `pose`, script `pose`):
//   {"clip": C, "time_s": S, "joints": {NAME: {"rotation": [x,y,z,w], "translation": [x,y,z],
//    "scale": [x,y,z]}}}
// The clip first, then the joints override: a given field replaces, the rest stays. Values are
// local to the parent, in the file's unit. Rotations are made unit; zero or non-finite ones are
// refused. `out` holds what shows through (begin with pose_rest) and is changed only on success;
// `path` begins the fault's line ("--pose", "/drivers/0/examples/1/pose"). Allocates for JSON
// only in the caller; one pose is taken from `scratch` and given back.
MUST_CHECK enum err pose_json_apply(const struct model *m, const struct cJSON *json,
                                    const char *path, struct pose out, struct arena *scratch,
                                    struct fault *fault);
