// Jiggle: soft flesh around a joint. The region hangs as one mass behind the place that skinning
// gives its middle, and drags its vertices by their share of the region.
#include "server/character/surface/extras/swing.h"

static const double REACH = 0.5; // of the region's radius

static bool settle(const struct model_extra *e, const struct extra_motion *now, void *state)
{
    swing_settle(state, e, now);
    return false;
}

static bool advance(const struct model_extra *e, const struct extra_motion *now, void *state)
{
    struct swing_spring spring = {e->frequency_hz, e->damping_ratio, e->amount, REACH * e->radius};
    return swing_advance(state, e, &spring, now);
}

static void apply(const struct model *m, const struct model_extra *e, const void *state,
                  struct surface_block *blocks, size_t first, size_t count)
{
    const struct swing *s = state;
    float shown[3] = {(float)s->shown[0], (float)s->shown[1], (float)s->shown[2]};
    for (uint32_t i = 0; i < e->block_count; i++) {
        const struct model_extra_block *region = &m->extra_blocks[e->block_first + i];
        if (region->block < first || region->block >= first + count) continue;
        for (int r = 0; r < 3; r++) {
            float *out = blocks[region->block].position[r];
            for (int l = 0; l < MODEL_LANES; l++)
                out[l] = region->share[l] > 0 ? out[l] + region->share[l] * shown[r] : out[l];
        }
    }
}

const struct extra_kind extra_jiggle = {"jiggle", sizeof(struct swing), settle, advance, apply};
