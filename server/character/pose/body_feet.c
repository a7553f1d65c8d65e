#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/body_own.h"
#include "server/character/pose/rotation.h"

// A foot without a tracker: it stands where it is until the body has gone elsewhere, then it steps
// after the guess. It moves sideways only while it is off the floor, so that it never slides.

static const double STEP_M = 0.10;   // a standing foot so far from its guess steps
static const double STEP_TURN = 0.6; // or so far turned, radians
static const double BOTH = 1.8;      // times that before it steps while the other does
static const double FOLLOW_S = 0.07; // time constant after the guess
static const double LIFT_M = 0.06;   // of a step
static const double CLEAR_M = 0.011; // off the floor before it moves; freely from twice that on
static const double HEEL_TURN = 0.8; // radians that a heel comes up at most
static const double FLEX = 2.0;      // a thigh against its pelvis, radians
static const double STRAIN = 0.25;   // beyond that a standing foot gives up its place
static const double SHORTEST = 0.45; // of a leg's length, from hip to ankle
static const double NEAR_M = 0.04;   // of the guess: it comes down

static double ankle_height(const struct human *h, uint32_t upper)
{
    double height = h->hips_height;
    for (uint32_t k = 0; k < 3; k++)
        height += h->bones[upper + k].offset[1];
    return height;
}

static void yaw_only(const double turn[4], double out[4])
{
    double size = sqrt(turn[1] * turn[1] + turn[3] * turn[3]);
    out[0] = out[2] = 0;
    out[1] = size > 1e-6 ? turn[1] / size : 0;
    out[3] = size > 1e-6 ? turn[3] / size : 1;
}

static double turn_distance(const double a[4], const double b[4])
{
    double cosine = fmin(fabs(rotation_dot(a, b)), 1);
    return 2 * stable_atan2(sqrt(1 - cosine * cosine), cosine);
}

// How much a standing foot wants to step; above 1 it does.
static double urge(const struct body_work *w, int side, const double wish[3], const double yaw[4])
{
    const struct body_foot_memory *m = &w->memory->feet[side];
    double dx = wish[0] - m->place[0], dz = wish[2] - m->place[2];
    double apart = sqrt(dx * dx + dz * dz) * w->sense.unit;
    return fmax(apart / STEP_M, turn_distance(yaw, m->turn) / STEP_TURN);
}

static double leg_length(const struct human *h, uint32_t upper)
{
    double leg = 0;
    for (uint32_t k = 1; k <= 2; k++) {
        const double *o = h->bones[upper + k].offset;
        leg += sqrt(vector_dot(o, o));
    }
    return leg;
}

// A standing foot whose hip is too high or too far goes up on its toes, which stay where they are.
// False where that does not help.
static bool raise_heel(const struct body_work *w, uint32_t upper, const struct body_foot_memory *m,
                       struct body_goal *out)
{
    const double *toes = w->human->bones[upper + 3].offset, *hip = w->places[upper];
    double leg = 0.9999 * leg_length(w->human, upper), low = 0, high = HEEL_TURN, ball[3];
    bool fits = false;
    rotation_apply(m->turn, toes, ball);
    for (int r = 0; r < 3; r++)
        ball[r] += m->place[r];
    for (int step = 0; step < 12; step++) { // first flat, then as far as it goes, then between
        double angle = step == 0 ? 0 : step == 1 ? HEEL_TURN : (low + high) / 2;
        double turn[4] = {0, 0, 0, 1}, place[3], full[4], far2 = 0;
        stable_sincos(angle / 2, &turn[0], &turn[3]);
        rotation_mul(m->turn, turn, full);
        rotation_apply(full, toes, place);
        for (int r = 0; r < 3; r++) {
            place[r] = ball[r] - place[r];
            far2 += (place[r] - hip[r]) * (place[r] - hip[r]);
        }
        if (far2 <= leg * leg) {
            memcpy(out->place, place, sizeof place);
            memcpy(out->turn, full, sizeof full);
            fits = true;
            high = angle;
            if (step == 0) return true;
        } else {
            low = angle;
            if (step == 1) return false;
        }
    }
    return fits;
}

// Level directions in which the pelvis faces: of one that lies on its back, up is ahead. Returns
// how far it tips forward, radians.
static double face(const struct body_work *w, double ahead[3])
{
    static const double z[3] = {0, 0, 1}, y[3] = {0, 1, 0};
    double up[3];
    rotation_apply(w->pose->turns[0], z, ahead);
    rotation_apply(w->pose->turns[0], y, up);
    double tips = stable_atan2(fabs(ahead[1]), sqrt(fmax(1 - ahead[1] * ahead[1], 0)));
    if (ahead[1] > 0) tips = -tips;
    for (int r = 0; r < 3; r += 2)
        ahead[r] += fmax(-ahead[1], 0) * up[r];
    double size = sqrt(ahead[0] * ahead[0] + ahead[2] * ahead[2]);
    for (int r = 0; r < 3; r++)
        ahead[r] = r == 1 || !(size > 1e-6) ? 0 : ahead[r] / size;
    return tips;
}

// Whether the thigh need not fold up too far for an ankle there: the way to it from straight down,
// and the bent knee above that.
static bool folds(const struct body_work *w, uint32_t upper, double tips, const double ankle[3])
{
    const double *hip = w->places[upper];
    double leg = leg_length(w->human, upper), level, far;
    double d[3] = {ankle[0] - hip[0], ankle[1] - hip[1], ankle[2] - hip[2]};
    level = sqrt(d[0] * d[0] + d[2] * d[2]);
    far = fmin(sqrt(vector_dot(d, d)) / leg, 1);
    double knee = stable_atan2(sqrt(1 - far * far), far);
    return far > SHORTEST && stable_atan2(level, -d[1]) + knee + tips < FLEX;
}

// The guess, not below the floor, and so far ahead of a low pelvis that the leg need not fold up.
static void find_wish(const struct body_work *w, int side, uint32_t upper, double floor,
                      double wish[3])
{
    enum { STEPS = 10 };
    double ahead[3], tips = face(w, ahead), leg = leg_length(w->human, upper), start[3];
    memcpy(start, w->guess.ankles[side], sizeof start);
    if (start[1] < floor) start[1] = floor;
    for (int k = 0; k <= STEPS; k++) {
        for (int r = 0; r < 3; r++)
            wish[r] = start[r] + ahead[r] * leg * k / STEPS;
        if (folds(w, upper, tips, wish)) return;
    }
}

void body_foot(struct body_work *w, int side, struct body_goal *out)
{
    const struct human *h = w->human;
    uint32_t upper = human_limb_bone(side == 0 ? HUMAN_LEG_L : HUMAN_LEG_R, 0);
    struct body_foot_memory *m = &w->memory->feet[side];
    const struct body_foot_memory *other = &w->memory->feet[1 - side];
    double wish[3], yaw[4], floor = ankle_height(h, upper), unit = 1 / w->sense.unit;
    find_wish(w, side, upper, floor, wish);
    double high = wish[1] - floor; // of the guess above a standing foot
    bool airborne = w->guess.contact[side] < 0.5 && high > 0.05 * unit;
    yaw_only(w->guess.feet[side], yaw);
    if (!w->started) {
        memcpy(m->place, wish, sizeof m->place);
        memcpy(m->turn, airborne ? w->guess.feet[side] : yaw, sizeof m->turn);
        m->place[1] = airborne ? wish[1] : floor;
        m->planted = !airborne;
        m->step_s = 0;
    }
    if (m->planted) {
        double need = urge(w, side, wish, yaw), ahead[3];
        bool strained =
            !raise_heel(w, upper, m, out) || !folds(w, upper, face(w, ahead) - STRAIN, m->place);
        if (airborne || strained || need > (other->planted ? 1 : BOTH)) {
            m->planted = 0;
            m->step_s = 0;
        }
    }
    if (!m->planted) {
        double dx = wish[0] - m->place[0], dz = wish[2] - m->place[2];
        double apart = sqrt(dx * dx + dz * dz), above = m->place[1] - floor;
        m->step_s += w->dt_s;
        bool down = !airborne && apart < NEAR_M * unit && m->step_s > 0.12;
        double lift = fmin(LIFT_M * unit, 0.5 * apart + 0.02 * unit);
        double want = floor + (down ? 0 : fmax(fmax(high, 0), lift));
        double share = 1 - stable_exp(-w->dt_s / (down ? 0.04 : 0.03));
        m->place[1] += share * (want - m->place[1]);
        double free = fmin(fmax((above - CLEAR_M * unit) / (CLEAR_M * unit), 0), 1);
        share = free * (1 - stable_exp(-w->dt_s / FOLLOW_S));
        m->place[0] += share * dx;
        m->place[2] += share * dz;
        rotation_slerp(m->turn, airborne ? w->guess.feet[side] : yaw, share, m->turn);
        rotation_unit(m->turn);
        if (down && m->place[1] - floor < 0.004 * unit) {
            m->place[1] = floor;
            m->planted = 1;
        }
    }
    if (m->planted && raise_heel(w, upper, m, out)) return;
    memcpy(out->place, m->place, sizeof out->place);
    memcpy(out->turn, m->turn, sizeof out->turn);
}
