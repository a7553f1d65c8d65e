#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/surface/codec.h"

enum {
    BACK_MAX = 65535,
    CORNERS_LOOKED_AT = 32 // of one vertex: bounds the work on fans of any size
};

// The triangles that meet at each vertex: corners[first[v] .. first[v + 1]) are triangle numbers.
struct fans {
    const uint32_t *indices;
    uint32_t *first, *triangles;
};

static enum err fans_make(struct fans *f, const uint32_t *indices, size_t index_count,
                          size_t vertex_count)
{
    f->indices = indices;
    f->first = calloc(vertex_count + 2, sizeof *f->first);
    f->triangles = malloc((index_count + 1) * sizeof *f->triangles);
    if (!f->first || !f->triangles) return ERR_MEMORY;
    for (size_t i = 0; i < index_count; i++) {
        CHECK(indices[i] < vertex_count);
        f->first[indices[i] + 2]++;
    }
    for (size_t v = 2; v < vertex_count + 2; v++)
        f->first[v] += f->first[v - 1];
    for (size_t i = 0; i < index_count; i++)
        f->triangles[f->first[indices[i] + 1]++] = (uint32_t)(i / 3);
    return ERR_OK;
}

static size_t fan_size(const struct fans *f, size_t v)
{
    size_t size = f->first[v + 1] - f->first[v];
    return size < CORNERS_LOOKED_AT ? size : CORNERS_LOOKED_AT;
}

// The two other corners of triangle t.
static void others(const struct fans *f, uint32_t t, size_t v, uint32_t out[2])
{
    const uint32_t *c = f->indices + 3 * (size_t)t;
    out[0] = c[0] == v ? c[1] : c[0];
    out[1] = c[2] == v ? c[1] : c[2];
}

static bool earlier(uint32_t w, size_t v)
{
    return w < v && v - w <= BACK_MAX;
}

// Nearest earlier neighbours, latest first, without repeats.
static int nearest(const struct fans *f, size_t v, uint32_t out[4])
{
    int n = 0;
    for (size_t i = 0; i < fan_size(f, v); i++) {
        uint32_t pair[2];
        others(f, f->triangles[f->first[v] + i], v, pair);
        for (int e = 0; e < 2; e++) {
            uint32_t w = pair[e];
            if (!earlier(w, v)) continue;
            int at = 0;
            while (at < n && out[at] > w)
                at++;
            if (at == 4 || (at < n && out[at] == w)) continue;
            if (n < 4) n++;
            for (int k = n - 1; k > at; k--)
                out[k] = out[k - 1];
            out[at] = w;
        }
    }
    return n;
}

// The best a, b, c with triangles (v, a, b) and (a, b, c), all earlier: the latest ones.
struct quad {
    uint32_t a, b, c;
    uint64_t sum; // 0: none yet
};

// Tries the triangles at `a` that have the edge (a, b).
static void across(const struct fans *f, size_t v, uint32_t a, uint32_t b, struct quad *best)
{
    for (size_t k = 0; k < fan_size(f, a); k++) {
        uint32_t far[2];
        others(f, f->triangles[f->first[a] + k], a, far);
        if (far[0] != b && far[1] != b) continue;
        uint32_t c = far[0] == b ? far[1] : far[0];
        uint64_t sum = (uint64_t)a + b + c + 1;
        if (!earlier(c, v) || sum <= best->sum) continue;
        *best = (struct quad){a > b ? a : b, a > b ? b : a, c, sum};
    }
}

static struct quad parallelogram(const struct fans *f, size_t v)
{
    struct quad best = {0};
    for (size_t i = 0; i < fan_size(f, v); i++) {
        uint32_t edge[2];
        others(f, f->triangles[f->first[v] + i], v, edge);
        if (earlier(edge[0], v) && earlier(edge[1], v)) across(f, v, edge[0], edge[1], &best);
    }
    return best;
}

static void predictor_of(const struct fans *f, const uint32_t *weld, size_t v, uint16_t out[8])
{
    uint32_t near[4];
    size_t parents[7];
    if (weld && weld[v] < v && v - weld[v] <= BACK_MAX) {
        for (int k = 0; k < 7; k++)
            parents[k] = weld[v];
    } else {
        int n = nearest(f, v, near);
        if (n == 0 && v > 0) near[n++] = (uint32_t)(v - 1); // stream order keeps it near
        // 1: aaaa, 2: aabb (each pair exact), 3: abca, 4: abcd
        static const int spread[5][4] = {
            {0}, {0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0}, {0, 1, 2, 3}};
        for (int k = 0; k < 4; k++)
            parents[k] = n ? near[spread[n][k]] : SIZE_MAX;
        struct quad q = parallelogram(f, v);
        parents[4] = q.sum ? q.a : parents[0];
        parents[5] = q.sum ? q.b : parents[0]; // a + a - a
        parents[6] = q.sum ? q.c : parents[0];
    }
    for (int k = 0; k < 7; k++)
        out[k] = (uint16_t)(parents[k] == SIZE_MAX ? v + 1 : v - parents[k]);
    out[7] = 0;
}

enum err surface_predictors_make(const uint32_t *indices, size_t index_count, const uint32_t *weld,
                                 size_t vertex_count, uint16_t *predictors)
{
    struct fans f = {0};
    enum err e = fans_make(&f, indices, index_count / 3 * 3, vertex_count);
    for (size_t v = 0; v < vertex_count && !e; v++)
        predictor_of(&f, weld, v, predictors + SURFACE_PREDICTORS_WIDTH * v);
    free(f.first);
    free(f.triangles);
    return e;
}

bool surface_predictors_valid(const uint16_t *predictors, size_t vertex_count)
{
    for (size_t v = 0; v < vertex_count; v++, predictors += SURFACE_PREDICTORS_WIDTH) {
        for (int k = 0; k < 7; k++)
            if (predictors[k] == 0 || predictors[k] > v + 1) return false;
        if (predictors[7] != 0) return false;
    }
    return true;
}
