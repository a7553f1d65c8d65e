#pragma once
#include <math.h>

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

// The factors of a and b in a slerp, t of the way: sin((1 - t) angle) / sin(angle) and
// sin(t angle) / sin(angle) as power series in y = cos(angle) - 1,
//   a0 = t, ai = a(i-1) * (t^2 - i^2) / (i (2 i + 1)) * y
// It costs less than acos and sin, loses nothing at small angles, and does not depend on the
// machine's libm. For -0.3 <= y <= 0 a term is at most 0.15 times the one before: twelve leave
// 1e-11. Four do, as a rule: neighbouring keys are some degrees apart.
static inline void rotation_slerp_factors(double t, double y, double *of_a, double *of_b)
{
    static const double series[12] = {1.0 / 3,   1.0 / 10,  1.0 / 21,  1.0 / 36,
                                      1.0 / 55,  1.0 / 78,  1.0 / 105, 1.0 / 136,
                                      1.0 / 171, 1.0 / 210, 1.0 / 253, 1.0 / 300};
    double s = 1 - t, tt = t * t, ss = s * s;
    double term_a = s, term_b = t, sum_a = s, sum_b = t;
    int terms = y > -0.004 ? 4 : 12;
    for (int i = 0; i < terms; i++) {
        double ii = (double)((i + 1) * (i + 1)), step = y * series[i];
        term_a *= (ss - ii) * step;
        term_b *= (tt - ii) * step;
        sum_a += term_a;
        sum_b += term_b;
    }
    *of_a = sum_a;
    *of_b = sum_b;
}

// The same for arcs wider than 90 degrees of turn.
void rotation_slerp_wide(const double a[4], const double b[4], double t, double out[4]);

// From a to b along the shorter arc, unit both; t somewhat outside 0..1 goes on along it. Not
// normalised beyond rounding.
static inline void rotation_slerp(const double a[4], const double b[4], double t, double out[4])
{
    double cosine = rotation_dot(a, b), sign = cosine < 0 ? -1 : 1, of_a, of_b;
    double y = sign * cosine - 1;
    if (y < -0.29) {
        rotation_slerp_wide(a, b, t, out);
        return;
    }
    rotation_slerp_factors(t, y < 0 ? y : 0, &of_a, &of_b);
    of_b *= sign;
    for (int i = 0; i < 4; i++)
        out[i] = of_a * a[i] + of_b * b[i];
}
