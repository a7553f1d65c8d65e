// The kernel's body, included once by each correct_*.c: loops over 16 lanes that the compiler
// turns into whatever the file's flags allow.
#include <math.h>
#include <string.h>

#include "server/character/surface/correct_kernel.h"

enum { LANES = MODEL_LANES };

static int sum_deltas(const struct correct_row *row, float sum[3][LANES])
{
    int any = 0;
    memset(sum, 0, sizeof(float[3][LANES]));
    for (uint32_t i = 0; i < row->delta_count; i++) {
        const struct correct_delta *d = &row->deltas[i];
        float w = row->weights[d->weight];
        if (w == 0) continue;
        any = 1;
        if (d->packed) {
            const struct model_packed_block *p = &row->packed[d->at];
            float scaled = w * p->scale;
            for (int r = 0; r < 3; r++)
                for (int l = 0; l < LANES; l++)
                    sum[r][l] += scaled * (float)p->position[r][l];
        } else {
            const struct model_correction_block *p = &row->floats[d->at];
            for (int r = 0; r < 3; r++)
                for (int l = 0; l < LANES; l++)
                    sum[r][l] += w * p->position[r][l];
        }
    }
    return any;
}

// Nothing below 1.6 times the largest example, smooth to its second derivative, never above 2.
static void bound(const float limits[LANES], float sum[3][LANES])
{
    float square[LANES], over[LANES], any = 0;
    for (int l = 0; l < LANES; l++) {
        square[l] = sum[0][l] * sum[0][l] + sum[1][l] * sum[1][l] + sum[2][l] * sum[2][l];
        over[l] = square[l] > 2.56f * limits[l] * limits[l] ? 1.0f : 0.0f;
        any += over[l];
    }
    if (any == 0) return;
    for (int l = 0; l < LANES; l++) {
        if (over[l] == 0) continue;
        float length = sqrtf(square[l]), limit = limits[l], scale = 0;
        if (limit > 0) {
            float t = (length / limit - 1.6f) / 0.4f;
            scale = (1.6f + 0.4f * t / sqrtf(1 + t * t)) * limit / length;
        }
        for (int r = 0; r < 3; r++)
            sum[r][l] *= scale;
    }
}

// Lv (C - x0), Lv blended from the slots.
static void lay_linear(const struct correct_row *row, float sum[3][LANES])
{
    float e[3][3][LANES]; // [column][row of the matrix]
    for (uint32_t k = 0; k < row->block->influence_count; k++) {
        const struct skeleton_slot *s = &row->palette[row->slots[k]];
        float w[LANES];
        for (int l = 0; l < LANES; l++)
            w[l] =
                row->block->influence_count == 1 ? 1 : row->lane_weights[k * LANES + (uint32_t)l];
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++) {
                float m = s->col[c][r];
                if (k == 0)
                    for (int l = 0; l < LANES; l++)
                        e[c][r][l] = m * w[l];
                else
                    for (int l = 0; l < LANES; l++)
                        e[c][r][l] += m * w[l];
            }
    }
    float out[3][LANES];
    for (int r = 0; r < 3; r++)
        for (int l = 0; l < LANES; l++)
            out[r][l] = e[0][r][l] * sum[0][l] + e[1][r][l] * sum[1][l] + e[2][r][l] * sum[2][l];
    memcpy(sum, out, sizeof out);
}

// The slots' rotations, signs aligned to the heaviest of the lane, and stretches, blended.
static void blend_dual(const struct correct_row *row, float q[4][LANES], float h[6][LANES])
{
    uint32_t count = row->block->influence_count;
    float align[4][LANES], heaviest[LANES];
    for (int l = 0; l < LANES; l++)
        heaviest[l] = -1;
    for (uint32_t k = 0; k < count; k++)
        for (int l = 0; l < LANES; l++) {
            float w = count == 1 ? 1 : row->lane_weights[k * LANES + (uint32_t)l];
            if (!(w > heaviest[l])) continue;
            heaviest[l] = w;
            for (int i = 0; i < 4; i++)
                align[i][l] = row->dual_palette[row->slots[k]].rotation[i];
        }
    memset(q, 0, sizeof(float[4][LANES]));
    memset(h, 0, sizeof(float[6][LANES]));
    for (uint32_t k = 0; k < count; k++) {
        const struct skeleton_dual_slot *s = &row->dual_palette[row->slots[k]];
        for (int l = 0; l < LANES; l++) {
            float w = count == 1 ? 1 : row->lane_weights[k * LANES + (uint32_t)l], cosine = 0;
            for (int i = 0; i < 4; i++)
                cosine += align[i][l] * s->rotation[i];
            float signed_w = cosine < 0 ? -w : w;
            for (int i = 0; i < 4; i++)
                q[i][l] += signed_w * s->rotation[i];
            for (int i = 0; i < 6; i++)
                h[i][l] += w * s->stretch[i];
        }
    }
}

// R H (C - x0).
static void lay_dual(const struct correct_row *row, float sum[3][LANES])
{
    float q[4][LANES], h[6][LANES];
    blend_dual(row, q, h);
    for (int l = 0; l < LANES; l++) {
        float x = h[0][l] * sum[0][l] + h[3][l] * sum[1][l] + h[4][l] * sum[2][l];
        float y = h[3][l] * sum[0][l] + h[1][l] * sum[1][l] + h[5][l] * sum[2][l];
        float z = h[4][l] * sum[0][l] + h[5][l] * sum[1][l] + h[2][l] * sum[2][l];
        float n = q[0][l] * q[0][l] + q[1][l] * q[1][l] + q[2][l] * q[2][l] + q[3][l] * q[3][l];
        float s = 2 / n;
        float cx = q[1][l] * z - q[2][l] * y, cy = q[2][l] * x - q[0][l] * z,
              cz = q[0][l] * y - q[1][l] * x;
        sum[0][l] = x + s * (q[3][l] * cx + q[1][l] * cz - q[2][l] * cy);
        sum[1][l] = y + s * (q[3][l] * cy + q[2][l] * cx - q[0][l] * cz);
        sum[2][l] = z + s * (q[3][l] * cz + q[0][l] * cy - q[1][l] * cx);
    }
}

static void lay_mixed(const struct correct_row *row, float sum[3][LANES])
{
    float dual[3][LANES];
    memcpy(dual, sum, sizeof dual);
    lay_linear(row, sum);
    lay_dual(row, dual);
    for (int r = 0; r < 3; r++)
        for (int l = 0; l < LANES; l++)
            sum[r][l] = row->dual_lanes >> l & 1 ? dual[r][l] : sum[r][l];
}

static int correct_row_run(const struct correct_row *row)
{
    float sum[3][LANES];
    if (!sum_deltas(row, sum)) return 0;
    bound(row->limits, sum);
    if (row->dual_lanes == 0xFFFF)
        lay_dual(row, sum);
    else if (row->dual_lanes)
        lay_mixed(row, sum);
    else
        lay_linear(row, sum);
    uint32_t last = row->block->lane_count - 1;
    for (int r = 0; r < 3; r++) {
        float *out = row->out->position[r];
        // Only where something is added, so that untouched lanes keep their bits (-0 + 0 would
        // not).
        for (int l = 0; l < LANES; l++)
            out[l] = sum[r][l] != 0 ? out[l] + sum[r][l] : out[l];
        for (uint32_t l = last + 1; l < LANES; l++)
            out[l] = out[last];
    }
    return 1;
}
