#pragma once
#include "server/bake/json_text.h"
#include "server/bake/source.h"

// VRM 0.x and 1.0. Optional by nature: a part that is broken is left out with a note that names
// its path, and the model is still a model.
//
// scene.vrm.json, one schema for both (keys and meanings of VRM 1.0; keys always in this order,
// absent parts absent):
//   {"meta": {...},
//    "firstPerson": {"meshAnnotations": [{"node", "type"}]},
//    "lookAt": {"offsetFromHeadBone", "type", "rangeMapHorizontalInner", ...},
//    "expressions": {"preset": {NAME: E}, "custom": {NAME: E}},
//        E = {"isBinary", "overrideBlink", "overrideLookAt", "overrideMouth",
//             "morphTargetBinds": [{"node", "index", "weight"}],
//             "materialColorBinds": [{"material", "type", "targetValue"}],
//             "textureTransformBinds": [{"material", "scale", "offset"}]}
//    "springBone": {"colliders": [{"node", "shape": {"sphere" | "capsule" | "plane": {...}}}],
//                   "colliderGroups": [{"name", "colliders"}],
//                   "springs": [{"name", "joints": [...], "colliderGroups", "center"?,
//                                "endLength"?}]},
//    "nodeConstraints": [{"node", "constraint": {"roll" | "aim" | "rotation": {...}}}]}
// Shapes of VRMC_springBone_extended_collider stand in "shape" itself ("inside": true, "plane").
// "endLength" (VRM 0.x) says that the last joint swings too, with a tail of that length in metres
// along its own direction from its parent.
bool vrm_read(struct source *src);

// Parts of it, for the readers of one version each.
struct vrm_writer {
    struct source *src;
    struct json_text text;
};
// True when no failure stands. Else what was written since `mark` is taken back, the failure
// becomes a note and the import goes on; false. Failures of the budget stay.
bool vrm_settle(struct vrm_writer *w, size_t mark);
// Humanoid bones by number, SCENE_NONE for those that are not there, into the scene.
void vrm_keep_bones(struct vrm_writer *w, const int32_t *nodes);
// Copies text members that are there, under their own names.
void vrm_copy_texts(struct vrm_writer *w, const struct doc_at *from, const char *const *keys,
                    uint32_t count);
