#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "server/character/pose/mirror.h"
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// What a client has set for one root of several (method C): clip, speed, weight, offset, each of
// which changes softly while the others go on.

// A number that moves to a new value over ROOTS_EASE_S, at rest at both ends.
struct roots_eased {
    double from, to, share; // share of the way in time, 0 .. 1
};
struct root_motion {
    bool set;       // else the root follows the character's own motion
    int32_t clip;   // or MODEL_NONE: the character's own motion
    bool mirrored;  // left and right changed over
    int32_t before; // clip that fades out, and which way round
    bool before_mirrored;
    double fade;                      // 0 .. 1 in time
    double played_s, before_played_s; // by the clock of the root, offset not counted
    struct roots_eased speed, weight, offset_s;
};
#define ROOTS_EASE_S 0.3
void root_motion_start(struct root_motion *r);              // follows; speed 1, weight 1, offset 0
void root_motion_clip(struct root_motion *r, int32_t clip); // from its start
void root_motion_mirror(struct root_motion *r, bool mirrored); // goes on where it is
void roots_ease_to(struct roots_eased *e, double value);
double roots_eased_value(const struct roots_eased *e);
void root_motion_advance(struct root_motion *r, double dt_s);
bool root_motion_is_moving(const struct root_motion *r); // advancing changes the pose
// Into `out`, which holds the character's own motion; `other` is scratch.
void root_motion_sample(const struct mirror *mirror, const struct root_motion *r, struct pose out,
                        struct pose other);
