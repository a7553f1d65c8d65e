#include "server/bake/face_find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/model/face_names.h"

// Of the shape's largest step: what moves at all, and what stands apart when open.
static const double MOVES = 0.05, APART = 0.05;
static const double MEETS = 0.2, SHUTS = 0.6; // of the distance when open
// How much dearer a way along the surface is where the other rim does not come near.
static const double NEARNESS = 20;
enum { MOVING, STANDING, RIMS, RIM_VERTICES_MIN = 4 };

struct search {
    struct face_generator *g;
    double (*open)[3], (*closed)[3]; // [weld vertex] apart, and where the rims meet
    double (*shut)[3];               // [weld vertex] with the closer
    double *step, most;              // [weld vertex] how far it moves; the farthest
    uint32_t *surface;               // [weld vertex] which connected surface; UINT32_MAX: none
    double *near[RIMS]; // [weld vertex] how near the other rim comes; HUGE_VAL: not at all
    // of a way along the surface
    double *cost;
    uint32_t *before, *queue;
    bool *queued;
};

static double apart(const double a[3], const double b[3])
{
    double square = 0;
    for (int r = 0; r < 3; r++)
        square += (a[r] - b[r]) * (a[r] - b[r]);
    return sqrt(square);
}

struct side { // of a triangle
    uint32_t low, high, triangle;
};

static int side_order(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return x->triangle < y->triangle ? -1 : x->triangle > y->triangle;
}

static uint32_t set_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

// Surfaces go on over seams, but not from skin to the lashes and cards that stand on it: triangles
// are of one where a side has just the two of them. A vertex of several is of the largest.
static bool name_surfaces(struct search *s)
{
    const struct model *m = &s->g->k->b->model;
    size_t vertices = model_vertex_count(m), triangles = m->indices_count / 3;
    struct side *sides = malloc((3 * triangles + 1) * sizeof *sides);
    uint32_t *parent = malloc((2 * triangles + 1) * sizeof *parent), *size = parent + triangles;
    if (!sides || !parent) {
        free(sides);
        free(parent);
        return false;
    }
    for (uint32_t t = 0; t < triangles; t++) {
        parent[t] = t;
        size[t] = 0;
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t a = m->weld[m->indices[3 * t + c]],
                     b = m->weld[m->indices[3 * t + (c + 1) % 3]];
            sides[3 * t + c] = (struct side){a < b ? a : b, a < b ? b : a, t};
        }
    }
    qsort(sides, 3 * triangles, sizeof *sides, side_order);
    for (size_t first = 0, last = 0; first < 3 * triangles; first = last) {
        while (last < 3 * triangles && sides[last].low == sides[first].low &&
               sides[last].high == sides[first].high)
            last++;
        if (last - first != 2) continue;
        uint32_t a = set_of(parent, sides[first].triangle);
        uint32_t b = set_of(parent, sides[first + 1].triangle);
        parent[a > b ? a : b] = a > b ? b : a;
    }
    for (uint32_t t = 0; t < triangles; t++)
        size[set_of(parent, t)]++;
    for (uint32_t v = 0; v < vertices; v++)
        s->surface[v] = UINT32_MAX;
    for (uint32_t t = 0; t < triangles; t++)
        for (uint32_t c = 0; c < 3; c++) {
            uint32_t *of = &s->surface[m->weld[m->indices[3 * t + c]]], set = set_of(parent, t);
            if (*of == UINT32_MAX || size[set] > size[*of]) *of = set;
        }
    free(sides);
    free(parent);
    return true;
}

static void read_places(struct search *s, double (*out)[3])
{
    const struct model *m = &s->g->k->b->model;
    face_probe_pose(s->g->probe);
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        if (m->weld[v] == v) face_probe_vertex(s->g->probe, v, NULL, out[v], NULL);
}

static bool meets(const struct search *s, uint32_t v, uint32_t o, double closed)
{
    double open = apart(s->open[v], s->open[o]);
    // Teeth and gums part with the jaw, but the closer leaves them apart.
    return closed < MEETS * s->most && open > APART * s->most && closed < MEETS * open &&
           apart(s->shut[v], s->shut[o]) < SHUTS * open;
}

// Vertices of one surface that come to each other from afar: the one that moves farther, the other.
static void find_meetings(struct search *s)
{
    const struct model *m = &s->g->k->b->model;
    size_t vertices = model_vertex_count(m);
    s->most = 0;
    for (uint32_t v = 0; v < vertices; v++) {
        s->step[v] = m->weld[v] == v ? apart(s->open[v], s->closed[v]) : 0;
        s->most = fmax(s->most, s->step[v]);
        s->near[MOVING][v] = s->near[STANDING][v] = HUGE_VAL;
    }
    for (uint32_t v = 0; v < vertices && s->most > 0; v++) {
        if (!(s->step[v] > MOVES * s->most) || s->surface[v] == UINT32_MAX) continue;
        for (uint32_t o = 0; o < vertices; o++) {
            if (m->weld[o] != o || s->surface[o] != s->surface[v]) continue;
            double closed = apart(s->closed[v], s->closed[o]);
            if (!(s->step[o] < s->step[v]) || !meets(s, v, o, closed)) continue;
            s->near[MOVING][v] = fmin(s->near[MOVING][v], closed);
            s->near[STANDING][o] = fmin(s->near[STANDING][o], closed);
        }
    }
}

// Lashes, teeth and fluids part and meet as well: the rims are of the largest surface that has any.
static void keep_largest_surface(struct search *s)
{
    const struct model *m = &s->g->k->b->model;
    size_t vertices = model_vertex_count(m);
    uint32_t largest = UINT32_MAX, before = UINT32_MAX;
    double most = -1;
    for (uint32_t i = 0; i < vertices; i++) {
        uint32_t of = s->surface[i];
        if (!(s->near[MOVING][i] < HUGE_VAL) || of == largest || of == before) continue;
        double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
        for (uint32_t v = 0; v < vertices; v++)
            for (int r = 0; r < 3 && m->weld[v] == v && s->surface[v] == of; r++) {
                low[r] = fmin(low[r], s->open[v][r]);
                high[r] = fmax(high[r], s->open[v][r]);
            }
        before = of;
        if (!(apart(low, high) > most)) continue;
        most = apart(low, high);
        largest = of;
    }
    for (uint32_t v = 0; v < vertices; v++)
        if (s->surface[v] != largest) s->near[MOVING][v] = s->near[STANDING][v] = HUGE_VAL;
}

// The direction in which the closed rim lies: the first axis of its places, by power iteration.
static void find_axis(const struct search *s, double axis[3])
{
    double middle[3] = {0}, spread[3][3] = {{0}}, count = 0;
    size_t vertices = model_vertex_count(&s->g->k->b->model);
    for (int pass = 0; pass < 2; pass++)
        for (size_t v = 0; v < vertices; v++) {
            if (!(s->near[MOVING][v] < HUGE_VAL)) continue;
            count += pass == 0;
            for (int a = 0; a < 3; a++) {
                if (pass == 0) middle[a] += s->closed[v][a];
                for (int b = 0; b < 3 && pass == 1; b++)
                    spread[a][b] += (s->closed[v][a] - middle[a] / count) *
                                    (s->closed[v][b] - middle[b] / count);
            }
        }
    axis[0] = 1;
    axis[1] = axis[2] = 0.1;
    for (int step = 0; step < 64; step++) {
        double next[3] = {0}, length = 0;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                next[a] += spread[a][b] * axis[b];
        for (int r = 0; r < 3; r++)
            length += next[r] * next[r];
        for (int r = 0; r < 3; r++)
            axis[r] = length > 0 ? next[r] / sqrt(length) : axis[r];
    }
    if (axis[0] < 0)
        for (int r = 0; r < 3; r++)
            axis[r] = -axis[r];
}

// The cheapest ways along edges from `from`, by relaxing until nothing changes.
static void find_ways(struct search *s, const double *near, uint32_t from)
{
    const struct geodesic *e = &s->g->edges;
    size_t vertices = model_vertex_count(&s->g->k->b->model), first = 0, waiting = 1;
    for (size_t v = 0; v < vertices; v++) {
        s->cost[v] = HUGE_VAL;
        s->before[v] = UINT32_MAX;
        s->queued[v] = false;
    }
    s->cost[from] = 0;
    s->queue[0] = from;
    while (waiting > 0) { // a ring; no vertex waits twice
        uint32_t at = s->queue[first];
        first = (first + 1) % vertices;
        waiting--;
        s->queued[at] = false;
        for (uint32_t i = e->edge_first[at]; i < e->edge_first[at + 1]; i++) {
            uint32_t to = e->edges[i];
            double far = fmin(near[to] / s->most, 1);
            double cost = s->cost[at] + apart(s->open[at], s->open[to]) * (1 + NEARNESS * far);
            if (s->surface[to] != s->surface[from] || !(cost < s->cost[to])) continue;
            s->cost[to] = cost;
            s->before[to] = at;
            if (s->queued[to]) continue;
            s->queued[to] = true;
            s->queue[(first + waiting++) % vertices] = to;
        }
    }
}

static double place_along(const struct search *s, uint32_t v, const double axis[3])
{
    return s->closed[v][0] * axis[0] + s->closed[v][1] * axis[1] + s->closed[v][2] * axis[2];
}

// The vertices of the moving rim that lie farthest out along the axis.
static bool find_ends(const struct search *s, const double axis[3], uint32_t ends[2])
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    ends[0] = ends[1] = UINT32_MAX;
    for (uint32_t v = 0; v < model_vertex_count(&s->g->k->b->model); v++) {
        double along = place_along(s, v, axis);
        if (!(s->near[MOVING][v] < HUGE_VAL)) continue;
        if (along < low) ends[0] = v;
        if (along > high) ends[1] = v;
        low = fmin(low, along);
        high = fmax(high, along);
    }
    return ends[0] != ends[1];
}

// Where the other rim is met at the same places, so that equal shares of both rims' lengths meet.
static uint32_t across(const struct search *s, uint32_t end)
{
    uint32_t nearest = end;
    double least = HUGE_VAL;
    for (uint32_t v = 0; v < model_vertex_count(&s->g->k->b->model); v++) {
        if (!(s->near[STANDING][v] < HUGE_VAL) || !(apart(s->closed[v], s->closed[end]) < least))
            continue;
        least = apart(s->closed[v], s->closed[end]);
        nearest = v;
    }
    return nearest;
}

// From one end to the other where the rims come nearest. NULL: out of memory, or none (count 0).
static uint32_t *trace_rim(struct search *s, int rim, uint32_t from, uint32_t to, uint32_t *count)
{
    uint32_t n = 0;
    *count = 0;
    if (from == to) return NULL;
    find_ways(s, s->near[rim], from);
    if (s->before[to] == UINT32_MAX) return NULL;
    for (uint32_t v = to; v != UINT32_MAX; v = s->before[v])
        n++;
    uint32_t *out = BUILDER_ARRAY(s->g->k->b, uint32_t, n);
    *count = n;
    for (uint32_t v = to; out && v != UINT32_MAX; v = s->before[v])
        out[--n] = v;
    return out;
}

static int32_t opener_of(const struct model *m, const char *closer)
{
    struct face_parts parts;
    struct fault ignored;
    if (strcmp(closer, "mouthClose") != 0) return MODEL_NONE;
    if (face_names_find(m, "jawOpen", "", &parts, &ignored) != ERR_OK || parts.count != 1 ||
        parts.parts[0].id >= m->shapes_count)
        return MODEL_NONE;
    return (int32_t)parts.parts[0].id;
}

static enum err add_contour(struct search *s, const char *name, uint32_t shape, int32_t opener,
                            uint32_t *const rims[RIMS], const uint32_t counts[RIMS])
{
    struct face_bake *k = s->g->k;
    double height[RIMS] = {0};
    for (int rim = 0; rim < RIMS; rim++)
        for (uint32_t i = 0; i < counts[rim]; i++)
            height[rim] += s->open[rims[rim][i]][1] / counts[rim];
    int upper = height[MOVING] > height[STANDING] ? MOVING : STANDING, lower = !upper;
    struct face_contour *out = FACE_ADD(k, contours);
    if (!out) return builder_no_memory(k->b);
    *out = (struct face_contour){.name = name,
                                 .upper = rims[upper],
                                 .upper_count = counts[upper],
                                 .lower = rims[lower],
                                 .lower_count = counts[lower],
                                 .closer_count = 1,
                                 .closers = {shape},
                                 .openers = {opener},
                                 .found = true};
    return ERR_OK;
}

static enum err find_one(struct search *s, const char *name, const char *closer, uint32_t shape)
{
    struct face_bake *k = s->g->k;
    const struct model *m = &k->b->model;
    int32_t opener = opener_of(m, closer);
    uint32_t *rims[RIMS], counts[RIMS], ends[2];
    double axis[3];
    face_probe_clear(s->g->probe);
    if (opener != MODEL_NONE) s->g->probe->weights[opener] = 1;
    read_places(s, s->open);
    s->g->probe->weights[shape] = 1;
    read_places(s, s->shut);
    // Lips meet at rest; a closing shape may press them together beyond their rims.
    face_probe_clear(s->g->probe);
    if (opener == MODEL_NONE) s->g->probe->weights[shape] = 1;
    read_places(s, s->closed);
    find_meetings(s);
    keep_largest_surface(s);
    find_axis(s, axis);
    bool whole = find_ends(s, axis, ends);
    for (int rim = 0; rim < RIMS && whole; rim++) {
        for (int i = 0; i < 2 && rim == STANDING; i++)
            ends[i] = across(s, ends[i]);
        rims[rim] = trace_rim(s, rim, ends[0], ends[1], &counts[rim]);
        if (counts[rim] > 0 && !rims[rim]) return builder_no_memory(k->b);
        whole = counts[rim] >= RIM_VERTICES_MIN;
    }
    if (whole) return add_contour(s, name, shape, opener, rims, counts);
    scene_note(k->b->scene, NOTE_LEFT_OUT, 1,
               "no contour was found for %.60s: give one in the rig file, face/contours", closer);
    return ERR_OK;
}

// The rig file's contours may have the shape already.
static bool is_given(const struct face_bake *k, uint32_t shape)
{
    for (size_t i = 0; i < k->contours_count; i++)
        for (uint32_t n = 0; n < k->contours[i].closer_count; n++)
            if (k->contours[i].closers[n] == shape) return true;
    return false;
}

enum err face_find_contours(struct face_generator *g)
{
    static const char *const closers[][2] = {
        {"eyeBlinkLeft", "lid_l"}, {"eyeBlinkRight", "lid_r"}, {"mouthClose", "lips"}};
    struct face_bake *k = g->k;
    const struct model *m = &k->b->model;
    size_t vertices = model_vertex_count(m);
    struct search s = {.g = g};
    struct arena scratch;
    enum err e = ERR_OK;
    if (!arena_create(&scratch,
                      vertices * (13 * sizeof(double) + 3 * sizeof(uint32_t) + sizeof(bool)) +
                          1024))
        return builder_no_memory(k->b);
    s.open = arena_take(&scratch, vertices * sizeof *s.open);
    s.closed = arena_take(&scratch, vertices * sizeof *s.closed);
    s.shut = arena_take(&scratch, vertices * sizeof *s.shut);
    s.step = ARENA_ARRAY(&scratch, double, vertices);
    s.surface = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.near[MOVING] = ARENA_ARRAY(&scratch, double, vertices);
    s.near[STANDING] = ARENA_ARRAY(&scratch, double, vertices);
    s.cost = ARENA_ARRAY(&scratch, double, vertices);
    s.before = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.queue = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.queued = ARENA_ARRAY(&scratch, bool, vertices);
    if (!name_surfaces(&s)) e = builder_no_memory(k->b);
    for (size_t i = 0; i < sizeof closers / sizeof closers[0] && e == ERR_OK; i++) {
        struct face_parts parts;
        struct fault ignored = {0};
        bool has = face_names_find(m, closers[i][0], "", &parts, &ignored) == ERR_OK &&
                   parts.count == 1 && parts.parts[0].id < m->shapes_count &&
                   parts.parts[0].share >= 1;
        if (has && !is_given(k, parts.parts[0].id))
            e = find_one(&s, closers[i][1], closers[i][0], parts.parts[0].id);
    }
    arena_destroy(&scratch);
    return e;
}
