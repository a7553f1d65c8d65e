#include "server/character/pose/roots.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/blend.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

enum { PADDING = 64 * 4 };

size_t roots_pose_bytes(const struct model *m)
{
    size_t count = m->roots_count;
    if (count == 0) return 0;
    return count * (sizeof(struct pose) + sizeof(struct xform) + sizeof(double) + pose_bytes(m)) +
           PADDING;
}

struct roots_pose roots_pose_take(const struct model *m, struct arena *a)
{
    struct roots_pose r = {0};
    if (m->roots_count == 0) return r;
    r.poses = ARENA_ARRAY(a, struct pose, m->roots_count);
    r.places = ARENA_ARRAY(a, struct xform, m->roots_count);
    r.gains = ARENA_ARRAY(a, double, m->roots_count);
    for (size_t i = 0; i < m->roots_count; i++) {
        r.poses[i] = pose_take(m, a);
        pose_rest(m, r.poses[i]);
        r.places[i] = xform_identity();
        r.gains[i] = 1;
    }
    return r;
}

// World from node along the parents, in one root's pose without its place.
static struct xform world_of(const struct model *m, const struct pose *pose, uint32_t node)
{
    struct xform world = xform_from_trs(&pose->locals[node]);
    for (int32_t up = m->nodes[node].parent; up != MODEL_NONE; up = m->nodes[up].parent) {
        struct xform local = xform_from_trs(&pose->locals[up]);
        world = xform_mul(&local, &world);
    }
    return world;
}

// The turn about +Y from a to b, as (y, w) of a unit quaternion with w >= 0.
static void turn_about_up(const struct xform *a, const struct xform *b, double *y, double *w)
{
    double columns[2][3][3], qa[4], qb[4], q[4];
    const struct xform *of[2] = {a, b};
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 3; c++) {
            const double *v = of[i]->col[c];
            double size = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            for (int r = 0; r < 3; r++)
                columns[i][c][r] = size > 0 ? v[r] / size : (double)(r == c);
        }
    xform_rotation(columns[0], qa);
    xform_rotation(columns[1], qb);
    double back[4] = {-qa[0], -qa[1], -qa[2], qa[3]};
    rotation_mul(qb, back, q);
    double size = sqrt(q[1] * q[1] + q[3] * q[3]);
    double sign = q[3] < 0 ? -1 : 1;
    *y = size > 1e-9 ? sign * q[1] / size : 0;
    *w = size > 1e-9 ? sign * q[3] / size : 1;
}

static struct xform turned_about(const double at[3], double y, double w)
{
    struct xform m = xform_identity();
    double c = w * w - y * y, s = 2 * y * w;
    m.col[0][0] = m.col[2][2] = c;
    m.col[0][2] = -s;
    m.col[2][0] = s;
    m.col[3][0] = at[0] - (c * at[0] + s * at[2]);
    m.col[3][2] = at[2] - (-s * at[0] + c * at[2]);
    return m;
}

// Turns the root back about +Y, at its own node, to within its limit of the root it is held to.
static void hold_turn(const struct model *m, struct roots_pose *roots, size_t root)
{
    const struct model_root *r = &m->roots[root];
    size_t held = r->ride == MODEL_NONE ? 0 : (size_t)r->ride;
    if (!(r->turn_limit < 3.14F) || held == root) return;
    struct xform own = world_of(m, &roots->poses[root], r->node);
    struct xform other = world_of(m, &roots->poses[held], r->node);
    double y, w, half = (double)r->turn_limit / 2;
    own = xform_mul(&roots->places[root], &own);
    other = xform_mul(&roots->places[held], &other);
    turn_about_up(&other, &own, &y, &w);
    double limit_w = cos(half), limit_y = y < 0 ? -sin(half) : sin(half);
    if (w >= limit_w) return;
    // limit * turn^-1, both about +Y
    double back_y = limit_y * w - limit_w * y, back_w = limit_w * w + limit_y * y;
    struct xform back = turned_about(own.col[3], back_y, back_w);
    roots->places[root] = xform_mul(&back, &roots->places[root]);
}

static void place_root(const struct model *m, struct roots_pose *roots, size_t root)
{
    const struct model_root *r = &m->roots[root];
    roots->places[root] = xform_identity();
    if (r->ride != MODEL_NONE) {
        struct xform under = world_of(m, &roots->poses[r->ride], r->ride_node);
        struct xform own = world_of(m, &roots->poses[root], r->ride_node), inverse;
        under = xform_mul(&roots->places[r->ride], &under);
        if (xform_invert(&own, &inverse)) roots->places[root] = xform_mul(&under, &inverse);
    }
    hold_turn(m, roots, root);
}

// Whom a root rides on comes first; there are no circles (validate).
static void place_all(const struct model *m, struct roots_pose *roots)
{
    bool placed[MODEL_ROOTS_MAX] = {false};
    for (size_t round = 0; round < m->roots_count; round++)
        for (size_t i = 0; i < m->roots_count; i++) {
            int32_t ride = m->roots[i].ride;
            if (placed[i] || (ride != MODEL_NONE && !placed[ride])) continue;
            place_root(m, roots, i);
            placed[i] = true;
        }
}

void roots_settle(const struct model *m, struct roots_pose *roots, struct pose merged)
{
    place_all(m, roots);
    for (size_t i = 0; i < m->nodes_count; i++) {
        int32_t parent = m->nodes[i].parent;
        uint8_t own = m->node_roots[i], above = parent == MODEL_NONE ? 0 : m->node_roots[parent];
        merged.locals[i] = roots->poses[own].locals[i];
        bool in_place = m->roots[own].ride == MODEL_NONE && !(m->roots[own].turn_limit < 3.14F);
        if (own == above || (parent == MODEL_NONE && in_place)) continue;
        struct xform node = world_of(m, &roots->poses[own], (uint32_t)i), inverse;
        node = xform_mul(&roots->places[own], &node);
        struct xform up = xform_identity();
        if (parent != MODEL_NONE) {
            up = world_of(m, &roots->poses[above], (uint32_t)parent);
            up = xform_mul(&roots->places[above], &up);
        }
        if (!xform_invert(&up, &inverse)) continue;
        node = xform_mul(&inverse, &node);
        (void)xform_to_trs(&node, &merged.locals[i]);
    }
}

void roots_model_from_nodes(const struct model *m, const struct roots_pose *roots,
                            struct xform *model_from_node)
{
    for (size_t r = 0; r < m->roots_count; r++) {
        struct xform *out = model_from_node + r * m->nodes_count;
        skeleton_model_from_nodes(m, roots->poses[r].locals, out);
        const struct model_root *root = &m->roots[r];
        if (root->ride == MODEL_NONE && !(root->turn_limit < 3.14F)) continue; // in place
        for (size_t i = 0; i < m->nodes_count; i++)
            out[i] = xform_mul(&roots->places[r], &out[i]);
    }
}

// ---- live ---------------------------------------------------------------------------------

double roots_eased_value(const struct roots_eased *e)
{
    double u = e->share, s = u * u * (3 - 2 * u);
    return u >= 1 ? e->to : e->from + s * (e->to - e->from);
}

void roots_ease_to(struct roots_eased *e, double value)
{
    if (value == e->to) return;
    *e = (struct roots_eased){roots_eased_value(e), value, 0};
}

static void ease(struct roots_eased *e, double dt_s)
{
    e->share = fmin(1, e->share + dt_s / ROOTS_EASE_S);
}

void root_motion_start(struct root_motion *r)
{
    *r = (struct root_motion){.clip = MODEL_NONE,
                              .before = MODEL_NONE,
                              .fade = 1,
                              .speed = {1, 1, 1},
                              .weight = {1, 1, 1},
                              .offset_s = {0, 0, 1}};
}

void root_motion_clip(struct root_motion *r, int32_t clip)
{
    r->set = true;
    if (clip == r->clip) return;
    r->before = r->clip;
    r->before_played_s = r->played_s;
    r->clip = clip;
    r->played_s = 0;
    r->fade = 0;
}

void root_motion_advance(struct root_motion *r, double dt_s)
{
    if (!r->set || !(dt_s > 0)) return;
    double before = roots_eased_value(&r->speed);
    ease(&r->speed, dt_s);
    ease(&r->weight, dt_s);
    ease(&r->offset_s, dt_s);
    double played = dt_s * (before + roots_eased_value(&r->speed)) / 2;
    r->played_s += played;
    r->before_played_s += played;
    r->fade = fmin(1, r->fade + dt_s / ROOTS_EASE_S);
}

bool root_motion_is_moving(const struct root_motion *r)
{
    return r->set && (r->fade < 1 || r->weight.share < 1 || r->offset_s.share < 1 ||
                      r->speed.share < 1 || (r->clip != MODEL_NONE && r->speed.to != 0));
}

static void sample(const struct model *m, int32_t clip, double time_s, struct pose out)
{
    if (clip == MODEL_NONE) return;
    pose_rest(m, out);
    clip_sample(m, (uint32_t)clip, clip_time(&m->clips[clip], fmax(0, time_s)),
                (struct clip_cursor){0}, out);
}

void root_motion_sample(const struct model *m, const struct root_motion *r, struct pose out,
                        struct pose other)
{
    if (!r->set) return;
    double offset = roots_eased_value(&r->offset_s);
    pose_copy(m, out, other);
    sample(m, r->clip, r->played_s + offset, out);
    if (r->fade >= 1) return;
    sample(m, r->before, r->before_played_s + offset, other);
    float share = (float)(r->fade * r->fade * (3 - 2 * r->fade));
    struct blend_layer layers[2] = {{.pose = other, .weight = 1 - share},
                                    {.pose = out, .weight = share}};
    blend_layers(m, layers, 2, out);
}
