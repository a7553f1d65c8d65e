#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "server/character/pose/human.h"

// A pose by humanoid bones, from a client with its own solver (VMC): local turns away from the
// T-pose, in the axes of the body frame (human.h), unit quaternions x y z w. A bone that is not
// given stays with its parent.
struct input_bones {
    bool given[HUMANOID_BONE_COUNT];
    float rotation[HUMANOID_BONE_COUNT][4];
    float position[HUMANOID_BONE_COUNT][3]; // of given bones: from the parent's joint, the sender's
                                            // metres
    bool rooted;
    float root_rotation[4], root_position[3];
};

// On a character of other proportions: turns as they are, the hips' place by the ratio of leg
// lengths. Bones that only the sender has count into those below them.
void bones_pose(const struct input_bones *b, const struct human *h, struct human_pose *out);
