#include "server/bake/geodesic.h"

#include <math.h>
#include <string.h>

#include "common/check.h"

static double between(const struct geodesic *g, uint32_t a, uint32_t b)
{
    double square = 0;
    for (int r = 0; r < 3; r++) {
        double d = g->place[a][r] - g->place[b][r];
        square += d * d;
    }
    return sqrt(square);
}

static double triangle_area(const struct geodesic *g, const uint32_t t[3])
{
    double a = between(g, t[0], t[1]), b = between(g, t[1], t[2]), c = between(g, t[2], t[0]);
    double s = (a + b + c) / 2;
    return sqrt(fmax(0, s * (s - a) * (s - b) * (s - c)));
}

// Welded corners of triangle i of a part.
static void corners(const struct model *m, const struct model_part *p, uint32_t i, uint32_t t[3])
{
    for (uint32_t k = 0; k < 3; k++)
        t[k] = m->weld[m->indices[p->index_first + 3 * i + k]];
}

enum err geodesic_open(struct builder *b, double (*place)[3], struct geodesic *out)
{
    const struct model *m = &b->model;
    size_t vertices = model_vertex_count(m);
    struct geodesic g = {.b = b, .place = place};
    g.edge_first = BUILDER_ARRAY(b, uint32_t, vertices + 2);
    g.edges = BUILDER_ARRAY(b, uint32_t, m->indices_count * 2);
    g.area = BUILDER_ARRAY(b, double, vertices);
    g.distance = BUILDER_ARRAY(b, double, vertices);
    g.heap = BUILDER_ARRAY(b, uint32_t, vertices);
    g.touched = BUILDER_ARRAY(b, uint32_t, vertices);
    uint32_t *at = BUILDER_ARRAY(b, uint32_t, vertices);
    if (!g.edge_first || !g.edges || !g.area || !g.distance || !g.heap || !g.touched || !at)
        return builder_no_memory(b);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t p = 0; p < m->parts_count; p++) {
            const struct model_part *part = &m->parts[p];
            for (uint32_t i = 0; part->topology == MODEL_TRIANGLES && i < part->index_count / 3;
                 i++) {
                uint32_t t[3];
                corners(m, part, i, t);
                double area = pass == 0 ? triangle_area(&g, t) / 3 : 0;
                for (int k = 0; k < 3; k++) {
                    g.area[t[k]] += area;
                    for (int other = 1; other < 3; other++)
                        if (pass == 0)
                            g.edge_first[t[k] + 1]++;
                        else
                            g.edges[at[t[k]]++] = t[(k + other) % 3];
                }
            }
        }
        for (size_t v = 0; v < vertices && pass == 0; v++) {
            g.edge_first[v + 1] += g.edge_first[v];
            at[v] = g.edge_first[v];
        }
    }
    for (size_t v = 0; v < vertices; v++)
        g.distance[v] = HUGE_VAL;
    *out = g;
    return ERR_OK;
}

// ---- a search within reach ----------------------------------------------------------------
// A binary heap; a vertex that gets nearer while it waits is looked for in it: balls are small.

static void sift_up(struct geodesic *g, size_t i)
{
    while (i > 0) {
        size_t up = (i - 1) / 2;
        if (!(g->distance[g->heap[i]] < g->distance[g->heap[up]])) return;
        uint32_t v = g->heap[i];
        g->heap[i] = g->heap[up];
        g->heap[up] = v;
        i = up;
    }
}

static uint32_t pop(struct geodesic *g)
{
    uint32_t first = g->heap[0];
    g->heap[0] = g->heap[--g->heap_count];
    for (size_t i = 0, down; (down = 2 * i + 1) < g->heap_count; i = down) {
        if (down + 1 < g->heap_count && g->distance[g->heap[down + 1]] < g->distance[g->heap[down]])
            down++;
        if (!(g->distance[g->heap[down]] < g->distance[g->heap[i]])) break;
        uint32_t v = g->heap[i];
        g->heap[i] = g->heap[down];
        g->heap[down] = v;
    }
    return first;
}

static void reach_out(struct geodesic *g, uint32_t v, double distance)
{
    if (isinf(g->distance[v])) {
        g->distance[v] = distance;
        g->touched[g->touched_count++] = v;
        g->heap[g->heap_count++] = v;
        sift_up(g, g->heap_count - 1);
    } else if (distance < g->distance[v]) {
        g->distance[v] = distance;
        for (size_t i = 0; i < g->heap_count; i++)
            if (g->heap[i] == v) {
                sift_up(g, i);
                break;
            }
    }
}

static void spread(struct geodesic *g, double reach)
{
    while (g->heap_count > 0) {
        uint32_t v = pop(g);
        g->work += g->edge_first[v + 1] - g->edge_first[v];
        for (uint32_t e = g->edge_first[v]; e < g->edge_first[v + 1]; e++) {
            double d = g->distance[v] + between(g, v, g->edges[e]);
            if (d < reach) reach_out(g, g->edges[e], d);
        }
    }
}

static void forget(struct geodesic *g)
{
    for (size_t i = 0; i < g->touched_count; i++)
        g->distance[g->touched[i]] = HUGE_VAL;
    g->touched_count = g->heap_count = 0;
}

void geodesic_measure(struct geodesic *g, const uint32_t *seeds, const double *start,
                      size_t seed_count, double reach, double *out)
{
    for (size_t i = 0; i < seed_count; i++)
        if (start[i] < reach) reach_out(g, seeds[i], start[i]);
    spread(g, reach);
    memcpy(out, g->distance, model_vertex_count(&g->b->model) * sizeof *out);
    forget(g);
}

// ---- softening ----------------------------------------------------------------------------

enum { WORK_MAX = 200 * 1000 * 1000 }; // edges looked at

static void mean_around(struct geodesic *g, uint32_t v, double reach, const float *from, float *to,
                        uint32_t table_count, size_t vertex_count)
{
    double sums[MODEL_ROOTS_MAX] = {0}, all = 0;
    reach_out(g, v, 0);
    spread(g, reach);
    for (size_t i = 0; i < g->touched_count; i++) {
        uint32_t at = g->touched[i];
        double u = g->distance[at] / reach, k = (1 - u * u) * g->area[at];
        all += k;
        for (uint32_t t = 0; t < table_count; t++)
            sums[t] += k * (double)from[t * vertex_count + at];
    }
    for (uint32_t t = 0; t < table_count && all > 0; t++)
        to[t * vertex_count + v] = (float)(sums[t] / all);
    forget(g);
}

enum err geodesic_soften(struct geodesic *g, double reach, float *tables, uint32_t table_count,
                         uint32_t which, size_t vertex_count)
{
    const struct model *m = &g->b->model;
    const float *table = tables + which * vertex_count;
    float *from = BUILDER_ARRAY(g->b, float, vertex_count *table_count);
    uint32_t *near = BUILDER_ARRAY(g->b, uint32_t, vertex_count);
    size_t near_count = 0;
    CHECK(table_count <= MODEL_ROOTS_MAX && reach > 0);
    if (!from || !near) return builder_no_memory(g->b);
    memcpy(from, tables, vertex_count * table_count * sizeof *from);
    for (uint32_t v = 0; v < vertex_count; v++)
        for (uint32_t e = g->edge_first[v]; e < g->edge_first[v + 1]; e++)
            if (fabsf(table[v] - table[g->edges[e]]) > 1e-6F) {
                reach_out(g, v, 0);
                break;
            }
    spread(g, reach);
    near_count = g->touched_count;
    memcpy(near, g->touched, near_count * sizeof *near);
    forget(g);
    g->work = 0;
    for (size_t i = 0; i < near_count; i++) {
        mean_around(g, near[i], reach, from, tables, table_count, vertex_count);
        if (g->work > WORK_MAX)
            return fault_set(g->b->fault, ERR_LIMIT,
                             "/roots/%u/border_m: so wide a border takes too long on this surface: "
                             "make it narrower",
                             which);
    }
    for (size_t v = 0; v < vertex_count; v++) // seams stay closed
        for (uint32_t t = 0; t < table_count; t++)
            tables[t * vertex_count + v] = tables[t * vertex_count + m->weld[v]];
    return ERR_OK;
}
