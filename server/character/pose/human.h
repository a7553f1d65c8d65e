#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/xform.h"
#include "server/character/pose/humanoid.h"
#include "server/character/pose/joint_limits.h"
#include "server/model/model.h"

// A skeleton seen as a human body, whatever its joints are called, however they rest, and in
// whatever unit: what the body solve works on.
//
// The body frame: metres, right-handed, +Y up, the floor at y = 0, at rest facing +Z with the left
// hand towards +X. A bone's *turn* is its rotation in the body frame away from the T-pose (arms
// level to the sides, palms down, legs straight down, looking at +Z): identity for every bone of a
// body that stands in the T-pose, so turns mean the same for every skeleton.
//
// Joints between two bones (rolls, helpers) stay at rest; only those between hips and head bend
// too, since a spine has as many joints as its maker gave it.

enum human_part { // the places that a tracker may tell of
    HUMAN_HEAD,
    HUMAN_HAND_L,
    HUMAN_HAND_R,
    HUMAN_PELVIS,
    HUMAN_CHEST,
    HUMAN_SHOULDER_L,
    HUMAN_SHOULDER_R,
    HUMAN_ELBOW_L,
    HUMAN_ELBOW_R,
    HUMAN_KNEE_L,
    HUMAN_KNEE_R,
    HUMAN_FOOT_L,
    HUMAN_FOOT_R,
    HUMAN_PART_COUNT
};

enum human_limb { HUMAN_ARM_L, HUMAN_ARM_R, HUMAN_LEG_L, HUMAN_LEG_R, HUMAN_LIMB_COUNT };

// Bones by number: the trunk from hips (0) to head, then four to a limb: shoulder, upper arm,
// lower arm, hand; upper leg, lower leg, foot, toes.
enum {
    HUMAN_TRUNK_MAX = 12,
    HUMAN_LIMB_BONES = 4,
    HUMAN_BONES = HUMAN_TRUNK_MAX + HUMAN_LIMB_BONES * HUMAN_LIMB_COUNT
};
static inline uint32_t human_limb_bone(enum human_limb limb, uint32_t k)
{
    return HUMAN_TRUNK_MAX + HUMAN_LIMB_BONES * (uint32_t)limb + k;
}

struct human_bone {
    int32_t node;      // of the skeleton; -1: it has none, and the bone stays with its parent
    int32_t parent;    // bone; -1: the hips
    int32_t humanoid;  // VRM bone whose limits hold; -1: a further joint of the trunk
    double offset[3];  // from the parent's joint, T-pose, body frame, metres
    double axes[4];    // the node's rotation in the T-pose, body frame, x y z w
    double between[4]; // of the nodes at rest between the parent bone's node and this one
    struct joint_limit limit; // of its turn against its parent bone's
    double share;             // trunk: of the bending between hips and chest, or chest and head
};

struct human {
    uint32_t trunk_count; // hips .. head: at least 3
    uint32_t chest;       // trunk bone that carries the shoulders, 1 .. trunk_count - 2
    struct human_bone bones[HUMAN_BONES];
    struct xform model_from_hips_parent; // at rest, the file's unit
    double model_from_body[4];           // rotation
    double metres;                       // of a file unit
    double floor;                        // height of the floor in the model, file units
    double height;                       // standing, from the joints; metres, as all below
    double hips_height, head_height;     // of these joints in the T-pose
};

// The skeleton to look at: `count` nodes, parents before children.
struct human_source {
    size_t count;
    const int32_t *parents; // [node], -1 for none
    const struct trs *rests;
    const int32_t *bones; // [HUMANOID_BONE_COUNT] node or -1
    double metres;        // of its unit; 0: so that the body stands 1.70 m tall
    bool in_place;        // motion of its root says where up and front are (BVH), not the rest pose
};

// ERR_NOT_FOUND when a bone that every body needs is missing, the fault names which: hips, head,
// upper and lower arms, hands, upper and lower legs, feet, and a joint between hips and head.
MUST_CHECK enum err human_build(const struct human_source *s, struct human *out,
                                struct fault *fault);
// By the model's humanoid map, else by joint names. Allocates while it runs, keeps nothing.
MUST_CHECK enum err human_of_model(const struct model *m, struct human *out, struct fault *fault);

// A body's pose: turns, and where the hips' joint stands.
struct human_pose {
    double hips[3];
    double turns[HUMAN_BONES][4]; // unit, x y z w; of bones without a node their parent's
};

void human_rest(const struct human *h, struct human_pose *out); // the T-pose
// Joints' places of a pose.
void human_places(const struct human *h, const struct human_pose *p, double out[HUMAN_BONES][3]);
// Into the skeleton's local transforms: rotations of all bones, the translation of the hips. Other
// nodes, translations and scales stay as they are.
void human_lay(const struct human *h, const struct human_pose *p, struct trs *locals);

// What a part means: `joint` is where its target's position lies, `bone` whose turn its rotation
// is. An elbow's and a knee's rotation are the upper arm's and upper leg's (where such trackers are
// strapped), a shoulder's the shoulder blade's with the upper arm's joint.
uint32_t human_part_joint(const struct human *h, enum human_part part);
uint32_t human_part_bone(const struct human *h, enum human_part part);
