#pragma once
#include <stdint.h>

#include "common/xform.h"
#include "proto/input_messages.h"
#include "server/character/pose/human.h"
#include "server/model/model.h"

// The bones of a humanoid that the body solve leaves alone: fingers, eyes, jaw. Turns are local:
// away from the T-pose, against the parent bone, in the axes of the body frame, as VMC's normalised
// bones have them.
struct digit {
    int32_t node;   // or -1
    double axes[4]; // of the node's parent in the T-pose, body frame
};
struct digits {
    struct digit bones[HUMANOID_BONE_COUNT]; // only those below the hands and the head are there
};

// ERR_MEMORY. Allocates while it runs, keeps nothing.
MUST_CHECK enum err digits_of_model(const struct model *m, const struct human *h,
                                    struct digits *out);
// Sets the bone's rotation from its turn. A bone that the character lacks: nothing.
void digits_turn(const struct digits *d, const struct model *m, int32_t bone, const double turn[4],
                 struct trs *locals);
// Fingers from what a hand says: measured joints before curls. What it does not say stays.
void digits_hand(const struct digits *d, const struct model *m, const struct input_hand *hand,
                 struct trs *locals);
// Both eyes along a unit direction in the head's axes (+Z: ahead), as far as eyes go. For
// characters that do not say themselves how they look (look-at of VRM).
void digits_gaze(const struct digits *d, const struct model *m, const double direction[3],
                 struct trs *locals);
