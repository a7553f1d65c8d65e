#include "server/character/pose/rotation.h"

#include <string.h>

void rotation_slerp(const double a[4], const double b[4], double t, double out[4])
{
    double cosine = rotation_dot(a, b), sign = cosine < 0 ? -1 : 1, of_a, of_b;
    rotation_slerp_factors(t, sign * cosine, &of_a, &of_b);
    of_b *= sign;
    for (int i = 0; i < 4; i++)
        out[i] = of_a * a[i] + of_b * b[i];
}

void rotation_power(const struct quat *q, double t, double out[4])
{
    static const double none[4] = {0, 0, 0, 1};
    double whole[4], step[4];
    rotation_load(*q, whole);
    for (int i = 0; i < 3; i++)
        whole[i] = t < 0 ? -whole[i] : whole[i];
    double steps = fmin(fmax(ceil(fabs(t)), 1), 64);
    rotation_slerp(none, whole, fmin(fabs(t) / steps, 1), step);
    memcpy(out, step, sizeof step);
    for (double n = 1; n < steps; n++)
        rotation_mul(out, step, out);
}
