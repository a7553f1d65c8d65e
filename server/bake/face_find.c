#include "server/bake/face_find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/model/face_names.h"

// Of the shape's largest step: what moves at all, and what stands apart when open.
static const double MOVES = 0.05, APART = 0.05;
static const double MEETS = 0.2, SHUTS = 0.6; // of the distance when open
enum { PLACES = 24, PLACES_MIN = 4 };

struct meeting { // a vertex of the moving rim and what it meets
    uint32_t moving, standing;
    double closed; // distance
    double along;  // the rim
};

struct search {
    struct face_generator *g;
    double (*open)[3], (*closed)[3]; // [weld vertex] apart, and where the rims meet
    double (*shut)[3];               // [weld vertex] with the closer
    double *step;                    // [weld vertex] how far it moves
    uint32_t *surface;               // [weld vertex] lowest vertex of its connected surface
    struct meeting *meetings;
    uint32_t count;
};

static double apart(const double a[3], const double b[3])
{
    double square = 0;
    for (int r = 0; r < 3; r++)
        square += (a[r] - b[r]) * (a[r] - b[r]);
    return sqrt(square);
}

static void name_surfaces(struct search *s, uint32_t *queue)
{
    const struct geodesic *e = &s->g->edges;
    size_t vertices = model_vertex_count(&s->g->k->b->model);
    for (uint32_t v = 0; v < vertices; v++)
        s->surface[v] = UINT32_MAX;
    for (uint32_t v = 0; v < vertices; v++) {
        if (s->surface[v] != UINT32_MAX) continue;
        uint32_t first = 0, last = 0;
        queue[last++] = v;
        s->surface[v] = v;
        while (first < last) {
            uint32_t at = queue[first++];
            for (uint32_t i = e->edge_first[at]; i < e->edge_first[at + 1]; i++) {
                if (s->surface[e->edges[i]] != UINT32_MAX) continue;
                s->surface[e->edges[i]] = v;
                queue[last++] = e->edges[i];
            }
        }
    }
}

static void read_places(struct search *s, double (*out)[3])
{
    const struct model *m = &s->g->k->b->model;
    face_probe_pose(s->g->probe);
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        if (m->weld[v] == v) face_probe_vertex(s->g->probe, v, NULL, out[v], NULL);
}

// For each vertex that moves, the one of its surface that it comes to from afar.
static double find_meetings(struct search *s)
{
    const struct model *m = &s->g->k->b->model;
    size_t vertices = model_vertex_count(m);
    double most = 0;
    for (uint32_t v = 0; v < vertices; v++) {
        s->step[v] = m->weld[v] == v ? apart(s->open[v], s->closed[v]) : 0;
        most = fmax(most, s->step[v]);
    }
    s->count = 0;
    for (uint32_t v = 0; v < vertices && most > 0; v++) {
        if (!(s->step[v] > MOVES * most)) continue;
        struct meeting best = {.moving = v, .closed = HUGE_VAL};
        for (uint32_t o = 0; o < vertices; o++) {
            if (m->weld[o] != o || s->surface[o] != s->surface[v]) continue;
            if (!(s->step[o] < s->step[v])) continue; // the other way round it is found too
            double closed = apart(s->closed[v], s->closed[o]);
            if (!(closed < best.closed) || !(closed < MEETS * most)) continue;
            double open = apart(s->open[v], s->open[o]);
            if (!(open > APART * most) || !(closed < MEETS * open)) continue;
            // Teeth and gums part with the jaw, but the closer leaves them apart.
            if (!(apart(s->shut[v], s->shut[o]) < SHUTS * open)) continue;
            best.standing = o;
            best.closed = closed;
        }
        if (best.closed < HUGE_VAL) s->meetings[s->count++] = best;
    }
    return most;
}

// The direction in which the closed rim lies: the first axis of its places, by power iteration.
static void find_axis(const struct search *s, double axis[3])
{
    double middle[3] = {0}, spread[3][3] = {{0}};
    for (uint32_t i = 0; i < s->count; i++)
        for (int r = 0; r < 3; r++)
            middle[r] += s->closed[s->meetings[i].moving][r] / s->count;
    for (uint32_t i = 0; i < s->count; i++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                spread[a][b] += (s->closed[s->meetings[i].moving][a] - middle[a]) *
                                (s->closed[s->meetings[i].moving][b] - middle[b]);
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

// At each of some places along the axis the pair that comes nearest; without repeating a vertex.
static uint32_t choose(struct search *s, struct meeting chosen[PLACES])
{
    double axis[3], low = HUGE_VAL, high = -HUGE_VAL;
    uint32_t count = 0;
    find_axis(s, axis);
    for (uint32_t i = 0; i < s->count; i++) {
        const double *at = s->closed[s->meetings[i].moving];
        s->meetings[i].along = at[0] * axis[0] + at[1] * axis[1] + at[2] * axis[2];
        low = fmin(low, s->meetings[i].along);
        high = fmax(high, s->meetings[i].along);
    }
    for (int place = 0; place < PLACES; place++) {
        double from = low + (high - low) * place / PLACES;
        double to = low + (high - low) * (place + 1) / PLACES;
        const struct meeting *best = NULL;
        for (uint32_t i = 0; i < s->count; i++) {
            const struct meeting *at = &s->meetings[i];
            if (at->along < from || at->along > to) continue;
            if (count > 0 && (chosen[count - 1].standing == at->standing ||
                              chosen[count - 1].moving == at->moving))
                continue;
            if (!best || at->closed < best->closed) best = at;
        }
        if (best) chosen[count++] = *best;
    }
    return count;
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
                            uint32_t count, const struct meeting *chosen)
{
    struct face_bake *k = s->g->k;
    struct face_contour c = {
        .name = name, .closer_count = 1, .closers = {shape}, .openers = {opener}, .found = true};
    c.upper = BUILDER_ARRAY(k->b, uint32_t, count);
    c.lower = BUILDER_ARRAY(k->b, uint32_t, count);
    if (!c.upper || !c.lower) return builder_no_memory(k->b);
    double rise = 0;
    for (uint32_t i = 0; i < count; i++)
        rise += s->open[chosen[i].moving][1] - s->open[chosen[i].standing][1];
    for (uint32_t i = 0; i < count; i++) {
        c.upper[i] = rise > 0 ? chosen[i].moving : chosen[i].standing;
        c.lower[i] = rise > 0 ? chosen[i].standing : chosen[i].moving;
    }
    c.upper_count = c.lower_count = count;
    struct face_contour *out = FACE_ADD(k, contours);
    if (!out) return builder_no_memory(k->b);
    *out = c;
    return ERR_OK;
}

static enum err find_one(struct search *s, const char *name, const char *closer, uint32_t shape)
{
    struct face_bake *k = s->g->k;
    const struct model *m = &k->b->model;
    struct meeting chosen[PLACES];
    int32_t opener = opener_of(m, closer);
    face_probe_clear(s->g->probe);
    if (opener != MODEL_NONE) s->g->probe->weights[opener] = 1;
    read_places(s, s->open);
    s->g->probe->weights[shape] = 1;
    read_places(s, s->shut);
    // Lips meet at rest; a closing shape may press them together beyond their rims.
    face_probe_clear(s->g->probe);
    if (opener == MODEL_NONE) s->g->probe->weights[shape] = 1;
    read_places(s, s->closed);
    (void)find_meetings(s);
    uint32_t count = s->count > 0 ? choose(s, chosen) : 0;
    if (count >= PLACES_MIN) return add_contour(s, name, shape, opener, count, chosen);
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
    if (!arena_create(&scratch, vertices * (10 * sizeof(double) + 2 * sizeof(uint32_t) +
                                            sizeof(struct meeting)) +
                                    1024))
        return builder_no_memory(k->b);
    s.open = arena_take(&scratch, vertices * sizeof *s.open);
    s.closed = arena_take(&scratch, vertices * sizeof *s.closed);
    s.shut = arena_take(&scratch, vertices * sizeof *s.shut);
    s.step = ARENA_ARRAY(&scratch, double, vertices);
    s.surface = ARENA_ARRAY(&scratch, uint32_t, vertices);
    s.meetings = ARENA_ARRAY(&scratch, struct meeting, vertices);
    name_surfaces(&s, ARENA_ARRAY(&scratch, uint32_t, vertices));
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
