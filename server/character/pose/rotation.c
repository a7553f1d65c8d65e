#include "server/character/pose/rotation.h"

void rotation_slerp(const double a[4], const double b[4], double t, double out[4])
{
    double cosine = rotation_dot(a, b), sign = cosine < 0 ? -1 : 1, of_a, of_b;
    rotation_slerp_factors(t, sign * cosine, &of_a, &of_b);
    of_b *= sign;
    for (int i = 0; i < 4; i++)
        out[i] = of_a * a[i] + of_b * b[i];
}
