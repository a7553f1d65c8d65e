#include "server/character/pose/expressions.h"

#include <math.h>

static float valued(const struct model_expression *e, float value)
{
    if (isnan(value)) return 0;
    value = fminf(fmaxf(value, 0), 1);
    return e->binary ? (value > 0.5F ? 1.0F : 0.0F) : value;
}

struct expression_factors expressions_resolve(const struct model *m, const float *values,
                                              float *outputs)
{
    float taken[3] = {0}, left[3];
    for (size_t i = 0; i < m->expressions_count; i++) {
        const struct model_expression *e = &m->expressions[i];
        float value = valued(e, values[i]);
        for (int k = 0; k < 3 && value > 0; k++)
            if (e->overrides[k] == MODEL_OVERRIDE_BLOCK)
                taken[k] += 1;
            else if (e->overrides[k] == MODEL_OVERRIDE_BLEND)
                taken[k] += value;
    }
    for (int k = 0; k < 3; k++)
        left[k] = 1 - fminf(taken[k], 1);
    const float of_group[] = {[MODEL_EXPRESSION_FREE] = 1,
                              [MODEL_EXPRESSION_BLINK] = left[0],
                              [MODEL_EXPRESSION_LOOK_AT] = left[1],
                              [MODEL_EXPRESSION_MOUTH] = left[2]};
    for (size_t i = 0; i < m->expressions_count; i++) {
        const struct model_expression *e = &m->expressions[i];
        float factor = of_group[e->group];
        if (e->binary && factor < 1) factor = 0;
        outputs[i] = valued(e, values[i]) * factor;
    }
    return (struct expression_factors){left[0], left[1], left[2]};
}

void expressions_mix(const struct model *m, const float *outputs, float *weights)
{
    for (size_t i = 0; i < m->expressions_count; i++) {
        const struct model_expression *e = &m->expressions[i];
        for (uint32_t k = 0; k < e->mix_count && outputs[i] != 0; k++) {
            const struct model_face_mix *x = &m->face_mixes[e->mix_first + k];
            weights[x->channel] += outputs[i] * x->weight;
        }
    }
}
