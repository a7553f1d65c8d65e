#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "server/bake/scene.h"
#include "server/character/pose/body.h"

// A recorded motion (BVH) of a body scaled to 1.70 m, standing on y = 0: the truth that a body
// solve is held against, and what trackers on that body would tell.
struct take {
    struct scene scene;
    struct human human;
    size_t frames, joint_count;
    double dt_s;
    // private
    const float **rotations, **translations; // [joint] per frame, or NULL
    struct xform *world;                     // [joint] scratch
    double up[4];                            // body frame from the file's world
    double floor;                            // of the file's world, metres
};

// False with the reason in *fault. The file is untrusted.
bool take_open(struct take *t, const char *path, struct fault *fault);
void take_close(struct take *t);

// True places of all joints of a frame, metres: joint_count of them.
void take_places(const struct take *t, size_t frame, double (*out)[3]);
// The true pose.
void take_pose(const struct take *t, size_t frame, struct human_pose *out);
// Places of all joints when the solved pose is laid onto the skeleton.
void take_solved(const struct take *t, const struct human_pose *p, double (*out)[3]);
// Whether a joint is the feet's, legs' (below the hips' two thighs).
bool take_is_leg(const struct take *t, size_t joint);

// The targets of a frame for the parts in `parts` (a bit each), as devices tell them that sit on
// the body with an offset of place and turn, which is taken out again.
void take_frame(const struct take *t, const struct human_pose *truth, unsigned parts,
                struct body_frame *out);
// `head,hand_l,...` to bits; 0 for an unknown name.
unsigned take_parts(const char *list);
