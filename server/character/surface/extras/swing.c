#include "server/character/surface/extras/swing.h"

#include <math.h>
#include <string.h>

static const double STEP_S = 1.0 / 480;

// A turn about +Y by the yaw, or back.
static void turn_yaw(double yaw_rad, double direction, const double in[3], double out[3])
{
    double c = cos(yaw_rad), s = direction * sin(yaw_rad), x = in[0], z = in[2];
    out[0] = c * x + s * z;
    out[1] = in[1];
    out[2] = c * z - s * x;
}

static void anchor_of(const struct model_extra *e, const struct extra_motion *now, double out[3])
{
    double at[3];
    xform_point(&now->model_from_node[e->node], e->center, at);
    turn_yaw(now->yaw_rad, 1, at, out);
    for (int r = 0; r < 3; r++)
        out[r] += now->place[r];
}

void swing_settle(struct swing *s, const struct model_extra *e, const struct extra_motion *now)
{
    *s = (struct swing){0};
    anchor_of(e, now, s->anchor);
    memcpy(s->mass, s->anchor, sizeof s->mass);
    memcpy(s->before, s->anchor, sizeof s->before);
}

// One step, in which the anchor gets to `anchor` and there moves at `velocity`: symplectic in the
// spring, implicit in the damper; stable up to 150 Hz.
static void step(struct swing *s, const struct swing_spring *spring, const double anchor[3],
                 const double velocity[3])
{
    double omega = 6.283185307179586 * spring->frequency_hz;
    double k = omega * omega, c = 2 * spring->damping_ratio * omega;
    for (int r = 0; r < 3; r++) {
        double pull = k * (s->before[r] - s->mass[r]) + c * velocity[r];
        s->speed[r] = (s->speed[r] + STEP_S * pull) / (1 + STEP_S * c);
        s->mass[r] += STEP_S * s->speed[r];
        s->before[r] = anchor[r];
    }
}

struct path { // of the anchor over one frame: cubic by both ends
    double from[3], to[3], leave[3], arrive[3], dt_s;
};

static void path_at(const struct path *p, double left_s, double at[3], double velocity[3])
{
    double t = 1 - fmin(left_s / p->dt_s, 1), u = 1 - t;
    for (int r = 0; r < 3; r++) {
        double d = p->to[r] - p->from[r], a = p->leave[r] * p->dt_s, b = p->arrive[r] * p->dt_s;
        at[r] = p->from[r] + t * t * (3 - 2 * t) * d + t * u * (u * a - t * b);
        velocity[r] = (6 * t * u * d + u * (1 - 3 * t) * a + t * (3 * t - 2) * b) / p->dt_s;
    }
}

static bool find_path(struct swing *s, const double anchor[3], double dt_s, double jump,
                      struct path *p)
{
    double square = 0;
    *p = (struct path){.dt_s = dt_s};
    for (int r = 0; r < 3; r++) {
        double d = anchor[r] - s->anchor[r];
        square += d * d;
    }
    bool jumps = square > jump * dt_s * jump * dt_s, moves = square > 0;
    for (int r = 0; r < 3; r++) {
        double d = anchor[r] - s->anchor[r];
        if (jumps) { // as if it had been there all the time
            s->mass[r] += d;
            s->before[r] += d;
            s->anchor[r] = anchor[r];
            d = 0;
        }
        double slope = d / dt_s;
        p->from[r] = s->anchor[r];
        p->to[r] = anchor[r];
        p->leave[r] = s->velocity[r];
        p->arrive[r] = slope;
        if (s->slope_s > 0 && moves)
            p->arrive[r] += (slope - s->slope[r]) * dt_s / (dt_s + s->slope_s);
        if (jumps) p->arrive[r] = p->leave[r] = 0;
        s->slope[r] = slope;
        s->velocity[r] = p->arrive[r];
    }
    s->slope_s = dt_s;
    memcpy(s->anchor, anchor, sizeof s->anchor);
    return moves;
}

// What is shown: the mass carried on to the instant, held back smoothly near the reach.
static bool show(struct swing *s, const struct swing_spring *k, double yaw_rad)
{
    double away[3], square = 0, speed = 0;
    for (int r = 0; r < 3; r++) {
        away[r] = s->mass[r] + s->phase_s * s->speed[r] - s->anchor[r];
        square += away[r] * away[r];
        speed += s->speed[r] * s->speed[r];
    }
    double scale = k->amount / sqrt(1 + square / (k->reach * k->reach));
    for (int r = 0; r < 3; r++)
        away[r] *= scale;
    turn_yaw(yaw_rad, -1, away, s->shown);
    double nothing = 2e-5 * k->reach; // come to rest exactly
    return square > nothing * nothing ||
           speed > nothing * nothing * k->frequency_hz * k->frequency_hz;
}

bool swing_advance(struct swing *s, const struct model_extra *e, const struct swing_spring *k,
                   const struct extra_motion *now)
{
    double anchor[3], jump = SWING_JUMP_M_S / (double)now->model->info->unit_m;
    struct path p;
    anchor_of(e, now, anchor);
    for (int r = 0; r < 3; r++)
        if (!isfinite(anchor[r])) return false;
    if (!(now->dt_s > 0)) return show(s, k, now->yaw_rad);
    bool moves = find_path(s, anchor, now->dt_s, jump, &p);
    s->phase_s += now->dt_s;
    while (s->phase_s >= STEP_S) {
        double at[3], velocity[3];
        s->phase_s -= STEP_S;
        path_at(&p, s->phase_s, at, velocity);
        step(s, k, at, velocity);
    }
    if (show(s, k, now->yaw_rad) || moves) return true;
    swing_settle(s, e, now);
    return false;
}
