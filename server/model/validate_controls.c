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
    return e;
}
