#include "server/bake/face_gap.h"

#include <math.h>
#include <string.h>

// A mouth that is shut at rest has no gap to close there: the shape that opens it most must stand
// open, and the closer must then leave less than this of that gap.
static const double SHUT = 0.02, CLOSES = 0.35;

static double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double distance(const double a[3], const double b[3])
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(dot3(d, d));
}

// along[i]: share of the rim's length before vertex i; false for a rim of no length.
static bool measure_rim(const struct face_probe *p, const uint32_t *rim, uint32_t count,
                        double *along)
{
    double before[3], here[3];
    for (uint32_t i = 0; i < count; i++) {
        face_probe_vertex(p, rim[i], NULL, here, NULL);
        along[i] = i ? along[i - 1] + distance(here, before) : 0;
        memcpy(before, here, sizeof here);
    }
    double length = along[count - 1];
    for (uint32_t i = 0; i < count; i++)
        along[i] = length > 0 ? along[i] / length : 0;
    return length > 0;
}

static enum err make_pairs(struct face_bake *k, const struct face_probe *p, struct face_contour *c)
{
    double *upper = BUILDER_ARRAY(k->b, double, c->upper_count);
    double *lower = BUILDER_ARRAY(k->b, double, c->lower_count);
    if (!c->pairs) c->pairs = BUILDER_ARRAY(k->b, struct face_pair, c->upper_count);
    if (!upper || !lower || !c->pairs) return builder_no_memory(k->b);
    if (!measure_rim(p, c->upper, c->upper_count, upper) ||
        !measure_rim(p, c->lower, c->lower_count, lower))
        return fault_set(k->b->fault, ERR_MALFORMED, "/face/contours/%.60s: a rim has no length",
                         c->name);
    for (uint32_t i = 0, at = 0; i < c->upper_count; i++) {
        while (at + 2 < c->lower_count && lower[at + 1] < upper[i])
            at++;
        double step = lower[at + 1] - lower[at];
        double along = step > 0 ? (upper[i] - lower[at]) / step : 0;
        c->pairs[i] = (struct face_pair){
            c->upper[i], {c->lower[at], c->lower[at + 1]}, fmin(fmax(along, 0), 1)};
    }
    return ERR_OK;
}

void face_gap_pair(const struct face_probe *p, const struct face_pair *pair, double upper[3],
                   double lower[3])
{
    double ends[2][3];
    face_probe_vertex(p, pair->upper, NULL, upper, NULL);
    for (int i = 0; i < 2; i++)
        face_probe_vertex(p, pair->lower[i], NULL, ends[i], NULL);
    for (int r = 0; r < 3; r++)
        lower[r] = ends[0][r] + pair->along * (ends[1][r] - ends[0][r]);
}

// The neutral direction, turned as the upper rim has been.
static void carry_way(const struct face_probe *p, const struct face_contour *c, double out[3])
{
    struct xform sum = {{{0}}}, t;
    for (uint32_t i = 0; i < c->upper_count; i++) {
        face_probe_vertex(p, c->upper[i], NULL, NULL, &t);
        for (int col = 0; col < 3; col++)
            for (int r = 0; r < 3; r++)
                sum.col[col][r] += t.col[col][r];
    }
    for (int r = 0; r < 3; r++)
        out[r] = sum.col[0][r] * c->way[0] + sum.col[1][r] * c->way[1] + sum.col[2][r] * c->way[2];
    double length = sqrt(dot3(out, out));
    for (int r = 0; r < 3; r++)
        out[r] = length > 0 ? out[r] / length : 0;
}

void face_gap_measure(const struct face_probe *p, const struct face_contour *c, double *of_pair)
{
    double way[3];
    carry_way(p, c, way);
    for (uint32_t i = 0; i < c->upper_count; i++) {
        double upper[3], lower[3];
        face_gap_pair(p, &c->pairs[i], upper, lower);
        double d[3] = {upper[0] - lower[0], upper[1] - lower[1], upper[2] - lower[2]};
        of_pair[i] = dot3(d, way);
    }
}

void face_gap_weights(struct face_probe *p, const struct face_contour *c, uint32_t closer,
                      double weight)
{
    memset(p->weights, 0, p->k->b->model.shapes_count * sizeof *p->weights);
    if (c->openers[closer] != MODEL_NONE) p->weights[c->openers[closer]] = 1;
    p->weights[c->closers[closer]] = (float)weight;
}

// The direction of the widest pairs, in the upper rim's base space.
static void find_way(const struct face_probe *p, struct face_contour *c)
{
    double sum[3] = {0};
    struct xform t, back, mean = {{{0}}};
    for (uint32_t i = 0; i < c->upper_count; i++) {
        double upper[3], lower[3];
        face_gap_pair(p, &c->pairs[i], upper, lower);
        face_probe_vertex(p, c->upper[i], NULL, NULL, &t);
        for (int col = 0; col < 4; col++)
            for (int r = 0; r < 3; r++)
                mean.col[col][r] += t.col[col][r] / c->upper_count;
        for (int r = 0; r < 3; r++)
            sum[r] += upper[r] - lower[r];
    }
    for (int r = 0; r < 3; r++)
        mean.col[3][r] = 0;
    if (xform_invert(&mean, &back)) xform_point(&back, sum, c->way);
    double length = sqrt(dot3(c->way, c->way));
    for (int r = 0; r < 3; r++)
        c->way[r] = length > 0 ? c->way[r] / length : r == 1;
}

static double widest(const double *gaps, uint32_t count, bool by_size)
{
    double most = -HUGE_VAL;
    for (uint32_t i = 0; i < count; i++)
        most = fmax(most, by_size ? fabs(gaps[i]) : gaps[i]);
    return most;
}

static double rim_length(const struct face_probe *p, const struct face_contour *c)
{
    double sum = 0, before[3], here[3];
    for (uint32_t i = 0; i < c->upper_count; i++) {
        face_probe_vertex(p, c->upper[i], NULL, here, NULL);
        if (i) sum += distance(here, before);
        memcpy(before, here, sizeof here);
    }
    return sum;
}

// How far apart the rims stand at most with these shapes at 1; no direction is known yet.
static double apart(struct face_probe *p, const struct face_contour *c, uint32_t a, int32_t b)
{
    double most = 0;
    memset(p->weights, 0, p->k->b->model.shapes_count * sizeof *p->weights);
    p->weights[a] = 1;
    if (b != MODEL_NONE) p->weights[b] = 1;
    face_probe_pose(p);
    for (uint32_t i = 0; i < c->upper_count; i++) {
        double upper[3], lower[3];
        face_gap_pair(p, &c->pairs[i], upper, lower);
        most = fmax(most, distance(upper, lower));
    }
    return most;
}

// Of the shapes that open the contour widely, the one that the closer undoes best.
static enum err find_opener(struct face_bake *k, struct face_probe *p, struct face_contour *c,
                            uint32_t closer)
{
    const struct model *m = &k->b->model;
    double *wide = BUILDER_ARRAY(k->b, double, m->shapes_count), most = 0, best = HUGE_VAL;
    if (!wide) return builder_no_memory(k->b);
    for (uint32_t s = 0; s < m->shapes_count; s++) {
        if (s != c->closers[closer]) wide[s] = apart(p, c, s, MODEL_NONE);
        most = fmax(most, wide[s]);
    }
    for (uint32_t s = 0; s < m->shapes_count; s++) {
        if (!(wide[s] > 0.4 * most)) continue;
        double left = apart(p, c, s, (int32_t)c->closers[closer]) / wide[s];
        if (!(left < best)) continue;
        best = left;
        c->openers[closer] = (int32_t)s;
    }
    return ERR_OK;
}

static void drop_closer(struct face_bake *k, struct face_contour *c, uint32_t i)
{
    scene_note(k->b->scene, NOTE_LEFT_OUT, 1,
               "the contour %.60s: %.60s does not close it, so nothing is corrected for it",
               c->name, model_text(&k->b->model, k->b->model.shapes[c->closers[i]].name));
    c->closer_count--;
    memmove(&c->closers[i], &c->closers[i + 1], (c->closer_count - i) * sizeof *c->closers);
    memmove(&c->openers[i], &c->openers[i + 1], (c->closer_count - i) * sizeof *c->openers);
    memmove(&c->stands[i], &c->stands[i + 1], (c->closer_count - i) * sizeof *c->stands);
}

static enum err measure_closer(struct face_bake *k, struct face_probe *p, struct face_contour *c,
                               uint32_t i, double *gaps, double *closed, bool *closes)
{
    face_gap_weights(p, c, i, 0);
    face_probe_pose(p);
    if (i == 0) { // pairs, and which way is closing, where it stands open
        enum err e = make_pairs(k, p, c);
        if (e != ERR_OK) return e;
        find_way(p, c);
    }
    face_gap_measure(p, c, gaps);
    face_gap_weights(p, c, i, 1);
    face_probe_pose(p);
    face_gap_measure(p, c, closed);
    c->open[i] = widest(gaps, c->upper_count, false);
    c->stands[i] = BUILDER_ARRAY(k->b, double, c->upper_count);
    if (!c->stands[i]) return builder_no_memory(k->b);
    for (uint32_t n = 0; n < c->upper_count; n++) // where rims join there is nothing to divide by
        c->stands[i][n] = fmax(gaps[n], 0.1 * c->open[i]);
    c->left[i] = widest(closed, c->upper_count, true);
    *closes = c->open[i] > 0 && c->left[i] < CLOSES * c->open[i];
    return ERR_OK;
}

enum err face_gap_prepare(struct face_bake *k, struct face_probe *p, struct face_contour *c)
{
    double *gaps = BUILDER_ARRAY(k->b, double, c->upper_count), *closed;
    closed = BUILDER_ARRAY(k->b, double, c->upper_count);
    if (!gaps || !closed) return builder_no_memory(k->b);
    face_probe_clear(p);
    face_probe_pose(p);
    enum err e = make_pairs(k, p, c);
    if (e != ERR_OK) return e;
    double rest = 0, length = rim_length(p, c);
    for (uint32_t i = 0; i < c->upper_count; i++) {
        double upper[3], lower[3];
        face_gap_pair(p, &c->pairs[i], upper, lower);
        rest = fmax(rest, distance(upper, lower));
    }
    for (uint32_t i = 0; i < c->closer_count && e == ERR_OK;) {
        bool closes = false;
        if (rest >= SHUT * length || c->openers[i] != MODEL_NONE)
            e = measure_closer(k, p, c, i, gaps, closed, &closes);
        if (e == ERR_OK && !closes && c->openers[i] == MODEL_NONE) {
            e = find_opener(k, p, c, i);
            if (e == ERR_OK) e = measure_closer(k, p, c, i, gaps, closed, &closes);
        }
        if (closes)
            i++;
        else
            drop_closer(k, c, i);
    }
    return e;
}
