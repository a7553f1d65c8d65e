#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/xform.h"
#include "server/character/surface/block.h"
#include "server/model/model.h"

// Extras: deformations that stand between skinning and the correctives (method A: K' = extras(K)).
// Each kind is one struct of functions; a model lists its extras in order. An extra may do what it
// likes to the skinned surface: correctives are laid on top of whatever it leaves.
//
// A character owns the state of its extras (one stretch of memory, sized once); nothing allocates
// afterwards. Advancing is by the character's owner, once a tick; applying may be cut into ranges
// of blocks, each on a thread of its own.

// What a character's joints do at one instant.
struct extra_motion {
    const struct model *model;
    const struct xform *model_from_node; // nodes_count
    double dt_s;                         // since the instant before, >= 0
    double place[3], yaw_rad; // of the model in the scene, in model lengths; steps count, not where
};

struct extra_kind {
    const char *name; // `type` in the rig file
    size_t state_bytes;
    // At rest in this pose, dt_s counts for nothing. False: apply would change nothing.
    bool (*settle)(const struct model_extra *extra, const struct extra_motion *now, void *state);
    // On to the next instant. The same motion gives the same state at equal times whatever the
    // steps, but for how finely they sample it. False: at rest, apply would change nothing.
    bool (*advance)(const struct model_extra *extra, const struct extra_motion *now, void *state);
    // Moves vertices of blocks first .. first + count, model space. Extras before it in the list
    // have moved these blocks already; others may not have been. Normals need not be touched: they
    // turn with the surface afterwards (only lanes that the model lists for the extra).
    void (*apply)(const struct model *m, const struct model_extra *extra, const void *state,
                  struct surface_block *blocks, size_t first, size_t count);
};
extern const struct extra_kind extra_jiggle, extra_muscle;

// A character's extras: the list of its model with their states.
struct extras {
    const struct model *model;
    unsigned char *states; // one after another
    bool started, moving;  // moving: some of them change the surface
};
size_t extras_bytes(const struct model *m);                     // of states, 64-byte aligned
struct extras extras_take(const struct model *m, void *memory); // borrows both
// On to the next instant; the first call settles them, and so does a gap of more than
// EXTRAS_GAP_S, in which nobody looked.
#define EXTRAS_GAP_S 1.0
void extras_advance(struct extras *x, const struct extra_motion *now);
// All of them in order over blocks first .. first + count.
void extras_apply(const struct extras *x, struct surface_block *blocks, size_t first, size_t count);
