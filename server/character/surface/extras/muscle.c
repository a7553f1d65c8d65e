// Muscles: a limb that swells as it bends. Along the fibre, from one joint to the next, flesh moves
// towards the middle, a' = a + psi(a), psi = -c a w(a), and its distance from the fibre grows by
// 1 / sqrt(1 + psi'(a)): a map of determinant one, so that volume stays whatever the limb's shape.
// On top it swings like what jiggles when the limb is hit.
#include <math.h>

#include "common/stable_math.h"
#include "server/character/surface/extras/swing.h"

static const double REACH = 0.25; // of the radius

struct muscle {
    struct swing swing;
    float middle[3], fibre[3]; // unit; model space
    float half_length;
    float contraction; // share of its length; 0: nothing moves
};

// How far `to` has turned from its place in the base pose, in [0, pi].
static double turned(const struct model_muscle *x, const struct xform *from, const struct xform *to)
{
    struct xform back, m;
    double r[3][3], axis = 0, trace = 0;
    if (!xform_invert(from, &back)) return 0;
    m = xform_mul(&back, to);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            r[i][k] = 0; // rest^T m, columns made unit
            double n = sqrt(m.col[k][0] * m.col[k][0] + m.col[k][1] * m.col[k][1] +
                            m.col[k][2] * m.col[k][2]);
            for (int j = 0; j < 3 && n > 0; j++)
                r[i][k] += x->rest[i][j] * m.col[k][j] / n;
        }
    for (int i = 0; i < 3; i++) {
        double s = r[(i + 1) % 3][(i + 2) % 3] - r[(i + 2) % 3][(i + 1) % 3];
        axis += s * s;
        trace += r[i][i];
    }
    return stable_atan2(sqrt(axis), trace - 1);
}

static void contract(const struct model_extra *e, const struct extra_motion *now, struct muscle *s)
{
    const struct model_muscle *x = &now->model->muscles[e->muscle];
    const struct xform *from = &now->model_from_node[e->node], *to = &now->model_from_node[x->to];
    double fibre[3], length = 0;
    for (int r = 0; r < 3; r++) {
        fibre[r] = to->col[3][r] - from->col[3][r];
        length += fibre[r] * fibre[r];
    }
    length = sqrt(length);
    double c = turned(x, from, to) / x->angle_rad;
    c = c < 1e-5 ? 0 : fmin(c, 1); // rounding is no bend
    c = c * c * (3 - 2 * c);
    s->contraction = length > 0 && isfinite(length) && isfinite(c) ? (float)(x->bulge * c) : 0;
    s->half_length = (float)(x->half * length);
    double middle[3];
    xform_point(from, e->center, middle);
    for (int r = 0; r < 3 && length > 0; r++) {
        s->middle[r] = (float)middle[r];
        s->fibre[r] = (float)(fibre[r] / length);
    }
}

static bool settle(const struct model_extra *e, const struct extra_motion *now, void *state)
{
    struct muscle *s = state;
    *s = (struct muscle){0};
    swing_settle(&s->swing, e, now);
    contract(e, now, s);
    return s->contraction > 0;
}

static bool advance(const struct model_extra *e, const struct extra_motion *now, void *state)
{
    struct muscle *s = state;
    struct swing_spring spring = {e->frequency_hz, e->damping_ratio, e->amount, REACH * e->radius};
    bool swings = swing_advance(&s->swing, e, &spring, now);
    contract(e, now, s);
    return swings || s->contraction > 0;
}

static void move_block(const struct muscle *s, const float *share, struct surface_block *b)
{
    float shown[3] = {(float)s->swing.shown[0], (float)s->swing.shown[1], (float)s->swing.shown[2]};
    float over = s->half_length > 0 ? 1 / s->half_length : 0;
    for (int l = 0; l < MODEL_LANES; l++) {
        float d[3], along = 0;
        if (!(share[l] > 0)) continue;
        for (int r = 0; r < 3; r++) {
            d[r] = b->position[r][l] - s->middle[r];
            along += d[r] * s->fibre[r];
        }
        float t = along * over, inside = 1 - t * t; // t of the half length; w = (1 - t^2)^3
        inside = inside > 0 ? inside : 0;
        float w = inside * inside * inside;
        float slope = -s->contraction * (w - 6 * t * t * inside * inside); // psi'
        float out = 1 / sqrtf(1 + slope) - 1;
        float in = -s->contraction * along * w - out * along; // what is across is d - along fibre
        for (int r = 0; r < 3; r++)
            b->position[r][l] += share[l] * (out * d[r] + in * s->fibre[r] + w * shown[r]);
    }
}

static void apply(const struct model *m, const struct model_extra *e, const void *state,
                  struct surface_block *blocks, size_t first, size_t count)
{
    for (uint32_t i = 0; i < e->block_count; i++) {
        const struct model_extra_block *region = &m->extra_blocks[e->block_first + i];
        if (region->block < first || region->block >= first + count) continue;
        move_block(state, region->share, &blocks[region->block]);
    }
}

const struct extra_kind extra_muscle = {"muscle", sizeof(struct muscle), settle, advance, apply};
