#include "server/bake/face_generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/face_smooth.h"

static const double TOUCHED = 0.005; // of the shape's largest delta: where it may be corrected
static const double DROPPED = 1e-6;  // of the open gap: smaller displacements are left out

enum err face_generator_open(struct face_bake *k, struct face_probe *p, struct face_generator *out)
{
    struct builder *b = k->b;
    size_t vertices = model_vertex_count(&b->model);
    struct face_generator g = {.k = k, .probe = p};
    struct trs *locals = BUILDER_ARRAY(b, struct trs, b->model.nodes_count);
    struct xform *nodes = BUILDER_ARRAY(b, struct xform, b->model.nodes_count);
    g.state = BUILDER_ARRAY(b, uint8_t, vertices);
    g.u = pool_take(&b->scene->pool, vertices, sizeof *g.u);
    g.deltas = pool_take(&b->scene->pool, vertices, sizeof *g.deltas);
    if (!locals || !nodes || !g.state || !g.u || !g.deltas) return builder_no_memory(b);
    for (size_t i = 0; i < b->model.nodes_count; i++)
        locals[i] = b->model.nodes[i].rest;
    enum err e = builder_places(b, locals, nodes, &g.rest);
    if (e == ERR_OK) e = geodesic_open(b, g.rest, &g.edges);
    if (e == ERR_OK) *out = g;
    return e;
}

// How far the shape moves vertex v, all its own channels together.
static double reach(const struct face_bake *k, uint32_t shape, uint32_t v)
{
    double d[3] = {0};
    for (uint32_t c = 0; c < k->own_channels; c++)
        if (k->b->model.channels[c].shape == shape) face_channel_delta(k, c, v, 1, d);
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

// Neutral and customised, closed: place and transform of a rim's vertices.
struct rim_place {
    double place[3];
    struct xform transform;
};

static void read_rim(const struct face_probe *p, const uint32_t *rim, uint32_t count,
                     struct rim_place *out)
{
    for (uint32_t i = 0; i < count; i++)
        face_probe_vertex(p, rim[i], NULL, out[i].place, &out[i].transform);
}

// The rim that the shape moves more is the one that closes.
static bool upper_closes(const struct face_bake *k, const struct face_contour *c, uint32_t shape)
{
    double upper = 0, lower = 0;
    for (uint32_t i = 0; i < c->upper_count; i++)
        upper += reach(k, shape, c->upper[i]) / c->upper_count;
    for (uint32_t i = 0; i < c->lower_count; i++)
        lower += reach(k, shape, c->lower[i]) / c->lower_count;
    return upper >= lower;
}

struct rims { // the side that closes, and what it closes upon
    const uint32_t *moving, *standing;
    uint32_t moving_count, standing_count;
    struct rim_place *moving_before, *standing_before; // neutral
    struct rim_place *moving_now, *standing_now;       // customised
    double *along; // [moving] place on the standing rim, in its vertices
};

static double step_length(const struct rim_place *a, const struct rim_place *b)
{
    double square = 0;
    for (int r = 0; r < 3; r++)
        square += (a->place[r] - b->place[r]) * (a->place[r] - b->place[r]);
    return sqrt(square);
}

// Where along `to` (in vertices) each vertex of `from` stands, by arc length.
static void pair_rims(const struct rim_place *from, uint32_t from_count, const struct rim_place *to,
                      uint32_t to_count, double *along)
{
    double from_length = 0, to_length = 0, passed = 0, here = 0;
    uint32_t at = 0;
    for (uint32_t i = 1; i < from_count; i++)
        from_length += step_length(&from[i - 1], &from[i]);
    for (uint32_t i = 1; i < to_count; i++)
        to_length += step_length(&to[i - 1], &to[i]);
    for (uint32_t i = 0; i < from_count; i++) {
        if (i) here += step_length(&from[i - 1], &from[i]);
        double wanted = from_length > 0 ? here / from_length * to_length : 0;
        while (at + 2 < to_count && passed + step_length(&to[at], &to[at + 1]) < wanted) {
            passed += step_length(&to[at], &to[at + 1]);
            at++;
        }
        double step = step_length(&to[at], &to[at + 1]);
        along[i] = at + (step > 0 ? fmin(fmax((wanted - passed) / step, 0), 1) : 0);
    }
}

static void place_on(const struct rim_place *rim, uint32_t count, double along, double out[3])
{
    uint32_t at = along < count - 1 ? (uint32_t)along : count - 2;
    double t = along - at;
    for (int r = 0; r < 3; r++)
        out[r] = rim[at].place[r] + t * (rim[at + 1].place[r] - rim[at].place[r]);
}

// What the moving vertex i must still go, so that it stands to the other rim as it does on the
// neutral face, turned as its transform has been.
static void missing(const struct rims *s, uint32_t i, double out[3])
{
    double before[3], now[3], apart[3], base[3] = {0};
    struct xform back;
    place_on(s->standing_before, s->standing_count, s->along[i], before);
    place_on(s->standing_now, s->standing_count, s->along[i], now);
    for (int r = 0; r < 3; r++)
        apart[r] = s->moving_before[i].place[r] - before[r];
    if (xform_invert(&s->moving_before[i].transform, &back)) {
        const struct xform *t = &s->moving_now[i].transform;
        for (int r = 0; r < 3; r++)
            base[r] =
                back.col[0][r] * apart[0] + back.col[1][r] * apart[1] + back.col[2][r] * apart[2];
        for (int r = 0; r < 3; r++)
            apart[r] = t->col[0][r] * base[0] + t->col[1][r] * base[1] + t->col[2][r] * base[2];
    }
    for (int r = 0; r < 3; r++)
        out[r] = now[r] + apart[r] - s->moving_now[i].place[r];
}

static struct rim_place *rim_room(struct arena *a, uint32_t count)
{
    return ARENA_ARRAY(a, struct rim_place, count);
}

static void hold_rims(struct face_generator *g, const struct rims *s)
{
    const uint32_t *weld = g->k->b->model.weld;
    for (uint32_t i = 0; i < s->standing_count; i++) {
        g->state[weld[s->standing[i]]] = FACE_HELD;
        memset(g->u[weld[s->standing[i]]], 0, sizeof *g->u);
    }
    for (uint32_t i = 0; i < s->moving_count; i++) {
        g->state[weld[s->moving[i]]] = FACE_HELD;
        missing(s, i, g->u[weld[s->moving[i]]]);
    }
}

// Vertices that the shape moves: joined to the moving rim over the surface they are free; what is
// not (lashes) follows what lies nearest.
static double mark_region(struct face_generator *g, uint32_t shape, double *reaches)
{
    const struct model *m = &g->k->b->model;
    double most = 0;
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        reaches[v] = reach(g->k, shape, v);
        most = fmax(most, reaches[v]);
    }
    return most;
}

static void spread_region(struct face_generator *g, const struct rims *s, const double *reaches,
                          double least, uint32_t *queue)
{
    const struct model *m = &g->k->b->model;
    uint32_t first = 0, last = 0;
    for (uint32_t i = 0; i < s->moving_count; i++)
        queue[last++] = m->weld[s->moving[i]];
    while (first < last) {
        uint32_t v = queue[first++];
        for (uint32_t e = g->edges.edge_first[v]; e < g->edges.edge_first[v + 1]; e++) {
            uint32_t o = g->edges.edges[e];
            if (g->state[o] != FACE_STAYS || !(reaches[o] > least)) continue;
            g->state[o] = FACE_FREE;
            queue[last++] = o;
        }
    }
}

// Parts of their own, within a rim's step or two of the solved stretch.
static void follow_nearest(struct face_generator *g, const double *reaches, double least,
                           double within, const uint32_t *solved, uint32_t solved_count)
{
    const struct model *m = &g->k->b->model;
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        if (m->weld[v] != v || g->state[v] != FACE_STAYS || !(reaches[v] > least)) continue;
        double total = 0, sum[3] = {0}, best = HUGE_VAL;
        for (uint32_t i = 0; i < solved_count; i++) {
            double square = 0;
            for (int r = 0; r < 3; r++) {
                double d = g->rest[v][r] - g->rest[solved[i]][r];
                square += d * d;
            }
            best = fmin(best, square);
            double w = 1 / (square * square + 1e-12 * within * within * within * within);
            total += w;
            for (int r = 0; r < 3; r++)
                sum[r] += w * g->u[solved[i]][r];
        }
        double fade = fmin(1, fmax(0, 2 - sqrt(best) / within));
        for (int r = 0; r < 3 && total > 0; r++)
            g->u[v][r] = fade * sum[r] / total;
    }
}

// u, skinned space, of every vertex, into base space at the customised limit.
static void bring_back(struct face_generator *g, double least)
{
    const struct model *m = &g->k->b->model;
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        const double *u = g->u[m->weld[v]];
        struct xform t, back;
        memset(g->deltas[v], 0, sizeof *g->deltas);
        if (!(fabs(u[0]) + fabs(u[1]) + fabs(u[2]) > least)) continue;
        face_probe_vertex(g->probe, v, NULL, NULL, &t);
        if (!xform_invert(&t, &back)) continue;
        for (int r = 0; r < 3; r++)
            g->deltas[v][r] = back.col[0][r] * u[0] + back.col[1][r] * u[1] + back.col[2][r] * u[2];
    }
}

static void pose_with(struct face_generator *g, const struct face_contour *c, uint32_t closer,
                      const float *values, double weight)
{
    size_t bytes = g->k->b->model.parameters_count * sizeof *values;
    face_gap_weights(g->probe, c, closer, weight);
    if (values)
        memcpy(g->probe->values, values, bytes);
    else
        memset(g->probe->values, 0, bytes);
    face_probe_pose(g->probe);
}

static void read_rims(struct face_generator *g, const struct face_contour *c, uint32_t closer,
                      const float *values, struct rims *s)
{
    pose_with(g, c, closer, NULL, 0); // paired where they stand open
    read_rim(g->probe, s->moving, s->moving_count, s->moving_before);
    read_rim(g->probe, s->standing, s->standing_count, s->standing_before);
    pair_rims(s->moving_before, s->moving_count, s->standing_before, s->standing_count, s->along);
    pose_with(g, c, closer, NULL, 1);
    read_rim(g->probe, s->moving, s->moving_count, s->moving_before);
    read_rim(g->probe, s->standing, s->standing_count, s->standing_before);
    pose_with(g, c, closer, values, 1);
    read_rim(g->probe, s->moving, s->moving_count, s->moving_now);
    read_rim(g->probe, s->standing, s->standing_count, s->standing_now);
}

static enum err smooth_out(struct face_generator *g, const struct rims *s, uint32_t shape,
                           double gap, double *reaches, uint32_t *list)
{
    size_t vertices = model_vertex_count(&g->k->b->model);
    memset(g->state, FACE_STAYS, vertices);
    memset(g->u, 0, vertices * sizeof *g->u);
    hold_rims(g, s);
    double least = TOUCHED * mark_region(g, shape, reaches);
    spread_region(g, s, reaches, least, list);
    struct face_smooth job = {.g = &g->edges, .state = g->state, .u = g->u};
    enum err e = face_smooth(g->k, &job);
    uint32_t solved = 0;
    for (uint32_t v = 0; v < vertices; v++)
        if (g->state[v] != FACE_STAYS) list[solved++] = v;
    if (e == ERR_OK) follow_nearest(g, reaches, least, gap, list, solved);
    return e;
}

enum err face_generate(struct face_generator *g, const struct face_contour *c, uint32_t closer,
                       const float *values, uint32_t dial, const float hat[3])
{
    bool up = upper_closes(g->k, c, c->closers[closer]);
    size_t vertices = model_vertex_count(&g->k->b->model);
    size_t rims = (size_t)c->upper_count + c->lower_count;
    struct rims s = {.moving = up ? c->upper : c->lower,
                     .standing = up ? c->lower : c->upper,
                     .moving_count = up ? c->upper_count : c->lower_count,
                     .standing_count = up ? c->lower_count : c->upper_count};
    struct arena scratch;
    if (!arena_create(&scratch, 2 * rims * sizeof(struct rim_place) + rims * sizeof(double) +
                                    vertices * (sizeof(double) + sizeof(uint32_t)) +
                                    rims * sizeof(uint32_t) + 1024))
        return builder_no_memory(g->k->b);
    s.moving_before = rim_room(&scratch, s.moving_count);
    s.moving_now = rim_room(&scratch, s.moving_count);
    s.standing_before = rim_room(&scratch, s.standing_count);
    s.standing_now = rim_room(&scratch, s.standing_count);
    s.along = ARENA_ARRAY(&scratch, double, s.moving_count);
    double *reaches = ARENA_ARRAY(&scratch, double, vertices);
    uint32_t *list = ARENA_ARRAY(&scratch, uint32_t, vertices + s.moving_count);
    read_rims(g, c, closer, values, &s);
    enum err e = smooth_out(g, &s, c->closers[closer], c->open[closer], reaches, list);
    arena_destroy(&scratch);
    if (e != ERR_OK) return e;
    bring_back(g, DROPPED * c->open[closer]);
    return face_add_mesh(g->k, c->closers[closer], (const double(*)[3])g->deltas, dial, hat);
}
