// The kernel's body, included once by each correct_*.c: LANES_WIDTH lanes of the row at a time, as
// wide as the file's flags allow.
#include <math.h>

#include "server/character/surface/correct_kernel.h"
#include "server/character/surface/lanes.h"

enum { LANES = MODEL_LANES };

// What the kernel has at hand for lanes l .. l + LANES_WIDTH.
static inline int sum_deltas(const struct correct_row *row, int l, lanes sum[3])
{
    int any = 0;
    sum[0] = sum[1] = sum[2] = lanes_all(0);
    for (uint32_t i = 0; i < row->delta_count; i++) {
        const struct correct_delta *d = &row->deltas[i];
        float w = row->weights[d->weight];
        if (w == 0) continue;
        any = 1;
        if (d->packed) {
            const struct model_packed_block *p = &row->packed[d->at];
            lanes scaled = lanes_all(w * p->scale);
            for (int r = 0; r < 3; r++)
                sum[r] = lanes_add(sum[r], lanes_mul(scaled, lanes_from_int16(&p->position[r][l])));
        } else {
            const struct model_correction_block *p = &row->floats[d->at];
            lanes weight = lanes_all(w);
            for (int r = 0; r < 3; r++)
                sum[r] = lanes_add(sum[r], lanes_mul(weight, lanes_load(&p->position[r][l])));
        }
    }
    return any;
}

// Nothing below 1.6 times the largest example, smooth to its second derivative, never above 2.
static inline void bound(const float *limits, lanes sum[3])
{
    lanes limit = lanes_load(limits), square = lanes_dot(sum, sum);
    lanes free_square = lanes_mul(lanes_mul(lanes_all(2.56f), limit), limit);
    lanes_mask over = lanes_above(square, free_square);
    if (!lanes_any(over)) return;
    lanes zero = lanes_all(0), one = lanes_all(1);
    lanes_mask limited = lanes_above(limit, zero);
    lanes length = lanes_root(square);
    lanes safe = lanes_choose(limited, limit, one);
    lanes t = lanes_div(lanes_sub(lanes_div(length, safe), lanes_all(1.6f)), lanes_all(0.4f));
    lanes bent = lanes_div(t, lanes_root(lanes_add(one, lanes_mul(t, t))));
    lanes reach = lanes_add(lanes_all(1.6f), lanes_mul(lanes_all(0.4f), bent));
    lanes scale = lanes_div(lanes_mul(reach, safe), lanes_choose(over, length, one));
    scale = lanes_choose(over, lanes_choose(limited, scale, zero), one);
    for (int r = 0; r < 3; r++)
        sum[r] = lanes_mul(sum[r], scale);
}

static inline lanes influence(const struct correct_row *row, uint32_t k, int l)
{
    return row->block->influence_count == 1
               ? lanes_all(1)
               : lanes_load(&row->lane_weights[k * LANES + (uint32_t)l]);
}

// Lv (C - x0), Lv blended from the slots.
static inline void lay_linear(const struct correct_row *row, int l, const lanes sum[3],
                              lanes out[3])
{
    lanes e[3][3]; // [column][row of the matrix]
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            e[c][r] = lanes_all(0);
    for (uint32_t k = 0; k < row->block->influence_count; k++) {
        const struct skeleton_slot *s = &row->palette[row->slots[k]];
        lanes w = influence(row, k, l);
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                e[c][r] = lanes_add(e[c][r], lanes_mul(lanes_all(s->col[c][r]), w));
    }
    for (int r = 0; r < 3; r++)
        out[r] = lanes_add(lanes_add(lanes_mul(e[0][r], sum[0]), lanes_mul(e[1][r], sum[1])),
                           lanes_mul(e[2][r], sum[2]));
}

// The slots' rotations, signs aligned to the heaviest of the lane, and stretches, blended.
static inline void blend_dual(const struct correct_row *row, int l, lanes q[4], lanes h[6])
{
    uint32_t count = row->block->influence_count;
    lanes align[4], heaviest = lanes_all(-1), zero = lanes_all(0);
    for (int i = 0; i < 4; i++)
        align[i] = q[i] = zero;
    for (int i = 0; i < 6; i++)
        h[i] = zero;
    for (uint32_t k = 0; k < count; k++) {
        const struct skeleton_dual_slot *s = &row->dual_palette[row->slots[k]];
        lanes w = influence(row, k, l);
        lanes_mask heavier = lanes_above(w, heaviest);
        heaviest = lanes_choose(heavier, w, heaviest);
        for (int i = 0; i < 4; i++)
            align[i] = lanes_choose(heavier, lanes_all(s->rotation[i]), align[i]);
    }
    for (uint32_t k = 0; k < count; k++) {
        const struct skeleton_dual_slot *s = &row->dual_palette[row->slots[k]];
        lanes w = influence(row, k, l), cosine = zero;
        for (int i = 0; i < 4; i++)
            cosine = lanes_add(cosine, lanes_mul(align[i], lanes_all(s->rotation[i])));
        lanes turned = lanes_choose(lanes_above(zero, cosine), lanes_sub(zero, w), w);
        for (int i = 0; i < 4; i++)
            q[i] = lanes_add(q[i], lanes_mul(turned, lanes_all(s->rotation[i])));
        for (int i = 0; i < 6; i++)
            h[i] = lanes_add(h[i], lanes_mul(w, lanes_all(s->stretch[i])));
    }
}

// R H (C - x0).
static inline void lay_dual(const struct correct_row *row, int l, const lanes sum[3], lanes out[3])
{
    lanes q[4], h[6], cross[3], twice[3];
    blend_dual(row, l, q, h);
    const lanes rows[3][3] = {{h[0], h[3], h[4]}, {h[3], h[1], h[5]}, {h[4], h[5], h[2]}};
    lanes v[3] = {lanes_dot(rows[0], sum), lanes_dot(rows[1], sum), lanes_dot(rows[2], sum)};
    lanes n = lanes_add(lanes_dot(q, q), lanes_mul(q[3], q[3]));
    lanes s = lanes_div(lanes_all(2), n);
    lanes_cross(q, v, cross);
    lanes_cross(q, cross, twice);
    for (int r = 0; r < 3; r++)
        out[r] = lanes_add(v[r], lanes_mul(s, lanes_add(lanes_mul(q[3], cross[r]), twice[r])));
}

static inline void lay(const struct correct_row *row, int l, const lanes sum[3], lanes out[3])
{
    lanes dual[3];
    if (row->dual_lanes == 0xFFFF) {
        lay_dual(row, l, sum, out);
        return;
    }
    lay_linear(row, l, sum, out);
    if (!row->dual_lanes) return;
    lay_dual(row, l, sum, dual);
    for (int r = 0; r < 3; r++)
        out[r] = lanes_choose(lanes_bits(row->dual_lanes, l), dual[r], out[r]);
}

static int correct_row_run(const struct correct_row *row)
{
    for (int l = 0; l < LANES; l += LANES_WIDTH) {
        lanes sum[3], moved[3];
        if (!sum_deltas(row, l, sum)) return 0;
        bound(row->limits + l, sum);
        lay(row, l, sum, moved);
        for (int r = 0; r < 3; r++) {
            // Only where something is added, so that untouched lanes keep their bits (-0 + 0 would
            // not).
            float *out = &row->out->position[r][l];
            lanes now = lanes_load(out);
            lanes_mask any = lanes_above(lanes_abs(moved[r]), lanes_all(0));
            lanes_store(out, lanes_choose(any, lanes_add(now, moved[r]), now));
        }
    }
    uint32_t last = row->block->lane_count - 1;
    for (int r = 0; r < 3; r++)
        for (uint32_t l = last + 1; l < LANES; l++)
            row->out->position[r][l] = row->out->position[r][last];
    return 1;
}
