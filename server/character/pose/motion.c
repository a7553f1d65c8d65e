#include "server/character/pose/motion.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

#define EASE_RATE  12.0 // of what dies away, 1/s
#define EASE_END_S 1.5
#define AHEAD_S    (1.0 / 240) // how far an input is seen in the tick that takes it, at any rate

size_t motion_bytes(const struct model *m)
{
    return 6 * (pose_bytes(m) + 128) + m->nodes_count * sizeof(float) + 128 +
           m->nodes_count * (sizeof(struct xform) + sizeof(struct trs));
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

struct motion motion_take(const struct model *m, struct arena *a)
{
    struct motion n = {.way = locomotion_of(m), .action = MODEL_NONE, .queued = MODEL_NONE};
    for (int i = 0; i < 3; i++)
        n.layers[i] = pose_take(m, a);
    n.target = pose_take(m, a);
    n.off = pose_take(m, a);
    n.shown = pose_take(m, a);
    n.upper = ARENA_ARRAY(a, float, m->nodes_count);
    find_upper(m, a, n.upper);
    return n;
}

static void sample_move(const struct motion *n, const struct model *m, const struct model_move *v,
                        struct pose out)
{
    pose_rest(m, out);
    if (!v) return;
    double period = (double)m->clips[v->clip].duration_s, time = 0;
    if (v->speed > 0) {
        double part = n->way.phase - (double)v->phase;
        part -= floor(part);
        time = part * period;
        clip_sample(m, v->clip, time, (struct clip_cursor){0}, out);
        if (v->root == MODEL_NONE) return;
        struct vec3 *at = &out.locals[v->root].translation;
        at->x -= (float)((double)v->root_step[0] * part);
        at->y -= (float)((double)v->root_step[1] * part);
        at->z -= (float)((double)v->root_step[2] * part);
    } else {
        clip_sample(m, v->clip, period > 0 ? n->age_s - floor(n->age_s / period) * period : 0,
                    (struct clip_cursor){0}, out);
    }
}

// ---- actions ------------------------------------------------------------------------------

static double length_of(const struct model *m, int32_t action)
{
    return (double)m->clips[m->actions[action].clip].duration_s;
}

static void begin_action(struct motion *n, int32_t action)
{
    n->action = action;
    n->action_s = 0;
    n->action_upper = n->way.speed > 0.1 * n->way.walk_speed;
    n->eases = true;
}

// Another action takes over at once; the same one waits for its end, once.
static void advance_action(struct motion *n, const struct model *m, struct control *c, double dt_s)
{
    if (n->action != MODEL_NONE) {
        double left = length_of(m, n->action) - (n->action_s += dt_s);
        bool walks = n->way.speed > 0.1 * n->way.walk_speed;
        if (walks != n->action_upper) {
            n->action_upper = walks;
            n->eases = true;
        }
        if (left <= 0) {
            n->action = MODEL_NONE;
            n->eases = true;
            if (n->queued != MODEL_NONE) begin_action(n, n->queued);
            n->queued = MODEL_NONE;
        }
    }
    for (uint32_t i = 0; i < c->press_count; i++) {
        int32_t pressed = (int32_t)c->presses[i];
        if (pressed == n->action)
            n->queued = pressed;
        else
            begin_action(n, pressed);
    }
    c->press_count = 0;
}

static void lay_action(struct motion *n, const struct model *m)
{
    if (n->action == MODEL_NONE) return;
    struct pose from = n->layers[0]; // free by now
    pose_rest(m, from);
    clip_sample(m, m->actions[n->action].clip, fmin(n->action_s, length_of(m, n->action)),
                (struct clip_cursor){0}, from);
    for (size_t i = 0; i < m->nodes_count; i++)
        if (!n->action_upper || n->upper[i] > 0) n->target.locals[i] = from.locals[i];
    memcpy(n->target.weights, from.weights, m->channels_count * sizeof *from.weights);
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
    double share = (1 + EASE_RATE * n->off_age_s) * stable_exp(-EASE_RATE * n->off_age_s);
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
static void walk(struct motion *n, struct control *c, double dt_s, double scale)
{
    bool going = n->held.going;
    double ahead = fmin(AHEAD_S, dt_s);
    locomotion_advance(&n->way, &n->held, dt_s - ahead, scale);
    bool arrived = going && !n->held.going;
    if (arrived && n->held.go_to[0] == c->go_to[0] && n->held.go_to[1] == c->go_to[1])
        c->going = false;
    locomotion_advance(&n->way, c, ahead, scale);
    n->held = *c;
}

void motion_advance(struct motion *n, const struct model *m, struct control *c, double age_s,
                    double scale)
{
    static const uint32_t kinds[3] = {MODEL_MOVE_IDLE, MODEL_MOVE_WALK, MODEL_MOVE_RUN};
    double dt_s = n->started ? fmax(0, age_s - n->age_s) : AHEAD_S, weights[3];
    struct blend_layer layers[3];
    size_t count = 0;
    if (!n->started) {
        n->held = *c;
        n->eases = true;
    }
    n->started = true;
    n->age_s = age_s;
    walk(n, c, dt_s, scale);
    advance_action(n, m, c, dt_s);
    locomotion_weights(&n->way, weights);
    for (int i = 0; i < 3; i++) {
        if (!(weights[i] > 0)) continue;
        const struct model_move *move = locomotion_move(m, kinds[i]);
        sample_move(n, m, move ? move : locomotion_move(m, MODEL_MOVE_IDLE), n->layers[i]);
        layers[count++] = (struct blend_layer){.pose = n->layers[i], .weight = (float)weights[i]};
    }
    blend_layers(m, layers, count, n->target);
    lay_action(n, m);
    if (n->eases) keep_difference(n, m, n->shown);
    n->off_age_s = n->eases ? dt_s : n->off_age_s + dt_s;
    n->eases = false;
    lay_difference(n, m);
    pose_copy(m, n->target, n->shown);
}
