#pragma once
#include <stddef.h>

#include "common/arena.h"
#include "common/simd.h"
#include "server/character/pose/pose.h"
#include "server/character/surface/block.h"
#include "server/character/surface/face.h"
#include "server/character/surface/skin.h"
#include "server/model/model.h"

// One frame of one surface: face, then skin.
//
//   once a model    face_map_build(model, arena, &map)
//   once a frame    surface_begin -> surface_face -> surface_turn -> surface_skin, or surface_run
//   when wanted     surface_gather: source order, for eval and files
//
// Each stage takes (part, part_count) and does that share; a barrier stands between stages.
// Results have the same bits for every part_count. All memory is borrowed: `scratch` must stay
// as it is until the last stage has run.
struct surface_job {
    const struct model *model;
    const struct face_map *map;
    struct pose pose;
    enum model_skinning skinning;
    enum simd_level level;                      // simd_best(), asked once at start
    struct surface_block *out;                  // model->blocks_count
    struct surface_tangent_block *tangents_out; // blocks_count, or NULL = none wanted; must be
                                                // NULL for models without tangents
};
struct surface_frame {
    struct surface_job job;
    struct face face;
    const struct xform *model_from_node; // nodes_count
    const struct skeleton_slot *palette;
    const struct skeleton_dual_slot *dual_palette; // NULL unless DQ
};

size_t surface_bytes(const struct model *m, const struct face_map *map); // scratch of one frame
// Local to model and the palettes; then the frame is ready for its stages.
struct surface_frame surface_begin(const struct surface_job *job, struct arena *scratch);
void surface_face(const struct surface_frame *f, size_t part, size_t part_count);
void surface_turn(const struct surface_frame *f, size_t part, size_t part_count);
void surface_skin(const struct surface_frame *f, size_t part, size_t part_count);

// All of it on the calling thread; the scratch is given back.
void surface_run(const struct surface_job *job, struct arena *scratch);

// Source order: vertex_count * 3 floats each; normals may be NULL.
void surface_gather(const struct model *m, const struct surface_block *blocks, float *positions,
                    float *normals);
