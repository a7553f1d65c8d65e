#pragma once
#include "server/bake/vrm_read.h"

// VRMC_vrm (meta, humanoid, first person, look-at, expressions).
void vrm_one_read(struct vrm_writer *w, const struct doc_at *vrm);
// The humanoid's bones alone; VRMC_vrm_animation has them in the same place.
void vrm_one_read_bones(struct vrm_writer *w, const struct doc_at *vrm);
