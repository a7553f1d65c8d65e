#include "server/character/pose/plant.h"

#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "common/vector.h"
#include "server/character/pose/ik.h"
#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

#define PI         3.14159265358979323846
#define FREE_RATE  14.0  // 1/s, of what a swinging foot is off
#define RISE_RATE  6.0   // 1/s, of a body that has sunk
#define HOLD_S     0.06  // to let go of a foot, or to take it again
#define SETTLE_S   0.3   // of a step of its own
#define REACH      0.975 // of both bones' lengths
#define TWIST_MOST 0.8
#define TURN_MOST  15.0  // radians a second
#define LIFT_RATE  1.5   // heights a second that a foot is lifted or lowered by
#define SOON_S     0.12  // and twice that: how far ahead a swinging foot sees
#define TOUCH_S    0.025 // a foot comes to stand, or is lifted, no faster
// Shares of the character's height.
#define ROLL_SHARE 0.003 // soles so much apart in height share the ground
#define OFF_SHARE  0.3   // a foot is never further off than that
#define HOLD_SHARE 0.16  // and is let go of when it is further off than that
#define NEAR_SHARE 0.003 // no step is worth less
#define LIFT_SHARE 0.03  // of a step of its own
#define SINK_SHARE 0.08  // of the body at most
#define STEP_SHARE 0.2   // on uneven ground
#define AIR_SHARE  0.03  // a foot that swings is so high at least

size_t plant_bytes(const struct model *m)
{
    return m->nodes_count * sizeof(struct xform) + 64;
}

static bool is_below(const struct model *m, int32_t node, int32_t above)
{
    while (node != MODEL_NONE && node > above)
        node = m->nodes[node].parent;
    return node == above;
}

static int32_t find_body(const struct model *m)
{
    int32_t body = MODEL_NONE;
    for (size_t i = 0; i < m->legs_count; i++) {
        if (m->legs[i].hip == MODEL_NONE) continue;
        if (body == MODEL_NONE) body = m->nodes[m->legs[i].hip].parent;
        while (body != MODEL_NONE && (body == m->legs[i].hip || !is_below(m, m->legs[i].hip, body)))
            body = m->nodes[body].parent;
        if (body == MODEL_NONE) break;
    }
    return body;
}

struct plant plant_take(const struct model *m, struct arena *a)
{
    struct plant p = {.body = find_body(m)};
    p.height = fmax(1e-6, (double)m->info->box_max[1] - (double)m->info->box_min[1]);
    p.nodes = ARENA_ARRAY(a, struct xform, m->nodes_count);
    plant_reset(&p);
    return p;
}

void plant_reset(struct plant *p)
{
    p->started = false;
    p->sink = p->still_s = 0;
    memset(p->legs, 0, sizeof p->legs);
    for (int i = 0; i < MODEL_LEGS_MAX; i++) {
        p->legs[i].step_s = -1;
        p->legs[i].hold = 1;
    }
}

// ---- where a foot shall be ----------------------------------------------------------------

struct stance {                       // of one leg in this tick
    double foot[3];                   // the foot's joint in the model, as posed
    double soles[MODEL_SOLES_MAX][3]; // in the model, turned by the twist
    double share[MODEL_SOLES_MAX];    // of the ground that each has; sum 1
    double low;                       // height of the lowest, in the model
    double target[3];                 // of the foot's joint, in the model
    double contact;                   // that it has in the end
};

static void turn_about_y(double angle, const double v[3], double out[3])
{
    double s, c;
    stable_sincos(angle, &s, &c);
    double x = v[0] * c + v[2] * s, z = v[2] * c - v[0] * s;
    out[0] = x;
    out[1] = v[1];
    out[2] = z;
}

static void find_soles(const struct plant *p, const struct model_leg *leg, double twist,
                       struct stance *s)
{
    const struct xform *nodes = p->nodes;
    int32_t joint = leg->foot != MODEL_NONE ? leg->foot : leg->ankle;
    double sum = 0;
    memcpy(s->foot, nodes[joint].col[3], sizeof s->foot);
    s->low = (double)INFINITY;
    for (uint32_t k = 0; k < leg->sole_count; k++) {
        double at[3] = {(double)leg->soles[k][0], (double)leg->soles[k][1],
                        (double)leg->soles[k][2]};
        xform_point(&nodes[leg->sole_nodes[k]], at, s->soles[k]);
        for (int r = 0; r < 3; r++)
            at[r] = s->soles[k][r] - s->foot[r];
        turn_about_y(twist, at, at);
        for (int r = 0; r < 3; r++)
            s->soles[k][r] = s->foot[r] + at[r];
        s->low = fmin(s->low, s->soles[k][1]);
    }
    for (uint32_t k = 0; k < leg->sole_count; k++) {
        s->share[k] = stable_exp((s->low - s->soles[k][1]) / (ROLL_SHARE * p->height));
        sum += s->share[k];
    }
    for (uint32_t k = 0; k < leg->sole_count; k++)
        s->share[k] /= sum;
}

static void to_scene(const struct plant_tick *t, const double model[3], double out[3])
{
    turn_about_y(t->yaw, model, out);
    for (int r = 0; r < 3; r++)
        out[r] += t->position[r];
}

// A step of its own: from where the foot was left to where the pose has it.
static void advance_step(struct plant *p, struct plant_leg *l, double dt_s)
{
    l->step_s += dt_s;
    double x = fmin(1, l->step_s / SETTLE_S), left = 1 - x * x * x * (10 - x * (15 - 6 * x));
    double size = sqrt(l->step_from[0] * l->step_from[0] + l->step_from[2] * l->step_from[2]);
    double worth = fmin(1, (size + p->height * fabs(l->step_twist) / 10) / (0.04 * p->height));
    for (int r = 0; r < 3; r += 2)
        l->off[r] = l->step_from[r] * left;
    l->twist = l->step_twist * left;
    double arch = 4 * x * (1 - x);
    l->off[1] = LIFT_SHARE * p->height * worth * arch * arch;
    if (x >= 1) l->step_s = -1;
}

// The leg that stands worst, if it is worth a step.
static void begin_step(struct plant *p, const struct model *m)
{
    double most = NEAR_SHARE * p->height;
    struct plant_leg *worst = NULL;
    for (size_t i = 0; i < m->legs_count; i++) {
        struct plant_leg *l = &p->legs[i];
        double off =
            sqrt(l->off[0] * l->off[0] + l->off[2] * l->off[2]) + fabs(l->twist) * p->height / 12;
        if (l->step_s >= 0) return; // one at a time
        if (m->legs[i].hip == MODEL_NONE || off <= most) continue;
        most = off;
        worst = l;
    }
    if (!worst || (p->still_s < 0.12 && most < 0.12 * p->height)) return;
    worst->step_s = 0;
    memcpy(worst->step_from, worst->off, sizeof worst->off);
    worst->step_twist = worst->twist;
}

static void hold_foot(struct plant *p, const struct plant_tick *t, const struct model_leg *leg,
                      struct plant_leg *l, double contact, const struct stance *s)
{
    double moved[2] = {0, 0}, most = OFF_SHARE * p->height, now = contact;
    if (p->started) contact = (contact + l->stood) / 2; // over the tick
    l->stood = now;
    double keep = stable_exp(-FREE_RATE * (1 - contact) * t->dt_s);
    for (uint32_t k = 0; k < leg->sole_count; k++) {
        double at[3];
        to_scene(t, s->soles[k], at);
        for (int r = 0; r < 2 && p->started; r++)
            moved[r] += s->share[k] * (at[2 * r] - l->was[k][2 * r]);
    }
    for (int r = 0; r < 2; r++)
        l->off[2 * r] = (l->off[2 * r] - contact * moved[r]) * keep;
    double size = sqrt(l->off[0] * l->off[0] + l->off[2] * l->off[2]);
    for (int r = 0; r < 3 && size > most; r += 2)
        l->off[r] *= most / size;
}

// The highest ground under the soles, and under where a foot that swings will be soon.
static double ground_under(const struct plant_tick *t, const struct model_leg *leg,
                           const struct plant_leg *l, double contact, const struct stance *s)
{
    double most = -(double)INFINITY;
    if (!t->ground) return 0;
    for (uint32_t k = 0; k < leg->sole_count; k++)
        for (int ahead = 0; ahead < (contact < 1 ? 3 : 1); ahead++) {
            double at[3];
            to_scene(t, s->soles[k], at);
            for (int r = 0; r < 2; r++)
                at[2 * r] =
                    (at[2 * r] + l->off[2 * r] + ahead * SOON_S * t->velocity[r]) * t->scale;
            most = fmax(most, ground_height(t->ground, at[0], at[2]));
        }
    return most / t->scale - t->position[1];
}

// Standing soles lie on the ground; a swinging foot keeps above what is there.
static void set_height(const struct plant *p, const struct plant_tick *t,
                       const struct model_leg *leg, struct plant_leg *l, double contact,
                       double stands_at, const struct stance *s)
{
    double ground = ground_under(t, leg, l, contact, s), wanted = ground + stands_at - s->low;
    double air = AIR_SHARE * p->height * (1 - contact) * t->lift;
    double goal = fmax(contact * wanted + (1 - contact) * fmax(ground, 0), wanted + air);
    double way = p->started ? LIFT_RATE * p->height * t->dt_s : (double)INFINITY;
    l->off[1] = fmin(fmax(goal, l->off[1] - way), l->off[1] + way);
}

static double direction(const double from[3], const double to[3], double out[3])
{
    for (int r = 0; r < 3; r++)
        out[r] = to[r] - from[r];
    double size = sqrt(vector_dot(out, out));
    for (int r = 0; r < 3 && size > 0; r++)
        out[r] /= size;
    return size;
}

// How far the body must sink for the foot to come within reach.
static double needed_sink(const struct plant *p, const struct model_leg *leg,
                          const struct stance *s)
{
    const double *hip = p->nodes[leg->hip].col[3], *knee = p->nodes[leg->knee].col[3],
                 *ankle = p->nodes[leg->ankle].col[3];
    double unused[3], upper = direction(hip, knee, unused), lower = direction(knee, ankle, unused);
    double most = REACH * (upper + lower), x[3];
    for (int r = 0; r < 3; r++)
        x[r] = ankle[r] + s->target[r] - s->foot[r] - hip[r];
    double aside = x[0] * x[0] + x[2] * x[2];
    if (aside >= most * most) return (double)INFINITY; // no sinking would help
    return fmax(0, -x[1] - sqrt(most * most - aside));
}

// A foot that would have to stay where the leg does not reach is lifted instead, until it is to
// come down again.
static double hold_or_let_go(const struct plant *p, struct plant_leg *l, double contact,
                             double dt_s)
{
    double off = sqrt(l->off[0] * l->off[0] + l->off[2] * l->off[2]);
    if (contact <= 0) l->released = false;
    if (contact > 0 && off > HOLD_SHARE * p->height) l->released = true;
    double way = dt_s / HOLD_S, touch = dt_s / TOUCH_S;
    l->contact = p->started ? fmin(fmax(contact, l->contact - touch), l->contact + touch) : contact;
    l->hold = l->released ? fmax(0, l->hold - way) : fmin(1, l->hold + way);
    return l->contact * l->hold * l->hold * (3 - 2 * l->hold);
}

static void find_target(struct plant *p, const struct plant_tick *t, const struct model_leg *leg,
                        struct plant_leg *l, size_t i, struct stance *s)
{
    bool steps = l->step_s >= 0 && t->still;
    double contact = steps ? 0 : hold_or_let_go(p, l, t->contact[i], t->dt_s),
           turned = t->yaw - p->yaw;
    if (turned > PI) turned -= 2 * PI;
    if (turned < -PI) turned += 2 * PI;
    if (p->started) l->twist -= contact * turned;
    l->twist = fmin(fmax(l->twist, -TWIST_MOST), TWIST_MOST);
    if (!steps) {
        l->step_s = -1;
        l->twist *= stable_exp(-FREE_RATE * (1 - contact) * t->dt_s);
    } else {
        advance_step(p, l, t->dt_s);
    }
    find_soles(p, leg, l->twist, s);
    if (!steps) {
        hold_foot(p, t, leg, l, contact, s);
        set_height(p, t, leg, l, contact, t->height[i], s);
    }
    for (uint32_t k = 0; k < leg->sole_count; k++)
        to_scene(t, s->soles[k], l->was[k]);
    s->contact = contact;
    double away[3];
    turn_about_y(-t->yaw, l->off, away);
    for (int r = 0; r < 3; r++)
        s->target[r] = s->foot[r] + away[r];
}

// ---- laying it into the pose --------------------------------------------------------------

static double angle_between(const double a[4], const double b[4])
{
    double change[4];
    rotation_from(a, b, change);
    double size = sqrt(change[0] * change[0] + change[1] * change[1] + change[2] * change[2]);
    return 2 * stable_atan2(size, fabs(change[3]));
}

// `q` in the model. Against the tick before it turns by so much more than the pose does at most.
static void turn_node(const struct plant *p, const struct model *m, int32_t node, const double q[4],
                      double posed[4], double shown[4], double most, struct trs *locals)
{
    double before[4], local[4];
    rotation_load(locals[node].rotation, before);
    ik_turn_node(m, p->nodes, node, q, locals);
    rotation_load(locals[node].rotation, local);
    if (p->started) {
        double angle = angle_between(shown, local);
        double side = rotation_dot(shown, local) < 0 ? -1 : 1;
        double own = angle_between(posed, before); // a pose that is fast leaves less to be added
        most = own + most * fmax(0, 1 - own / (3.5 * most));
        for (int r = 0; r < 4; r++)
            local[r] *= side;
        if (angle > most) rotation_slerp(shown, local, most / angle, local);
        rotation_unit(local);
    }
    memcpy(posed, before, sizeof before);
    memcpy(shown, local, sizeof local);
    locals[node].rotation = rotation_round(local);
}

static void move_node(const struct plant *p, const struct model *m, int32_t node,
                      const double way[3], struct trs *locals)
{
    int32_t parent = m->nodes[node].parent;
    double local[3] = {way[0], way[1], way[2]};
    if (parent != MODEL_NONE) {
        struct xform inverse, turn = p->nodes[parent];
        memset(turn.col[3], 0, sizeof turn.col[3]);
        if (!xform_invert(&turn, &inverse)) return;
        xform_point(&inverse, way, local);
    }
    locals[node].translation.x += (float)local[0];
    locals[node].translation.y += (float)local[1];
    locals[node].translation.z += (float)local[2];
}

// Which side the knee bends to: the pose's own, as long as that is the side that it is made for. A
// leg that is straight, or bent the wrong way a little as clips often are, bends as it is made to,
// so that the knee never changes sides.
static void find_pole(const struct plant *p, const struct model_leg *leg, const double line[3],
                      const double upper[3], double pole[3])
{
    const double made[3] = {(double)leg->bend[0], (double)leg->bend[1], (double)leg->bend[2]};
    struct xform turn = p->nodes[leg->hip];
    double usual[3], across[3], aside[3];
    memset(turn.col[3], 0, sizeof turn.col[3]);
    xform_point(&turn, made, across);
    double bent = ik_across(line, upper, aside);
    if (!(ik_across(line, across, usual) > 1e-6)) { // it says nothing
        memcpy(pole, aside, sizeof aside);
        return;
    }
    double along = bent * vector_dot(aside, usual), share = fmin(fmax(along / 0.08, 0), 1);
    share = share * share * (3 - 2 * share);
    for (int r = 0; r < 3; r++)
        pole[r] = share * bent * aside[r] + (1 - share) * 0.08 * usual[r];
    (void)ik_across(line, pole, across);
    memcpy(pole, across, sizeof across);
}

// What hip, knee and ankle turn by, in the model; false: nothing.
static bool find_turns(const struct plant *p, const struct model_leg *leg,
                       const struct plant_leg *l, const struct stance *s, double q[3][4])
{
    double hip[3], knee[3], ankle[3], target[3], line[3], upper_way[3], lower_way[3], pole[3];
    double size = fabs(l->off[0]) + fabs(l->off[1]) + fabs(l->off[2]) + p->sink;
    if (size < 1e-6 * p->height && fabs(l->twist) < 1e-6) return false;
    memcpy(hip, p->nodes[leg->hip].col[3], sizeof hip);
    memcpy(knee, p->nodes[leg->knee].col[3], sizeof knee);
    memcpy(ankle, p->nodes[leg->ankle].col[3], sizeof ankle);
    for (int r = 0; r < 3; r++)
        target[r] = ankle[r] + s->target[r] - s->foot[r];
    hip[1] -= p->sink;
    knee[1] -= p->sink;
    ankle[1] -= p->sink;
    double upper = direction(hip, knee, upper_way), lower = direction(knee, ankle, lower_way);
    double now = direction(hip, ankle, line), away[3], far = direction(hip, target, away);
    double most = REACH * (upper + lower), half[4], turned[3];
    double twist[4] = {0, 0, 0, 1}, back[4];
    if (!(upper > 0) || !(lower > 0) || !(now > 0)) return false;
    for (int r = 0; r < 3 && far > most; r++)
        target[r] = hip[r] + away[r] * most;
    find_pole(p, leg, line, upper_way, pole);
    struct ik_bend bend;
    ik_bend(hip, target, upper, lower, fabs(upper - lower) * 1.001, pole, line, pole, &bend);
    (void)direction(hip, bend.middle, turned);
    rotation_between(upper_way, turned, q[0]);
    rotation_apply(q[0], lower_way, half);
    (void)direction(bend.middle, bend.end, turned);
    rotation_between(half, turned, q[1]);
    stable_sincos(l->twist / 2, &twist[1], &twist[3]);
    rotation_mul(q[1], q[0], back); // the knee's turn as it is before the hip's
    rotation_from(q[0], back, q[1]);
    if (leg->foot == MODEL_NONE)
        rotation_from(back, twist, q[2]);
    else
        memcpy(q[2], twist, sizeof twist);
    return true;
}

static void bend_leg(const struct plant *p, const struct model *m, const struct model_leg *leg,
                     struct plant_leg *l, const struct stance *s, double dt_s, struct trs *locals)
{
    const int32_t joints[3] = {leg->hip, leg->knee,
                               leg->foot == MODEL_NONE ? leg->ankle : leg->foot};
    double q[3][4], way[3];
    bool turns = find_turns(p, leg, l, s, q);
    for (int k = 0; k < 3; k++) {
        static const double none[4] = {0, 0, 0, 1};
        turn_node(p, m, joints[k], turns ? q[k] : none, l->posed[k], l->shown[k], TURN_MOST * dt_s,
                  locals);
    }
    if (leg->foot == MODEL_NONE || !turns) return;
    for (int r = 0; r < 3; r++)
        way[r] = s->target[r] - s->foot[r];
    if (p->body != MODEL_NONE && is_below(m, leg->foot, p->body)) way[1] += p->sink;
    move_node(p, m, leg->foot, way, locals);
}

static void sink_body(struct plant *p, const struct model *m, const struct plant_tick *t,
                      const struct stance *stances, struct trs *locals)
{
    double needed = 0, most = (t->ground ? STEP_SHARE : SINK_SHARE) * p->height;
    for (size_t i = 0; i < m->legs_count && p->body != MODEL_NONE; i++) {
        if (m->legs[i].hip == MODEL_NONE || !(stances[i].contact > 0)) continue;
        double sink = needed_sink(p, &m->legs[i], &stances[i]);
        if (sink > 0.6 * most) p->legs[i].released = true;
        needed = fmax(needed, stances[i].contact * fmin(sink, most));
    }
    p->sink = fmax(needed, p->sink * stable_exp(-RISE_RATE * t->dt_s));
    if (p->sink < 1e-7 * p->height) p->sink = 0;
    if (p->sink > 0) {
        double way[3] = {0, -p->sink, 0};
        move_node(p, m, p->body, way, locals);
    }
}

void plant_feet(struct plant *p, const struct model *m, const struct plant_tick *t,
                struct trs *locals)
{
    struct stance stances[MODEL_LEGS_MAX];
    if (m->legs_count == 0) return;
    skeleton_model_from_nodes(m, locals, p->nodes);
    p->still_s = t->still ? p->still_s + t->dt_s : 0;
    if (t->still) begin_step(p, m);
    for (size_t i = 0; i < m->legs_count; i++)
        if (m->legs[i].hip != MODEL_NONE)
            find_target(p, t, &m->legs[i], &p->legs[i], i, &stances[i]);
    for (size_t i = 0; t->still && i < m->legs_count; i++) // what is not worth a step
        if (p->legs[i].step_s < 0)
            for (int r = 0; r < 3; r += 2)
                p->legs[i].off[r] *= stable_exp(-2 * t->dt_s);
    sink_body(p, m, t, stances, locals);
    for (size_t i = 0; i < m->legs_count; i++)
        if (m->legs[i].hip != MODEL_NONE)
            bend_leg(p, m, &m->legs[i], &p->legs[i], &stances[i], t->dt_s, locals);
    p->started = true;
    p->yaw = t->yaw;
}
