#include "server/character/pose/ik.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/rotation.h"

double ik_across(const double line[3], const double v[3], double out[3])
{
    double along = vector_dot(line, v), size;
    for (int r = 0; r < 3; r++)
        out[r] = v[r] - along * line[r];
    size = sqrt(vector_dot(out, out));
    for (int r = 0; size > 0 && r < 3; r++)
        out[r] /= size;
    return size;
}

void ik_turn(const double axis[3], double angle, const double v[3], double out[3])
{
    double q[4], s, c;
    stable_sincos(angle / 2, &s, &c);
    for (int r = 0; r < 3; r++)
        q[r] = s * axis[r];
    q[3] = c;
    rotation_apply(q, v, out);
}

double ik_angle(const double axis[3], const double a[3], const double b[3])
{
    double across[3];
    vector_cross(a, b, across);
    double s = vector_dot(across, axis), angle = stable_atan2(fabs(s), vector_dot(a, b));
    return s < 0 ? -angle : angle;
}

void ik_carry(const double line_before[3], const double line[3], const double pole_before[3],
              double pole[3])
{
    double q[4];
    rotation_between(line_before, line, q);
    rotation_apply(q, pole_before, pole);
    double copy[3] = {pole[0], pole[1], pole[2]};
    if (ik_across(line, copy, pole) > 0) return;
    double other[3] = {0, 0, 0};
    other[fabs(line[0]) < 0.6 ? 0 : 1] = 1;
    (void)ik_across(line, other, pole);
}

void ik_bend(const double root[3], const double target[3], double upper, double lower, double least,
             const double pole[3], const double line_before[3], const double pole_before[3],
             struct ik_bend *out)
{
    double carried[3], away[3], far = 0;
    for (int r = 0; r < 3; r++)
        away[r] = target[r] - root[r];
    far = sqrt(vector_dot(away, away));
    for (int r = 0; r < 3; r++)
        out->line[r] = far > 1e-6 ? away[r] / far : line_before[r];
    ik_carry(line_before, out->line, pole_before, carried);
    // A pole that nearly lies along the line says little: it fades into the one before.
    double square[3], says = ik_across(out->line, pole, square), mixed[3];
    double trust = says >= 0.2 ? 1 : says / 0.2;
    for (int r = 0; r < 3; r++)
        mixed[r] = trust * square[r] + (1 - trust) * carried[r];
    if (!(ik_across(out->line, mixed, out->pole) > 1e-9))
        memcpy(out->pole, carried, sizeof carried);
    double most = upper + lower, reach = fmin(fmax(far, least), most);
    double along = (reach * reach + upper * upper - lower * lower) / (2 * reach);
    double aside = sqrt(fmax(upper * upper - along * along, 0));
    for (int r = 0; r < 3; r++) {
        out->middle[r] = root[r] + along * out->line[r] + aside * out->pole[r];
        out->end[r] = root[r] + reach * out->line[r];
    }
    out->missing = fabs(far - reach);
}

// A turn in model space as one before the node's own rotation, in its parent's frame.
static bool turn_in(const struct xform *parent, const double q[4], double out[4])
{
    struct xform inverse, turn = *parent;
    memset(turn.col[3], 0, sizeof turn.col[3]);
    if (!xform_invert(&turn, &inverse)) return false;
    double axis[3], size = sqrt(vector_dot(q, q)), side = xform_det3(&turn) < 0 ? -1 : 1;
    xform_point(&inverse, q, axis);
    double length = sqrt(vector_dot(axis, axis));
    for (int r = 0; r < 3; r++)
        out[r] = length > 0 ? side * axis[r] * size / length : 0;
    out[3] = q[3];
    return true;
}

void ik_turn_node(const struct model *m, const struct xform *nodes, int32_t node, const double q[4],
                  struct trs *locals)
{
    static const struct xform none = {.col = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}}};
    int32_t parent = m->nodes[node].parent;
    double turn[4], local[4];
    if (!turn_in(parent == MODEL_NONE ? &none : &nodes[parent], q, turn)) return;
    rotation_load(locals[node].rotation, local);
    rotation_mul(turn, local, local);
    locals[node].rotation = rotation_round(local);
}
