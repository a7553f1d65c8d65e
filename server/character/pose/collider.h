#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/xform.h"
#include "server/model/model.h"

// Simple shapes that stop what swings, as VRM's text describes them: sphere, capsule, plane, and
// spheres and capsules that keep things inside.
struct collider_place {     // where one stands at an instant
    double at[3], other[3]; // other: a capsule's end, a plane's unit normal
    double radius;
    uint32_t shape; // enum model_spring_shape
    bool inside;
};

// `node`: any space from the collider's node. False: a plane whose normal the node makes zero.
bool collider_place_at(const struct xform *node, const struct model_spring_collider *c,
                       struct collider_place *out);
// Moves a ball of `hit_radius` at `point` out of it, the shortest way. False: it was free, or in
// the very middle, where every way out is as good.
bool collider_push(const struct collider_place *c, double hit_radius, double point[3]);
