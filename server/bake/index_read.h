#pragma once
#include "server/bake/source.h"

// A primitive's connectivity: strips, fans and loops become lists, primitives without indices get
// them, and what cannot be drawn is dropped with a note. Every index is below vertex_count.
bool index_read(struct source *src, const struct doc_at *primitive, struct scene_primitive *p);
