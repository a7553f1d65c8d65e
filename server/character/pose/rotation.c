#include "server/character/pose/rotation.h"

#include <stdbool.h>

// Cut at the middle, which needs no angle: on the half arcs y >= -0.3.
void rotation_slerp_wide(const double a[4], const double b[4], double t, double out[4])
{
    double sign = rotation_dot(a, b) < 0 ? -1 : 1, near[4], middle[4], of_first, of_second;
    for (int i = 0; i < 4; i++) {
        near[i] = sign * b[i];
        middle[i] = a[i] + near[i];
    }
    double length = sqrt(rotation_dot(middle, middle)); // 2 cos(half the angle)
    bool early = t < 0.5;
    rotation_slerp_factors(early ? 2 * t : 2 * t - 1, length / 2 - 1, &of_first, &of_second);
    double of_middle = (early ? of_second : of_first) / length;
    for (int i = 0; i < 4; i++)
        out[i] = of_middle * middle[i] + (early ? of_first * a[i] : of_second * near[i]);
}
