// Cloth: particles that the skin holds more or less, stepped by position-based dynamics.
// After: Macklin et al., Small Steps in Physics Simulation (2019): many steps of one pass each,
// which makes stiffness independent of the frame rate, since the step is fixed.
//
// Each step a particle falls behind where skinning has it on a soft spring and is slowed by the
// air; links then keep their lengths as they are between the places that skinning gives their ends,
// so that the skinned surface is at rest in every pose; at last colliders and its limit stop it.
// Vertices take the displacements of their particles.
#include <math.h>
#include <string.h>

#include "common/vector.h"
#include "server/character/pose/skeleton.h"
#include "server/character/surface/extras/soft.h"

static const double STEP_S = 1.0 / 240;
static const double SLACK_S = 1e-9; // an instant that misses a step by less is at it
static const double GRAVITY_M_S2 = 9.81;

struct cloth_particle {
    struct drive drive;
    double at[3], speed[3];   // scene axes, model lengths
    double target[3], was[3]; // in the step that runs
    float shown[3];           // displacement, model space
    float freedom;
};
struct cloth {
    double phase_s, slope_s, yaw_rad;
    double down[3];               // of the base pose, in the node's frame
    double lean_from[3], lean[3]; // what gravity adds to the base pose's, at both ends
    uint32_t particle_count, link_count;
    // then: particles, lengths of links at both ends of the frame, colliders
};
struct link_length {
    double from, to;
};
struct parts {
    struct cloth *c;
    struct cloth_particle *particles;
    struct link_length *lengths;
    struct soft_collider *colliders;
};

static size_t state_bytes(const struct model *m, const struct model_extra *e)
{
    const struct model_soft *s = soft_of(m, e);
    return sizeof(struct cloth) + s->particle_count * sizeof(struct cloth_particle) +
           s->link_count * sizeof(struct link_length) +
           s->collider_count * sizeof(struct soft_collider);
}

static struct parts parts_of(const struct model_soft *s, void *state)
{
    struct parts p = {.c = state};
    p.particles = (struct cloth_particle *)(p.c + 1);
    p.lengths = (struct link_length *)(p.particles + s->particle_count);
    p.colliders = (struct soft_collider *)(p.lengths + s->link_count);
    return p;
}

static double distance(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(vector_dot(d, d));
}

static void measure_links(const struct model *m, const struct model_soft *s, const struct parts *p)
{
    for (uint32_t i = 0; i < s->link_count; i++) {
        const struct model_link *l = &m->links[s->link_first + i];
        p->lengths[i].from = p->lengths[i].to;
        p->lengths[i].to = distance(p->particles[l->a].drive.to, p->particles[l->b].drive.to);
    }
}

// The cloth hangs as it was made in the base pose; where its joint leans from there, gravity pulls
// it by the difference.
static void find_lean(const struct model_extra *e, const struct model_soft *s,
                      const struct extra_motion *now, const struct drive_scene *scene,
                      struct cloth *c)
{
    const struct xform *node = &now->model_from_node[e->node];
    double then[3], turned[3], size;
    for (int r = 0; r < 3; r++)
        then[r] = node->col[0][r] * c->down[0] + node->col[1][r] * c->down[1] +
                  node->col[2][r] * c->down[2];
    size = sqrt(vector_dot(then, then));
    drive_turn(scene, 1, then, turned);
    memcpy(c->lean_from, c->lean, sizeof c->lean_from);
    for (int r = 0; r < 3; r++)
        c->lean[r] = size > 0 ? s->gravity * GRAVITY_M_S2 / (double)now->model->info->unit_m *
                                    ((r == 1 ? -1 : 0) - turned[r] / size)
                              : 0;
}

static enum extra_does settle(const struct model_extra *e, const struct extra_motion *now,
                              void *state)
{
    const struct model *m = now->model;
    const struct model_soft *s = soft_of(m, e);
    struct parts p = parts_of(s, state);
    struct drive_scene scene = drive_scene_of(now);
    struct xform base = skeleton_model_from_node(m, m->base_pose, e->node), back;
    *p.c = (struct cloth){
        .yaw_rad = now->yaw_rad, .particle_count = s->particle_count, .link_count = s->link_count};
    for (int r = 0; r < 3 && xform_invert(&base, &back); r++)
        p.c->down[r] = -back.col[1][r];
    for (uint32_t i = 0; i < s->particle_count; i++) {
        const struct model_particle *from = &m->particles[s->particle_first + i];
        struct cloth_particle *to = &p.particles[i];
        double at[3];
        *to = (struct cloth_particle){.freedom = from->freedom};
        soft_anchor(from, now, &scene, at);
        drive_settle(&to->drive, at);
        memcpy(to->at, at, sizeof to->at);
    }
    measure_links(m, s, &p);
    measure_links(m, s, &p);
    find_lean(e, s, now, &scene, p.c);
    find_lean(e, s, now, &scene, p.c);
    soft_colliders_next(m, s, now, &scene, true, p.colliders);
    // What leans, or stands in a collider's way, is not at rest.
    return s->gravity > 0 || s->collider_count > 0 ? EXTRA_MOVES : EXTRA_NOTHING;
}

// ---- one step -----------------------------------------------------------------------------

struct step {
    double stiff, damp, drag; // a second squared, a second
    double lean[3];
    struct drive_weights weights;
    double share; // of the frame
};

// Semi-implicit: stable at any stiffness.
static void fall(const struct step *k, struct cloth_particle *p)
{
    double velocity[3], freedom = (double)p->freedom;
    drive_at(&p->drive, &k->weights, p->target, velocity);
    memcpy(p->was, p->at, sizeof p->was);
    if (!(freedom > 0)) {
        memcpy(p->at, p->target, sizeof p->at);
        memcpy(p->speed, velocity, sizeof p->speed);
        return;
    }
    double stiff = k->stiff / (freedom * freedom), damp = k->damp / freedom;
    double under = 1 + STEP_S * (damp + k->drag) + STEP_S * STEP_S * stiff;
    for (int r = 0; r < 3; r++) {
        double pull = stiff * (p->target[r] - p->at[r]) + damp * velocity[r] + k->lean[r];
        p->speed[r] = (p->speed[r] + STEP_S * pull) / under;
        p->at[r] += STEP_S * p->speed[r];
    }
}

static void pull_links(const struct model_soft *s, const struct model_link *links,
                       const struct parts *p, double share)
{
    for (uint32_t i = 0; i < s->link_count; i++) {
        struct cloth_particle *a = &p->particles[links[i].a], *b = &p->particles[links[i].b];
        double d[3] = {b->at[0] - a->at[0], b->at[1] - a->at[1], b->at[2] - a->at[2]};
        double size = sqrt(vector_dot(d, d));
        double length = p->lengths[i].from + share * (p->lengths[i].to - p->lengths[i].from);
        double wa = (double)a->freedom, wb = (double)b->freedom, both = wa + wb;
        double by = size > 1e-12 ? (double)links[i].strength * (size - length) / (size * both) : 0;
        for (int r = 0; r < 3; r++) {
            a->at[r] += wa * by * d[r];
            b->at[r] -= wb * by * d[r];
        }
    }
}

static void stop(const struct model_soft *s, const struct parts *p, const struct step *k,
                 struct cloth_particle *x)
{
    double limit = s->limit * (double)x->freedom, away = distance(x->at, x->target);
    if (away > limit)
        for (int r = 0; r < 3; r++)
            x->at[r] = x->target[r] + (x->at[r] - x->target[r]) * limit / away;
    (void)soft_push(p->colliders, s->collider_count, k->share, s->hit_radius, x->at);
    for (int r = 0; r < 3; r++)
        x->speed[r] = (x->at[r] - x->was[r]) / STEP_S;
}

static void step_once(const struct model *m, const struct model_soft *s, const struct parts *p,
                      const struct step *k)
{
    for (uint32_t i = 0; i < s->particle_count; i++)
        fall(k, &p->particles[i]);
    for (uint32_t n = 0; n < s->iterations; n++)
        pull_links(s, m->links + s->link_first, p, k->share);
    for (uint32_t i = 0; i < s->particle_count; i++)
        if (p->particles[i].freedom > 0) stop(s, p, k, &p->particles[i]);
}

// ---- one instant --------------------------------------------------------------------------

// Put elsewhere: displacements and speeds turn with the model.
static void move_along(const struct cloth *c, struct cloth_particle *p, const double to[3],
                       const struct extra_motion *now)
{
    struct extra_motion turned = {.yaw_rad = now->yaw_rad - c->yaw_rad};
    struct drive_scene turn = drive_scene_of(&turned);
    double away[3], speed[3];
    for (int r = 0; r < 3; r++) {
        away[r] = p->at[r] - p->drive.to[r];
        speed[r] = p->speed[r] - p->drive.arrive[r];
    }
    drive_turn(&turn, 1, away, p->at);
    drive_turn(&turn, 1, speed, p->speed);
    for (int r = 0; r < 3; r++)
        p->at[r] += to[r];
}

// Where skinning has the particles now. False: where they were.
static bool next_targets(const struct model_soft *s, const struct extra_motion *now,
                         const struct drive_scene *scene, const struct parts *p)
{
    bool cut = false, moves = false;
    for (uint32_t i = 0; i < s->particle_count; i++) {
        struct cloth_particle *x = &p->particles[i];
        soft_anchor(&now->model->particles[s->particle_first + i], now, scene, x->target);
        cut = cut || soft_jumps(now, x->drive.to, x->target);
    }
    for (uint32_t i = 0; i < s->particle_count; i++) {
        struct cloth_particle *x = &p->particles[i];
        if (cut) move_along(p->c, x, x->target, now);
        moves = drive_next(&x->drive, x->target, now->dt_s, p->c->slope_s, cut) || moves;
    }
    return moves;
}

// Displacements at this instant, between two steps carried on. False: all at rest.
static bool show(const struct model_soft *s, const struct drive_scene *scene, const struct parts *p,
                 bool *finite)
{
    double nothing = 1e-5 * s->limit, sum = 0;
    bool moves = false;
    for (uint32_t i = 0; i < s->particle_count; i++) {
        struct cloth_particle *x = &p->particles[i];
        double away[3], shown[3], square = 0, speed = 0;
        for (int r = 0; r < 3; r++) {
            away[r] = x->at[r] + p->c->phase_s * x->speed[r] - x->drive.to[r];
            if (!(x->freedom > 0)) away[r] = 0;
            square += away[r] * away[r];
            speed += x->speed[r] * x->speed[r];
        }
        drive_turn(scene, -1, away, shown);
        for (int r = 0; r < 3; r++)
            x->shown[r] = (float)shown[r];
        moves = moves || square > nothing * nothing || speed > nothing * nothing;
        sum += square + speed;
    }
    *finite = isfinite(sum) != 0;
    return moves;
}

static enum extra_does advance(const struct model_extra *e, const struct extra_motion *now,
                               void *state)
{
    const struct model *m = now->model;
    const struct model_soft *s = soft_of(m, e);
    struct parts p = parts_of(s, state);
    struct cloth *c = p.c;
    struct drive_scene scene = drive_scene_of(now);
    double omega = 6.283185307179586 * e->frequency_hz;
    struct step k = {
        .stiff = omega * omega, .damp = 2 * e->damping_ratio * omega, .drag = s->drag_per_s};
    bool finite, moves = false;
    if (now->dt_s > 0) {
        moves = next_targets(s, now, &scene, &p);
        measure_links(m, s, &p);
        find_lean(e, s, now, &scene, c);
        soft_colliders_next(m, s, now, &scene, false, p.colliders);
        c->slope_s = now->dt_s;
        c->phase_s += now->dt_s;
    }
    c->yaw_rad = now->yaw_rad;
    while (c->phase_s >= STEP_S - SLACK_S) {
        c->phase_s = fmax(c->phase_s - STEP_S, 0);
        k.weights = drive_weights_at(now->dt_s, c->phase_s);
        k.share = 1 - fmin(c->phase_s / now->dt_s, 1);
        for (int r = 0; r < 3; r++)
            k.lean[r] = c->lean_from[r] + k.share * (c->lean[r] - c->lean_from[r]);
        step_once(m, s, &p, &k);
    }
    moves = show(s, &scene, &p, &finite) || moves;
    if (finite && moves) return EXTRA_MOVES;
    (void)settle(e, now, state);
    return EXTRA_NOTHING;
}

static void apply(const struct model *m, const struct model_extra *e, const void *state,
                  struct surface_block *blocks, size_t first, size_t count)
{
    const struct cloth_particle *particles =
        (const struct cloth_particle *)((const struct cloth *)state + 1);
    const struct model_soft *s = soft_of(m, e);
    for (uint32_t i = 0; i < e->block_count; i++) {
        const struct model_extra_block *region = &m->extra_blocks[e->block_first + i];
        const struct model_hold *b = &m->holds[s->hold_first + i];
        if (region->block < first || region->block >= first + count) continue;
        for (int l = 0; l < MODEL_LANES; l++) {
            float u[3] = {0};
            for (int n = 0; n < 4; n++)
                for (int r = 0; r < 3; r++)
                    u[r] += b->weight[n][l] * particles[b->particle[n][l]].shown[r];
            for (int r = 0; r < 3 && region->share[l] > 0; r++)
                blocks[region->block].position[r][l] += u[r];
        }
    }
}

static bool inherit(const struct model *m, const struct model_extra *e, void *state,
                    const struct model *old, const struct model_extra *old_extra, const void *from)
{
    const struct model_soft *s = soft_of(m, e), *o = soft_of(old, old_extra);
    const struct cloth *c = from;
    if (c->particle_count != s->particle_count || c->link_count != s->link_count ||
        o->collider_count != s->collider_count)
        return false;
    memcpy(state, from, state_bytes(m, e));
    return true;
}

const struct extra_kind extra_cloth = {"cloth", state_bytes, settle, advance, apply, inherit};
