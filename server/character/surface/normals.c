#include "server/character/surface/normals.h"

#include <math.h>
#include <string.h>

static double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// atan of 0 <= t <= 1 to 3e-11: reduced to |u| <= tan(pi/8), then its power series.
static double atan_unit(double t)
{
    const double quarter_pi = 0.78539816339744830962;
    double base = 0, u = t;
    if (t > 0.41421356237309504880) {
        base = quarter_pi;
        u = (t - 1) / (t + 1);
    }
    double z = u * u, sum = 0;
    for (int n = 23; n >= 1; n -= 2)
        sum = 1.0 / n - z * sum;
    return base + u * sum;
}

// The angle whose sine and cosine are proportional to s >= 0 and c, in 0 .. pi.
static double angle_of(double s, double c)
{
    const double half_pi = 1.57079632679489661923;
    double size = fabs(c);
    double acute = s <= size ? atan_unit(s / size) : half_pi - atan_unit(size / s);
    return c < 0 ? 2 * half_pi - acute : acute;
}

// What the triangle (at, next, last) adds to m at `at`.
static void add_corner(const double at[3], const double next[3], const double last[3],
                       double sum[3])
{
    double a[3], b[3], n[3];
    for (int i = 0; i < 3; i++) {
        a[i] = next[i] - at[i];
        b[i] = last[i] - at[i];
    }
    cross3(a, b, n);
    double length = sqrt(dot3(n, n));
    if (!(length > 0)) return;
    double s = angle_of(length, dot3(a, b)) / length;
    for (int i = 0; i < 3; i++)
        sum[i] += s * n[i];
}

void normals_make(const struct normals_mesh *mesh, float *normals)
{
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        uint32_t weld = mesh->weld[v];
        if (weld < v) {
            memcpy(normals + 3 * v, normals + 3 * (size_t)weld, 3 * sizeof(float));
            continue;
        }
        double sum[3] = {0, 0, 0};
        for (uint32_t i = mesh->corner_first[v]; i < mesh->corner_first[v + 1]; i++) {
            uint32_t corner = mesh->corners[i], first = corner - corner % 3, place = corner % 3;
            double at[3][3];
            for (uint32_t k = 0; k < 3; k++)
                for (uint32_t r = 0; r < 3; r++)
                    at[k][r] =
                        (double)
                            mesh->positions[3 * (size_t)mesh->indices[first + (place + k) % 3] + r];
            add_corner(at[0], at[1], at[2], sum);
        }
        double n = sqrt(dot3(sum, sum));
        for (int r = 0; r < 3; r++)
            normals[3 * v + (size_t)r] = n > 0 ? (float)(sum[r] / n) : 0;
    }
}

void normals_sum_places(const struct normals_place *places, const struct normals_corner *corners,
                        uint32_t count, float sum[3])
{
    double m[3] = {0, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t vertices[3] = {corners[i].at, corners[i].next, corners[i].last};
        double at[3][3];
        for (int k = 0; k < 3; k++)
            for (int r = 0; r < 3; r++)
                at[k][r] = (double)places[vertices[k]].at[r];
        add_corner(at[0], at[1], at[2], m);
    }
    for (int r = 0; r < 3; r++)
        sum[r] = (float)m[r];
}

// Half a turn about an axis square to unit a.
static void turn_over(const double a[3], const double v[3], double out[3])
{
    int k = fabs(a[0]) < 0.6 ? 0 : 1;
    double other[3] = {k == 0, k == 1, 0}, axis[3];
    cross3(a, other, axis);
    double s = 2 * dot3(axis, v) / dot3(axis, axis);
    for (int i = 0; i < 3; i++)
        out[i] = s * axis[i] - v[i];
}

void normals_turn(const float from[3], const float to[3], float v[3])
{
    if (from[0] == to[0] && from[1] == to[1] && from[2] == to[2]) return;
    double a[3], b[3], in[3], axis[3], turned[3];
    for (int i = 0; i < 3; i++) {
        a[i] = (double)from[i];
        b[i] = (double)to[i];
        in[i] = (double)v[i];
    }
    double aa = dot3(a, a), bb = dot3(b, b);
    if (!(aa > 0) || !(bb > 0)) return;
    double s = 1 / sqrt(aa * bb), cosine = dot3(a, b) * s;
    cross3(a, b, axis);
    for (int i = 0; i < 3; i++)
        axis[i] *= s; // length = sine
    if (1 + cosine < 1e-12) {
        double unit[3] = {a[0] / sqrt(aa), a[1] / sqrt(aa), a[2] / sqrt(aa)};
        turn_over(unit, in, turned);
    } else {
        double across[3], along = dot3(axis, in) / (1 + cosine);
        cross3(axis, in, across);
        for (int i = 0; i < 3; i++)
            turned[i] = cosine * in[i] + across[i] + along * axis[i];
    }
    for (int i = 0; i < 3; i++)
        v[i] = (float)turned[i];
}
