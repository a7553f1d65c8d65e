#include <math.h>

#include "server/model/validate_own.h"

static enum err check_move(const struct model *m, size_t i, struct fault *f)
{
    const struct model_move *v = &m->moves[i];
    if (v->kind >= MODEL_MOVE_COUNT || (i > 0 && v->kind <= m->moves[i - 1].kind))
        return validate_bad(f, "moves", i, "kinds must rise");
    if (v->clip >= m->clips_count || v->source > MODEL_CONTROL_BY_MOTION || v->quarter > 3)
        return validate_bad(f, "moves", i, "its clip, source or direction");
    if (v->root != MODEL_NONE && (v->root < 0 || (size_t)v->root >= m->nodes_count))
        return validate_bad(f, "moves", i, "no such node");
    if (!validate_finite(v->root_step, sizeof v->root_step) || !(v->speed >= 0) ||
        !(v->speed < 1e9F) || !(v->phase >= 0 && v->phase < 1) ||
        !(v->stride >= 0 && v->stride < 1e9F))
        return validate_bad(f, "moves", i, "a number is out of range");
    if (v->speed > 0 && (!(m->clips[v->clip].duration_s > 0) || !(v->stride > 0)))
        return validate_bad(f, "moves", i, "it moves, but its clip has no length");
    return ERR_OK;
}

static bool is_below(const struct model *m, int32_t node, int32_t above)
{
    while (node != MODEL_NONE && node > above)
        node = m->nodes[node].parent;
    return node == above;
}

static bool is_node(const struct model *m, int32_t node)
{
    return node >= 0 && (size_t)node < m->nodes_count;
}

static enum err check_leg(const struct model *m, size_t i, struct fault *f)
{
    const struct model_leg *l = &m->legs[i];
    bool bends = l->hip != MODEL_NONE;
    if (!bends && (l->knee != MODEL_NONE || l->ankle != MODEL_NONE || l->foot != MODEL_NONE))
        return validate_bad(f, "legs", i, "it has no hip");
    if (bends && (!is_node(m, l->hip) || !is_node(m, l->knee) || !is_node(m, l->ankle) ||
                  l->hip == l->knee || l->knee == l->ankle || !is_below(m, l->knee, l->hip) ||
                  !is_below(m, l->ankle, l->knee)))
        return validate_bad(f, "legs", i, "its joints do not follow each other");
    if (l->foot != MODEL_NONE && (!is_node(m, l->foot) || is_below(m, l->foot, l->hip)))
        return validate_bad(f, "legs", i, "its foot does not stand apart");
    if (!validate_finite(l->bend, sizeof l->bend) || !validate_finite(l->soles, sizeof l->soles) ||
        l->sole_count < 1 || l->sole_count > MODEL_SOLES_MAX)
        return validate_bad(f, "legs", i, "its soles");
    for (uint32_t k = 0; k < l->sole_count; k++)
        if (l->sole_nodes[k] >= m->nodes_count) return validate_bad(f, "legs", i, "no such node");
    return ERR_OK;
}

static enum err check_legs(const struct model *m, struct fault *f)
{
    if (m->legs_count > MODEL_LEGS_MAX) return validate_bad(f, "legs", 0, "too many legs");
    if (m->contacts_count != m->legs_count * m->moves_count)
        return validate_bad(f, "contacts", 0, "there must be one for each move and leg");
    for (size_t i = 0; i < m->legs_count; i++) {
        enum err e = check_leg(m, i, f);
        if (e != ERR_OK) return e;
    }
    for (size_t i = 0; i < m->contacts_count; i++) {
        const struct model_contact *c = &m->contacts[i];
        if (!(c->start >= 0 && c->start < 1) || !(c->length >= 0 && c->length <= 1) ||
            !validate_finite(&c->height, sizeof c->height))
            return validate_bad(f, "contacts", i, "a number is out of range");
    }
    return ERR_OK;
}

static enum err check_way(const struct model *m, size_t i, struct fault *f)
{
    const struct model_action_way *w = &m->action_ways[i];
    if (w->root != MODEL_NONE && (w->root < 0 || (size_t)w->root >= m->roots_count))
        return validate_bad(f, "action_ways", i, "no such root");
    if (!validate_range(w->mask_first, w->mask_count, m->action_masks_count))
        return validate_bad(f, "action_ways", i, "its mask lies outside the table");
    return ERR_OK;
}

static enum err check_bindings(const struct model *m, struct fault *f)
{
    if (m->bindings_count > MODEL_BINDINGS_MAX)
        return validate_bad(f, "bindings", 0, "too many bindings");
    for (size_t i = 0; i < m->bindings_count; i++) {
        const struct model_binding *b = &m->bindings[i];
        if (b->kind > MODEL_BINDING_MOVEMENT || b->source > MODEL_CONTROL_BY_MOTION ||
            b->input >= m->text_count)
            return validate_bad(f, "bindings", i, "its kind, source or input");
        if (b->action != MODEL_NONE && (b->action < 0 || (size_t)b->action >= m->actions_count))
            return validate_bad(f, "bindings", i, "no such action");
    }
    return ERR_OK;
}

static enum err check_ways(const struct model *m, struct fault *f)
{
    if (m->action_ways_count != m->actions_count)
        return validate_bad(f, "action_ways", 0, "there must be one for each action");
    for (size_t i = 0; i < m->action_masks_count; i++)
        if (m->action_masks[i] >= m->nodes_count)
            return validate_bad(f, "action_masks", i, "no such node");
    for (size_t i = 0; i < m->action_ways_count; i++) {
        enum err e = check_way(m, i, f);
        if (e != ERR_OK) return e;
    }
    return check_bindings(m, f);
}

enum err validate_controls(const struct model *m, struct fault *f)
{
    enum err e = ERR_OK;
    if (m->actions_count > MODEL_ACTIONS_MAX)
        return validate_bad(f, "actions", 0, "too many actions");
    for (size_t i = 0; i < m->moves_count && e == ERR_OK; i++)
        e = check_move(m, i, f);
    if (e == ERR_OK) e = check_legs(m, f);
    for (size_t i = 0; i < m->actions_count && e == ERR_OK; i++) {
        const struct model_action *a = &m->actions[i];
        if (a->name >= m->text_count || a->clip >= m->clips_count ||
            a->source > MODEL_CONTROL_BY_MOTION || !(a->fade_s >= 0 && a->fade_s <= 10))
            e = validate_bad(f, "actions", i, "its name, clip or fade");
    }
    return e == ERR_OK ? check_ways(m, f) : e;
}
