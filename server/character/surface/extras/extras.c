#include "common/check.h"
#include "server/character/surface/extras/extra.h"

static const struct extra_kind *kind_of(const struct model_extra *e)
{
    static const struct extra_kind *const kinds[] = {
        [MODEL_EXTRA_JIGGLE] = &extra_jiggle, [MODEL_EXTRA_MUSCLE] = &extra_muscle};
    CHECK(e->kind < sizeof kinds / sizeof kinds[0]); // validate saw to it
    return kinds[e->kind];
}

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t extras_bytes(const struct model *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < m->extras_count; i++)
        bytes += padded(kind_of(&m->extras[i])->state_bytes);
    return bytes;
}

struct extras extras_take(const struct model *m, void *memory)
{
    return (struct extras){.model = m, .states = memory};
}

void extras_advance(struct extras *x, const struct extra_motion *now)
{
    const struct model *m = x->model;
    unsigned char *state = x->states;
    bool settle = !x->started || !(now->dt_s >= 0) || now->dt_s > EXTRAS_GAP_S;
    x->started = true;
    x->moving = false;
    for (size_t i = 0; i < m->extras_count; i++) {
        const struct extra_kind *kind = kind_of(&m->extras[i]);
        bool moves = settle ? kind->settle(&m->extras[i], now, state)
                            : kind->advance(&m->extras[i], now, state);
        x->moving = moves || x->moving;
        state += padded(kind->state_bytes);
    }
}

void extras_apply(const struct extras *x, struct surface_block *blocks, size_t first, size_t count)
{
    const unsigned char *state = x->states;
    for (size_t i = 0; i < x->model->extras_count && x->moving; i++) {
        const struct extra_kind *kind = kind_of(&x->model->extras[i]);
        kind->apply(x->model, &x->model->extras[i], state, blocks, first, count);
        state += padded(kind->state_bytes);
    }
}
