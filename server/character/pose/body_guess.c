#include "server/character/pose/body_guess.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/rotation.h"

static void turn_about(int axis, double angle, double out[4])
{
    double s, c;
    stable_sincos(angle / 2, &s, &c);
    for (int i = 0; i < 4; i++)
        out[i] = i == 3 ? c : (i == axis ? s : 0);
}

static void heading_turn(const double heading[2], double out[4])
{
    double w = sqrt(fmax((1 + heading[1]) / 2, 0));
    out[0] = out[2] = 0;
    out[1] = w > 1e-6 ? heading[0] / (2 * w) : 1;
    out[3] = w > 1e-6 ? w : 0;
    rotation_unit(out);
}

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

// ---- by rule

// How far the trunk leans forward and sinks: a head that looks down by its neck stays as high; one
// that comes down takes the trunk along, the further the lower.
static void guess_trunk(const struct human *h, const struct body_sense *s, struct body_guess *g)
{
    double yaw[4], lean[4], front[3], up[3], sunk = 1 - s->head[1] / h->head_height;
    static const double z[3] = {0, 0, 1}, y[3] = {0, 1, 0};
    rotation_apply(s->head_turn, z, front);
    rotation_apply(s->head_turn, y, up);
    double down = clamp(-front[1], -0.5, 1), deep = clamp(sunk / 0.5, 0, 1);
    double pitch = 0.12 + 0.25 * down + deep * (0.3 + 0.5 * fmax(down, 0));
    heading_turn(s->ahead, yaw);
    turn_about(0, pitch, lean);
    rotation_mul(yaw, lean, g->chest);
    turn_about(0, 0.4 * pitch, lean);
    rotation_mul(yaw, lean, g->pelvis);
    (void)up;
}

static void guess_arm(const struct human *h, const struct body_sense *s, int side,
                      struct body_guess *g)
{
    // Elbows hang down, outward and back of the body.
    const double local[3] = {side == 0 ? 0.25 : -0.25, -0.35, -0.12};
    (void)h;
    for (int r = 0; r < 3; r++)
        g->shoulders[side][r] = 0;
    double yaw[4];
    heading_turn(s->ahead, yaw);
    rotation_apply(yaw, local, g->elbows[side]);
}

static void guess_leg(const struct human *h, const struct body_sense *s, int side,
                      struct body_guess *g)
{
    uint32_t upper = human_limb_bone(side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R, 0);
    double yaw[4], out[3], sunk = fmax(1 - s->head[1] / h->head_height, 0);
    // Under the head, a little further back the lower it is; knees ahead.
    double local[3] = {h->bones[upper].offset[0] * 1.15, 0, -0.05 * h->head_height};
    const double knee[3] = {side == 0 ? 0.08 : -0.08, 0, 0.3};
    double ankle = h->hips_height;
    for (uint32_t k = 0; k < 3; k++)
        ankle += h->bones[upper + k].offset[1];
    heading_turn(s->ahead, yaw);
    local[2] += -0.1 * sunk * h->head_height;
    rotation_apply(yaw, local, out);
    for (int r = 0; r < 3; r++)
        g->ankles[side][r] = s->head[r] + out[r];
    double leap = s->head[1] - 1.03 * h->head_height;
    g->ankles[side][1] = ankle + fmax(leap, 0);
    g->contact[side] = leap > 0 ? 0 : 1;
    memcpy(g->feet[side], yaw, sizeof yaw);
    rotation_apply(yaw, knee, g->knees[side]);
}

void body_guess_by_rule(const struct human *h, const struct body_sense *s, struct body_guess *g)
{
    guess_trunk(h, s, g);
    for (int side = 0; side < 2; side++) {
        guess_arm(h, s, side, g);
        guess_leg(h, s, side, g);
    }
}

// ---- of a pose

// From the middle between two joints to the one between them, as a share of the limb's length.
static void bend_of(const struct human *h, double places[HUMAN_BONES][3], uint32_t upper,
                    double out[3])
{
    double length = 0;
    for (uint32_t k = 1; k <= 2; k++) {
        const double *offset = h->bones[upper + k].offset;
        length += sqrt(vector_dot(offset, offset));
    }
    for (int r = 0; r < 3; r++)
        out[r] = (places[upper + 1][r] - (places[upper][r] + places[upper + 2][r]) / 2) / length;
}

void body_guess_of_pose(const struct human *h, const struct human_pose *p, struct body_guess *g)
{
    double places[HUMAN_BONES][3];
    human_places(h, p, places);
    memcpy(g->pelvis, p->turns[0], sizeof g->pelvis);
    memcpy(g->chest, p->turns[h->chest], sizeof g->chest);
    for (int side = 0; side < 2; side++) {
        uint32_t arm = human_limb_bone(side == 0 ? HUMAN_ARM_L : HUMAN_ARM_R, 1);
        uint32_t leg = human_limb_bone(side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R, 0);
        double from_chest[3];
        for (int r = 0; r < 3; r++)
            from_chest[r] = places[arm][r] - places[h->chest][r];
        rotation_apply_inverse(p->turns[h->chest], from_chest, g->shoulders[side]);
        for (int r = 0; r < 3; r++)
            g->shoulders[side][r] -= h->bones[arm - 1].offset[r] + h->bones[arm].offset[r];
        bend_of(h, places, arm, g->elbows[side]);
        bend_of(h, places, leg, g->knees[side]);
        memcpy(g->ankles[side], places[leg + 2], sizeof g->ankles[side]);
        memcpy(g->feet[side], p->turns[leg + 2], sizeof g->feet[side]);
        g->contact[side] = 1;
    }
}

// ---- as numbers

static void local(const struct body_sense *s, const double v[3], double scale, double out[3])
{
    rotation_apply_inverse(s->frame, v, out);
    for (int r = 0; r < 3; r++)
        out[r] *= scale;
}

static double *put(double *at, const struct body_sense *s, const double v[3], double scale)
{
    local(s, v, scale, at);
    return at + 3;
}

static double *put_turn(double *at, const struct body_sense *s, const double turn[4])
{
    for (int axis = 0; axis < 2; axis++) {
        double v[3] = {axis == 0, axis == 1, 0}, out[3];
        rotation_apply(turn, v, out);
        at = put(at, s, out, 1);
    }
    return at;
}

void body_guess_pack(const struct human *h, const struct body_sense *s, const struct body_guess *g,
                     double out[BODY_GUESS_NUMBERS])
{
    double *at = put_turn(out, s, g->pelvis);
    (void)h;
    at = put_turn(at, s, g->chest);
    for (int i = 0; i < 2; i++)
        for (int r = 0; r < 3; r++)
            *at++ = s->unit * g->shoulders[i][r];
    for (int i = 0; i < 2; i++)
        at = put(at, s, g->elbows[i], 1);
    for (int i = 0; i < 2; i++) {
        double from_head[3] = {g->ankles[i][0] - s->head[0], g->ankles[i][1],
                               g->ankles[i][2] - s->head[2]};
        at = put(at, s, from_head, s->unit);
    }
    for (int i = 0; i < 2; i++)
        at = put_turn(at, s, g->feet[i]);
    for (int i = 0; i < 2; i++)
        at = put(at, s, g->knees[i], 1);
    for (int i = 0; i < 2; i++)
        *at++ = g->contact[i];
}

static const double *take(const double *at, const struct body_sense *s, double scale, double out[3])
{
    rotation_apply(s->frame, at, out);
    for (int r = 0; r < 3; r++)
        out[r] *= scale;
    return at + 3;
}

// The nearest turn: +Y as it is, +X square to it.
static const double *take_turn(const double *at, const struct body_sense *s, double turn[4])
{
    double basis[3][3];
    at = take(at, s, 1, basis[0]);
    at = take(at, s, 1, basis[1]);
    double size = sqrt(vector_dot(basis[1], basis[1]));
    for (int r = 0; r < 3; r++)
        basis[1][r] = size > 1e-6 ? basis[1][r] / size : (double)(r == 1);
    double along = vector_dot(basis[0], basis[1]);
    for (int r = 0; r < 3; r++)
        basis[0][r] -= along * basis[1][r];
    size = sqrt(vector_dot(basis[0], basis[0]));
    for (int r = 0; size > 1e-6 && r < 3; r++)
        basis[0][r] /= size;
    vector_cross(basis[0], basis[1], basis[2]);
    xform_rotation(basis, turn);
    return at;
}

void body_guess_unpack(const struct human *h, const struct body_sense *s,
                       const double in[BODY_GUESS_NUMBERS], struct body_guess *g)
{
    const double *at = take_turn(in, s, g->pelvis);
    (void)h;
    at = take_turn(at, s, g->chest);
    for (int i = 0; i < 2; i++)
        for (int r = 0; r < 3; r++)
            g->shoulders[i][r] = *at++ / s->unit;
    for (int i = 0; i < 2; i++)
        at = take(at, s, 1, g->elbows[i]);
    for (int i = 0; i < 2; i++) {
        at = take(at, s, 1 / s->unit, g->ankles[i]);
        g->ankles[i][0] += s->head[0];
        g->ankles[i][2] += s->head[2];
    }
    for (int i = 0; i < 2; i++)
        at = take_turn(at, s, g->feet[i]);
    for (int i = 0; i < 2; i++)
        at = take(at, s, 1, g->knees[i]);
    for (int i = 0; i < 2; i++)
        g->contact[i] = *at++;
}

static const double *mirror(const double *in, int sides, int vectors, double **out)
{
    static const double axes[2][3] = {{1, -1, -1}, {-1, 1, 1}}; // of +X and +Y
    for (int side = sides - 1; side >= 0; side--)
        for (int v = 0; v < vectors; v++)
            for (int r = 0; r < 3; r++)
                *(*out)++ = axes[vectors == 1 ? 1 : v][r] * in[3 * (side * vectors + v) + r];
    return in + 3 * sides * vectors;
}

void body_guess_mirror(const double in[BODY_GUESS_NUMBERS], double out[BODY_GUESS_NUMBERS])
{
    in = mirror(in, 1, 2, &out);
    in = mirror(in, 1, 2, &out);
    in = mirror(in, 2, 1, &out); // shoulders, elbows, ankles
    in = mirror(in, 2, 1, &out);
    in = mirror(in, 2, 1, &out);
    in = mirror(in, 2, 2, &out);
    in = mirror(in, 2, 1, &out);
    out[0] = in[1];
    out[1] = in[0];
}
