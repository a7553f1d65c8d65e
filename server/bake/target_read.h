#pragma once
#include "server/bake/source.h"

// One morph target of a primitive, reduced to the vertices that it touches. Sparse accessors
// without a base never become dense arrays on the way.
bool target_read(struct source *src, const struct doc_at *at, uint32_t vertex_count,
                 struct scene_target *out);
