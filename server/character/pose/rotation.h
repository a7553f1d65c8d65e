#pragma once
#include "common/xform.h"

// Quaternions in double for the pose stage: x, y, z, w.

// Weighted mean on the arc from a to b, on its shorter side, for unit a and b; t outside 0..1
// goes on along the arc. Not normalised beyond rounding. No libm: the same bits everywhere.
void rotation_slerp(const double a[4], const double b[4], double t, double out[4]);
void rotation_mul(const double a[4], const double b[4], double out[4]); // out may be a or b
// Rounded unit quaternion; identity when q has no direction.
struct quat rotation_round(const double q[4]);

static inline void rotation_load(struct quat q, double out[4])
{
    out[0] = (double)q.x;
    out[1] = (double)q.y;
    out[2] = (double)q.z;
    out[3] = (double)q.w;
}
static inline double rotation_dot(const double a[4], const double b[4])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}
