#pragma once
#include <stdatomic.h>
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
// of blocks, each on a thread of its own, unless a plugin is among them, which sees all at once.

// What a character's joints do at one instant.
struct extra_motion {
    const struct model *model;
    const struct xform *model_from_node; // nodes_count; as they are until the next instant
    double age_s;                        // of the character
    double dt_s;                         // since the instant before, >= 0
    double place[3], yaw_rad; // of the model in the scene, in model lengths; steps count, not where
    float activation;         // of the extra that is asked, 0 .. 1; muscles
    bool cut;                 // nothing before counts: the first instant, or after a gap
};

enum extra_does {
    EXTRA_NOTHING, // at rest: apply would change nothing, and it stays so while the motion does
    EXTRA_STANDS,  // apply changes the surface, alike until the motion changes
    EXTRA_MOVES    // the next instant differs even if the motion does not
};

struct extra_kind {
    const char *name; // `type` in the rig file
    size_t (*state_bytes)(const struct model *m, const struct model_extra *extra);
    // At rest in this pose, dt_s counts for nothing.
    enum extra_does (*settle)(const struct model_extra *extra, const struct extra_motion *now,
                              void *state);
    // On to the next instant. The same motion gives the same state at equal times whatever the
    // steps, but for how finely they sample it.
    enum extra_does (*advance)(const struct model_extra *extra, const struct extra_motion *now,
                               void *state);
    // Moves vertices of blocks first .. first + count, model space. Extras before it in the list
    // have moved these blocks already; others may not have been. Normals need not be touched: they
    // turn with the surface afterwards (only lanes that the model lists for the extra).
    void (*apply)(const struct model *m, const struct model_extra *extra, const void *state,
                  struct surface_block *blocks, size_t first, size_t count);
    // Goes on as `from` stands, a state of the same kind for `old_extra` of `old`. False: they are
    // too different, and nothing has changed.
    bool (*inherit)(const struct model *m, const struct model_extra *extra, void *state,
                    const struct model *old, const struct model_extra *old_extra, const void *from);
};
extern const struct extra_kind extra_jiggle, extra_muscle, extra_cloth;

// What runs a third party's deformation for one character; the character calls it, its owner (see
// server/plugins) made it. One step an instant, over the whole surface; what it leaves is finite.
struct extra_plugin {
    void *owner; // NULL: there is none, the extra does nothing
    enum extra_does (*step)(void *owner, const struct extra_motion *now,
                            struct surface_block *blocks);
};

// A character's extras: the list of its model with their states.
struct extras {
    const struct model *model;
    unsigned char *states; // one after another, as of the last instant that was kept
    unsigned char *shown;  // the same as of an instant that was not
    unsigned char *latest; // one of the two
    double stepped_s;      // age at the last step of plugins
    uint64_t settled;      // [extra] bit: its state is that of the instant before
    bool moving;           // some of them move by themselves
    bool applied;          // some of them change the surface
    bool whole;            // a plugin among them: applied by one thread over all blocks
    uint64_t off;          // [extra] bit: switched off, and at rest when it comes back
    uint64_t cuts;         // [extra] bit: the last advance was a cut for it
    uint64_t skipped;      // [extra] bit: left out of this instant; an input, see server/plugins
    uint8_t does[MODEL_EXTRAS_MAX];     // enum extra_does
    float activation[MODEL_EXTRAS_MAX]; // of muscles; NaN: as the model says
    struct extra_plugin *plugins;       // [extra]; NULL: none
    struct extra_motion now;            // of the last advance, for plugins
    uint64_t (*clock_ns)(void);         // NULL: time is not measured
    _Atomic uint64_t *spent_ns;         // [extra] since the start; with clock_ns
};
size_t extras_bytes(const struct model *m); // of states, a multiple of 64
// Borrows both; `memory` has twice extras_bytes, 64-byte aligned.
struct extras extras_take(const struct model *m, void *memory);
// On to the next instant; the first call settles them, and so does a gap of more than
// EXTRAS_GAP_S, in which nobody looked. Unless `keep`, this instant is only shown: the next one
// goes on from the last that was kept, and `dt_s` counts from there. True: it was kept after all.
#define EXTRAS_GAP_S 1.0
bool extras_advance(struct extras *x, const struct extra_motion *now, bool keep);
// All of them in order over blocks first .. first + count.
void extras_apply(struct extras *x, struct surface_block *blocks, size_t first, size_t count);
// Takes over what swings of extras that have the same kind and name, plugins left aside.
void extras_inherit(struct extras *x, const struct extras *from);
// The extra of that name, or MODEL_NONE.
int32_t extras_find(const struct model *m, const char *name);
