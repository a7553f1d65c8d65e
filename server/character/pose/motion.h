#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "server/character/pose/blend.h"
#include "server/character/pose/locomotion.h"

// The pose that control asks for: idle, walk and run in phase, and an action over them. Whatever
// changes at once (another clip, control taking over) is eased: the difference from what was
// shown dies away, so no pose ever jumps. Memory from an arena at creation; one owner.
struct motion {
    struct locomotion way;
    struct control held;                       // what control said until now
    struct pose layers[3], target, off, shown; // off: what remains of the difference
    float *upper; // [node] 1: no foot hangs on it, an action may have it alone
    double off_age_s;
    double age_s; // of the last advance
    bool started, eases;
    int32_t action, queued; // into model->actions, or MODEL_NONE
    double action_s;
    bool action_upper; // it walks meanwhile
};
size_t motion_bytes(const struct model *m);
struct motion motion_take(const struct model *m, struct arena *a);

// To `age_s`: the new pose is in `shown`. Presses are used up. Before the first call since
// `started` was false, `shown` must hold what was shown before, to be eased from.
void motion_advance(struct motion *n, const struct model *m, struct control *c, double age_s,
                    double scale);
