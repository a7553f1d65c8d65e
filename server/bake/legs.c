#include "server/bake/legs.h"

#include <math.h>
#include <string.h>

#include "common/vector.h"

// Shares of the character's height.
#define LOW_SHARE    0.04 // how near to the lowest of all a sole comes
#define STRIDE_SHARE 0.08 // how far it swings at least
#define RIGID_SHARE  0.05 // by which the distance of two parts of one foot may change
#define FOOT_SHARE   0.25 // longest foot
#define APART_SHARE  0.03 // the same for a foot that is no child of its leg
enum { CANDIDATES_MAX = 64, CHAIN_MAX = 12 };

struct candidate {
    uint32_t node, group;
    double soles[2][3]; // rear and front, in the node's frame
};
struct legs {
    struct gait *g;
    const struct model_move *move;
    double (*soles)[2][3]; // [node]
    double *low;           // [node] INFINITY: the node carries no surface
    double (*span)[2];     // [node] least and most along the way
    struct candidate list[CANDIDATES_MAX];
    uint32_t count;
    double (*track)[CANDIDATES_MAX][2][3]; // [sample]
    uint32_t *depth;                       // [node] of what hangs below it, 1: nothing
};

static size_t along_of(const struct model_move *move)
{
    return move->quarter % 2 == 0 ? 2 : 0;
}

static double sign_of(const struct model_move *move)
{
    return move->quarter < 2 ? 1 : -1;
}

static uint32_t carrier(const struct builder *b, uint32_t vertex)
{
    uint32_t best = b->influence_first[vertex];
    for (uint32_t i = best; i < b->influence_first[vertex + 1]; i++)
        if (b->influence_weights[i] > b->influence_weights[best]) best = i;
    return b->model.slots[b->influence_slots[best]].node;
}

// What is lowest of each node's surface at rest: its rear and its front end.
static enum err find_soles(struct legs *l)
{
    struct builder *b = l->g->b;
    const struct model *m = &b->model;
    size_t vertices = model_vertex_count(m), along = along_of(l->move);
    double(*place)[3];
    for (size_t n = 0; n < m->nodes_count; n++) {
        l->g->pose.locals[n] = m->nodes[n].rest;
        l->low[n] = (double)INFINITY;
        l->span[n][0] = (double)INFINITY;
        l->span[n][1] = -(double)INFINITY;
    }
    enum err e = builder_places(b, l->g->pose.locals, l->g->nodes, &place);
    if (e != ERR_OK) return e;
    for (uint32_t v = 0; v < vertices; v++)
        if (b->influence_first[v] < b->influence_first[v + 1])
            l->low[carrier(b, v)] = fmin(l->low[carrier(b, v)], place[v][1]);
    for (uint32_t v = 0; v < vertices; v++) {
        if (b->influence_first[v] == b->influence_first[v + 1]) continue;
        uint32_t n = carrier(b, v);
        if (place[v][1] > l->low[n] + 0.015 * l->g->height) continue;
        for (int end = 0; end < 2; end++) {
            bool further = end ? place[v][along] > l->span[n][1] : place[v][along] < l->span[n][0];
            if (!further) continue;
            l->span[n][end] = place[v][along];
            memcpy(l->soles[n][end], place[v], sizeof place[v]);
        }
    }
    for (size_t n = 0; n < m->nodes_count; n++) {
        struct xform inverse;
        if (!isfinite(l->low[n])) continue;
        if (!xform_invert(&l->g->nodes[n], &inverse)) {
            l->low[n] = (double)INFINITY;
            continue;
        }
        for (int end = 0; end < 2; end++) {
            double at[3] = {l->soles[n][end][0], l->soles[n][end][1], l->soles[n][end][2]};
            xform_point(&inverse, at, l->soles[n][end]);
        }
    }
    return ERR_OK;
}

static void find_candidates(struct legs *l)
{
    const struct model *m = &l->g->b->model;
    size_t along = along_of(l->move);
    double ground = (double)INFINITY, height = l->g->height;
    for (size_t n = 0; n < m->nodes_count; n++) {
        l->span[n][0] = (double)INFINITY;
        l->span[n][1] = -(double)INFINITY;
        if (isfinite(l->low[n])) l->low[n] = 1e300;
    }
    for (int i = 0; i < GAIT_SAMPLES; i++) {
        gait_sample(l->g, l->move, (double)i / GAIT_SAMPLES);
        for (size_t n = 0; n < m->nodes_count; n++)
            for (int end = 0; end < 2 && isfinite(l->low[n]); end++) {
                double at[3];
                xform_point(&l->g->nodes[n], l->soles[n][end], at);
                l->low[n] = fmin(l->low[n], at[1]);
                l->span[n][0] = fmin(l->span[n][0], at[along]);
                l->span[n][1] = fmax(l->span[n][1], at[along]);
            }
    }
    for (size_t n = 0; n < m->nodes_count; n++)
        if (l->span[n][1] - l->span[n][0] > STRIDE_SHARE * height) ground = fmin(ground, l->low[n]);
    for (size_t n = 0; n < m->nodes_count && l->count < CANDIDATES_MAX; n++) {
        if (!(l->span[n][1] - l->span[n][0] > STRIDE_SHARE * height) ||
            l->low[n] > ground + LOW_SHARE * height)
            continue;
        l->list[l->count].node = (uint32_t)n;
        memcpy(l->list[l->count++].soles, l->soles[n], sizeof l->soles[n]);
    }
}

// For how much of the cycle it is down and goes with the ground that passes below.
static double stands(const struct legs *l, uint32_t c)
{
    size_t along = along_of(l->move);
    double h = (double)l->g->b->model.clips[l->move->clip].duration_s / GAIT_SAMPLES;
    int count = 0;
    for (int i = 0; i < GAIT_SAMPLES; i++) {
        double(*now)[3] = l->track[i][c], (*next)[3] = l->track[(i + 1) % GAIT_SAMPLES][c];
        int end = now[0][1] + next[0][1] < now[1][1] + next[1][1] ? 0 : 1;
        double passes = -sign_of(l->move) * (next[end][along] - now[end][along]) / h;
        count += gait_touches(l->g, now[end][1] - l->low[l->list[c].node], passes,
                              (double)l->move->speed);
    }
    return (double)count / GAIT_SAMPLES;
}

static void follow_candidates(struct legs *l)
{
    for (int i = 0; i < GAIT_SAMPLES; i++) {
        gait_sample(l->g, l->move, (double)i / GAIT_SAMPLES);
        for (uint32_t c = 0; c < l->count; c++)
            for (int end = 0; end < 2; end++)
                xform_point(&l->g->nodes[l->list[c].node], l->list[c].soles[end],
                            l->track[i][c][end]);
    }
    double shares[CANDIDATES_MAX], most = 0;
    uint32_t kept = 0;
    for (uint32_t c = 0; c < l->count; c++) {
        shares[c] = stands(l, c);
        most = fmax(most, shares[c]);
    }
    for (uint32_t c = 0; c < l->count; c++) { // hands that swing low are down for a shorter time
        if (shares[c] < 0.6 * most || shares[c] < 0.05) continue;
        l->list[kept] = l->list[c];
        for (int i = 0; i < GAIT_SAMPLES; i++)
            memcpy(l->track[i][kept], l->track[i][c], sizeof l->track[i][c]);
        kept++;
    }
    l->count = kept;
}

static bool is_above(const struct model *m, uint32_t above, uint32_t node)
{
    int32_t at = (int32_t)node;
    while (at > (int32_t)above)
        at = m->nodes[at].parent;
    return at == (int32_t)above;
}

static bool one_foot(const struct legs *l, uint32_t a, uint32_t b)
{
    const struct model *m = &l->g->b->model;
    double least = (double)INFINITY, most = 0;
    if (is_above(m, l->list[a].node, l->list[b].node)) return true;
    for (int i = 0; i < GAIT_SAMPLES; i++) {
        double away[3];
        for (int k = 0; k < 3; k++)
            away[k] = l->track[i][a][0][k] - l->track[i][b][0][k];
        double distance = sqrt(vector_dot(away, away));
        least = fmin(least, distance);
        most = fmax(most, distance);
    }
    return most - least < RIGID_SHARE * l->g->height && most < FOOT_SHARE * l->g->height;
}

static uint32_t group_feet(struct legs *l)
{
    uint32_t groups = 0;
    for (uint32_t c = 0; c < l->count; c++)
        l->list[c].group = c;
    for (uint32_t a = 0; a < l->count; a++)
        for (uint32_t b = a + 1; b < l->count; b++) {
            uint32_t from = l->list[b].group, to = l->list[a].group;
            if (from == to || !one_foot(l, a, b)) continue;
            for (uint32_t c = 0; c < l->count; c++)
                if (l->list[c].group == from) l->list[c].group = to;
        }
    for (uint32_t c = 0; c < l->count; c++) // numbered in a row
        if (l->list[c].group == c) {
            for (uint32_t k = c; k < l->count; k++)
                if (l->list[k].group == c) l->list[k].group = CANDIDATES_MAX + groups;
            groups++;
        }
    for (uint32_t c = 0; c < l->count; c++)
        l->list[c].group -= CANDIDATES_MAX;
    return groups;
}

static int32_t common_node(const struct legs *l, uint32_t group)
{
    const struct model *m = &l->g->b->model;
    int32_t at = MODEL_NONE;
    for (uint32_t c = 0; c < l->count; c++) {
        if (l->list[c].group != group) continue;
        if (at == MODEL_NONE) at = (int32_t)l->list[c].node;
        while (at != MODEL_NONE && !is_above(m, (uint32_t)at, l->list[c].node))
            at = m->nodes[at].parent;
    }
    return at;
}

// The lowest points of a group, at most MODEL_SOLES_MAX: of its two lowest nodes.
static void take_soles(const struct legs *l, uint32_t group, struct model_leg *leg)
{
    uint32_t best[2] = {UINT32_MAX, UINT32_MAX};
    for (uint32_t c = 0; c < l->count; c++) {
        if (l->list[c].group != group) continue;
        double low = l->low[l->list[c].node];
        if (best[0] == UINT32_MAX || low < l->low[l->list[best[0]].node]) {
            best[1] = best[0];
            best[0] = c;
        } else if (best[1] == UINT32_MAX || low < l->low[l->list[best[1]].node]) {
            best[1] = c;
        }
    }
    for (int i = 0; i < 2 && best[i] != UINT32_MAX; i++)
        for (int end = 0; end < 2; end++) {
            const struct candidate *c = &l->list[best[i]];
            for (int k = 0; k < 3; k++)
                leg->soles[leg->sole_count][k] = (float)c->soles[end][k];
            leg->sole_nodes[leg->sole_count++] = c->node;
        }
}

static double between(const struct legs *l, uint32_t a, uint32_t b)
{
    const double *from = l->g->nodes[a].col[3], *to = l->g->nodes[b].col[3];
    double away[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    return sqrt(vector_dot(away, away));
}

// Of a chain from top to end: the nearest ankle whose two bones are nearly as long as any.
static bool take_bones(const struct legs *l, const uint32_t *chain, uint32_t count,
                       struct model_leg *leg)
{
    double best[CHAIN_MAX] = {0}, most = 0;
    uint32_t at[CHAIN_MAX][2];
    for (uint32_t e = 2; e < count; e++) {
        for (uint32_t i = 0; i + 1 < e; i++)
            for (uint32_t j = i + 1; j < e; j++) {
                double shorter =
                    fmin(between(l, chain[i], chain[j]), between(l, chain[j], chain[e]));
                if (shorter <= best[e]) continue;
                best[e] = shorter;
                at[e][0] = i;
                at[e][1] = j;
            }
        most = fmax(most, best[e]);
    }
    if (!(most > 0.02 * l->g->height)) return false;
    for (uint32_t e = 2; e < count; e++) {
        if (best[e] < 0.8 * most) continue;
        leg->hip = (int32_t)chain[at[e][0]];
        leg->knee = (int32_t)chain[at[e][1]];
        leg->ankle = (int32_t)chain[e];
        return true;
    }
    return false;
}

// A node that limbs hang on: no part of any.
static bool bears_limbs(const struct legs *l, int32_t node)
{
    const struct model *m = &l->g->b->model;
    uint32_t limbs = 0;
    for (size_t n = (size_t)node + 1; n < m->nodes_count; n++)
        limbs += m->nodes[n].parent == node && l->depth[n] >= 2;
    return limbs >= 2;
}

static void reverse(uint32_t *chain, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = chain[i];
        chain[i] = chain[count - 1 - i];
        chain[count - 1 - i] = other;
    }
}

// The joints that carry this foot and no other, from the top to its deepest part.
static uint32_t own_chain(const struct legs *l, const int32_t *feet, uint32_t groups,
                          uint32_t group, uint32_t *chain)
{
    const struct model *m = &l->g->b->model;
    int32_t deepest = feet[group];
    uint32_t count = 0;
    for (uint32_t c = 0; c < l->count; c++)
        if (l->list[c].group == group && is_above(m, (uint32_t)deepest, l->list[c].node))
            deepest = (int32_t)l->list[c].node;
    for (int32_t at = deepest; at != MODEL_NONE && count < CHAIN_MAX; at = m->nodes[at].parent) {
        for (uint32_t k = 0; k < groups; k++)
            if (k != group && is_above(m, (uint32_t)at, (uint32_t)feet[k])) {
                reverse(chain, count);
                return count;
            }
        chain[count++] = (uint32_t)at;
    }
    reverse(chain, count);
    return count;
}

// A foot that is animated by itself: the leg is the chain whose end goes with it all the time.
static void find_apart(struct legs *l, uint32_t foot, struct model_leg *leg)
{
    const struct model *m = &l->g->b->model;
    double best = (double)INFINITY;
    uint32_t end = UINT32_MAX, chain[CHAIN_MAX], count = 0;
    for (size_t n = 0; n < m->nodes_count; n++) {
        l->span[n][0] = (double)INFINITY;
        l->span[n][1] = 0;
    }
    for (int i = 0; i < GAIT_SAMPLES; i += 4) {
        gait_sample(l->g, l->move, (double)i / GAIT_SAMPLES);
        for (uint32_t n = 0; n < m->nodes_count; n++) {
            l->span[n][0] = fmin(l->span[n][0], between(l, n, foot));
            l->span[n][1] = fmax(l->span[n][1], between(l, n, foot));
        }
    }
    for (uint32_t n = 0; n < m->nodes_count; n++) {
        double change = l->span[n][1] - l->span[n][0];
        if (is_above(m, foot, n) || is_above(m, n, foot) || l->span[n][1] >= best ||
            l->span[n][1] > FOOT_SHARE / 2 * l->g->height || change > APART_SHARE * l->g->height)
            continue;
        uint32_t above = 0;
        for (int32_t at = m->nodes[n].parent; at != MODEL_NONE && !bears_limbs(l, at);
             at = m->nodes[at].parent)
            above++;
        if (above < 2) continue;
        best = l->span[n][1];
        end = n;
    }
    if (end == UINT32_MAX) return;
    for (int32_t at = (int32_t)end;
         at != MODEL_NONE && count < CHAIN_MAX && (count == 0 || !bears_limbs(l, at));
         at = m->nodes[at].parent)
        chain[count++] = (uint32_t)at;
    reverse(chain, count);
    if (take_bones(l, chain, count, leg) && leg->ankle == (int32_t)end) {
        leg->foot = (int32_t)foot;
        return;
    }
    leg->hip = leg->knee = leg->ankle = MODEL_NONE;
}

// Which way the knees bend: where they bend most, in the hips' frames.
static void find_bends(struct legs *l)
{
    double most[MODEL_LEGS_MAX] = {0};
    for (int i = 0; i < GAIT_SAMPLES; i += 4) {
        gait_sample(l->g, l->move, (double)i / GAIT_SAMPLES);
        for (uint32_t k = 0; k < l->g->leg_count; k++) {
            struct model_leg *leg = &l->g->legs[k];
            struct xform inverse, turn;
            if (leg->hip == MODEL_NONE) continue;
            const double *hip = l->g->nodes[leg->hip].col[3], *knee = l->g->nodes[leg->knee].col[3],
                         *ankle = l->g->nodes[leg->ankle].col[3];
            double line[3], aside[3], local[3], size = 0;
            for (int r = 0; r < 3; r++) {
                line[r] = ankle[r] - hip[r];
                aside[r] = knee[r] - hip[r];
            }
            double square = vector_dot(line, line);
            double share = square > 0 ? vector_dot(aside, line) / square : 0;
            for (int r = 0; r < 3; r++)
                aside[r] -= share * line[r];
            turn = l->g->nodes[leg->hip];
            memset(turn.col[3], 0, sizeof turn.col[3]);
            size = sqrt(vector_dot(aside, aside));
            if (!(size > most[k]) || !xform_invert(&turn, &inverse)) continue;
            most[k] = size;
            xform_point(&inverse, aside, local);
            double length = sqrt(vector_dot(local, local));
            for (int r = 0; r < 3 && length > 0; r++)
                leg->bend[r] = (float)(local[r] / length);
        }
    }
}

static void make_legs(struct legs *l)
{
    int32_t feet[MODEL_LEGS_MAX];
    uint32_t groups = group_feet(l), chain[CHAIN_MAX];
    if (groups < 2 || groups > MODEL_LEGS_MAX) return;
    for (uint32_t k = 0; k < groups; k++) {
        feet[k] = common_node(l, k);
        for (uint32_t c = 0; c < l->count; c++) // a foot that carries another is none
            if (feet[k] == MODEL_NONE ||
                (l->list[c].group != k &&
                 is_above(&l->g->b->model, (uint32_t)feet[k], l->list[c].node)))
                return;
    }
    gait_sample(l->g, l->move, 0);
    for (uint32_t k = 0; k < groups; k++) {
        struct model_leg *leg = &l->g->legs[k];
        *leg = (struct model_leg){
            .hip = MODEL_NONE, .knee = MODEL_NONE, .ankle = MODEL_NONE, .foot = MODEL_NONE};
        take_soles(l, k, leg);
        uint32_t count = own_chain(l, feet, groups, k, chain);
        if (!take_bones(l, chain, count, leg)) {
            find_apart(l, chain[0], leg);
            gait_sample(l->g, l->move, 0);
        }
    }
    l->g->leg_count = groups;
    find_bends(l);
}

enum err legs_find(struct gait *g, const struct model_move *move)
{
    struct builder *b = g->b;
    size_t nodes = b->model.nodes_count;
    struct legs l = {.g = g, .move = move};
    l.soles = pool_take(&b->scene->pool, nodes, sizeof *l.soles);
    l.low = BUILDER_ARRAY(b, double, nodes);
    l.span = pool_take(&b->scene->pool, nodes, sizeof *l.span);
    l.depth = BUILDER_ARRAY(b, uint32_t, nodes);
    l.track = pool_take(&b->scene->pool, GAIT_SAMPLES, sizeof *l.track);
    if (!l.soles || !l.low || !l.span || !l.depth || !l.track) return builder_no_memory(b);
    for (size_t n = nodes; n-- > 0;) {
        int32_t parent = b->model.nodes[n].parent;
        l.depth[n] = l.depth[n] + 1;
        if (parent != MODEL_NONE && l.depth[parent] < l.depth[n]) l.depth[parent] = l.depth[n];
    }
    enum err e = find_soles(&l);
    if (e != ERR_OK) return e;
    find_candidates(&l);
    follow_candidates(&l);
    make_legs(&l);
    return ERR_OK;
}
