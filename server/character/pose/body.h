#pragma once
#include <stdint.h>

#include "server/character/pose/body_memory.h"
#include "server/character/pose/human.h"

// The whole body from what few trackers tell: sensor input of the pose stage.
//
// Everything is in the body frame of human.h: the targets are those of the avatar's own joints
// (calibration has taken out where a device sits on its part, and the wearer's proportions), so a
// target is met when the joint is there. What is tracked holds in this order: head, hands, pelvis,
// feet, elbows and knees, chest and shoulders; joint limits (joint_limits.h) hold before all of
// them, and nothing stretches. What is not tracked is guessed (body_guess.h) and, with a prior,
// learned from motion (body_prior.h).
//
// Pure but for its memory: the same frames give the same bits on every machine. No allocation.

enum body_target_flags {
    BODY_POSITION = 1, // position is valid
    BODY_ROTATION = 2, // rotation is valid; without a position it drives its bone alone (an IMU)
    BODY_TRACKED = 4   // measured now; valid but not tracked counts as a guess of the device: it is
                       // followed, but eased to and from
};

struct body_target {
    double position[3]; // of the part's joint
    double rotation[4]; // turn of the part's bone, x y z w; need not be unit
    uint32_t flags;
};

struct body_frame {
    struct body_target parts[HUMAN_PART_COUNT];
    double dt_s; // since the frame before; 0 .. 1 (clamped)
};

struct body_prior;

// Starts a memory: the next frame is met without easing.
void body_start(struct body_memory *memory);
// One frame. `prior` may be NULL. Values that are not finite, and positions further than 100 m
// away, count as not valid.
void body_solve(const struct human *h, const struct body_prior *prior, const struct body_frame *in,
                struct body_memory *memory, struct human_pose *out);
