#include "server/bake/face_smooth.h"

#include <math.h>
#include <string.h>

#include "common/arena.h"

enum { STEPS_MAX = 4000 };
static const double SETTLED = 1e-9; // of the first residual

// Vertices whose Laplacian counts: those that may move, and their neighbours.
struct system {
    const struct face_smooth *job;
    uint32_t *rows, row_count;
    uint32_t *free, free_count;
    double *sum; // [weld vertex] of its edges' weights
    double (*laplacian)[3], (*residual)[3], (*way)[3], (*image)[3]; // [weld vertex]
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
    const struct geodesic *g = s->job->g;
    for (uint32_t i = 0; i < s->row_count; i++) {
        uint32_t v = s->rows[i];
        for (int r = 0; r < 3; r++)
            out[v][r] = in[v][r];
        for (uint32_t e = g->edge_first[v]; e < g->edge_first[v + 1]; e++) {
            double w = edge_weight(g, v, g->edges[e]) / s->sum[v];
            for (int r = 0; r < 3; r++)
                out[v][r] -= w * in[g->edges[e]][r];
        }
    }
}

// out = Lt in, in the free vertices.
static void laplace_back(const struct system *s, double (*in)[3], double (*out)[3])
{
    const struct geodesic *g = s->job->g;
    for (uint32_t i = 0; i < s->free_count; i++) {
        uint32_t v = s->free[i];
        for (int r = 0; r < 3; r++)
            out[v][r] = in[v][r];
        for (uint32_t e = g->edge_first[v]; e < g->edge_first[v + 1]; e++) {
            uint32_t o = g->edges[e];
            if (!(s->sum[o] > 0)) continue;
            double w = edge_weight(g, v, o) / s->sum[o];
            for (int r = 0; r < 3; r++)
                out[v][r] -= w * in[o][r];
        }
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
    double(*u)[3] = s->job->u, rho[3], first[3];
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

enum err face_smooth(struct face_bake *k, const struct face_smooth *job)
{
    const struct geodesic *g = job->g;
    size_t vertices = model_vertex_count(&k->b->model);
    struct system s = {.job = job};
    struct arena scratch; // given back at once: there are many of these
    if (!arena_create(&scratch, vertices * (2 * sizeof(uint32_t) + 13 * sizeof(double)) + 512))
        return builder_no_memory(k->b);
    s.rows = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.free = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.sum = ARENA_ARRAY(&scratch, double, vertices);
    s.laplacian = arena_take(&scratch, vertices * sizeof *s.laplacian);
    s.residual = arena_take(&scratch, vertices * sizeof *s.residual);
    s.way = arena_take(&scratch, vertices * sizeof *s.way);
    s.image = arena_take(&scratch, vertices * sizeof *s.image);
    memset(s.sum, 0, vertices * sizeof *s.sum);
    memset(s.laplacian, 0, vertices * sizeof *s.laplacian);
    memset(s.way, 0, vertices * sizeof *s.way);
    for (uint32_t v = 0; v < vertices; v++) {
        bool near = job->state[v] != FACE_STAYS;
        if (job->state[v] == FACE_FREE) s.free[s.free_count++] = v;
        for (uint32_t e = g->edge_first[v]; e < g->edge_first[v + 1]; e++)
            near = near || job->state[g->edges[e]] != FACE_STAYS;
        for (uint32_t e = g->edge_first[v]; near && e < g->edge_first[v + 1]; e++)
            s.sum[v] += edge_weight(g, v, g->edges[e]);
        if (near && s.sum[v] > 0) s.rows[s.row_count++] = v;
    }
    solve(&s);
    arena_destroy(&scratch);
    return ERR_OK;
}
