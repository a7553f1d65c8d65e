#include <math.h>
#include <string.h>

#include "server/model/validate_own.h"

static bool is_text(const struct model *m, uint32_t offset)
{
    return offset < m->text_count;
}

static enum err check_parameter(const struct model *m, size_t i, struct fault *f)
{
    const struct model_parameter *p = &m->parameters[i];
    if (!is_text(m, p->name) || !is_text(m, p->group) || p->kind > MODEL_PARAMETER_EXPRESSION ||
        p->bone > 1)
        return validate_bad(f, "parameters", i, "its name, group or kind");
    float range[3] = {p->low, p->high, p->neutral};
    if (!validate_finite(range, sizeof range) || !(p->low <= p->high) || !(fabsf(p->low) < 1e9F) ||
        !(fabsf(p->high) < 1e9F))
        return validate_bad(f, "parameters", i, "its range");
    if (!validate_finite(p->from, sizeof p->from) || !validate_finite(p->to, sizeof p->to))
        return validate_bad(f, "parameters", i, "a factor is not finite");
    if (!validate_range(p->move_first, p->move_count, m->face_moves_count) ||
        !validate_range(p->mix_first, p->mix_count, m->face_mixes_count) ||
        !validate_range(p->option_first, p->option_count, m->face_options_count))
        return validate_bad(f, "parameters", i, "what it does lies outside the table");
    bool looks = p->kind == MODEL_PARAMETER_APPEARANCE;
    if (looks ? p->material < 0 || (size_t)p->material >= m->materials_count ||
                    p->property >= MODEL_PROPERTY_COUNT ||
                    (p->property >= MODEL_PROPERTY_FACTORS && p->option_count == 0)
              : p->material != MODEL_NONE)
        return validate_bad(f, "parameters", i, "its material or property");
    return ERR_OK;
}

static enum err check_lists(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->face_moves_count; i++) {
        const struct model_face_move *v = &m->face_moves[i];
        const struct quat *q = &v->rotation;
        float norm = q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w;
        if (v->bone >= m->face_bones_count) return validate_bad(f, "face_moves", i, "no such bone");
        if (!validate_finite(&v->translation, sizeof *v - sizeof v->bone) ||
            !(fabsf(norm - 1) < 1e-3F))
            return validate_bad(f, "face_moves", i, "a number is out of range");
    }
    for (size_t i = 0; i < m->face_mixes_count; i++)
        if (m->face_mixes[i].channel >= m->channels_count || !isfinite(m->face_mixes[i].weight))
            return validate_bad(f, "face_mixes", i, "no such channel, or its weight");
    for (size_t i = 0; i < m->face_options_count; i++)
        if (!is_text(m, m->face_options[i].name) || m->face_options[i].texture < MODEL_NONE ||
            m->face_options[i].texture >= (int64_t)m->textures_count)
            return validate_bad(f, "face_options", i, "its name or texture");
    return ERR_OK;
}

static enum err check_bones(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->face_bones_count; i++) {
        const struct model_face_bone *v = &m->face_bones[i];
        if (v->node >= m->nodes_count) return validate_bad(f, "face_bones", i, "no such node");
        if (!validate_range(v->pull_first, v->pull_count, m->face_pulls_count) ||
            !(v->speed >= 0 && v->speed < 1e9F))
            return validate_bad(f, "face_bones", i, "its pull-back");
        for (size_t k = 0; k < i; k++)
            if (m->face_bones[k].node == v->node)
                return validate_bad(f, "face_bones", i, "its node stands twice");
    }
    for (size_t i = 0; i < m->face_pulls_count; i++)
        if (m->face_pulls[i].shape >= m->shapes_count)
            return validate_bad(f, "face_pulls", i, "no such shape");
    return ERR_OK;
}

static enum err check_corrections(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->face_dials_count; i++) {
        const struct model_face_dial *d = &m->face_dials[i];
        if (!is_text(m, d->name) ||
            !validate_range(d->term_first, d->term_count, m->face_terms_count) ||
            !(d->low <= d->high) || !isfinite(d->low) || !isfinite(d->high))
            return validate_bad(f, "face_dials", i, "its name, terms or range");
    }
    for (size_t i = 0; i < m->face_terms_count; i++) {
        const struct model_face_term *t = &m->face_terms[i];
        if (t->parameter >= m->parameters_count || t->bone < MODEL_NONE ||
            t->bone >= (int64_t)m->face_bones_count || !isfinite(t->gain))
            return validate_bad(f, "face_terms", i, "its parameter, bone or gain");
    }
    for (size_t i = 0; i < m->face_corrections_count; i++) {
        const struct model_face_correction *c = &m->face_corrections[i];
        if (c->channel >= m->channels_count || c->of >= c->channel ||
            c->dial >= m->face_dials_count)
            return validate_bad(f, "face_corrections", i, "its channel or dial");
        if (!isfinite(c->before) || !isfinite(c->at) || !isfinite(c->after) ||
            !(c->before <= c->at) || !(c->at <= c->after) || !(c->before < c->after))
            return validate_bad(f, "face_corrections", i, "its hat");
    }
    for (size_t i = 0; i < m->face_rules_count; i++) {
        const struct model_face_rule *r = &m->face_rules[i];
        if (r->kind > MODEL_FACE_IN_BETWEEN || r->shape >= m->shapes_count || r->parent_count < 1 ||
            r->parent_count > MODEL_FACE_PARENTS_MAX ||
            (r->kind == MODEL_FACE_IN_BETWEEN && r->parent_count != 1))
            return validate_bad(f, "face_rules", i, "its kind, shape or parents");
        for (uint32_t k = 0; k < r->parent_count; k++)
            if (r->parents[k] >= m->shapes_count)
                return validate_bad(f, "face_rules", i, "no such parent");
        if (!isfinite(r->before) || !isfinite(r->at) || !isfinite(r->after) ||
            !(r->before <= r->at) || !(r->at <= r->after))
            return validate_bad(f, "face_rules", i, "its hat");
    }
    return ERR_OK;
}

static enum err check_expression(const struct model *m, size_t i, struct fault *f)
{
    const struct model_expression *e = &m->expressions[i];
    if (!is_text(m, e->name) || e->group > MODEL_EXPRESSION_MOUTH || e->binary > 1)
        return validate_bad(f, "expressions", i, "its name, group or kind");
    for (int k = 0; k < 3; k++)
        if (e->overrides[k] > MODEL_OVERRIDE_BLEND)
            return validate_bad(f, "expressions", i, "what it overrides");
    if (!validate_range(e->mix_first, e->mix_count, m->face_mixes_count) ||
        !validate_range(e->color_first, e->color_count, m->expression_colors_count) ||
        !validate_range(e->transform_first, e->transform_count, m->expression_transforms_count))
        return validate_bad(f, "expressions", i, "what it binds lies outside the table");
    return ERR_OK;
}

static enum err check_expressions(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->expressions_count; i++) {
        enum err e = check_expression(m, i, f);
        if (e != ERR_OK) return e;
    }
    for (size_t i = 0; i < m->expression_colors_count; i++) {
        const struct model_expression_color *c = &m->expression_colors[i];
        if (c->material >= m->materials_count || c->type > MODEL_COLOR_OTHER ||
            !validate_finite(c->target, sizeof c->target))
            return validate_bad(f, "expression_colors", i, "its material, type or colour");
    }
    for (size_t i = 0; i < m->expression_transforms_count; i++) {
        const struct model_expression_transform *t = &m->expression_transforms[i];
        if (t->material >= m->materials_count || !validate_finite(t->scale, sizeof t->scale) ||
            !validate_finite(t->offset, sizeof t->offset))
            return validate_bad(f, "expression_transforms", i, "its material or numbers");
    }
    return ERR_OK;
}

static enum err check_look_at(const struct model *m, struct fault *f)
{
    if (m->look_at_count > 1) return validate_bad(f, "look_at", 1, "there must be one at most");
    if (m->look_at_count == 0) return ERR_OK;
    const struct model_look_at *l = m->look_at;
    const int32_t nodes[] = {l->head, l->left_eye, l->right_eye};
    for (int i = 0; i < 3; i++)
        if (nodes[i] < MODEL_NONE || nodes[i] >= (int64_t)m->nodes_count)
            return validate_bad(f, "look_at", 0, "no such node");
    for (int i = 0; i < 4; i++)
        if (l->expressions[i] < MODEL_NONE || l->expressions[i] >= (int64_t)m->expressions_count)
            return validate_bad(f, "look_at", 0, "no such expression");
    if (l->type > MODEL_LOOK_EXPRESSION || !validate_finite(l->offset, sizeof l->offset) ||
        !validate_finite(l->map, sizeof l->map))
        return validate_bad(f, "look_at", 0, "its type or numbers");
    return ERR_OK;
}

enum err validate_face(const struct model *m, struct fault *f)
{
    if (m->parameters_count > MODEL_PARAMETERS_MAX)
        return validate_bad(f, "parameters", MODEL_PARAMETERS_MAX, "there are too many");
    if (m->expressions_count > MODEL_EXPRESSIONS_MAX)
        return validate_bad(f, "expressions", MODEL_EXPRESSIONS_MAX, "there are too many");
    if (m->face_bones_count > MODEL_PARAMETERS_MAX)
        return validate_bad(f, "face_bones", MODEL_PARAMETERS_MAX, "there are too many");
    for (size_t i = 0; i < m->parameters_count; i++) {
        enum err e = check_parameter(m, i, f);
        if (e != ERR_OK) return e;
    }
    enum err e = check_lists(m, f);
    if (e == ERR_OK) e = check_bones(m, f);
    if (e == ERR_OK) e = check_corrections(m, f);
    if (e == ERR_OK) e = check_expressions(m, f);
    if (e == ERR_OK) e = check_look_at(m, f);
    return e;
}
