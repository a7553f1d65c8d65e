#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/xform.h"
#include "server/model/model.h"

// Spring bones as VRMC_springBone-1.0 describes them (Verlet tails of fixed length, stiffness,
// gravity, drag, colliders, center), stepped at 60 Hz of the character's own time whatever the
// tick rate: the pose between two instants is interpolated, and an instant between two steps
// shows a fraction of the next one. They turn joints only, and end the pose stage.
//
// A joint swings about the rotation that the pose gives it, so that clips may move it too; where
// none does, that is the file's rest rotation, as the specification has it.
//
// One owner; nothing allocates; plain operations and square roots only: the same bits everywhere.
struct spring_tail {
    double now[3], before[3]; // scene space over the placement's scale, or in the center's frame
    double swing[4];          // as last shown: from the posed to the swung rotation, x y z w
};
struct springs_place {  // scene from model, without its scale
    double position[3]; // over the scale
    double rotation[4]; // unit, x y z w
};
struct springs {
    const struct model *model;
    bool started, moving; // moving: the next instant differs even if the pose does not
    // private
    struct trs *last; // [step] of the instant before, as posed
    struct springs_place last_place;
    struct xform *scene_from_node; // [step]
    int32_t *step_of_node;         // [node]
    struct spring_tail *tails;     // [joint]
    double time_s;
    int64_t step;
};

size_t springs_bytes(const struct model *m);
struct springs springs_take(const struct model *m, struct arena *a); // unused without springs

// On to `time_s` (the character's age), where the pose is `locals` [node] at `place`; turns the
// joints in `locals`. The first call, one that goes back, and one after a gap of more than
// SPRINGS_GAP_S keep the tails as they were last shown, without speed, and so does `jumped`: the
// character was put elsewhere and did not move there.
#define SPRINGS_GAP_S 1.0
void springs_advance(struct springs *s, double time_s, const struct springs_place *place,
                     bool jumped, struct trs *locals);
// Goes on as `from` stands, whose model has the same spring tables.
void springs_inherit(struct springs *s, const struct springs *from);
// Nothing has moved since the instant before, and nothing is moving.
void springs_wait(struct springs *s, double time_s);
