#include "common/stable_math.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// 2^k for -1022 <= k <= 1023.
static double power_of_two(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double out;
    memcpy(&out, &bits, sizeof out);
    return out;
}

double stable_exp(double x)
{
    static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    if (!(x > -745)) return x != x ? x : 0;
    if (x > 709.7) return HUGE_VAL;
    double k = floor(x * 1.4426950408889634 + 0.5);
    double r = (x - k * ln2_high) - k * ln2_low; // |r| <= 0.3466
    static const double inverse[] = {0,        1.0,      1.0 / 2,  1.0 / 3,  1.0 / 4,
                                     1.0 / 5,  1.0 / 6,  1.0 / 7,  1.0 / 8,  1.0 / 9,
                                     1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13, 1.0 / 14};
    double sum = 1;
    for (int n = 14; n >= 1; n--) // Horner's form of the power series
        sum = 1 + sum * (r * inverse[n]);
    int half = (int)k / 2; // in two steps, so that subnormal results are reached
    return sum * power_of_two(half) * power_of_two((int)k - half);
}

double stable_log(double x)
{
    static const double ln2 = 0.69314718055994530942;
    uint64_t bits;
    int k = 0;
    if (x < 2.2250738585072014e-308) { // subnormal
        x *= 18014398509481984.0;
        k = -54;
    }
    memcpy(&bits, &x, sizeof bits);
    k += (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m /= 2;
        k++;
    }
    double s = (m - 1) / (m + 1), ss = s * s, sum = 0; // |s| <= 0.172
    for (int n = 25; n >= 1; n -= 2)
        sum = sum * ss + 1.0 / n;
    return k * ln2 + 2 * s * sum;
}

// 0 <= t <= 1; two half-angle steps bring it below 0.2.
static double atan_small(double t)
{
    t = t / (1 + sqrt(1 + t * t));
    t = t / (1 + sqrt(1 + t * t));
    double tt = t * t, sum = 0;
    for (int n = 25; n >= 1; n -= 2)
        sum = 1.0 / n - sum * tt;
    return 4 * t * sum;
}

double stable_atan2(double y, double x)
{
    static const double pi = 3.14159265358979323846;
    double ax = fabs(x);
    if (y == 0 && ax == 0) return 0;
    double angle = y <= ax ? atan_small(y / ax) : pi / 2 - atan_small(ax / y);
    return x < 0 ? pi - angle : angle;
}

void stable_sincos(double x, double *sine, double *cosine)
{
    static const double half_pi_high = 1.5707963267341256, half_pi_low = 6.0771005065061922e-11;
    *sine = *cosine = 0;
    if (!(fabs(x) < 1e5)) return;
    double k = floor(x / (half_pi_high + half_pi_low) + 0.5);
    double r = (x - k * half_pi_high) - k * half_pi_low; // |r| <= pi / 4
    double rr = r * r, s = 1, c = 1;
    // Horner's form of both power series.
    static const double of_sine[] = {1.0 / 6,   1.0 / 20,  1.0 / 42,  1.0 / 72,
                                     1.0 / 110, 1.0 / 156, 1.0 / 210, 1.0 / 272};
    static const double of_cosine[] = {1.0 / 2,  1.0 / 12,  1.0 / 30,  1.0 / 56,
                                       1.0 / 90, 1.0 / 132, 1.0 / 182, 1.0 / 240};
    for (int n = 7; n >= 0; n--) {
        s = 1 - s * (rr * of_sine[n]);
        c = 1 - c * (rr * of_cosine[n]);
    }
    s *= r;
    switch ((long)k & 3) {
    case 0:
        *sine = s, *cosine = c;
        break;
    case 1:
        *sine = c, *cosine = -s;
        break;
    case 2:
        *sine = -s, *cosine = -c;
        break;
    default:
        *sine = -c, *cosine = s;
    }
}
