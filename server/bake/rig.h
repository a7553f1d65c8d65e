#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/bake/scene.h"
#include "server/model/model.h"

struct cJSON;

// The rig file (JSON, version 1): what a GLB or VRM cannot say. Read whole and checked against
// one schema: unknown keys, wrong types and numbers out of range are errors that name the JSON
// path; names of joints, shapes and clips are checked later, against the model.
struct rig_clip {
    const char *file, *name; // name may be NULL
    bool loop;               // default true
};
struct rig {
    struct cJSON *json; // owned; every pointer below borrows from it
    char *text;         // owned: canonical text, kept in the model as authoring data
    char path[1024];    // of the rig file, for what it names
    const char *source; // relative to the rig file, or NULL
    float unit_m;       // 0 = not said
    enum model_skinning skinning;
    uint32_t base_pose;                 // model_info.base_pose
    const struct cJSON *base_pose_pose; // POSE object when base_pose is 2
    uint32_t clip_count;
    struct rig_clip clips[64];
};

MUST_CHECK enum err rig_read(const char *path, struct rig *out, struct fault *fault);
void rig_free(struct rig *rig); // safe on zero

// A member of an object of the rig file, or NULL; NULL for what is none.
const struct cJSON *rig_get(const struct cJSON *object, const char *key);
