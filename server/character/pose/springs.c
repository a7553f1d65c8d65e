#include "server/character/pose/springs.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "common/vector.h"
#include "server/character/pose/collider.h"
#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

static const double HZ = 60;      // the rate that the specification's numbers are tuned for
static const double SLACK = 1e-6; // of a step: an instant so near to one is that step
static const double STILL = 1e-7; // of a tail's length a step: is rest

enum { PADDING = 64 * 5 };

size_t springs_bytes(const struct model *m)
{
    if (m->spring_joints_count == 0) return 0;
    return m->spring_steps_count * (sizeof(struct trs) + sizeof(struct xform)) +
           m->nodes_count * sizeof(int32_t) + m->spring_joints_count * sizeof(struct spring_tail) +
           PADDING;
}

struct springs springs_take(const struct model *m, struct arena *a)
{
    struct springs s = {0};
    if (m->spring_joints_count == 0) return s;
    s.model = m;
    s.last = ARENA_ARRAY(a, struct trs, m->spring_steps_count);
    s.scene_from_node = ARENA_ARRAY(a, struct xform, m->spring_steps_count);
    s.step_of_node = ARENA_ARRAY(a, int32_t, m->nodes_count);
    s.tails = ARENA_ARRAY(a, struct spring_tail, m->spring_joints_count);
    for (size_t i = 0; i < m->nodes_count; i++)
        s.step_of_node[i] = MODEL_NONE;
    for (size_t i = 0; i < m->spring_steps_count; i++)
        s.step_of_node[m->spring_steps[i].node] = (int32_t)i;
    for (size_t i = 0; i < m->spring_joints_count; i++)
        s.tails[i] = (struct spring_tail){.swing = {0, 0, 0, 1}};
    return s;
}

// ---- small arithmetic ---------------------------------------------------------------------

static double length_of(const double v[3])
{
    return sqrt(vector_dot(v, v));
}

// The tail at `length` from `pivot`, towards where it is; where it is on the pivot, along
// `else_to`.
static void keep_length(const double pivot[3], double length, const double else_to[3],
                        double tail[3])
{
    double d[3] = {tail[0] - pivot[0], tail[1] - pivot[1], tail[2] - pivot[2]};
    double size = length_of(d);
    bool lost = !(size > 1e-12 * length) || !isfinite(size);
    for (int r = 0; r < 3; r++)
        tail[r] = pivot[r] + length * (lost ? else_to[r] : d[r] / size);
}

static void direction(const struct xform *m, const double in[3], double out[3])
{
    for (int r = 0; r < 3; r++)
        out[r] = m->col[0][r] * in[0] + m->col[1][r] * in[1] + m->col[2][r] * in[2];
}

static void wide(const float in[3], double out[3])
{
    for (int r = 0; r < 3; r++)
        out[r] = (double)in[r];
}

// Towards `b` by `u`: rotations on the shorter arc by the chord, which is exact at both ends.
static struct trs between(const struct trs *a, const struct trs *b, double u)
{
    struct trs out = *b;
    const float *from = &a->translation.x, *to = &b->translation.x;
    float *mixed = &out.translation.x;
    double sign = 0, q[4];
    _Static_assert(sizeof(struct trs) == 10 * sizeof(float), "translation, rotation, scale");
    if (u >= 1) return out;
    for (int i = 3; i < 7; i++)
        sign += (double)from[i] * (double)to[i];
    for (int i = 0; i < 10; i++) {
        double start = i >= 3 && i < 7 && sign < 0 ? -(double)from[i] : (double)from[i];
        double value = start + u * ((double)to[i] - start);
        if (i >= 3 && i < 7)
            q[i - 3] = value;
        else
            mixed[i] = (float)value;
    }
    out.rotation = rotation_round(q);
    return out;
}

static struct springs_place place_between(const struct springs_place *a,
                                          const struct springs_place *b, double u)
{
    struct springs_place out = *b;
    double sign = rotation_dot(a->rotation, b->rotation);
    if (u >= 1) return out;
    for (int r = 0; r < 3; r++)
        out.position[r] = a->position[r] + u * (b->position[r] - a->position[r]);
    for (int r = 0; r < 4; r++) {
        double start = sign < 0 ? -a->rotation[r] : a->rotation[r];
        out.rotation[r] = start + u * (b->rotation[r] - start);
    }
    rotation_unit(out.rotation);
    return out;
}

static struct xform place_matrix(const struct springs_place *p)
{
    struct xform m;
    for (int c = 0; c < 3; c++) {
        double axis[3] = {c == 0, c == 1, c == 2};
        rotation_apply(p->rotation, axis, m.col[c]);
    }
    memcpy(m.col[3], p->position, sizeof m.col[3]);
    return m;
}

// ---- one pass over the skeleton -----------------------------------------------------------

enum pass_kind {
    PASS_STEP, // a whole step, kept
    PASS_SHOW, // a fraction of one, only shown
    PASS_SEAT  // tails where they were last shown, without speed
};
struct pass {
    struct springs *s;
    enum pass_kind kind;
    double share; // of a step
    double along; // where between the last instant and `locals`
    const struct trs *locals;
    struct xform scene_from_model;
    bool moved;
};

static void collide(const struct pass *p, const struct model_spring_joint *joint,
                    const double pivot[3], double length, const double rest[3], double tail[3])
{
    const struct model *m = p->s->model;
    const struct model_spring *spring = &m->springs[joint->spring];
    for (uint32_t i = 0; i < spring->use_count; i++) {
        const struct model_spring_collider *c =
            &m->spring_colliders[m->spring_uses[spring->use_first + i]];
        const struct xform *node = &p->s->scene_from_node[p->s->step_of_node[c->node]];
        struct collider_place place;
        if (collider_place_at(node, c, &place) &&
            collider_push(&place, (double)joint->hit_radius, tail))
            keep_length(pivot, length, rest, tail);
    }
}

// The tail of a joint in this pass, scene space; `rest` is the direction that the pose gives it.
static void next_tail(struct pass *p, uint32_t index, const double pivot[3], const double rest[3],
                      double length, double tail[3])
{
    const struct model *m = p->s->model;
    const struct model_spring_joint *joint = &m->spring_joints[index];
    struct spring_tail *state = &p->s->tails[index];
    int32_t center = m->springs[joint->spring].center;
    struct xform frame = xform_identity(), inverse = frame;
    if (center != MODEL_NONE) {
        frame = p->s->scene_from_node[p->s->step_of_node[center]];
        if (!xform_invert(&frame, &inverse)) frame = inverse = xform_identity();
    }
    if (p->kind == PASS_SEAT) {
        keep_length(pivot, length, rest, tail);
        xform_point(&inverse, tail, state->now);
        memcpy(state->before, state->now, sizeof state->before);
        return;
    }
    double ahead[3], dt = p->share / HZ;
    for (int r = 0; r < 3; r++)
        ahead[r] = state->now[r] +
                   (state->now[r] - state->before[r]) * (1 - (double)joint->drag) * p->share;
    xform_point(&frame, ahead, tail);
    for (int r = 0; r < 3; r++)
        tail[r] += dt * (rest[r] * (double)joint->stiffness + (double)joint->gravity[r]);
    keep_length(pivot, length, rest, tail);
    if (p->share > 0) collide(p, joint, pivot, length, rest, tail); // else it was, at its step
    if (p->kind == PASS_SHOW) return;
    double old[3], moved = 0;
    xform_point(&frame, state->now, old);
    for (int r = 0; r < 3; r++)
        moved += (tail[r] - old[r]) * (tail[r] - old[r]);
    p->moved = p->moved || !(moved < STILL * STILL * length * length);
    memcpy(state->before, state->now, sizeof state->before);
    xform_point(&inverse, tail, state->now);
}

// Turns the joint's node so that it points at its tail. `node` is scene from the posed node.
static void swing(struct pass *p, uint32_t index, struct xform *node, struct trs *local)
{
    const struct model_spring_joint *joint = &p->s->model->spring_joints[index];
    struct spring_tail *state = &p->s->tails[index];
    double axis[3], rest[3], tail[3], to[3], seated[3];
    struct xform inverse;
    wide(joint->tail, axis);
    direction(node, axis, rest);
    double length = length_of(rest), size = length_of(axis);
    if (!(length > 0) || !isfinite(length) || !xform_invert(node, &inverse)) return;
    for (int r = 0; r < 3; r++) {
        rest[r] /= length;
        axis[r] /= size;
    }
    if (p->kind == PASS_SEAT) {
        rotation_apply(state->swing, axis, to);
        direction(node, to, seated);
        for (int r = 0; r < 3; r++)
            tail[r] = node->col[3][r] + seated[r];
    }
    next_tail(p, index, node->col[3], rest, length, tail);
    for (int r = 0; r < 3; r++)
        tail[r] -= node->col[3][r];
    direction(&inverse, tail, to);
    size = length_of(to);
    if (!(size > 0) || !isfinite(size)) return;
    for (int r = 0; r < 3; r++)
        to[r] /= size;
    rotation_between(axis, to, state->swing);
    double posed[4];
    rotation_load(local->rotation, posed);
    rotation_mul(posed, state->swing, posed);
    local->rotation = rotation_round(posed);
}

static void run(struct pass *p, struct trs *turned)
{
    const struct model *m = p->s->model;
    for (size_t i = 0; i < m->spring_steps_count; i++) {
        const struct model_spring_step *step = &m->spring_steps[i];
        struct trs local = between(&p->s->last[i], &p->locals[step->node], p->along);
        int32_t parent = m->nodes[step->node].parent;
        const struct xform *up = parent == MODEL_NONE
                                     ? &p->scene_from_model
                                     : &p->s->scene_from_node[p->s->step_of_node[parent]];
        struct xform *node = &p->s->scene_from_node[i];
        struct xform matrix = skeleton_parent_from_node(m, step->node, &local);
        *node = xform_mul(up, &matrix);
        if (step->joint == MODEL_NONE) continue;
        swing(p, (uint32_t)step->joint, node, &local);
        matrix = xform_from_trs(&local);
        *node = xform_mul(up, &matrix);
        if (turned) turned[step->node].rotation = local.rotation;
    }
}

// ---- instants -----------------------------------------------------------------------------

static void keep_pose(struct springs *s, const struct trs *locals)
{
    for (size_t i = 0; i < s->model->spring_steps_count; i++)
        s->last[i] = locals[s->model->spring_steps[i].node];
}

static bool stands(const struct springs *s, const struct springs_place *place)
{
    for (int r = 0; r < 3; r++)
        if (place->position[r] != s->last_place.position[r]) return false;
    for (int r = 0; r < 4; r++)
        if (place->rotation[r] != s->last_place.rotation[r]) return false;
    return true;
}

static bool pose_differs(const struct springs *s, const struct springs_place *place,
                         const struct trs *locals)
{
    bool differs = !stands(s, place);
    for (size_t i = 0; i < s->model->spring_steps_count && !differs; i++)
        // Bits are meant, not values. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
        differs =
            memcmp(&s->last[i], &locals[s->model->spring_steps[i].node], sizeof s->last[i]) != 0;
    return differs;
}

static int64_t step_at(double time_s)
{
    return (int64_t)floor(time_s * HZ + SLACK);
}

void springs_advance(struct springs *s, double time_s, const struct springs_place *place,
                     bool jumped, struct trs *locals)
{
    CHECK(s->model);
    double dt = time_s - s->time_s;
    int64_t target = step_at(time_s);
    bool seat = !s->started || jumped || !(dt >= 0) || dt > SPRINGS_GAP_S;
    bool differs = seat || pose_differs(s, place, locals);
    struct pass p = {.s = s, .share = 1, .along = 1, .locals = locals};
    if (seat) {
        p.kind = PASS_SEAT;
        p.scene_from_model = place_matrix(place);
        run(&p, NULL);
        s->step = target;
    }
    // What is shown: the fraction of the next step that has passed, in this instant's pose. An
    // instant at a step shows that step itself.
    double share = fmax(0, time_s * HZ - (double)target);
    bool at_step = share <= SLACK && s->step < target;
    for (; s->step < target; s->step++) {
        bool last = at_step && s->step + 1 == target;
        p.kind = PASS_STEP;
        p.along = dt > 0 && !last ? ((double)(s->step + 1) / HZ - s->time_s) / dt : 1;
        p.along = fmin(fmax(p.along, 0), 1);
        struct springs_place there = place_between(&s->last_place, place, p.along);
        p.scene_from_model = place_matrix(&there);
        p.moved = false;
        if (last) keep_pose(s, locals);
        run(&p, last ? locals : NULL);
        s->moving = p.moved;
    }
    if (!at_step) {
        p.kind = PASS_SHOW;
        p.share = share > SLACK ? share : 0;
        p.along = 1;
        p.scene_from_model = place_matrix(place);
        keep_pose(s, locals);
        run(&p, locals);
    }
    s->last_place = *place;
    s->time_s = time_s;
    s->moving = s->moving || differs;
    s->started = true;
}

void springs_wait(struct springs *s, double time_s)
{
    s->time_s = time_s;
    s->step = step_at(time_s);
}

void springs_inherit(struct springs *s, const struct springs *from)
{
    const struct model *m = s->model;
    CHECK(m->spring_joints_count == from->model->spring_joints_count &&
          m->spring_steps_count == from->model->spring_steps_count);
    memcpy(s->tails, from->tails, m->spring_joints_count * sizeof *s->tails);
    memcpy(s->last, from->last, m->spring_steps_count * sizeof *s->last);
    s->last_place = from->last_place;
    s->time_s = from->time_s;
    s->step = from->step;
    s->started = from->started;
    s->moving = true;
}
