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
        !(v->speed < 1e9F) || !(v->phase >= 0 && v->phase < 1))
        return validate_bad(f, "moves", i, "a number is out of range");
    if (v->speed > 0 && !(m->clips[v->clip].duration_s > 0))
        return validate_bad(f, "moves", i, "it moves, but its clip has no length");
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
    for (size_t i = 0; i < m->actions_count && e == ERR_OK; i++) {
        const struct model_action *a = &m->actions[i];
        if (a->name >= m->text_count || a->clip >= m->clips_count ||
            a->source > MODEL_CONTROL_BY_MOTION || !(a->fade_s >= 0 && a->fade_s <= 10))
            e = validate_bad(f, "actions", i, "its name, clip or fade");
    }
    return e == ERR_OK ? check_ways(m, f) : e;
}
