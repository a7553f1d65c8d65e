#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/character/pose/humanoid.h"
#include "server/model/model.h"

// Which node of a skeleton is which humanoid bone, by the nodes' names alone: out[bone] is a node
// or -1. Parents are nodes or -1, in no circle; a NULL name is never a bone. Of several nodes that
// a bone may be, the topmost counts; where elbows and wrists are named, "shoulder" is the upper
// arm's joint.
void humanoid_map(const char *const *names, const int32_t *parents, size_t count,
                  int32_t out[HUMANOID_BONE_COUNT]);
// Of a baked model: its own map when it has one, else by its nodes' names. ERR_MEMORY.
MUST_CHECK enum err humanoid_map_model(const struct model *m, int32_t out[HUMANOID_BONE_COUNT]);
