// Jiggle: soft flesh around a joint. The region hangs as one mass on a damped spring between it and
// the place that skinning gives its middle, and drags its vertices by their share of the region.
// The spring steps at a fixed rate over the joint's motion, interpolated between the instants that
// are known, so that frame rates do not change how it swings.
#include <math.h>
#include <string.h>

#include "server/character/surface/extras/extra.h"

static const double STEP_S = 1.0 / 480;
static const double REACH = 0.5; // of the region's radius, approached smoothly

struct jiggle {
    double anchor[3];         // where skinning puts the region's middle, model space
    double mass[3], speed[3]; // the mass there, model space and per second
    double phase_s;           // since the last whole step, < STEP_S
    double shown[3];          // displacement at this instant
};

static void anchor_of(const struct model_extra *e, const struct extra_motion *now, double out[3])
{
    xform_point(&now->model_from_node[e->node], e->center, out);
}

static void settle(const struct model_extra *e, const struct extra_motion *now, void *state)
{
    struct jiggle *j = state;
    *j = (struct jiggle){0};
    anchor_of(e, now, j->anchor);
    memcpy(j->mass, j->anchor, sizeof j->mass);
}

// One step towards `anchor`, which moves at `anchor_speed`: symplectic in the spring, implicit in
// the damper; stable up to 150 Hz.
static void step(struct jiggle *j, const struct model_extra *e, const double anchor[3],
                 const double anchor_speed[3])
{
    double omega = 6.283185307179586 * e->frequency_hz;
    double k = omega * omega, c = 2 * e->damping_ratio * omega;
    for (int r = 0; r < 3; r++) {
        double pull = k * (anchor[r] - j->mass[r]) + c * anchor_speed[r];
        j->speed[r] = (j->speed[r] + STEP_S * pull) / (1 + STEP_S * c);
        j->mass[r] += STEP_S * j->speed[r];
    }
}

// What is shown: the mass carried on to the instant, held back smoothly near the region's reach.
static bool show(struct jiggle *j, const struct model_extra *e, const double anchor[3])
{
    double square = 0, limit = REACH * e->radius, speed = 0;
    for (int r = 0; r < 3; r++) {
        j->shown[r] = j->mass[r] + j->phase_s * j->speed[r] - anchor[r];
        square += j->shown[r] * j->shown[r];
        speed += j->speed[r] * j->speed[r];
    }
    double scale = e->amount / sqrt(1 + square / (limit * limit));
    for (int r = 0; r < 3; r++)
        j->shown[r] *= scale;
    // A thousandth of a percent of the region is nothing: come to rest exactly.
    double nothing = 1e-5 * e->radius;
    return square > nothing * nothing ||
           speed > nothing * nothing * e->frequency_hz * e->frequency_hz;
}

static bool advance(const struct model_extra *e, const struct extra_motion *now, void *state)
{
    struct jiggle *j = state;
    double anchor[3], anchor_speed[3] = {0}, left = now->dt_s, moved = 0;
    anchor_of(e, now, anchor);
    for (int r = 0; r < 3; r++) {
        double d = anchor[r] - j->anchor[r];
        if (!isfinite(anchor[r])) return false;
        if (now->dt_s > 0) anchor_speed[r] = d / now->dt_s;
        moved += d * d;
    }
    j->phase_s += now->dt_s;
    while (j->phase_s >= STEP_S) {
        double at[3];
        j->phase_s -= STEP_S;
        for (int r = 0; r < 3; r++) // where the anchor is at the step's end
            at[r] = anchor[r] - fmin(j->phase_s, left) * anchor_speed[r];
        step(j, e, at, anchor_speed);
    }
    memcpy(j->anchor, anchor, sizeof anchor);
    if (show(j, e, anchor) || moved > 0) return true;
    settle(e, now, j);
    return false;
}

static void apply(const struct model *m, const struct model_extra *e, const void *state,
                  struct surface_block *blocks, size_t first, size_t count)
{
    const struct jiggle *j = state;
    float shown[3] = {(float)j->shown[0], (float)j->shown[1], (float)j->shown[2]};
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

const struct extra_kind extra_jiggle = {"jiggle", sizeof(struct jiggle), settle, advance, apply};
