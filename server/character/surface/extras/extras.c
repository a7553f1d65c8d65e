#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/character/surface/extras/extra.h"

// Plugins keep their state with whoever runs them.
static size_t no_bytes(const struct model *m, const struct model_extra *e)
{
    (void)m;
    (void)e;
    return 0;
}
static const struct extra_kind extra_plugin_kind = {.name = "plugin", .state_bytes = no_bytes};

static const struct extra_kind *kind_of(const struct model_extra *e)
{
    static const struct extra_kind *const kinds[] = {[MODEL_EXTRA_JIGGLE] = &extra_jiggle,
                                                     [MODEL_EXTRA_MUSCLE] = &extra_muscle,
                                                     [MODEL_EXTRA_CLOTH] = &extra_cloth,
                                                     [MODEL_EXTRA_PLUGIN] = &extra_plugin_kind};
    CHECK(e->kind < sizeof kinds / sizeof kinds[0]); // validate saw to it
    return kinds[e->kind];
}

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static size_t state_bytes(const struct model *m, size_t i)
{
    return padded(kind_of(&m->extras[i])->state_bytes(m, &m->extras[i]));
}

size_t extras_bytes(const struct model *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < m->extras_count; i++)
        bytes += state_bytes(m, i);
    return bytes;
}

struct extras extras_take(const struct model *m, void *memory)
{
    struct extras x = {.model = m, .states = memory, .latest = memory};
    x.shown = x.states + extras_bytes(m);
    for (int i = 0; i < MODEL_EXTRAS_MAX; i++)
        x.activation[i] = NAN;
    return x;
}

static bool is_off(const struct extras *x, size_t i)
{
    return (((x->off | x->skipped) >> i) & 1) != 0;
}

static uint64_t start_clock(const struct extras *x)
{
    return x->clock_ns ? x->clock_ns() : 0;
}

static void stop_clock(const struct extras *x, size_t i, uint64_t began)
{
    if (x->clock_ns)
        atomic_fetch_add_explicit(&x->spent_ns[i], x->clock_ns() - began, memory_order_relaxed);
}

static float activation_of(const struct extras *x, size_t i)
{
    const struct model_extra *e = &x->model->extras[i];
    if (e->kind != MODEL_EXTRA_MUSCLE) return 0;
    return isnan(x->activation[i]) ? (float)x->model->fibres[e->item].activation : x->activation[i];
}

static enum extra_does advance_one(struct extras *x, size_t i, struct extra_motion *here,
                                   unsigned char *state)
{
    const struct model_extra *e = &x->model->extras[i];
    const struct extra_kind *kind = kind_of(e);
    uint64_t bit = (uint64_t)1 << i;
    bool plugin = e->kind == MODEL_EXTRA_PLUGIN;
    if ((x->skipped & bit) != 0) return EXTRA_NOTHING; // it goes on from where it was
    if ((x->off & bit) != 0 || (plugin && !(x->plugins && x->plugins[i].owner))) {
        x->settled &= ~bit;
        return EXTRA_NOTHING;
    }
    here->cut = here->cut || !(x->settled & bit);
    here->activation = activation_of(x, i);
    x->settled |= bit;
    x->whole = x->whole || plugin;
    // What a plugin does is known after its step; until it has said that it stands it moves.
    if (plugin) return here->cut ? EXTRA_MOVES : (enum extra_does)x->does[i];
    return here->cut ? kind->settle(e, here, state) : kind->advance(e, here, state);
}

static uint64_t all_of(const struct model *m)
{
    return m->extras_count == 64 ? UINT64_MAX : ((uint64_t)1 << m->extras_count) - 1;
}

bool extras_advance(struct extras *x, const struct extra_motion *now, bool keep)
{
    uint64_t rests = x->off | x->skipped | x->settled;
    x->now = *now;
    x->now.cut = !(now->dt_s >= 0) || now->dt_s > EXTRAS_GAP_S;
    keep = keep || x->now.cut || (rests & all_of(x->model)) != all_of(x->model);
    x->latest = keep ? x->states : x->shown;
    if (!keep) memcpy(x->shown, x->states, extras_bytes(x->model));
    unsigned char *state = x->latest;
    x->moving = x->applied = x->whole = false;
    x->cuts = 0;
    for (size_t i = 0; i < x->model->extras_count; i++) {
        struct extra_motion here = x->now;
        uint64_t began = start_clock(x);
        enum extra_does does = advance_one(x, i, &here, state);
        stop_clock(x, i, began);
        x->does[i] = (uint8_t)does;
        x->cuts |= (uint64_t)here.cut << i;
        x->moving = x->moving || does == EXTRA_MOVES;
        x->applied = x->applied || x->whole || does != EXTRA_NOTHING;
        state += state_bytes(x->model, i);
    }
    return keep;
}

static void step_plugin(struct extras *x, size_t i, struct surface_block *blocks)
{
    struct extra_motion here = x->now;
    if (is_off(x, i) || !x->plugins || !x->plugins[i].owner) return;
    here.cut = (x->cuts >> i) & 1;
    here.dt_s = here.cut ? 0 : x->now.age_s - x->stepped_s;
    x->does[i] = (uint8_t)x->plugins[i].step(x->plugins[i].owner, &here, blocks);
    x->moving = x->moving || x->does[i] == EXTRA_MOVES;
}

void extras_apply(struct extras *x, struct surface_block *blocks, size_t first, size_t count)
{
    const struct model *m = x->model;
    const unsigned char *state = x->latest;
    for (size_t i = 0; i < m->extras_count && x->applied; i++) {
        const struct model_extra *e = &m->extras[i];
        uint64_t began = start_clock(x);
        if (e->kind == MODEL_EXTRA_PLUGIN) {
            step_plugin(x, i, blocks);
        } else if (x->does[i] != EXTRA_NOTHING) {
            kind_of(e)->apply(m, e, state, blocks, first, count);
        }
        stop_clock(x, i, began);
        state += state_bytes(m, i);
    }
    if (x->whole) x->stepped_s = x->now.age_s;
}

void extras_inherit(struct extras *x, const struct extras *from)
{
    const struct model *m = x->model, *old = from->model;
    unsigned char *state = x->states;
    for (size_t i = 0; i < m->extras_count; i++) {
        const struct model_extra *e = &m->extras[i];
        const unsigned char *old_state = from->states;
        for (size_t k = 0; k < old->extras_count; k++) {
            const struct model_extra *o = &old->extras[k];
            if (o->kind == e->kind &&
                strcmp(model_text(m, e->name), model_text(old, o->name)) == 0) {
                uint64_t bit = (uint64_t)1 << i;
                x->off = (from->off >> k) & 1 ? x->off | bit : x->off & ~bit;
                x->activation[i] = from->activation[k];
                if ((from->settled >> k) & 1 && kind_of(e)->inherit &&
                    kind_of(e)->inherit(m, e, state, old, o, old_state)) {
                    x->does[i] = from->does[k];
                    x->settled |= bit;
                }
                break;
            }
            old_state += state_bytes(old, k);
        }
        state += state_bytes(m, i);
    }
    x->moving = x->moving || from->moving;
}

int32_t extras_find(const struct model *m, const char *name)
{
    for (size_t i = 0; i < m->extras_count; i++)
        if (*name && strcmp(model_text(m, m->extras[i].name), name) == 0) return (int32_t)i;
    return MODEL_NONE;
}
