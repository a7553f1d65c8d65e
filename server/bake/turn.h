#pragma once
#include "common/xform.h"

// Rotations in double, for arithmetic over long chains of joints.
struct turn {
    double x, y, z, w;
};
static inline struct turn turn_none(void)
{
    return (struct turn){0, 0, 0, 1};
}
struct turn turn_from_quat(struct quat q); // normalised
struct quat quat_from_turn(struct turn t);
struct turn turn_mul(struct turn a, struct turn b);             // b first, then a
struct turn turn_inverse(struct turn t);                        // of a unit turn
struct turn turn_slerp(struct turn a, struct turn b, double s); // shortest arc
struct turn turn_from_axes(const struct xform *basis); // basis columns: orthonormal, right-handed
void turn_point(struct turn t, const double in[3], double out[3]);
