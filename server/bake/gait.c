#include "server/bake/gait.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/pose/clip.h"
#include "server/character/pose/skeleton.h"

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
    if (!g.pose.locals || !g.pose.weights || !g.nodes || !g.low || !g.low_next || !g.reach)
        return builder_no_memory(b);
    for (size_t n = 0; n < count; n++)
        g.skinned = g.skinned || (m->nodes[n].flags & MODEL_NODE_JOINT) != 0;
    g.height = (double)m->info->box_max[1] - (double)m->info->box_min[1];
    *out = g;
    return ERR_OK;
}

void gait_sample(struct gait *g, const struct model_move *move, double share)
{
    const struct model *m = &g->b->model;
    pose_rest(m, g->pose);
    clip_sample(m, move->clip, share * (double)m->clips[move->clip].duration_s,
                (struct clip_cursor){0}, g->pose);
    if (move->root != MODEL_NONE) {
        struct vec3 *at = &g->pose.locals[move->root].translation;
        at->x -= (float)((double)move->root_step[0] * share);
        at->y -= (float)((double)move->root_step[1] * share);
        at->z -= (float)((double)move->root_step[2] * share);
    }
    skeleton_model_from_nodes(m, g->pose.locals, g->nodes);
}

static void sample(struct gait *g, const struct model_move *move, double share, double *places)
{
    gait_sample(g, move, share);
    for (size_t n = 0; n < g->b->model.nodes_count; n++)
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
    sample(g, move, 1, g->low_next);
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
    for (int i = 0; i < GAIT_SAMPLES; i++) {
        sample(g, move, (double)i / GAIT_SAMPLES, g->low);
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
    double period = (double)m->clips[move->clip].duration_s, h = period / GAIT_SAMPLES;
    double values[2][GAIT_SAMPLES], heights[GAIT_SAMPLES], ground = (double)INFINITY;
    size_t count = 0;
    find_reach(g, move);
    for (int i = 0; i < GAIT_SAMPLES; i++) {
        size_t lowest = SIZE_MAX;
        sample(g, move, (double)i / GAIT_SAMPLES, g->low);
        sample(g, move, (double)(i + 1) / GAIT_SAMPLES, g->low_next);
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
    for (size_t i = 0; i < GAIT_SAMPLES; i++) { // in flight nothing stands
        if (heights[i] > ground + 0.02 * g->height) continue;
        values[0][count] = values[0][i];
        values[1][count++] = values[1][i];
    }
    for (int k = 0; k < 2; k++) {
        qsort(values[k], count, sizeof(double), by_value);
        out[k] = values[k][count / 2];
    }
}

void gait_measure(struct gait *g, struct model_move *move)
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
    move->stride = (float)(sqrt(x * x + z * z) * period);
}

// ---- contacts -----------------------------------------------------------------------------

struct touch { // of one leg in each sample: its lowest sole, and how fast the ground passes there
    double low[GAIT_SAMPLES], passes[GAIT_SAMPLES], aside[GAIT_SAMPLES];
};

static void follow_leg(struct gait *g, const struct model_move *move, const struct model_leg *leg,
                       struct touch *t)
{
    double places[2][MODEL_SOLES_MAX][3];
    double h = fmax((double)g->b->model.clips[move->clip].duration_s, 1e-3) / GAIT_SAMPLES;
    size_t along = move->quarter % 2 == 0 ? 2 : 0;
    for (int i = 0; i <= GAIT_SAMPLES; i++) {
        gait_sample(g, move, (double)i / GAIT_SAMPLES);
        uint32_t lowest = 0;
        double(*now)[3] = places[i % 2], (*before)[3] = places[(i + 1) % 2];
        for (uint32_t k = 0; k < leg->sole_count; k++) {
            const double sole[3] = {(double)leg->soles[k][0], (double)leg->soles[k][1],
                                    (double)leg->soles[k][2]};
            xform_point(&g->nodes[leg->sole_nodes[k]], sole, now[k]);
        }
        for (uint32_t k = 1; i > 0 && k < leg->sole_count; k++)
            if (before[k][1] + now[k][1] < before[lowest][1] + now[lowest][1]) lowest = k;
        if (i == 0) continue;
        double passes = (before[lowest][along] - now[lowest][along]) / h;
        t->low[i - 1] = (before[lowest][1] + now[lowest][1]) / 2;
        t->passes[i - 1] = move->quarter < 2 ? passes : -passes;
        t->aside[i - 1] = fabs(before[lowest][2 - along] - now[lowest][2 - along]) / h;
    }
}

// The longest run of samples in which it stands, round the end of the clip (of a jump: from landing
// to take-off); short breaks count as standing.
static struct model_contact longest(const bool *stands)
{
    enum { BREAK = 3 };
    int best = 0, best_start = 0;
    for (int start = 0; start < GAIT_SAMPLES; start++) {
        int run = 0, pause = 0;
        if (!stands[start] || (start > 0 && stands[start - 1])) continue;
        for (int i = start; i < start + GAIT_SAMPLES; i++) {
            pause = stands[i % GAIT_SAMPLES] ? 0 : pause + 1;
            if (pause > BREAK) break;
            if (pause == 0) run = i - start + 1;
        }
        if (run > best) {
            best = run;
            best_start = start;
        }
    }
    return (struct model_contact){.start = (float)best_start / GAIT_SAMPLES,
                                  .length = (float)best / GAIT_SAMPLES};
}

bool gait_touches(const struct gait *g, double above, double passes, double speed)
{
    if (!(speed > 0)) return above <= 0.02 * g->height && fabs(passes) < 0.25 * g->height;
    return above <= 0.05 * g->height && passes > 0.1 * speed && passes < 2.2 * speed;
}

// Clips that keep their feet still tell exactly when; of others the wider rule is taken.
static struct model_contact find_contact(const struct gait *g, const struct touch *t, double speed,
                                         bool *stands)
{
    struct model_contact found[2];
    double ground = (double)INFINITY;
    for (int i = 0; i < GAIT_SAMPLES; i++)
        ground = fmin(ground, t->low[i]);
    for (int wide = 0; wide < 2; wide++) {
        for (int i = 0; i < GAIT_SAMPLES; i++) {
            double above = t->low[i] - ground;
            stands[i] = gait_touches(g, above, t->passes[i], speed) &&
                        t->aside[i] < fmax(speed, 0.25 * g->height);
            if (!wide && speed > 0)
                stands[i] = stands[i] && above <= 0.02 * g->height &&
                            fabs(t->passes[i] - speed) < 0.3 * speed;
        }
        found[wide] = longest(stands);
        found[wide].height = (float)ground;
    }
    return found[0].length >= found[1].length / 2 ? found[0] : found[1];
}

// Height and median pace of the ground while it stands; false: it never does.
static bool measure_touch(const struct touch *t, struct model_contact *c, double *pace)
{
    double lows[GAIT_SAMPLES], paces[GAIT_SAMPLES];
    size_t count = 0, first = (size_t)((double)c->start * GAIT_SAMPLES + 0.5);
    while (count < (size_t)((double)c->length * GAIT_SAMPLES + 0.5)) {
        lows[count] = t->low[(first + count) % GAIT_SAMPLES];
        paces[count] = t->passes[(first + count) % GAIT_SAMPLES];
        count++;
    }
    if (count == 0) return false;
    qsort(lows, count, sizeof *lows, by_value);
    qsort(paces, count, sizeof *paces, by_value);
    c->height = (float)lows[count / 2];
    *pace = paces[count / 2];
    return true;
}

void gait_contacts(struct gait *g, struct model_move *move, struct model_contact *out)
{
    double period = (double)g->b->model.clips[move->clip].duration_s, sum = 0, known = 0;
    double speed = period > 0 ? (double)move->stride / period : 0;
    for (uint32_t k = 0; k < g->leg_count; k++) {
        struct touch t;
        bool stands[GAIT_SAMPLES];
        double pace = 0;
        follow_leg(g, move, &g->legs[k], &t);
        out[k] = find_contact(g, &t, speed, stands);
        if (!measure_touch(&t, &out[k], &pace)) continue;
        sum += pace;
        known++;
    }
    if (move->root == MODEL_NONE && speed > 0 && sum > 0) { // more exact than by joints
        move->stride = (float)(sum / known * period);
        move->speed = (float)(sum / known);
    }
}

void gait_match(const struct gait *g, struct model_move *move, const struct model_contact *contacts,
                const struct model_contact *other)
{
    const double turn = 6.283185307179586;
    double re = 0, im = 0;
    for (uint32_t k = 0; k < g->leg_count; k++) {
        double here = (double)contacts[k].start + (double)contacts[k].length / 2;
        double there = (double)other[k].start + (double)other[k].length / 2;
        if (!(contacts[k].length > 0) || !(other[k].length > 0)) continue;
        re += cos(turn * (there - here));
        im += sin(turn * (there - here));
    }
    double phase = atan2(im, re) / turn;
    phase = round((phase - floor(phase)) * 4096) / 4096; // no libm's last bits
    move->phase = phase >= 1 ? 0 : (float)phase;
}
