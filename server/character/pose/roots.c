#include "server/character/pose/roots.h"

#include <math.h>

#include "server/character/pose/rotation.h"
#include "server/character/pose/skeleton.h"

enum { PADDING = 64 * 8 };
static const float NO_LIMIT = 3.14F; // half a turn either way

size_t roots_pose_bytes(const struct model *m)
{
    size_t count = m->roots_count;
    if (count == 0) return 0;
    return 3 * m->nodes_count * sizeof(struct xform) +
           count * (sizeof(struct pose) + sizeof(struct xform) + sizeof(double) + pose_bytes(m)) +
           PADDING;
}

struct roots_pose roots_pose_take(const struct model *m, struct arena *a)
{
    struct roots_pose r = {0};
    if (m->roots_count == 0) return r;
    r.poses = ARENA_ARRAY(a, struct pose, m->roots_count);
    r.places = ARENA_ARRAY(a, struct xform, m->roots_count);
    r.gains = ARENA_ARRAY(a, double, m->roots_count);
    r.mirror = (struct mirror){.model = m,
                               .partners = m->mirror_nodes,
                               .base = ARENA_ARRAY(a, struct xform, m->nodes_count),
                               .posed = ARENA_ARRAY(a, struct xform, m->nodes_count),
                               .across = ARENA_ARRAY(a, struct xform, m->nodes_count)};
    mirror_prepare(&r.mirror);
    for (size_t i = 0; i < m->roots_count; i++) {
        r.poses[i] = pose_take(m, a);
        pose_rest(m, r.poses[i]);
        r.places[i] = xform_identity();
        r.gains[i] = 1;
    }
    return r;
}

// World from node in one root's pose, without its place.
static struct xform world_of(const struct model *m, const struct pose *pose, uint32_t node)
{
    return skeleton_model_from_node(m, pose->locals, node);
}

// Nothing carries the root and nothing turns it: its place is the identity.
static bool is_in_place(const struct model_root *r)
{
    return r->ride == MODEL_NONE && !(r->turn_limit < NO_LIMIT);
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
    if (!(r->turn_limit < NO_LIMIT) || held == root) return;
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

// Whose motion a root's things show: the first's where nothing of its own is left.
static uint8_t shown_root(const struct roots_pose *roots, uint8_t root)
{
    return roots->gains[root] > 0 ? root : 0;
}

static bool is_between(const struct roots_pose *roots, uint8_t root)
{
    return root != 0 && roots->gains[root] > 0 && roots->gains[root] < 1;
}

// World from node as the root shows it: what its weight leaves is the first root's, as in the
// palette.
static struct xform shown_node(const struct model *m, const struct roots_pose *roots, uint8_t root,
                               uint32_t node)
{
    struct xform own = world_of(m, &roots->poses[root], node);
    own = xform_mul(&roots->places[root], &own);
    if (!is_between(roots, root)) return own;
    struct xform first = world_of(m, &roots->poses[0], node);
    first = xform_mul(&roots->places[0], &first);
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            own.col[c][r] =
                roots->gains[root] * own.col[c][r] + (1 - roots->gains[root]) * first.col[c][r];
    return own;
}

void roots_settle(const struct model *m, struct roots_pose *roots, struct pose merged)
{
    place_all(m, roots);
    for (size_t i = 0; i < m->nodes_count; i++) {
        int32_t parent = m->nodes[i].parent;
        uint8_t own = shown_root(roots, m->node_roots[i]);
        uint8_t above = parent == MODEL_NONE ? 0 : shown_root(roots, m->node_roots[parent]);
        merged.locals[i] = roots->poses[own].locals[i];
        if (!is_between(roots, own) && !is_between(roots, above) &&
            (own == above || (parent == MODEL_NONE && is_in_place(&m->roots[own]))))
            continue;
        struct xform node = shown_node(m, roots, own, (uint32_t)i), inverse;
        struct xform up =
            parent == MODEL_NONE ? xform_identity() : shown_node(m, roots, above, (uint32_t)parent);
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
        for (size_t i = 0; i < m->nodes_count && !is_in_place(&m->roots[r]); i++)
            out[i] = xform_mul(&roots->places[r], &out[i]);
    }
}
