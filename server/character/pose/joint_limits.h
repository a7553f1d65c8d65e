#pragma once
#include <stdbool.h>
#include <stdint.h>

// How far human joints turn, by VRM humanoid bone: a bone's turn relative to its parent bone's
// (human.h), split into a twist about the bone and then a swing of it. Swing is the rotation
// vector across the bone, kept inside a rounded box (the fourth powers of the shares of both
// limits sum to at most 1); twist has a range of its own. Radians.
//
// The ranges are those of supple adults, wider than what clinics call normal, since dancers and
// gymnasts wear trackers too: they rule out what no body does. Sources of the normal ranges:
// American Academy of Orthopaedic Surgeons, Joint Motion (1965); Boone and Azen, J Bone Joint Surg
// 61-A (1979); White and Panjabi, Clinical Biomechanics of the Spine (1990) for the trunk's.
struct joint_limit {
    uint32_t axis;          // the bone's, 0 x, 1 y, 2 z; the swing's are the next two, cyclic
    double low[2], high[2]; // swing
    double twist_low, twist_high;
    double center[4]; // the turn that swing and twist are counted from
    bool free;        // no limit: the hips
};

// Of a VRM bone; free for bones that have no row (fingers, eyes, the hips).
struct joint_limit joint_limit_of(int32_t humanoid);
// All ranges times `share`: several joints that do one bone's work.
struct joint_limit joint_limit_scaled(struct joint_limit l, double share);
// The nearest turn within the limits (swing drawn in towards none, twist cut); how far it was
// beyond, the angle between both, 0 when it is kept as it was.
double joint_limit_hold(const struct joint_limit *l, double turn[4]);
// That angle alone.
double joint_limit_excess(const struct joint_limit *l, const double turn[4]);
