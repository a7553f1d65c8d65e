#include "server/character/pose/joint_limits.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/humanoid.h"
#include "server/character/pose/rotation.h"

static const double DEGREE = 3.14159265358979323846 / 180;

// Degrees, left side; the right one is its mirror image. Axis x: swing (y, z); y: swing (z, x).
// About +x: bending forward, a leg back, a foot down. About +y: to the left, a left arm back.
// About +z: leaning to the right, a left arm up, a left leg out.
static const struct row {
    const char *bone;
    uint32_t axis;
    int16_t low[2], high[2], twist[2];
} rows[] = {
    {"spine", 1, {-30, -30}, {30, 50}, {-30, 30}},
    {"chest", 1, {-25, -25}, {25, 40}, {-30, 30}},
    {"upperChest", 1, {-20, -20}, {20, 30}, {-25, 25}},
    {"neck", 1, {-30, -40}, {30, 45}, {-45, 45}},
    {"head", 1, {-30, -45}, {30, 45}, {-50, 50}},
    {"leftShoulder", 0, {-40, -35}, {35, 65}, {-30, 30}},
    {"leftUpperArm", 0, {-100, -100}, {115, 140}, {-150, 150}}, // from arm_center
    {"leftLowerArm", 0, {-166, -12}, {8, 12}, {-110, 110}},
    {"leftHand", 0, {-70, -100}, {75, 100}, {-60, 60}},
    {"leftUpperLeg", 1, {-55, -140}, {95, 60}, {-70, 70}},
    {"leftLowerLeg", 1, {-12, -8}, {12, 165}, {-40, 40}},
    {"leftFoot", 1, {-40, -50}, {40, 75}, {-60, 60}},
    {"leftToes", 1, {-15, -75}, {15, 55}, {-15, 15}},
};

// An arm reaches almost everywhere but behind the other shoulder: its swing is counted from the
// middle of that, down, out and ahead, so that the place where swing has no direction is where no
// arm goes. +y stays upmost there.
static const double arm_center[3] = {0.55, -0.65, 0.52};

static void find_arm_center(double out[4])
{
    double basis[3][3], size = sqrt(vector_dot(arm_center, arm_center));
    for (int r = 0; r < 3; r++)
        basis[0][r] = arm_center[r] / size;
    double across = sqrt(1 - basis[0][1] * basis[0][1]);
    for (int r = 0; r < 3; r++)
        basis[1][r] = ((r == 1) - basis[0][1] * basis[0][r]) / across;
    vector_cross(basis[0], basis[1], basis[2]);
    xform_rotation(basis, out);
}

static struct joint_limit limit_of(const struct row *r, bool mirrored)
{
    struct joint_limit l = {.axis = r->axis, .center = {0, 0, 0, 1}};
    if (strcmp(r->bone, "leftUpperArm") == 0) find_arm_center(l.center);
    for (int i = 1; mirrored && i < 3; i++)
        l.center[i] = -l.center[i];
    double low[3], high[3]; // about x, y, z
    for (uint32_t i = 0; i < 2; i++) {
        low[(r->axis + 1 + i) % 3] = r->low[i];
        high[(r->axis + 1 + i) % 3] = r->high[i];
    }
    low[r->axis] = r->twist[0];
    high[r->axis] = r->twist[1];
    for (int i = 1; mirrored && i < 3; i++) {
        double was = low[i];
        low[i] = -high[i];
        high[i] = -was;
    }
    for (uint32_t i = 0; i < 2; i++) {
        l.low[i] = low[(r->axis + 1 + i) % 3] * DEGREE;
        l.high[i] = high[(r->axis + 1 + i) % 3] * DEGREE;
    }
    l.twist_low = low[r->axis] * DEGREE;
    l.twist_high = high[r->axis] * DEGREE;
    return l;
}

struct joint_limit joint_limit_of(int32_t humanoid)
{
    const char *name = humanoid >= 0 ? humanoid_name(humanoid) : "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].bone, name) == 0) return limit_of(&rows[i], false);
        if (strncmp(rows[i].bone, "left", 4) == 0 && strncmp(name, "right", 5) == 0 &&
            strcmp(rows[i].bone + 4, name + 5) == 0)
            return limit_of(&rows[i], true);
    }
    return (struct joint_limit){.axis = 1, .center = {0, 0, 0, 1}, .free = true};
}

struct joint_limit joint_limit_scaled(struct joint_limit l, double share)
{
    for (int i = 0; i < 2; i++) {
        l.low[i] *= share;
        l.high[i] *= share;
    }
    l.twist_low *= share;
    l.twist_high *= share;
    return l;
}

// Twist first, then swing: turn = swing * twist. A swing of half a turn has no twist.
static void split(uint32_t axis, const double turn[4], double swing[4], double twist[4])
{
    double size = sqrt(turn[axis] * turn[axis] + turn[3] * turn[3]);
    double sign = turn[3] < 0 ? -1 : 1;
    for (uint32_t i = 0; i < 4; i++)
        twist[i] = 0;
    twist[3] = 1;
    if (size > 1e-9) {
        twist[axis] = sign * turn[axis] / size;
        twist[3] = sign * turn[3] / size;
    }
    double back[4] = {-twist[0], -twist[1], -twist[2], twist[3]};
    rotation_mul(turn, back, swing);
    for (int i = 0; swing[3] < 0 && i < 4; i++)
        swing[i] = -swing[i];
}

// The rotation angle, signed by s; w >= 0.
static double angle_of(double s, double w)
{
    double angle = 2 * stable_atan2(fabs(s), w);
    return s < 0 ? -angle : angle;
}

static double held_twist(const struct joint_limit *l, double angle)
{
    return fmin(fmax(angle, l->twist_low), l->twist_high);
}

static double share_of(double angle, double low, double high)
{
    double limit = angle < 0 ? -low : high;
    return limit > 1e-9 ? fabs(angle) / limit : fabs(angle) * 1e9;
}

// Without angles, which cost most: a chord's angle is at most pi times the sine of its half.
static bool is_well_within(const struct joint_limit *l, const double swing[4],
                           const double twist[4])
{
    static const double pi = 3.14159265358979323846;
    double t = pi * twist[l->axis], sum = 0;
    if (t < l->twist_low || t > l->twist_high) return false;
    for (uint32_t i = 0; i < 2; i++) {
        double a = share_of(pi * swing[(l->axis + 1 + i) % 3], l->low[i], l->high[i]);
        sum += (a * a) * (a * a);
    }
    return sum <= 1;
}

double joint_limit_hold(const struct joint_limit *l, double turn[4])
{
    static const double slack = 1e-9;
    double swing[4], twist[4], before[4], from_center[4];
    if (l->free) return 0;
    memcpy(before, turn, sizeof before);
    rotation_from(l->center, turn, from_center);
    split(l->axis, from_center, swing, twist);
    if (is_well_within(l, swing, twist)) return 0;
    double angle = angle_of(twist[l->axis], twist[3]), kept = held_twist(l, angle);
    uint32_t u = (l->axis + 1) % 3, v = (l->axis + 2) % 3;
    double across = sqrt(swing[u] * swing[u] + swing[v] * swing[v]);
    double size = 2 * stable_atan2(across, swing[3]), scale = 1;
    if (across > 1e-12) {
        double a = share_of(size * swing[u] / across, l->low[0], l->high[0]);
        double b = share_of(size * swing[v] / across, l->low[1], l->high[1]);
        double sum = a * a * a * a + b * b * b * b;
        if (sum > 1 + slack) scale = 1 / sqrt(sqrt(sum));
    }
    if (fabs(kept - angle) < slack && scale == 1) return 0;
    if (fabs(kept - angle) >= slack) stable_sincos(kept / 2, &twist[l->axis], &twist[3]);
    if (scale < 1) {
        double s;
        stable_sincos(size * scale / 2, &s, &swing[3]);
        swing[u] *= s / across;
        swing[v] *= s / across;
    }
    rotation_mul(l->center, swing, turn);
    rotation_mul(turn, twist, turn);
    rotation_unit(turn);
    double cosine = fmin(fabs(rotation_dot(before, turn)), 1);
    return 2 * stable_atan2(sqrt(1 - cosine * cosine), cosine);
}

double joint_limit_excess(const struct joint_limit *l, const double turn[4])
{
    double copy[4];
    memcpy(copy, turn, sizeof copy);
    return joint_limit_hold(l, copy);
}
