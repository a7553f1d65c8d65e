#include "server/bake/face_smooth.h"

#include <math.h>
#include <string.h>

#include "common/arena.h"

enum { STEPS_MAX = 4000 };
static const double SETTLED = 1e-7; // of the first residual

// Vertices whose Laplacian counts are rows: those that may move, and their neighbours. Everything
// below counts in them, so that what a step touches lies together.
struct system {
    const struct face_smooth *job;
    uint32_t *rows, row_count;  // weld vertices
    uint32_t *row_of;           // [weld vertex] UINT32_MAX: none
    uint32_t *free, free_count; // rows that may move
    uint32_t *first, *ends;     // [row + 1] their neighbours: rows; others stay at zero
    double *weight, *back;      // of an edge in its row's sum, and in the other end's
    double (*u)[3], (*laplacian)[3], (*residual)[3], (*way)[3], (*image)[3]; // [row]
};

static double edge_weight(const struct geodesic *g, uint32_t a, uint32_t b)
{
    double square = 0;
    for (int r = 0; r < 3; r++)
        square += (g->place[a][r] - g->place[b][r]) * (g->place[a][r] - g->place[b][r]);
    return square > 0 ? 1 / sqrt(square) : 0;
}

// out = L in, over the rows.
static void laplace(const struct system *s, double (*in)[3], double (*out)[3])
{
    for (uint32_t i = 0; i < s->row_count; i++) {
        double sum[3] = {in[i][0], in[i][1], in[i][2]};
        for (uint32_t e = s->first[i]; e < s->first[i + 1]; e++)
            for (int r = 0; r < 3; r++)
                sum[r] -= s->weight[e] * in[s->ends[e]][r];
        memcpy(out[i], sum, sizeof sum);
    }
}

// out = Lt in, in the free rows.
static void laplace_back(const struct system *s, double (*in)[3], double (*out)[3])
{
    for (uint32_t n = 0; n < s->free_count; n++) {
        uint32_t i = s->free[n];
        double sum[3] = {in[i][0], in[i][1], in[i][2]};
        for (uint32_t e = s->first[i]; e < s->first[i + 1]; e++)
            for (int r = 0; r < 3; r++)
                sum[r] -= s->back[e] * in[s->ends[e]][r];
        memcpy(out[i], sum, sizeof sum);
    }
}

static double dot(const struct system *s, double (*a)[3], double (*b)[3], int r)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->free_count; i++)
        sum += a[s->free[i]][r] * b[s->free[i]][r];
    return sum;
}

static void solve(const struct system *s)
{
    double(*u)[3] = s->u, rho[3], first[3];
    laplace(s, u, s->laplacian);
    laplace_back(s, s->laplacian, s->residual);
    for (uint32_t i = 0; i < s->free_count; i++)
        for (int r = 0; r < 3; r++) {
            double *at = &s->residual[s->free[i]][r];
            *at = -*at;
            s->way[s->free[i]][r] = *at;
        }
    for (int r = 0; r < 3; r++)
        first[r] = rho[r] = dot(s, s->residual, s->residual, r);
    for (int step = 0; step < STEPS_MAX; step++) {
        bool going = false;
        laplace(s, s->way, s->laplacian);
        laplace_back(s, s->laplacian, s->image);
        for (int r = 0; r < 3; r++) {
            double along = dot(s, s->way, s->image, r);
            if (!(rho[r] > first[r] * SETTLED * SETTLED) || !(along > 0)) continue;
            double a = rho[r] / along, before = rho[r];
            going = true;
            for (uint32_t i = 0; i < s->free_count; i++) {
                uint32_t v = s->free[i];
                u[v][r] += a * s->way[v][r];
                s->residual[v][r] -= a * s->image[v][r];
            }
            rho[r] = dot(s, s->residual, s->residual, r);
            for (uint32_t i = 0; i < s->free_count; i++) {
                uint32_t v = s->free[i];
                s->way[v][r] = s->residual[v][r] + rho[r] / before * s->way[v][r];
            }
        }
        if (!going) return;
    }
}

static void list_rows(struct system *s)
{
    const struct geodesic *g = s->job->g;
    size_t vertices = model_vertex_count(&g->b->model);
    for (uint32_t v = 0; v < vertices; v++) {
        bool near = s->job->state[v] != FACE_STAYS;
        for (uint32_t e = g->edge_first[v]; !near && e < g->edge_first[v + 1]; e++)
            near = s->job->state[g->edges[e]] != FACE_STAYS;
        s->row_of[v] = near && g->edge_first[v] < g->edge_first[v + 1] ? s->row_count : UINT32_MAX;
        if (s->row_of[v] == UINT32_MAX) continue;
        if (s->job->state[v] == FACE_FREE) s->free[s->free_count++] = s->row_count;
        memcpy(s->u[s->row_count], s->job->u[v], sizeof *s->u);
        s->rows[s->row_count++] = v;
    }
}

// sum: [row] of the weights of all edges, those to other vertices too.
static void list_edges(struct system *s, double *sum)
{
    const struct geodesic *g = s->job->g;
    uint32_t at = 0;
    for (uint32_t i = 0; i < s->row_count; i++) {
        sum[i] = 0;
        for (uint32_t e = g->edge_first[s->rows[i]]; e < g->edge_first[s->rows[i] + 1]; e++)
            sum[i] += edge_weight(g, s->rows[i], g->edges[e]);
    }
    for (uint32_t i = 0; i < s->row_count; i++) {
        uint32_t v = s->rows[i];
        s->first[i] = at;
        for (uint32_t e = g->edge_first[v]; e < g->edge_first[v + 1]; e++) {
            uint32_t other = s->row_of[g->edges[e]];
            if (other == UINT32_MAX) continue;
            double w = edge_weight(g, v, g->edges[e]);
            s->ends[at] = other;
            s->weight[at] = sum[i] > 0 ? w / sum[i] : 0;
            s->back[at++] = sum[other] > 0 ? w / sum[other] : 0;
        }
    }
    s->first[s->row_count] = at;
}

enum err face_smooth(struct face_bake *k, const struct face_smooth *job)
{
    size_t vertices = model_vertex_count(&k->b->model), edges = job->g->edge_first[vertices];
    struct system s = {.job = job};
    struct arena scratch; // given back at once: there are many of these
    if (!arena_create(&scratch, vertices * (4 * sizeof(uint32_t) + 16 * sizeof(double)) +
                                    edges * (sizeof(uint32_t) + 2 * sizeof(double)) + 1024))
        return builder_no_memory(k->b);
    s.rows = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.row_of = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.free = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.first = ARENA_ARRAY(&scratch, uint32_t, vertices + 1);
    s.ends = ARENA_ARRAY(&scratch, uint32_t, edges);
    s.weight = ARENA_ARRAY(&scratch, double, edges);
    s.back = ARENA_ARRAY(&scratch, double, edges);
    s.u = arena_take(&scratch, vertices * sizeof *s.u);
    s.laplacian = arena_take(&scratch, vertices * sizeof *s.laplacian);
    s.residual = arena_take(&scratch, vertices * sizeof *s.residual);
    s.way = arena_take(&scratch, vertices * sizeof *s.way);
    s.image = arena_take(&scratch, vertices * sizeof *s.image);
    double *sum = ARENA_ARRAY(&scratch, double, vertices);
    memset(s.way, 0, vertices * sizeof *s.way);
    list_rows(&s);
    list_edges(&s, sum);
    solve(&s);
    for (uint32_t i = 0; i < s.row_count; i++)
        if (job->state[s.rows[i]] == FACE_FREE) memcpy(job->u[s.rows[i]], s.u[i], sizeof *s.u);
    arena_destroy(&scratch);
    return ERR_OK;
}
