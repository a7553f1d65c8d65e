#pragma once
#include "server/bake/source.h"

// A primitive's vertex attributes as plain arrays, each decoded once however many primitives
// share it. `at` is the attribute's own place; the count must be the primitive's.
const struct vec3 *attribute_read_positions(struct source *src, const struct doc_at *at,
                                            int32_t accessor, uint32_t *vertex_count);
// Reads all of the others that /attributes names into `p`, whose vertex_count is known.
// *joint_end is raised to the highest joint index in use + 1.
bool attribute_read(struct source *src, const struct doc_at *attributes, struct scene_primitive *p,
                    uint32_t *joint_end);
