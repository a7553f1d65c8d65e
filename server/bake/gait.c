#include "server/bake/gait.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/pose/clip.h"
#include "server/character/pose/skeleton.h"

enum { SAMPLES = 96 };

enum err gait_begin(struct builder *b, struct gait *out)
{
    const struct model *m = &b->model;
    size_t count = m->nodes_count;
    struct gait g = {.b = b};
    g.pose.locals = BUILDER_ARRAY(b, struct trs, count);
    g.pose.weights = BUILDER_ARRAY(b, float, m->channels_count + 1);
    g.nodes = BUILDER_ARRAY(b, struct xform, count);
    g.low = BUILDER_ARRAY(b, double, 3 * count);
    g.low_next = BUILDER_ARRAY(b, double, 3 * count);
    g.reach = BUILDER_ARRAY(b, double, 4 * count);
    g.side = BUILDER_ARRAY(b, signed char, count);
    if (!g.pose.locals || !g.pose.weights || !g.nodes || !g.low || !g.low_next || !g.reach ||
        !g.side)
        return builder_no_memory(b);
    memset(g.side, 0, count);
    for (size_t n = 0; n < count; n++)
        g.skinned = g.skinned || (m->nodes[n].flags & MODEL_NODE_JOINT) != 0;
    g.height = (double)m->info->box_max[1] - (double)m->info->box_min[1];
    *out = g;
    return ERR_OK;
}

static void sample(struct gait *g, const struct model_move *move, double time_s, double *places)
{
    const struct model *m = &g->b->model;
    double part = time_s / (double)m->clips[move->clip].duration_s;
    pose_rest(m, g->pose);
    clip_sample(m, move->clip, time_s, (struct clip_cursor){0}, g->pose);
    if (move->root != MODEL_NONE) {
        struct vec3 *at = &g->pose.locals[move->root].translation;
        at->x -= (float)((double)move->root_step[0] * part);
        at->y -= (float)((double)move->root_step[1] * part);
        at->z -= (float)((double)move->root_step[2] * part);
    }
    skeleton_model_from_nodes(m, g->pose.locals, g->nodes);
    for (size_t n = 0; n < m->nodes_count; n++)
        for (int k = 0; k < 3; k++)
            places[3 * n + (size_t)k] = g->nodes[n].col[3][k];
}

static bool is_joint(const struct gait *g, size_t node)
{
    return !g->skinned || (g->b->model.nodes[node].flags & MODEL_NODE_JOINT) != 0;
}

// The topmost node that a clip moves, when it does not end where it began.
static void find_root(struct gait *g, struct model_move *move, double step[2])
{
    const struct model *m = &g->b->model;
    const struct model_clip *clip = &m->clips[move->clip];
    uint32_t best = UINT32_MAX;
    step[0] = step[1] = 0;
    move->root = MODEL_NONE;
    sample(g, move, (double)clip->duration_s, g->low_next);
    sample(g, move, 0, g->low);
    for (uint32_t t = 0; t < clip->track_count; t++) {
        const struct model_track *track = &m->tracks[clip->track_first + t];
        if (track->path != MODEL_TRANSLATION || track->target >= best) continue;
        double x = g->low_next[(size_t)3 * track->target] - g->low[(size_t)3 * track->target];
        double z =
            g->low_next[(size_t)3 * track->target + 2] - g->low[(size_t)3 * track->target + 2];
        if (sqrt(x * x + z * z) >= 0.08 * g->height) best = track->target; // parents come first
    }
    if (best == UINT32_MAX) return;
    struct xform parent = {.col = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}}}, inverse;
    if (m->nodes[best].parent != MODEL_NONE) parent = g->nodes[m->nodes[best].parent];
    double way[3] = {g->low_next[(size_t)3 * best] - g->low[(size_t)3 * best], 0,
                     g->low_next[(size_t)3 * best + 2] - g->low[(size_t)3 * best + 2]};
    memset(parent.col[3], 0, sizeof parent.col[3]);
    if (!xform_invert(&parent, &inverse)) return;
    double local[3];
    xform_point(&inverse, way, local);
    for (int k = 0; k < 3; k++)
        move->root_step[k] = (float)local[k];
    move->root = (int32_t)best;
    step[0] = way[0];
    step[1] = way[2];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_reach(struct gait *g, const struct model_move *move)
{
    const struct model *m = &g->b->model;
    for (int i = 0; i < SAMPLES; i++) {
        sample(g, move, i * (double)m->clips[move->clip].duration_s / SAMPLES, g->low);
        for (size_t n = 0; n < m->nodes_count; n++)
            for (size_t k = 0; k < 2; k++) {
                double at = g->low[3 * n + 2 * k], *reach = &g->reach[4 * n + 2 * k];
                reach[0] = i ? fmin(reach[0], at) : at;
                reach[1] = i ? fmax(reach[1], at) : at;
            }
    }
}

// Roots, and targets that only mark a place, lie on the ground too, but do not stride.
static bool strides(const struct gait *g, size_t node)
{
    const double *reach = &g->reach[4 * node];
    return is_joint(g, node) && fmax(reach[1] - reach[0], reach[3] - reach[2]) > 0.1 * g->height;
}

// The median of the lowest joint's velocity: that of the foot that stands.
static void measure_ground(struct gait *g, const struct model_move *move, double out[2])
{
    const struct model *m = &g->b->model;
    double period = (double)m->clips[move->clip].duration_s, h = period / SAMPLES;
    double values[2][SAMPLES], heights[SAMPLES], ground = (double)INFINITY;
    size_t count = 0;
    find_reach(g, move);
    for (int i = 0; i < SAMPLES; i++) {
        size_t lowest = SIZE_MAX;
        sample(g, move, i * h, g->low);
        sample(g, move, (i + 1) * h, g->low_next);
        for (size_t n = 0; n < m->nodes_count; n++)
            if (strides(g, n) &&
                (lowest == SIZE_MAX || g->low[3 * n + 1] + g->low_next[3 * n + 1] <
                                           g->low[3 * lowest + 1] + g->low_next[3 * lowest + 1]))
                lowest = n;
        heights[i] = lowest == SIZE_MAX ? 0 : g->low[3 * lowest + 1];
        ground = fmin(ground, heights[i]);
        for (size_t k = 0; k < 2; k++)
            values[k][i] = lowest == SIZE_MAX
                               ? 0
                               : (g->low_next[3 * lowest + 2 * k] - g->low[3 * lowest + 2 * k]) / h;
    }
    for (size_t i = 0; i < SAMPLES; i++) { // in flight nothing stands
        if (heights[i] > ground + 0.02 * g->height) continue;
        values[0][count] = values[0][i];
        values[1][count++] = values[1][i];
    }
    for (int k = 0; k < 2; k++) {
        qsort(values[k], count, sizeof(double), by_value);
        out[k] = values[k][count / 2];
    }
}

// Low joints away from the middle; of a quadruped the hind ones, since front and hind feet of one
// side may go against each other.
static void find_feet(struct gait *g, const struct model_move *move)
{
    const struct model *m = &g->b->model;
    double near = (double)INFINITY, far = -(double)INFINITY, ground = (double)INFINITY, middle = 0,
           count = 0;
    sample(g, move, 0, g->low);
    for (size_t n = 0; n < m->nodes_count; n++)
        if (is_joint(g, n)) ground = fmin(ground, g->low[3 * n + 1]);
    int across = move->quarter % 2 == 0 ? 0 : 2, along = 2 - across;
    for (size_t n = 0; n < m->nodes_count; n++) {
        if (!is_joint(g, n) || g->low[3 * n + 1] > ground + 0.2 * g->height) continue;
        middle += g->low[3 * n + (size_t)across];
        count++;
        near = fmin(near, g->low[3 * n + (size_t)along]);
        far = fmax(far, g->low[3 * n + (size_t)along]);
    }
    bool four = far - near > 0.8 * g->height, flip = move->quarter >= 2;
    for (size_t n = 0; n < m->nodes_count && count > 0; n++) {
        double side = g->low[3 * n + (size_t)across] - middle / count;
        double behind = (far + near) / 2 - g->low[3 * n + (size_t)along];
        bool foot = is_joint(g, n) && g->low[3 * n + 1] <= ground + 0.2 * g->height &&
                    fabs(side) > 0.005 * g->height && (!four || (flip ? -behind : behind) > 0);
        g->side[n] = !foot ? 0 : side > 0 ? 1 : -1;
    }
}

// Angle of the first harmonic of left height over right height.
static void measure_phase(struct gait *g, struct model_move *move)
{
    const struct model *m = &g->b->model;
    const double turn = 6.283185307179586;
    double period = (double)m->clips[move->clip].duration_s, re = 0, im = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double sum = 0;
        sample(g, move, i * period / SAMPLES, g->low);
        for (size_t n = 0; n < m->nodes_count; n++)
            sum += g->side[n] * g->low[3 * n + 1];
        re += sum * cos(turn * i / SAMPLES);
        im -= sum * sin(turn * i / SAMPLES);
    }
    double phase = atan2(im, re) / turn;
    phase = round((phase - floor(phase)) * 4096) / 4096; // no libm's last bits
    move->phase = phase >= 1 ? 0 : (float)phase;
}

void gait_measure(struct gait *g, struct model_move *move, bool feet)
{
    double step[2], ground[2];
    double period = (double)g->b->model.clips[move->clip].duration_s;
    move->root = MODEL_NONE;
    if (!(period > 0) || !(g->height > 0)) return;
    find_root(g, move, step);
    measure_ground(g, move, ground); // with the root's motion taken out
    double x = -ground[0], z = -ground[1];
    if (move->root != MODEL_NONE) { // the clip says it itself
        x = step[0] / period;
        z = step[1] / period;
    }
    move->quarter = fabs(z) >= fabs(x) ? (z >= 0 ? 0 : 2) : (x >= 0 ? 1 : 3);
    move->speed = (float)sqrt(x * x + z * z);
    if (feet) find_feet(g, move);
    measure_phase(g, move);
}
