#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/simd.h"
#include "server/character/pose/customise.h"
#include "server/character/pose/pose.h"
#include "server/character/pose/roots.h"
#include "server/character/surface/block.h"
#include "server/character/surface/correct.h"
#include "server/character/surface/extras/extra.h"
#include "server/character/surface/face.h"
#include "server/character/surface/skin.h"
#include "server/model/model.h"

// One frame of one surface: face, skin, (extras,) correct, normals.
//
//   once a model    face_map_build(model, arena, &map), correct_map_build(...)
//   once a frame    surface_begin -> surface_face -> surface_turn -> surface_skin
//                   and with correctives or extras
//                   -> surface_keep -> surface_extras (and whatever else, on `out`)
//                   -> surface_correct -> surface_settle
//                   or surface_run for all of it
//   when wanted     surface_gather: source order, for eval and files
//
// Each stage takes (part, part_count) and does that share; a barrier stands between stages.
// Results have the same bits for every part_count. All memory is borrowed: `scratch` must stay
// as it is until the last stage has run.
struct surface_job {
    const struct model *model;
    const struct face_map *map;
    const struct correct_map *correct; // NULL: neither correctives nor extras
    struct extras *extras;             // with `correct`; advanced to this frame; NULL: at rest
    // driver_weight_count, with `correct`; kept between frames by the caller: where a pose is not
    // finite, the last good ones stand in. NULL: no correctives, but extras.
    double *driver_weights;
    const struct customise
        *customise; // whose bones `pose` has moved, unseen by drivers; NULL: none
    struct pose
        pose; // with several roots: what drivers and extras read, each node as its root has it
    const struct roots_pose *roots; // several roots; NULL: all of them in `pose`
    enum model_skinning skinning;
    enum simd_level level;                      // simd_best(), asked once at start
    struct surface_block *out;                  // model->blocks_count
    struct surface_tangent_block *tangents_out; // blocks_count, or NULL = none wanted; must be
                                                // NULL for models without tangents
};
struct surface_frame {
    struct surface_job job;
    struct face face;
    const struct xform *model_from_node; // [root][node]
    const struct skeleton_slot *palette;
    const struct skeleton_dual_slot *dual_palette; // NULL unless DQ or some lanes want R H
    struct correct correct;                        // with job.correct
    bool pose_refused; // the pose was not finite where a driver reads it: count it
};

// Scratch of one frame; `correct` as in the job.
size_t surface_bytes(const struct model *m, const struct face_map *map,
                     const struct correct_map *correct);
// Local to model and the palettes; then the frame is ready for its stages.
struct surface_frame surface_begin(const struct surface_job *job, struct arena *scratch);
void surface_face(const struct surface_frame *f, size_t part, size_t part_count);
void surface_turn(const struct surface_frame *f, size_t part, size_t part_count);
void surface_skin(const struct surface_frame *f, size_t part, size_t part_count);
// Only with job.correct:
void surface_keep(const struct surface_frame *f, size_t part, size_t part_count);
// The extras, over all blocks: any part may move any block's vertices only.
void surface_extras(const struct surface_frame *f, size_t part, size_t part_count);
void surface_correct(const struct surface_frame *f, size_t part, size_t part_count);
void surface_settle(const struct surface_frame *f, size_t part, size_t part_count); // normals

// All of it on the calling thread; the scratch is given back.
void surface_run(const struct surface_job *job, struct arena *scratch);

// Source order: vertex_count * 3 floats each; normals may be NULL.
void surface_gather(const struct model *m, const struct surface_block *blocks, float *positions,
                    float *normals);
