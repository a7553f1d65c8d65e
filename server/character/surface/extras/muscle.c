// Muscles: flesh that swells as it shortens, by the angle of a joint, by the distance of the points
// that it hangs on, or because it is told to. Along the fibre flesh moves towards the middle,
// a' = a + psi(a), psi = -c a w(a), and its distance from the fibre grows by 1 / sqrt(1 + psi'(a)):
// a map of determinant one, so that volume stays whatever the limb's shape. Skin slides over it:
// a share of what would drag it along itself is left out, which sweeps no volume either.
// On top it swings like what jiggles when the limb is hit.
#include <math.h>
#include <string.h>

#include "common/stable_math.h"
#include "server/character/surface/extras/swing.h"

static const double REACH = 0.25;     // of the radius
static const double ANSWERS_S = 0.05; // a muscle that is told to contract: time constant

struct muscle {
    struct swing swing;
    struct swing_mass mass;
    double active;             // what it is told, eased
    float middle[3], fibre[3]; // unit; model space
    float half_length;
    float contraction; // share of its length; 0: nothing moves
    float slide;
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

static double smooth(double c)
{
    c = c < 1e-5 ? 0 : fmin(c, 1); // rounding is no bend
    return c * c * (3 - 2 * c);
}

// How much of its contraction the pose asks for.
static double bent(const struct model_extra *e, const struct extra_motion *now,
                   const struct model_fibre *f)
{
    const struct model_muscle *x = &now->model->muscles[e->item];
    double ends[2][3], square = 0;
    if (!(f->shorter > 0))
        return turned(x, &now->model_from_node[e->node], &now->model_from_node[x->to]) /
               x->angle_rad;
    xform_point(&now->model_from_node[f->from], f->from_at, ends[0]);
    xform_point(&now->model_from_node[f->to], f->to_at, ends[1]);
    for (int r = 0; r < 3; r++)
        square += (ends[1][r] - ends[0][r]) * (ends[1][r] - ends[0][r]);
    return (1 - sqrt(square) / f->rest) / f->shorter;
}

static void contract(const struct model_extra *e, const struct extra_motion *now, struct muscle *s)
{
    const struct model_muscle *x = &now->model->muscles[e->item];
    const struct model_fibre *f = &now->model->fibres[e->item];
    const struct xform *from = &now->model_from_node[e->node], *to = &now->model_from_node[x->to];
    double line[3], fibre[3], middle[3], length = 0, size = 0;
    for (int r = 0; r < 3; r++) {
        line[r] = to->col[3][r] - from->col[3][r];
        length += line[r] * line[r];
        fibre[r] = from->col[0][r] * f->direction[0] + from->col[1][r] * f->direction[1] +
                   from->col[2][r] * f->direction[2];
        size += fibre[r] * fibre[r];
    }
    length = sqrt(length);
    if (!(size > 0)) {
        memcpy(fibre, line, sizeof fibre);
        size = length * length;
    }
    // Both pull: what one leaves, the other may take.
    double c = 1 - (1 - smooth(bent(e, now, f))) * (1 - s->active);
    bool fine = length > 0 && isfinite(length) && isfinite(c) && size > 0 && isfinite(size);
    s->contraction = fine ? (float)(x->bulge * c) : 0;
    s->half_length = (float)(x->half * length);
    s->slide = (float)f->slide;
    xform_point(from, e->center, middle);
    for (int r = 0; r < 3 && fine; r++) {
        s->middle[r] = (float)middle[r];
        s->fibre[r] = (float)(fibre[r] / sqrt(size));
    }
}

static size_t state_bytes(const struct model *m, const struct model_extra *e)
{
    (void)m;
    (void)e;
    return sizeof(struct muscle);
}

static void find_anchor(const struct model_extra *e, const struct extra_motion *now,
                        double anchor[1][3])
{
    struct drive_scene scene = drive_scene_of(now);
    double at[3];
    xform_point(&now->model_from_node[e->node], e->center, at);
    drive_to_scene(&scene, at, anchor[0]);
}

static enum extra_does settle(const struct model_extra *e, const struct extra_motion *now,
                              void *state)
{
    struct muscle *s = state;
    double anchor[1][3];
    *s = (struct muscle){.active = (double)now->activation};
    find_anchor(e, now, anchor);
    swing_settle(&s->swing, &s->mass, 1, anchor, now);
    contract(e, now, s);
    return s->contraction > 0 ? EXTRA_STANDS : EXTRA_NOTHING;
}

static enum extra_does advance(const struct model_extra *e, const struct extra_motion *now,
                               void *state)
{
    struct muscle *s = state;
    struct swing_spring spring = {.frequency_hz = e->frequency_hz,
                                  .damping_ratio = e->damping_ratio,
                                  .amount = e->amount,
                                  .limit = REACH * e->radius};
    double anchor[1][3], asked = (double)now->activation;
    find_anchor(e, now, anchor);
    bool swings = swing_advance(&s->swing, &s->mass, 1, anchor, &spring, now);
    s->active += (asked - s->active) * (1 - stable_exp(-now->dt_s / ANSWERS_S));
    bool answers = fabs(asked - s->active) > 1e-4;
    if (!answers) s->active = asked;
    contract(e, now, s);
    if (swings || answers) return EXTRA_MOVES;
    return s->contraction > 0 ? EXTRA_STANDS : EXTRA_NOTHING;
}

static void move_block(const struct muscle *s, const float *share, struct surface_block *b)
{
    const double *swing = s->mass.shown;
    float shown[3] = {(float)swing[0], (float)swing[1], (float)swing[2]};
    float over = s->half_length > 0 ? 1 / s->half_length : 0;
    for (int l = 0; l < MODEL_LANES; l++) {
        float d[3], u[3], along = 0, off = 0;
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
        for (int r = 0; r < 3; r++) {
            u[r] = out * d[r] + in * s->fibre[r];
            off += u[r] * b->normal[r][l];
        }
        for (int r = 0; r < 3; r++) {
            float slides = s->slide * (u[r] - off * b->normal[r][l]);
            b->position[r][l] += share[l] * (u[r] - slides + w * shown[r]);
        }
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

static bool inherit(const struct model *m, const struct model_extra *e, void *state,
                    const struct model *old, const struct model_extra *old_extra, const void *from)
{
    (void)m;
    (void)e;
    (void)old;
    (void)old_extra;
    memcpy(state, from, sizeof(struct muscle));
    return true;
}

const struct extra_kind extra_muscle = {"muscle", state_bytes, settle, advance, apply, inherit};
