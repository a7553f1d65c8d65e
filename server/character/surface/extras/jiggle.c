// Jiggle: soft flesh around a joint. The region hangs as masses behind the places that skinning
// gives them, and each drags its vertices by their share of it: u = sum over masses of s_m d_m.
//
// Flesh keeps its volume: what the masses sweep, d . A with A the integral of s n over the surface,
// is taken back along the normals of the rim, where the share is neither none nor whole:
// u -= lambda 4 s (1 - s) n, lambda = volume * sum d_m . A_m / (integral of 4 s (1 - s)).
#include <math.h>
#include <string.h>

#include "server/character/surface/extras/swing.h"

struct jiggle {
    struct swing swing;
    float rim; // lambda
    uint32_t mass_count;
    // then: the masses, the colliders
};

static size_t state_bytes(const struct model *m, const struct model_extra *e)
{
    const struct model_soft *s = soft_of(m, e);
    return sizeof(struct jiggle) + s->particle_count * sizeof(struct swing_mass) +
           s->collider_count * sizeof(struct soft_collider);
}

static struct swing_mass *masses_of(void *state)
{
    return (struct swing_mass *)((struct jiggle *)state + 1);
}

static struct soft_collider *colliders_of(const struct model_soft *s, void *state)
{
    return (struct soft_collider *)(masses_of(state) + s->particle_count);
}

static void find_anchors(const struct model_soft *s, const struct extra_motion *now,
                         double (*anchors)[3])
{
    struct drive_scene scene = drive_scene_of(now);
    for (uint32_t i = 0; i < s->particle_count; i++)
        soft_anchor(&now->model->particles[s->particle_first + i], now, &scene, anchors[i]);
}

enum { MASSES_MAX = 64 };

static enum extra_does settle(const struct model_extra *e, const struct extra_motion *now,
                              void *state)
{
    const struct model_soft *s = soft_of(now->model, e);
    struct drive_scene scene = drive_scene_of(now);
    struct jiggle *j = state;
    double anchors[MASSES_MAX][3];
    *j = (struct jiggle){.mass_count = s->particle_count};
    find_anchors(s, now, anchors);
    swing_settle(&j->swing, masses_of(state), s->particle_count, anchors, now);
    soft_colliders_next(now->model, s, now, &scene, true, colliders_of(s, state));
    // What stands in a collider's way is not at rest.
    return s->collider_count > 0 ? EXTRA_MOVES : EXTRA_NOTHING;
}

// What the rim takes back of what the masses sweep.
static float find_rim(const struct model_extra *e, const struct model_soft *s,
                      const struct extra_motion *now, const struct swing_mass *masses)
{
    const struct xform *node = &now->model_from_node[e->node];
    double swept = 0;
    if (!(s->ring > 0)) return 0;
    for (uint32_t i = 0; i < s->particle_count; i++)
        for (int r = 0; r < 3; r++) {
            const float *a = now->model->particles[s->particle_first + i].area;
            swept += masses[i].shown[r] *
                     (node->col[0][r] * (double)a[0] + node->col[1][r] * (double)a[1] +
                      node->col[2][r] * (double)a[2]);
        }
    double rim = s->volume * swept / s->ring;
    return (float)fmin(fmax(rim, -s->limit), s->limit);
}

static enum extra_does advance(const struct model_extra *e, const struct extra_motion *now,
                               void *state)
{
    const struct model_soft *s = soft_of(now->model, e);
    struct drive_scene scene = drive_scene_of(now);
    struct jiggle *j = state;
    struct soft_collider *colliders = colliders_of(s, state);
    double anchors[MASSES_MAX][3];
    struct swing_spring spring = {.frequency_hz = e->frequency_hz,
                                  .damping_ratio = e->damping_ratio,
                                  .amount = e->amount,
                                  .limit = s->limit,
                                  .links = now->model->links + s->link_first,
                                  .link_count = s->link_count,
                                  .colliders = colliders,
                                  .collider_count = s->collider_count,
                                  .hit_radius = s->hit_radius};
    find_anchors(s, now, anchors);
    soft_colliders_next(now->model, s, now, &scene, !(now->dt_s > 0), colliders);
    bool swings =
        swing_advance(&j->swing, masses_of(state), s->particle_count, anchors, &spring, now);
    j->rim = find_rim(e, s, now, masses_of(state));
    return swings ? EXTRA_MOVES : EXTRA_NOTHING;
}

// Displacements of one block's lanes by their masses.
static void gather(const struct swing_mass *masses, const struct model_hold *b,
                   const float share[MODEL_LANES], float u[3][MODEL_LANES])
{
    for (int l = 0; l < MODEL_LANES; l++)
        for (int r = 0; r < 3; r++)
            u[r][l] = b ? 0 : share[l] * (float)masses[0].shown[r];
    for (int k = 0; b && k < 4; k++)
        for (int l = 0; l < MODEL_LANES; l++)
            for (int r = 0; r < 3; r++)
                u[r][l] += b->weight[k][l] * (float)masses[b->particle[k][l]].shown[r];
}

static void apply(const struct model *m, const struct model_extra *e, const void *state,
                  struct surface_block *blocks, size_t first, size_t count)
{
    const struct jiggle *j = state;
    const struct swing_mass *masses = (const struct swing_mass *)(j + 1);
    const struct model_soft *s = soft_of(m, e);
    for (uint32_t i = 0; i < e->block_count; i++) {
        const struct model_extra_block *region = &m->extra_blocks[e->block_first + i];
        if (region->block < first || region->block >= first + count) continue;
        struct surface_block *block = &blocks[region->block];
        float u[3][MODEL_LANES];
        gather(masses, s->hold_count ? &m->holds[s->hold_first + i] : NULL, region->share, u);
        for (int r = 0; r < 3; r++) {
            float *out = block->position[r];
            const float *normal = block->normal[r];
            for (int l = 0; l < MODEL_LANES; l++) {
                float share = region->share[l], rim = j->rim * 4 * share * (1 - share);
                out[l] = share > 0 ? out[l] + (u[r][l] - rim * normal[l]) : out[l];
            }
        }
    }
}

static bool inherit(const struct model *m, const struct model_extra *e, void *state,
                    const struct model *old, const struct model_extra *old_extra, const void *from)
{
    const struct model_soft *s = soft_of(m, e);
    const struct jiggle *j = from;
    if (j->mass_count != s->particle_count) return false;
    memset(state, 0, state_bytes(m, e));
    memcpy(state, from, sizeof *j + s->particle_count * sizeof(struct swing_mass));
    if (soft_of(old, old_extra)->collider_count != s->collider_count) return true;
    memcpy(colliders_of(s, state), (const struct swing_mass *)(j + 1) + s->particle_count,
           s->collider_count * sizeof(struct soft_collider));
    return true;
}

const struct extra_kind extra_jiggle = {"jiggle", state_bytes, settle, advance, apply, inherit};
