#include "server/character/pose/customise.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/rotation.h"

struct customise_offset {
    double translation[3], rotation[4], scale[3];
    bool any;
};

size_t customise_bytes(const struct model *m)
{
    enum { BLOCKS = 8, PADDING = 64 };
    return m->parameters_count * (sizeof(float) + sizeof(bool)) +
           m->face_bones_count *
               (2 * sizeof(double) + sizeof(struct trs) + sizeof(struct customise_offset)) +
           m->face_dials_count * sizeof(double) + (size_t)BLOCKS * PADDING;
}

struct customise customise_take(const struct model *m, struct arena *a)
{
    struct customise c = {.model = m,
                          .values = ARENA_ARRAY(a, float, m->parameters_count),
                          .told = ARENA_ARRAY(a, bool, m->parameters_count),
                          .shares = ARENA_ARRAY(a, double, m->face_bones_count),
                          .wanted = ARENA_ARRAY(a, double, m->face_bones_count),
                          .before = ARENA_ARRAY(a, struct trs, m->face_bones_count),
                          .offsets = ARENA_ARRAY(a, struct customise_offset, m->face_bones_count),
                          .dials = ARENA_ARRAY(a, double, m->face_dials_count)};
    for (size_t i = 0; i < m->parameters_count; i++) {
        c.values[i] = m->parameters[i].neutral;
        c.told[i] = false;
    }
    for (size_t i = 0; i < m->face_bones_count; i++)
        c.shares[i] = c.wanted[i] = 1;
    return c;
}

void customise_set(struct customise *c, uint32_t parameter, float value)
{
    CHECK(parameter < c->model->parameters_count);
    const struct model_parameter *p = &c->model->parameters[parameter];
    c->values[parameter] = fminf(fmaxf(value, p->low), p->high);
    c->told[parameter] = true;
    if (p->kind == MODEL_PARAMETER_APPEARANCE) c->looks++;
}

double customise_hat(double before, double at, double after, double x)
{
    if (x < at) return before >= at ? 1 : fmax(0, (x - before) / (at - before));
    if (x > at) return after <= at ? 1 : fmax(0, (after - x) / (after - at));
    return 1;
}

void customise_mix(const struct customise *c, float *weights)
{
    const struct model *m = c->model;
    for (size_t i = 0; i < m->parameters_count; i++) {
        const struct model_parameter *p = &m->parameters[i];
        if (c->values[i] == 0) continue;
        for (uint32_t k = 0; k < p->mix_count; k++) {
            const struct model_face_mix *x = &m->face_mixes[p->mix_first + k];
            float *w = &weights[x->channel], sum = *w + c->values[i] * x->weight;
            // An expression goes as far as its shapes go, however many ask for them.
            if (p->kind == MODEL_PARAMETER_EXPRESSION) sum = fminf(sum, fmaxf(*w, 1));
            *w = sum;
        }
    }
}

// The largest of its channels, 0 .. 1.
static double shape_weight(const struct model *m, const float *weights, uint32_t shape)
{
    float most = 0;
    for (size_t c = 0; c < m->channels_count; c++)
        if (m->channels[c].shape == shape) most = fmaxf(most, weights[c]);
    return fmin((double)most, 1);
}

void customise_advance(struct customise *c, const float *weights, double dt_s)
{
    const struct model *m = c->model;
    c->moving = false;
    for (size_t i = 0; i < m->face_bones_count; i++) {
        const struct model_face_bone *b = &m->face_bones[i];
        if (b->pull_count == 0) continue;
        double most = 0;
        for (uint32_t k = 0; k < b->pull_count; k++)
            most = fmax(most, shape_weight(m, weights, m->face_pulls[b->pull_first + k].shape));
        double wanted = c->wanted[i], step = (double)b->speed * fmax(dt_s, 0);
        double *share = &c->shares[i];
        c->wanted[i] = 1 - most;
        if (!c->started)
            *share = c->wanted[i];
        else if (fabs(wanted - *share) <= step)
            *share = wanted;
        else
            *share += wanted > *share ? step : -step;
        if (*share < c->wanted[i] || *share > c->wanted[i]) c->moving = true;
    }
    c->started = true;
}

static void combine(const struct model *m, const struct model_face_rule *r, float *weights)
{
    double product = 1;
    for (uint32_t k = 0; k < r->parent_count; k++)
        product *= shape_weight(m, weights, r->parents[k]);
    for (size_t c = 0; product > 0 && c < m->channels_count; c++)
        if (m->channels[c].shape == r->shape)
            weights[c] = fminf(weights[c] + (float)product, fmaxf(weights[c], 1));
}

// `shape` may be the parent itself: then it is what is left to the whole shape. Its hat, the last
// of its parent's rules, is laid last.
static void stand_between(const struct model *m, const struct model_face_rule *r, float *weights)
{
    double parent = shape_weight(m, weights, r->parents[0]);
    double hat = customise_hat((double)r->before, (double)r->at, (double)r->after, parent);
    for (size_t c = 0; c < m->channels_count; c++) {
        if (m->channels[c].shape != r->shape) continue;
        if (r->shape != r->parents[0])
            weights[c] = fminf(weights[c] + (float)hat, fmaxf(weights[c], 1));
        else if (weights[c] > 0 && weights[c] < 1)
            weights[c] = (float)hat;
    }
}

static void read_dials(struct customise *c)
{
    const struct model *m = c->model;
    for (size_t i = 0; i < m->face_dials_count; i++) {
        const struct model_face_dial *d = &m->face_dials[i];
        double value = 0;
        for (uint32_t k = 0; k < d->term_count; k++) {
            const struct model_face_term *t = &m->face_terms[d->term_first + k];
            double share = t->bone == MODEL_NONE ? 1 : c->shares[t->bone];
            value += (double)t->gain * (double)c->values[t->parameter] * share;
        }
        c->dials[i] = fmin(fmax(value, (double)d->low), (double)d->high);
    }
}

void customise_correct(struct customise *c, float *weights)
{
    const struct model *m = c->model;
    for (size_t i = 0; i < m->face_rules_count; i++)
        if (m->face_rules[i].kind == MODEL_FACE_COMBINATION) combine(m, &m->face_rules[i], weights);
    if (m->face_corrections_count > 0) read_dials(c);
    for (size_t i = 0; i < m->face_corrections_count; i++) {
        const struct model_face_correction *k = &m->face_corrections[i];
        double hat =
            customise_hat((double)k->before, (double)k->at, (double)k->after, c->dials[k->dial]);
        weights[k->channel] = (float)((double)weights[k->of] * hat);
    }
    for (size_t i = 0; i < m->face_rules_count; i++)
        if (m->face_rules[i].kind == MODEL_FACE_IN_BETWEEN)
            stand_between(m, &m->face_rules[i], weights);
}

static void add_move(const struct model_face_move *v, double value, struct customise_offset *o)
{
    double turn[4];
    if (!o->any) *o = (struct customise_offset){.rotation = {0, 0, 0, 1}, .any = true};
    o->translation[0] += value * (double)v->translation.x;
    o->translation[1] += value * (double)v->translation.y;
    o->translation[2] += value * (double)v->translation.z;
    o->scale[0] += value * (double)v->scale.x;
    o->scale[1] += value * (double)v->scale.y;
    o->scale[2] += value * (double)v->scale.z;
    if (v->rotation.x == 0 && v->rotation.y == 0 && v->rotation.z == 0) return;
    rotation_power(&v->rotation, value, turn);
    rotation_mul(o->rotation, turn, o->rotation);
}

static void sum_moves(struct customise *c)
{
    const struct model *m = c->model;
    for (size_t i = 0; i < m->face_bones_count; i++)
        c->offsets[i].any = false;
    for (size_t i = 0; i < m->parameters_count; i++) {
        const struct model_parameter *p = &m->parameters[i];
        for (uint32_t k = 0; c->values[i] != 0 && k < p->move_count; k++) {
            const struct model_face_move *v = &m->face_moves[p->move_first + k];
            add_move(v, (double)c->values[i], &c->offsets[v->bone]);
        }
    }
}

static void lay_offset(const struct customise_offset *o, double share, struct trs *local)
{
    static const double none[4] = {0, 0, 0, 1};
    double at[4], turn[4];
    local->translation.x += (float)(share * o->translation[0]);
    local->translation.y += (float)(share * o->translation[1]);
    local->translation.z += (float)(share * o->translation[2]);
    local->scale.x *= (float)(1 + share * o->scale[0]);
    local->scale.y *= (float)(1 + share * o->scale[1]);
    local->scale.z *= (float)(1 + share * o->scale[2]);
    if (o->rotation[0] == 0 && o->rotation[1] == 0 && o->rotation[2] == 0) return;
    rotation_slerp(none, o->rotation, share, turn);
    rotation_load(local->rotation, at);
    rotation_mul(at, turn, at);
    local->rotation = rotation_round(at);
}

void customise_bones(struct customise *c, struct trs *locals)
{
    const struct model *m = c->model;
    c->bent = false;
    sum_moves(c);
    for (size_t i = 0; i < m->face_bones_count; i++) {
        struct trs *local = &locals[m->face_bones[i].node];
        c->before[i] = *local;
        if (!c->offsets[i].any || !(c->shares[i] > 0)) continue;
        lay_offset(&c->offsets[i], c->shares[i], local);
        c->bent = true;
    }
}

void customise_lay(const struct customise *c, struct trs *locals)
{
    const struct model *m = c->model;
    for (size_t i = 0; c->bent && i < m->face_bones_count; i++)
        if (c->offsets[i].any && c->shares[i] > 0)
            lay_offset(&c->offsets[i], c->shares[i], &locals[m->face_bones[i].node]);
}

void customise_swap(const struct customise *c, struct trs *locals)
{
    for (size_t i = 0; i < c->model->face_bones_count; i++) {
        struct trs *local = &locals[c->model->face_bones[i].node], kept = *local;
        *local = c->before[i];
        c->before[i] = kept;
    }
}
