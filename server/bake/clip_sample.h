#pragma once
#include "server/bake/scene.h"
#include "server/bake/turn.h"

// One channel at one time, as the standard says: clamped at the ends, slerp on the shortest arc,
// cubic Hermite normalised after. `cursor` starts at 0; times must not go back between calls.
struct turn clip_sample_turn(const struct scene_channel *c, double time, uint32_t *cursor);
void clip_sample_vec3(const struct scene_channel *c, double time, uint32_t *cursor, double out[3]);
