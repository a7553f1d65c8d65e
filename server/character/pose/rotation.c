#include "server/character/pose/rotation.h"

// sin(t angle) / sin(angle) as a power series in y = cos(angle) - 1:
//   a0 = t, ai = a(i-1) * (t^2 - i^2) / (i (2 i + 1)) * y
// On the shorter arc -1 <= y <= 0, where each term is less than about half the one before; key
// intervals are short as a rule, and three or four terms do. It costs less than acos and sin,
// loses nothing at small angles, and does not depend on the machine's libm.
static double slerp_weight(double t, double y)
{
    enum { TERMS_MAX = 64 };
    double term = t, sum = t, tt = t * t;
    for (int i = 1; i <= TERMS_MAX; i++) {
        double ii = (double)i;
        term *= (tt - ii * ii) * y / (ii * (2 * ii + 1));
        sum += term;
        if (fabs(term) < 1e-13) break;
    }
    return sum;
}

void rotation_slerp(const double a[4], const double b[4], double t, double out[4])
{
    double cosine = rotation_dot(a, b);
    double sign = cosine < 0 ? -1 : 1;
    double y = fmin(sign * cosine - 1, 0);
    double wa = slerp_weight(1 - t, y), wb = sign * slerp_weight(t, y);
    for (int i = 0; i < 4; i++)
        out[i] = wa * a[i] + wb * b[i];
}

void rotation_mul(const double a[4], const double b[4], double out[4])
{
    double x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
    double y = a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0];
    double z = a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3];
    double w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
    out[0] = x;
    out[1] = y;
    out[2] = z;
    out[3] = w;
}

struct quat rotation_round(const double q[4])
{
    double n = sqrt(rotation_dot(q, q));
    if (!(n > 0) || !isfinite(n)) return (struct quat){0, 0, 0, 1};
    double s = 1 / n;
    return (struct quat){(float)(q[0] * s), (float)(q[1] * s), (float)(q[2] * s),
                         (float)(q[3] * s)};
}
