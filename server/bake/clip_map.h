#pragma once
#include <stdbool.h>

#include "server/bake/retarget.h"
#include "server/character/pose/humanoid.h"

// Which node of a clip's skeleton is which node of the character: by name, or by humanoid bone
// (what the files say; else a guess from joint names).
struct clip_map {
    uint32_t pair_count;
    struct retarget_pair *pairs; // in `pool`
    uint32_t source_named_twice; // left out: the character has two nodes of that name
};

// [bone] the node, or SCENE_NONE: as the file says, else guessed. False: the pool is spent.
bool clip_map_bones(const struct scene *s, struct pool *pool, int32_t out[HUMANOID_BONE_COUNT]);
// NULL arrays and zero counts when the pool is spent.
struct clip_map clip_map_by_name(const struct scene *source, const struct scene *target,
                                 struct pool *pool);
struct clip_map clip_map_by_bone(const struct scene *source, const struct scene *target,
                                 struct pool *pool);
