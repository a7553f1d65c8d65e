#include "server/character/pose/face_state.h"

#include <math.h>
#include <string.h>

#include "server/character/pose/gaze.h"

size_t face_state_ids(const struct model *m)
{
    return m->shapes_count + m->expressions_count;
}

size_t face_state_bytes(const struct model *m)
{
    enum { PADDING = 256 };
    return (face_state_ids(m) + 2 * m->expressions_count) * sizeof(float) + customise_bytes(m) +
           PADDING;
}

struct face_state face_state_take(const struct model *m, struct arena *a)
{
    struct face_state f = {.model = m,
                           .values = ARENA_ARRAY(a, float, face_state_ids(m)),
                           .outputs = ARENA_ARRAY(a, float, m->expressions_count),
                           .wanted = ARENA_ARRAY(a, float, m->expressions_count),
                           .customise = customise_take(m, a)};
    for (size_t i = 0; i < face_state_ids(m); i++)
        f.values[i] = NAN;
    for (size_t i = 0; i < m->expressions_count; i++)
        f.outputs[i] = 0;
    return f;
}

void face_state_set(struct face_state *f, const struct face_parts *parts, float value)
{
    for (uint32_t i = 0; i < parts->count; i++)
        f->values[parts->parts[i].id] = fminf(fmaxf(value * parts->parts[i].share, -2), 2);
}

static void express(struct face_state *f, struct pose pose)
{
    const struct model *m = f->model;
    if (m->expressions_count == 0 && m->look_at_count == 0) return;
    bool looks = f->looks && m->look_at_count > 0;
    if (m->expressions_count > 0)
        memcpy(f->wanted, f->values + m->shapes_count, m->expressions_count * sizeof *f->wanted);
    if (looks && m->look_at->type == MODEL_LOOK_EXPRESSION)
        gaze_expressions(m, f->yaw, f->pitch, f->wanted);
    struct expression_factors left = expressions_resolve(m, f->wanted, f->wanted);
    for (size_t i = 0; i < m->expressions_count; i++) {
        const struct model_expression *e = &m->expressions[i];
        bool same = !(f->outputs[i] < f->wanted[i] || f->outputs[i] > f->wanted[i]);
        if (!same && e->color_count + e->transform_count > 0) f->expressed++;
        f->outputs[i] = f->wanted[i];
    }
    expressions_mix(m, f->outputs, pose.weights);
    if (looks && m->look_at->type == MODEL_LOOK_BONE)
        gaze_bones(m, f->yaw, f->pitch, (double)left.look_at, pose.locals);
}

void face_state_weights(struct face_state *f, struct pose pose, double dt_s, bool faceless)
{
    const struct model *m = f->model;
    for (size_t c = 0; c < m->channels_count; c++)
        if (!isnan(f->values[m->channels[c].shape]))
            pose.weights[c] = f->values[m->channels[c].shape];
    express(f, pose);
    customise_mix(&f->customise, pose.weights);
    for (size_t c = 0; faceless && c < m->channels_count; c++)
        pose.weights[c] = 0;
    customise_advance(&f->customise, pose.weights, dt_s);
    customise_correct(&f->customise, pose.weights);
}

void face_state_bones(struct face_state *f, struct trs *locals)
{
    customise_bones(&f->customise, locals);
}
