#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/character/surface/block.h"
#include "server/character/surface/extras/extra.h"
#include "server/character/surface/extras/plugin.h"

// What a plugin is given, in one stretch of memory without pointers, so that it can lie in memory
// that two processes share: the part of the surface that is the extra's, the skeleton, the
// settings, and the arrays of a step. Known bytes stand behind every array that a plugin writes.
struct image_counts {
    uint32_t vertices, triangles, joints;
    uint64_t name_bytes, settings_bytes; // NUL-ended texts
};
struct image_layout { // offsets in bytes, each a multiple of 64
    uint64_t names, settings, joint_parents, joint_sources, joint_rests;
    uint64_t rest, rest_normals, shares, sources, twins, triangles; // until here: constant
    uint64_t joints, positions, normals;                            // of a step
    uint64_t end;
};
enum { IMAGE_GUARD_BYTES = 64 };
struct image_layout image_lay(const struct image_counts *c);

// One plugin's part of a model; the model outlives it.
struct image_part {
    const struct model *model;
    const struct model_extra *extra;
    struct image_counts counts;
    struct image_layout layout;
    uint32_t *lanes; // [vertex of the part]; owned
};
MUST_CHECK enum err image_part_open(const struct model *m, uint32_t extra, struct image_part *out,
                                    struct fault *fault);
void image_part_close(struct image_part *p);
// The constant sections; `memory` has layout.end zeroed bytes.
MUST_CHECK enum err image_write(const struct image_part *p, uint8_t *memory, struct fault *fault);
// The interface's view of it; `joints` has room for counts.joints.
struct sinew_plugin_model image_view(const struct image_counts *c, const uint8_t *memory,
                                     float metres_per_unit, struct sinew_plugin_joint *joints);

// ---- of a step
void image_gather(const struct image_part *p, const struct extra_motion *now,
                  const struct surface_block *blocks, uint8_t *memory);
// False, and the surface is untouched: something is not finite, or a normal has no direction.
bool image_scatter(const struct image_part *p, const uint8_t *memory, struct surface_block *blocks);
// Writes the guards, and whether they still stand.
void image_guard(const struct image_counts *c, uint8_t *memory);
bool image_is_whole(const struct image_counts *c, const uint8_t *memory);
