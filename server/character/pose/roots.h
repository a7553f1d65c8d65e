#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/xform.h"
#include "server/character/pose/mirror.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Several roots (method C): each poses the whole skeleton with its own motion, and every influence
// of a vertex takes the pose of its root. Nothing here allocates. What a client has set for a root
// is in root_motion.h.

static inline size_t roots_count(const struct model *m)
{
    return m->roots_count > 0 ? m->roots_count : 1;
}

// All roots at one instant. Whoever makes a root's pose writes poses[root]; roots_settle follows.
struct roots_pose {
    struct pose *poses;   // [root]; of each only the locals count
    struct xform *places; // [root] M_r: what carries the root's whole motion, world from root
    struct mirror mirror; // for a root that plays with left and right changed over
    double *gains;        // [root] share that is the root's own, the rest being the first root's
};
size_t roots_pose_bytes(const struct model *m);
struct roots_pose roots_pose_take(const struct model *m, struct arena *a); // rest, in place, gain 1

// Turn limits and riding, root by root; then `merged`: every node as the root that it belongs to
// has it, local to its parent as that one's root has it; where a root's gain is below 1, mixed with
// the first root's as the palette is. Drivers and extras read it, and its weights are the
// character's.
void roots_settle(const struct model *m, struct roots_pose *roots, struct pose merged);
// [root][node] model from node.
void roots_model_from_nodes(const struct model *m, const struct roots_pose *roots,
                            struct xform *model_from_node);
