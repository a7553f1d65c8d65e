#pragma once
#include <math.h>
#include <stdbool.h>

#include "common/vector.h"
#include "common/xform.h"

// Quaternions in double for the pose stage: x, y, z, w. The small ones are inline: a pose samples
// some hundred rotations, and passing them through memory costs as much as the arithmetic.

static inline void rotation_load(struct quat q, double out[4])
{
    out[0] = (double)q.x;
    out[1] = (double)q.y;
    out[2] = (double)q.z;
    out[3] = (double)q.w;
}

static inline double rotation_dot(const double a[4], const double b[4])
{
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]);
}

static inline void rotation_mul(const double a[4], const double b[4], double out[4])
{
    double x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    double y = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    double z = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    double w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
    out[0] = x; // last: out may be a or b
    out[1] = y;
    out[2] = z;
    out[3] = w;
}

// Rounded unit quaternion; identity when q has no direction.
static inline struct quat rotation_round(const double q[4])
{
    double n2 = rotation_dot(q, q), e = n2 - 1, s;
    if (fabs(e) < 1e-3) { // nearly unit, as sampled rotations are: 1 / sqrt(1 + e) to 1e-12
        s = 1 - e * (0.5 - e * (0.375 - e * 0.3125));
    } else {
        if (!(n2 > 0) || !isfinite(n2)) return (struct quat){0, 0, 0, 1};
        s = 1 / sqrt(n2);
    }
    return (struct quat){(float)(q[0] * s), (float)(q[1] * s), (float)(q[2] * s),
                         (float)(q[3] * s)};
}

// To unit length; identity when it has no direction.
static inline void rotation_unit(double q[4])
{
    double n2 = rotation_dot(q, q);
    bool none = !(n2 > 1e-60) || !isfinite(n2);
    double s = none ? 0 : 1 / sqrt(n2);
    for (int i = 0; i < 4; i++)
        q[i] = none ? (double)(i == 3) : q[i] * s;
}

// The inverse of a unit rotation times b.
static inline void rotation_from(const double a[4], const double b[4], double out[4])
{
    double inverse[4] = {-a[0], -a[1], -a[2], a[3]};
    rotation_mul(inverse, b, out);
}

static inline void rotation_apply(const double q[4], const double in[3], double out[3])
{
    double t[3], u[3];
    vector_cross(q, in, t);
    for (int r = 0; r < 3; r++)
        t[r] *= 2;
    vector_cross(q, t, u);
    for (int r = 0; r < 3; r++)
        out[r] = in[r] + q[3] * t[r] + u[r];
}

static inline void rotation_apply_inverse(const double q[4], const double in[3], double out[3])
{
    double inverse[4] = {-q[0], -q[1], -q[2], q[3]};
    rotation_apply(inverse, in, out);
}

// The shortest from unit a to unit b.
static inline void rotation_between(const double a[3], const double b[3], double q[4])
{
    vector_cross(a, b, q);
    q[3] = 1 + vector_dot(a, b);
    if (q[3] < 1e-12) { // opposite: about any axis across
        double other[3] = {0, 0, 0};
        other[fabs(a[0]) < 0.6 ? 0 : 1] = 1;
        vector_cross(a, other, q);
        q[3] = 0;
    }
    rotation_unit(q);
}

// The factors of a and b in a slerp from a to b, t of the way, cosine = a . b >= 0, unit both. The
// arc is halved at its middle, a + b, which needs no angle. On the half arc
// sin(u angle) / sin(angle) is a power series in y = cos(angle) - 1,
//   a0 = u, ai = a(i-1) * (u^2 - i^2) / (i (2 i + 1)) * y
// with y >= -0.3 there: nine terms leave 5e-10. That costs less than acos and sin, loses nothing
// at small angles, has no branches, and does not depend on the machine's libm.
static inline void rotation_slerp_factors(double t, double cosine, double *of_a, double *of_b)
{
    static const double series[9] = {1.0 / 3,  1.0 / 10,  1.0 / 21,  1.0 / 36, 1.0 / 55,
                                     1.0 / 78, 1.0 / 105, 1.0 / 136, 1.0 / 171};
    double length = sqrt(2 + 2 * cosine), y = length / 2 - 1; // of a + b
    double early = t < 0.5 ? 1 : 0, u = 2 * t - 1 + early, v = 1 - u, uu = u * u, vv = v * v;
    double term_u = u, term_v = v, sum_u = u, sum_v = v;
    for (int i = 0; i < 9; i++) {
        double ii = (double)((i + 1) * (i + 1)), step = y * series[i];
        term_u *= (uu - ii) * step;
        term_v *= (vv - ii) * step;
        sum_u += term_u;
        sum_v += term_v;
    }
    double of_middle = (early * sum_u + (1 - early) * sum_v) / length;
    *of_a = of_middle + early * sum_v;
    *of_b = of_middle + (1 - early) * sum_u;
}

// From a to b along the shorter arc, unit both; t somewhat outside 0..1 goes on along it. Not
// normalised beyond rounding.
void rotation_slerp(const double a[4], const double b[4], double t, double out[4]);
// q, unit, to the power of t: that many times its turn. A large |t| is made of steps.
void rotation_power(const struct quat *q, double t, double out[4]);
