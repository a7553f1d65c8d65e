#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/face_corrections.h"
#include "server/bake/face_find.h"

// Detection: how far each parameter (a face bone is one) opens what a shape closes; corrections
// for those that do; the report.

enum { SAMPLES = 9 }; // over a parameter's range, ends included
// Of the open gap: what a parameter alone may leave. Several add up, and the whole must stay
// within 2 %.
static const double LEFT = 0.001;

static bool bends(const struct model_parameter *p)
{
    return p->kind == MODEL_PARAMETER_SHAPE && p->move_count + p->mix_count > 0;
}

// The largest of |g(1, y) - g(1, neutral)| over the contour's points and part of the range, as a
// share of the open gap.
static double influence(struct face_generator *g, const struct face_contour *c, uint32_t closer,
                        uint32_t parameter, double low, double high, double *gaps)
{
    struct face_probe *p = g->probe;
    double *neutral = gaps, *here = gaps + c->upper_count, most = 0;
    face_probe_clear(p);
    face_gap_weights(p, c, closer, 1);
    face_probe_pose(p);
    face_gap_measure(p, c, neutral);
    for (int i = 0; i < SAMPLES; i++) {
        double y = low + (high - low) * i / (SAMPLES - 1);
        p->values[parameter] = (float)y;
        face_probe_pose(p);
        face_gap_measure(p, c, here);
        for (uint32_t n = 0; n < c->upper_count; n++)
            most = fmax(most, fabs(here[n] - neutral[n]) / c->stands[closer][n]);
    }
    p->values[parameter] = 0;
    return most;
}

// Corrections that belong to the parameter, at its limits; where it turns or scales bones and the
// way between is not straight, at places between as well.
static enum err correct_parameter(struct face_generator *g, const struct face_contour *c,
                                  uint32_t closer, uint32_t parameter, double *gaps)
{
    enum { STEPS_MAX = 8 };
    struct face_bake *k = g->k;
    const struct model_parameter *p = &k->parameters[parameter];
    float *values = BUILDER_ARRAY(k->b, float, k->parameters_count);
    if (!values) return builder_no_memory(k->b);
    face_leave_to_parameter(k, c->closers[closer], parameter);
    for (int side = 0; side < 2; side++) {
        double limit = (double)(side ? p->high : p->low);
        if (side ? !(limit > 0) : !(limit < 0)) continue;
        if (influence(g, c, closer, parameter, 0, limit, gaps) <= LEFT) continue;
        for (int steps = 1; steps <= STEPS_MAX; steps *= 2) {
            double knots[STEPS_MAX];
            size_t corrections = k->corrections_count, channels = k->channels_count,
                   blocks = k->morph_blocks_count, dials = k->dials_count, terms = k->terms_count;
            uint32_t dial;
            enum err e = face_dial_of_parameter(k, parameter, &dial);
            if (e != ERR_OK) return e;
            k->dials[dial].low = side ? 0 : p->low;
            k->dials[dial].high = side ? p->high : 0;
            for (int i = 0; i < steps; i++)
                knots[i] = limit * (i + 1) / steps;
            for (int i = 0; i < steps; i++) {
                float hat[3];
                face_hat(knots, (uint32_t)steps, (uint32_t)i, hat);
                values[parameter] = (float)knots[i];
                e = face_generate(g, c, closer, values, dial, hat);
                if (e != ERR_OK) return e;
            }
            if (steps == STEPS_MAX || influence(g, c, closer, parameter, 0, limit, gaps) <= LEFT)
                break;
            k->corrections_count = corrections; // once more, finer
            k->channels_count = channels;
            k->morph_blocks_count = blocks;
            k->dials_count = dials;
            k->terms_count = terms;
            face_show(k);
        }
    }
    return ERR_OK;
}

// ---- the report

struct row { // one parameter against one closing shape
    uint32_t parameter;
    double influence, left;
    const char *remedy;
};

static int row_order(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->influence < y->influence || x->influence > y->influence)
        return x->influence > y->influence ? -1 : 1;
    return x->parameter < y->parameter ? -1 : x->parameter > y->parameter;
}

static cJSON *describe_row(const struct face_bake *k, const struct row *r)
{
    const struct model_parameter *p = &k->parameters[r->parameter];
    cJSON *item = cJSON_CreateObject(), *joints = cJSON_AddArrayToObject(item, "joints");
    cJSON_AddStringToObject(item, p->bone ? "bone" : "parameter",
                            model_text(&k->b->model, p->name));
    for (uint32_t i = 0; i < p->move_count; i++) {
        uint32_t node = k->bones[k->moves[p->move_first + i].bone].node;
        cJSON_AddItemToArray(
            joints, cJSON_CreateString(model_text(&k->b->model, k->b->model.nodes[node].name)));
    }
    cJSON_AddNumberToObject(item, "influence", r->influence);
    cJSON_AddBoolToObject(item, "target", r->influence > k->threshold);
    cJSON_AddStringToObject(item, "remedy", r->remedy);
    cJSON_AddNumberToObject(item, "left", r->left);
    return item;
}

static cJSON *describe_contour(const struct face_contour *c)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "name", c->name);
    cJSON_AddBoolToObject(item, "found", c->found);
    cJSON_AddItemToObject(item, "upper",
                          cJSON_CreateIntArray((const int *)c->upper, (int)c->upper_count));
    cJSON_AddItemToObject(item, "lower",
                          cJSON_CreateIntArray((const int *)c->lower, (int)c->lower_count));
    cJSON_AddItemToObject(item, "way", cJSON_CreateDoubleArray(c->way, 3));
    cJSON_AddArrayToObject(item, "closed_by");
    return item;
}

// ---- one contour

static bool is_pulled(const struct face_bake *k, uint32_t shape, const struct model_parameter *p)
{
    for (uint32_t i = 0; i < p->move_count; i++) {
        const struct model_face_bone *bone = &k->bones[k->moves[p->move_first + i].bone];
        for (uint32_t n = 0; n < bone->pull_count; n++)
            if (k->pulls[bone->pull_first + n].shape == shape) return true;
    }
    return false;
}

static const char *remedy_of(const struct face_bake *k, uint32_t shape, uint32_t parameter,
                             const struct row *r)
{
    if (face_has_correction(k, shape, parameter)) return "correction of the parameter";
    if (is_pulled(k, shape, &k->parameters[parameter])) return "pull_back";
    if (r->left < r->influence / 2) return "corrections of its bones";
    return "none";
}

// Without anything that corrects: what the bone does to the shape.
static void measure_raw(struct face_generator *g, const struct face_contour *c, uint32_t closer,
                        struct row *rows, double *gaps)
{
    g->probe->bare = true;
    for (uint32_t i = 0; i < g->k->parameters_count; i++) {
        const struct model_parameter *p = &g->k->parameters[i];
        rows[i].parameter = i;
        if (bends(p))
            rows[i].influence = influence(g, c, closer, i, (double)p->low, (double)p->high, gaps);
    }
    g->probe->bare = false;
}

static enum err correct_closer(struct face_generator *g, const struct face_contour *c,
                               uint32_t closer, double *gaps, cJSON *report)
{
    struct face_bake *k = g->k;
    const struct model *m = &k->b->model;
    struct row *rows = BUILDER_ARRAY(k->b, struct row, k->parameters_count);
    if (!rows) return builder_no_memory(k->b);
    measure_raw(g, c, closer, rows, gaps);
    for (uint32_t i = 0; i < k->parameters_count; i++) {
        const struct model_parameter *p = &k->parameters[i];
        if (!bends(p) || face_has_correction(k, c->closers[closer], i)) continue;
        if (influence(g, c, closer, i, (double)p->low, (double)p->high, gaps) <= LEFT) continue;
        enum err e = correct_parameter(g, c, closer, i, gaps);
        if (e != ERR_OK) return e;
    }
    for (uint32_t i = 0; i < k->parameters_count; i++) {
        const struct model_parameter *p = &k->parameters[i];
        if (!bends(p)) continue;
        rows[i].left = influence(g, c, closer, i, (double)p->low, (double)p->high, gaps);
        rows[i].remedy = remedy_of(k, c->closers[closer], i, &rows[i]);
    }
    qsort(rows, k->parameters_count, sizeof *rows, row_order);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "shape", model_text(m, m->shapes[c->closers[closer]].name));
    if (c->openers[closer] != MODEL_NONE)
        cJSON_AddStringToObject(item, "with", model_text(m, m->shapes[c->openers[closer]].name));
    cJSON_AddNumberToObject(item, "open_gap", c->open[closer]);
    cJSON_AddNumberToObject(item, "closed_gap", c->left[closer]);
    cJSON *list = cJSON_AddArrayToObject(item, "bones");
    for (uint32_t i = 0; i < k->parameters_count; i++)
        if (bends(&k->parameters[rows[i].parameter]))
            cJSON_AddItemToArray(list, describe_row(k, &rows[i]));
    cJSON_AddItemToArray(cJSON_GetObjectItem(report, "closed_by"), item);
    return ERR_OK;
}

static enum err correct_contours(struct face_generator *g)
{
    struct face_bake *k = g->k;
    enum err e = ERR_OK;
    cJSON *list = cJSON_AddArrayToObject(k->report, "contours");
    for (size_t i = 0; i < k->contours_count && e == ERR_OK; i++) {
        const struct face_contour *c = &k->contours[i];
        double *gaps = BUILDER_ARRAY(k->b, double, 2 * (size_t)c->upper_count);
        cJSON *item = describe_contour(c);
        if (!gaps || !item) return builder_no_memory(k->b);
        cJSON_AddItemToArray(list, item);
        for (uint32_t n = 0; n < c->closer_count && e == ERR_OK; n++)
            e = correct_closer(g, c, n, gaps, item);
    }
    return e;
}

enum err face_correct(struct face_bake *k)
{
    struct face_probe probe = {0};
    struct face_generator g = {0};
    k->report = cJSON_CreateObject();
    cJSON_AddNumberToObject(k->report, "threshold", k->threshold);
    bool bent = false; // without anything that bends the face there is nothing to correct
    for (size_t i = 0; i < k->parameters_count; i++)
        bent = bent || bends(&k->parameters[i]);
    enum err e = face_probe_open(k, &probe);
    if (e == ERR_OK) e = face_generator_open(k, &probe, &g);
    if (e == ERR_OK && bent) e = face_find_contours(&g);
    for (size_t i = 0; i < k->contours_count && e == ERR_OK; i++)
        e = face_gap_prepare(k, &probe, &k->contours[i]);
    if (e == ERR_OK) e = face_read_corrections(&g);
    if (e == ERR_OK) e = correct_contours(&g);
    face_probe_close(&probe);
    return e;
}
