#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/motion_own.h"
#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

#define EASE_RATE  12.0 // of what dies away, 1/s
#define EASE_END_S 3.0
#define FREE_RATE  10.0 // of feet that an action takes over, 1/s
#define PI         3.14159265358979323846
#define AHEAD_S    (1.0 / 240) // how far an input is seen in the tick that takes it, at any rate

size_t motion_bytes(const struct model *m)
{
    return (MODEL_MOVE_COUNT + 5) * (pose_bytes(m) + 128) + 3 * m->nodes_count * sizeof(float) +
           384 + plant_bytes(m) + m->nodes_count * (sizeof(struct xform) + sizeof(struct trs));
}

// A node with no foot below it: nothing there comes near the ground in the rest pose.
static void find_upper(const struct model *m, struct arena *a, float *upper)
{
    struct xform *nodes = ARENA_ARRAY(a, struct xform, m->nodes_count);
    struct trs *locals = ARENA_ARRAY(a, struct trs, m->nodes_count);
    double ground = (double)m->info->box_min[1];
    double limit = ground + 0.2 * ((double)m->info->box_max[1] - ground);
    for (size_t i = 0; i < m->nodes_count; i++) {
        locals[i] = m->nodes[i].rest;
        upper[i] = 1;
    }
    skeleton_model_from_nodes(m, locals, nodes);
    for (size_t i = m->nodes_count; i-- > 0;) {
        if (m->nodes[i].flags & MODEL_NODE_JOINT && nodes[i].col[3][1] < limit) upper[i] = 0;
        if (upper[i] == 0 && m->nodes[i].parent != MODEL_NONE) upper[m->nodes[i].parent] = 0;
    }
    for (size_t i = 0; i < m->nodes_count; i++)
        if (m->nodes[i].parent == MODEL_NONE) upper[i] = 0;
}

// Which leg a node is part of, [node]: what hangs on its hip, or on a foot that stands apart.
static void find_leg_nodes(const struct model *m, signed char *legs)
{
    for (size_t i = 0; i < m->nodes_count; i++) {
        int32_t parent = m->nodes[i].parent;
        legs[i] = parent == MODEL_NONE ? -1 : legs[parent];
        for (size_t k = 0; k < m->legs_count; k++)
            if (m->legs[k].hip == (int32_t)i || m->legs[k].foot == (int32_t)i)
                if (m->legs[k].hip != MODEL_NONE) legs[i] = (signed char)k;
    }
}

struct motion motion_take(const struct model *m, struct arena *a)
{
    struct motion n = {.way = locomotion_of(m),
                       .action = MODEL_NONE,
                       .queued = MODEL_NONE,
                       .ease_rate = EASE_RATE};
    for (int i = 0; i < MODEL_MOVE_COUNT; i++)
        n.layers[i] = pose_take(m, a);
    n.target = pose_take(m, a);
    n.scratch = pose_take(m, a);
    n.off = pose_take(m, a);
    n.eased = pose_take(m, a);
    n.shown = pose_take(m, a);
    n.upper = ARENA_ARRAY(a, float, m->nodes_count);
    n.taken = ARENA_ARRAY(a, float, m->nodes_count);
    find_upper(m, a, n.upper);
    n.legs = ARENA_ARRAY(a, signed char, m->nodes_count);
    find_leg_nodes(m, n.legs);
    n.plant = plant_take(m, a);
    n.aim = aim_of(m, n.plant.nodes);
    return n;
}

void motion_place(struct motion *n, const struct model *m, const float position[3], float yaw_rad,
                  double scale)
{
    locomotion_place(&n->way, m, position, yaw_rad);
    n->level = (double)position[1] / fmax(scale, 1e-9);
    n->above = n->climb = 0;
    n->flight = MOTION_GROUND;
    plant_reset(&n->plant);
}

static const struct model_contact *contact_of(const struct model *m, size_t move, size_t leg)
{
    return &m->contacts[move * m->legs_count + leg];
}

// The middle of a leg's time on the ground, as a phase; false: it never stands.
static bool middle_of(const struct model *m, size_t move, size_t leg, double *out)
{
    const struct model_contact *c = contact_of(m, move, leg);
    *out = (double)c->start + (double)c->length / 2 + (double)m->moves[move].phase;
    return m->moves[move].speed > 0 && c->length > 0;
}

// Moves set their feet down at times of their own. In between of them a leg's time lies in
// between, and each move's leg is shown so much earlier or later: `late` [move]. `middle` and
// `length` are those of the leg's time on the ground; it goes as far then as the moves' legs do.
static void match_leg(const struct model *m, const double *weights, size_t leg,
                      double late[MODEL_MOVE_COUNT], double *middle, double *length)
{
    double from = 0, sum = 0, stride = 0, here;
    bool known = false;
    *middle = *length = 0;
    for (size_t i = 0; i < m->moves_count; i++) {
        double w = weights[m->moves[i].kind];
        late[i] = 0;
        if (!middle_of(m, i, leg, &here)) continue;
        if (!known) from = here;
        known = true;
        late[i] = here - from - floor(here - from + 0.5);
        *middle += w * late[i];
        *length += w * (double)contact_of(m, i, leg)->length * (double)m->moves[i].stride;
        stride += w * (double)m->moves[i].stride;
        sum += w;
    }
    for (size_t i = 0; i < m->moves_count && sum > 0; i++)
        if (middle_of(m, i, leg, &here)) late[i] -= *middle / sum;
    *middle = sum > 0 ? from + *middle / sum : 0;
    *length = stride > 0 ? *length / stride : 0;
}

static void sample_at(const struct model *m, const struct model_move *v, double phase,
                      struct pose out)
{
    double part = phase - (double)v->phase;
    part -= floor(part);
    pose_rest(m, out);
    clip_sample(m, v->clip, part * (double)m->clips[v->clip].duration_s, (struct clip_cursor){0},
                out);
    if (v->root == MODEL_NONE) return;
    struct vec3 *at = &out.locals[v->root].translation;
    at->x -= (float)((double)v->root_step[0] * part);
    at->y -= (float)((double)v->root_step[1] * part);
    at->z -= (float)((double)v->root_step[2] * part);
}

// `late` [leg]: what match_leg says of this move.
static void sample_move(const struct motion *n, const struct model *m, const struct model_move *v,
                        const double *late, struct pose out)
{
    pose_rest(m, out);
    if (!v) return;
    double period = (double)m->clips[v->clip].duration_s;
    if (!(v->speed > 0)) {
        clip_sample(m, v->clip, period > 0 ? n->age_s - floor(n->age_s / period) * period : 0,
                    (struct clip_cursor){0}, out);
        return;
    }
    sample_at(m, v, n->way.phase, out);
    for (size_t leg = 0; leg < m->legs_count; leg++) {
        if (fabs(late[leg]) < 1e-9) continue;
        sample_at(m, v, n->way.phase + late[leg], n->scratch);
        for (size_t i = 0; i < m->nodes_count; i++)
            if (n->legs[i] == (signed char)leg) out.locals[i] = n->scratch.locals[i];
    }
}

// ---- easing -------------------------------------------------------------------------------

static void keep_difference(struct motion *n, const struct model *m, struct pose shown)
{
    for (size_t i = 0; i < m->nodes_count; i++) {
        const struct trs *a = &shown.locals[i], *b = &n->target.locals[i];
        double qa[4], qb[4], out[4];
        rotation_load(a->rotation, qa);
        rotation_load(b->rotation, qb);
        qb[0] = -qb[0], qb[1] = -qb[1], qb[2] = -qb[2];
        rotation_mul(qa, qb, out);
        n->off.locals[i].rotation = rotation_round(out);
        n->off.locals[i].translation =
            (struct vec3){a->translation.x - b->translation.x, a->translation.y - b->translation.y,
                          a->translation.z - b->translation.z};
        n->off.locals[i].scale = (struct vec3){a->scale.x - b->scale.x, a->scale.y - b->scale.y,
                                               a->scale.z - b->scale.z};
    }
    for (size_t i = 0; i < m->channels_count; i++)
        n->off.weights[i] = shown.weights[i] - n->target.weights[i];
}

static void lay_difference(struct motion *n, const struct model *m)
{
    static const double none[4] = {0, 0, 0, 1};
    if (n->off_age_s > EASE_END_S) return;
    double share = (1 + n->ease_rate * n->off_age_s) * stable_exp(-n->ease_rate * n->off_age_s);
    float part = (float)share;
    for (size_t i = 0; i < m->nodes_count; i++) {
        struct trs *t = &n->target.locals[i];
        const struct trs *d = &n->off.locals[i];
        double off[4], q[4];
        rotation_load(d->rotation, off);
        rotation_load(t->rotation, q);
        rotation_slerp(none, off, share, off);
        rotation_mul(off, q, q);
        t->rotation = rotation_round(q);
        t->translation.x += d->translation.x * part;
        t->translation.y += d->translation.y * part;
        t->translation.z += d->translation.z * part;
        t->scale.x += d->scale.x * part;
        t->scale.y += d->scale.y * part;
        t->scale.z += d->scale.z * part;
    }
    for (size_t i = 0; i < m->channels_count; i++)
        n->target.weights[i] += n->off.weights[i] * part;
}

// -------------------------------------------------------------------------------------------

// What came for this tick counts from this tick's time on, whatever the rate of ticks: up to there
// what was held before goes on, then the new for a fixed while that the next tick knows of.
static void walk(struct motion *n, struct control *c, bool news, double dt_s, double scale)
{
    bool going = n->held.going;
    double ahead = news ? fmin(AHEAD_S, dt_s) : 0;
    locomotion_advance(&n->way, &n->held, dt_s - ahead, scale);
    bool arrived = going && !n->held.going;
    if (arrived && n->held.go_to[0] == c->go_to[0] && n->held.go_to[1] == c->go_to[1])
        c->going = false;
    if (!news) return;
    locomotion_advance(&n->way, c, ahead, scale);
    n->held = *c;
    n->held.press_count = 0;
}

// ---- feet ---------------------------------------------------------------------------------

// 1 in the middle of its time on the ground, falling to 0 a little outside.
static double contact_at(double from_middle, double half)
{
    double soft = fmin(0.08, 0.7 * (0.5 - half)), x;
    if (half >= 0.5 || from_middle <= half) return 1;
    if (!(soft > 0) || from_middle >= half + soft) return 0;
    x = 1 - (from_middle - half) / soft;
    return x * x * (3 - 2 * x);
}

// When a leg stands, in between of what the moves that are shown say.
static void mix_contacts(const struct motion *n, const struct model *m, const double *weights,
                         size_t leg, double *contact, double *height)
{
    double late[MODEL_MOVE_COUNT], middle, length;
    match_leg(m, weights, leg, late, &middle, &length);
    double away = n->way.phase - middle;
    *contact = length > 0 ? contact_at(fabs(away - floor(away + 0.5)), length / 2) : 0;
    *height = 0;
    for (size_t i = 0; i < m->moves_count; i++)
        *height += weights[m->moves[i].kind] * (double)contact_of(m, i, leg)->height;
    double stands = fmin(fmax((weights[MODEL_MOVE_IDLE] - 0.6) / 0.4, 0), 1);
    *contact = fmax(*contact, stands * stands * (3 - 2 * stands));
}

static void plant_legs(struct motion *n, const struct model *m, const double *weights, double dt_s,
                       double scale)
{
    double size = fmax(scale, 1e-9);
    struct plant_tick t = {.dt_s = dt_s, .yaw = n->way.yaw, .scale = size, .ground = n->ground};
    const struct model_move *flight = motion_flight_move(n, m);
    bool own = flight || motion_action_has_legs(n, m);
    n->free += ((own ? 1 : 0) - n->free) * (1 - stable_exp(-FREE_RATE * dt_s));
    if (n->free < 1e-4 && !own) n->free = 0;
    t.position[0] = n->way.position[0] / size;
    t.position[1] = n->level + n->above;
    t.position[2] = n->way.position[1] / size;
    locomotion_velocity(&n->way, t.velocity);
    t.lift = (1 - weights[MODEL_MOVE_IDLE]) * (1 - n->free);
    t.still = weights[MODEL_MOVE_IDLE] > 0.999 && n->free == 0 && n->off_age_s > 0.3;
    for (size_t i = 0; i < m->legs_count; i++) {
        mix_contacts(n, m, weights, i, &t.contact[i], &t.height[i]);
        t.contact[i] *= 1 - n->free;
    }
    plant_feet(&n->plant, m, &t, n->shown.locals);
}

// -------------------------------------------------------------------------------------------

// Rotations by slerp, one layer after the other: where two moves hold a joint nearly half a turn
// apart, the sum that blend_layers takes would whip round as their shares change.
static void blend_turns(const struct model *m, const struct blend_layer *layers, size_t count,
                        struct pose out)
{
    for (size_t i = 0; i < m->nodes_count; i++) {
        double turn[4], other[4], sum = (double)layers[0].weight;
        rotation_load(layers[0].pose.locals[i].rotation, turn);
        for (size_t k = 1; k < count; k++) {
            sum += (double)layers[k].weight;
            rotation_load(layers[k].pose.locals[i].rotation, other);
            double side = rotation_dot(turn, other) < 0 ? -1 : 1;
            for (int r = 0; r < 4; r++)
                other[r] *= side;
            rotation_slerp(turn, other, (double)layers[k].weight / sum, turn);
        }
        out.locals[i].rotation = rotation_round(turn);
    }
}

static void show_moves(struct motion *n, const struct model *m, const double *weights)
{
    struct blend_layer layers[MODEL_MOVE_COUNT];
    double late[MODEL_LEGS_MAX][MODEL_MOVE_COUNT], of_move[MODEL_LEGS_MAX], middle, length;
    size_t count = 0;
    for (size_t leg = 0; leg < m->legs_count; leg++)
        match_leg(m, weights, leg, late[leg], &middle, &length);
    for (uint32_t kind = 0; kind < MODEL_MOVE_COUNT; kind++) {
        if (!(weights[kind] > 0)) continue;
        const struct model_move *move = locomotion_move(m, kind);
        if (!move) move = locomotion_move(m, MODEL_MOVE_IDLE);
        for (size_t leg = 0; leg < m->legs_count && move; leg++)
            of_move[leg] = late[leg][move - m->moves];
        sample_move(n, m, move, of_move, n->layers[kind]);
        layers[count++] =
            (struct blend_layer){.pose = n->layers[kind], .weight = (float)weights[kind]};
    }
    blend_layers(m, layers, count, n->target);
    if (count > 1) blend_turns(m, layers, count, n->target);
    const struct model_move *flight = motion_flight_move(n, m);
    if (!flight) return;
    double period = (double)m->clips[flight->clip].duration_s, at = fmin(n->flight_s, period);
    if (n->flight == MOTION_FLIGHT && period > 0)
        at = n->flight_s - floor(n->flight_s / period) * period;
    pose_rest(m, n->target);
    clip_sample(m, flight->clip, at, (struct clip_cursor){0}, n->target);
}

void motion_advance(struct motion *n, const struct model *m, struct control *c, bool news,
                    double age_s, double scale)
{
    double dt_s = n->started ? fmax(0, age_s - n->age_s) : AHEAD_S, weights[MODEL_MOVE_COUNT];
    if (!n->started) {
        n->held = news ? *c : (struct control){0};
        n->held.press_count = 0;
        n->eases = true;
        pose_copy(m, n->shown, n->eased);
        plant_reset(&n->plant);
    }
    n->started = true;
    n->age_s = age_s;
    walk(n, c, news, dt_s, scale);
    motion_act(n, m, news ? c : &n->held, dt_s);
    motion_fly(n, m, dt_s, scale);
    locomotion_weights(&n->way, weights);
    show_moves(n, m, weights);
    motion_lay_action(n, m);
    if (n->eases) keep_difference(n, m, n->eased);
    n->off_age_s = n->eases ? dt_s : n->off_age_s + dt_s;
    n->eases = false;
    lay_difference(n, m);
    pose_copy(m, n->target, n->eased);
    pose_copy(m, n->target, n->shown);
    aim_lay(&n->aim, m, &n->way, &n->held, dt_s, n->shown.locals);
    plant_legs(n, m, weights, dt_s, scale);
}
