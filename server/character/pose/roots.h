#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/xform.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Several roots (method C): each poses the whole skeleton with its own motion, and every influence
// of a vertex takes the pose of its root. Nothing here allocates but the two `take`s.

static inline size_t roots_count(const struct model *m)
{
    return m->roots_count > 0 ? m->roots_count : 1;
}

// All roots at one instant. Whoever makes a root's pose writes poses[root]; roots_settle follows.
struct roots_pose {
    struct pose *poses;   // [root]; of each only the locals count
    struct xform *places; // [root] M_r: what carries the root's whole motion, world from root
    double *gains;        // [root] share that is the root's own, the rest being the first root's
};
size_t roots_pose_bytes(const struct model *m);
struct roots_pose roots_pose_take(const struct model *m, struct arena *a); // rest, in place, gain 1

// Turn limits and riding, root by root; then `merged`: every node as the root that it belongs to
// has it, local to its parent as that one's root has it. Drivers and extras read it, and its
// weights are the character's.
void roots_settle(const struct model *m, struct roots_pose *roots, struct pose merged);
// [root][node] model from node.
void roots_model_from_nodes(const struct model *m, const struct roots_pose *roots,
                            struct xform *model_from_node);

// ---- live: what a client has set -------------------------------------------------------------

// A number that moves to a new value over ROOTS_EASE_S, at rest at both ends.
struct roots_eased {
    double from, to, share; // share of the way in time, 0 .. 1
};
struct root_motion {
    bool set;                         // else the root follows the character's own motion
    int32_t clip;                     // or MODEL_NONE: the character's own motion
    int32_t before;                   // clip that fades out
    double fade;                      // 0 .. 1 in time
    double played_s, before_played_s; // by the clock of the root, offset not counted
    struct roots_eased speed, weight, offset_s;
};
#define ROOTS_EASE_S 0.3
void root_motion_start(struct root_motion *r); // follows; speed 1, weight 1, offset 0
void root_motion_clip(struct root_motion *r, int32_t clip);
void roots_ease_to(struct roots_eased *e, double value);
double roots_eased_value(const struct roots_eased *e);
void root_motion_advance(struct root_motion *r, double dt_s);
bool root_motion_is_moving(const struct root_motion *r); // advancing changes the pose
// Into `out`, which holds the character's own motion; `other` is scratch.
void root_motion_sample(const struct model *m, const struct root_motion *r, struct pose out,
                        struct pose other);
