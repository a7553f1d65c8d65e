#include "server/character/surface/extras/swing.h"

#include <math.h>
#include <string.h>

#include "common/vector.h"

static const double STEP_S = 1.0 / 480;
static const double SLACK_S = 1e-9; // an instant that misses a step by less is at it

void swing_settle(struct swing *s, struct swing_mass *masses, uint32_t count, double (*anchors)[3],
                  const struct extra_motion *now)
{
    *s = (struct swing){.yaw_rad = now->yaw_rad};
    for (uint32_t i = 0; i < count; i++) {
        struct swing_mass *m = &masses[i];
        *m = (struct swing_mass){0};
        drive_settle(&m->drive, anchors[i]);
        memcpy(m->mass, anchors[i], sizeof m->mass);
        memcpy(m->before, anchors[i], sizeof m->before);
    }
}

// A mass that is stopped loses what speed it had into the collider.
static void stop(const struct swing_spring *k, double u, struct swing_mass *m)
{
    double free[3], way[3], size, into;
    memcpy(free, m->mass, sizeof free);
    if (!soft_push(k->colliders, k->collider_count, u, k->hit_radius, m->mass)) return;
    for (int r = 0; r < 3; r++)
        way[r] = m->mass[r] - free[r];
    size = sqrt(vector_dot(way, way));
    into = size > 0 ? vector_dot(m->speed, way) / size : 0;
    for (int r = 0; r < 3 && into < 0; r++)
        m->speed[r] -= into * way[r] / size;
}

// One step: symplectic in the springs, implicit in the dampers; stable up to 150 Hz.
static void step(struct swing_mass *masses, uint32_t count, const struct swing_spring *k,
                 const struct drive_weights *w, double u)
{
    double omega = 6.283185307179586 * k->frequency_hz;
    double stiff = omega * omega, c = 2 * k->damping_ratio * omega;
    for (uint32_t i = 0; i < k->link_count; i++) { // neighbours draw each other along
        const struct model_link *l = &k->links[i];
        struct swing_mass *a = &masses[l->a], *b = &masses[l->b];
        for (int r = 0; r < 3; r++) {
            double d = (a->mass[r] - a->before[r]) - (b->mass[r] - b->before[r]);
            double pull = STEP_S * stiff * (double)l->strength * d;
            a->speed[r] -= pull;
            b->speed[r] += pull;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        struct swing_mass *m = &masses[i];
        double at[3], velocity[3];
        drive_at(&m->drive, w, at, velocity);
        for (int r = 0; r < 3; r++) {
            double pull = stiff * (m->before[r] - m->mass[r]) + c * velocity[r];
            m->speed[r] = (m->speed[r] + STEP_S * pull) / (1 + STEP_S * c);
            m->mass[r] += STEP_S * m->speed[r];
            m->before[r] = at[r];
        }
        if (k->collider_count) stop(k, u, m);
    }
}

// As if they had been there all the time: what they are displaced by turns with the model.
static void move_along(struct swing *s, struct swing_mass *m, const double anchor[3],
                       const struct extra_motion *now)
{
    struct extra_motion turned = {.yaw_rad = now->yaw_rad - s->yaw_rad};
    struct drive_scene turn = drive_scene_of(&turned);
    double mass[3], before[3], speed[3];
    for (int r = 0; r < 3; r++) {
        mass[r] = m->mass[r] - m->drive.to[r];
        before[r] = m->before[r] - m->drive.to[r];
        speed[r] = m->speed[r] - m->drive.arrive[r];
    }
    drive_turn(&turn, 1, mass, m->mass);
    drive_turn(&turn, 1, before, m->before);
    drive_turn(&turn, 1, speed, m->speed);
    for (int r = 0; r < 3; r++) {
        m->mass[r] += anchor[r];
        m->before[r] += anchor[r];
    }
}

// What is shown: the mass carried on to the instant, held back smoothly near the limit.
static bool show(const struct swing *s, struct swing_mass *m, const struct swing_spring *k,
                 const struct drive_scene *scene)
{
    double away[3], square = 0, speed = 0;
    for (int r = 0; r < 3; r++) {
        away[r] = m->mass[r] + s->phase_s * m->speed[r] - m->drive.to[r];
        square += away[r] * away[r];
        speed += m->speed[r] * m->speed[r];
    }
    double scale = k->amount / sqrt(1 + square / (k->limit * k->limit));
    for (int r = 0; r < 3; r++)
        away[r] *= scale;
    drive_turn(scene, -1, away, m->shown);
    double nothing = 2e-5 * k->limit; // come to rest exactly
    return !(square <= nothing * nothing &&
             speed <= nothing * nothing * k->frequency_hz * k->frequency_hz);
}

static bool is_finite(const struct swing_mass *m)
{
    double sum = 0;
    for (int r = 0; r < 3; r++)
        sum += m->shown[r] + m->mass[r] + m->speed[r];
    return isfinite(sum) != 0;
}

bool swing_advance(struct swing *s, struct swing_mass *masses, uint32_t count, double (*anchors)[3],
                   const struct swing_spring *k, const struct extra_motion *now)
{
    struct drive_scene scene = drive_scene_of(now);
    bool cut = false, moves = false, swings = false, finite = true;
    for (uint32_t i = 0; i < count; i++) {
        for (int r = 0; r < 3; r++)
            if (!isfinite(anchors[i][r])) return false;
        cut = cut || (now->dt_s > 0 && soft_jumps(now, masses[i].drive.to, anchors[i]));
    }
    for (uint32_t i = 0; i < count && now->dt_s > 0; i++) {
        if (cut) move_along(s, &masses[i], anchors[i], now);
        moves = drive_next(&masses[i].drive, anchors[i], now->dt_s, s->slope_s, cut) || moves;
    }
    if (now->dt_s > 0) {
        s->slope_s = now->dt_s;
        s->phase_s += now->dt_s;
    }
    s->yaw_rad = now->yaw_rad;
    while (s->phase_s >= STEP_S - SLACK_S) {
        s->phase_s = fmax(s->phase_s - STEP_S, 0);
        struct drive_weights w = drive_weights_at(now->dt_s, s->phase_s);
        step(masses, count, k, &w, 1 - fmin(s->phase_s / now->dt_s, 1));
    }
    for (uint32_t i = 0; i < count; i++) {
        swings = show(s, &masses[i], k, &scene) || swings;
        finite = finite && is_finite(&masses[i]);
    }
    if (finite && (swings || moves)) return true;
    swing_settle(s, masses, count, anchors, now);
    return false;
}
