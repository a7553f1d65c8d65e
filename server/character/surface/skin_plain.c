// The baseline kernel: plain loops over the 16 lanes, which a compiler may vectorise as it likes.
// Written apart from skin_lanes.h, so that each checks the other.
#include <math.h>
#include <string.h>

#include "server/character/surface/skin_kernel.h"

enum { LANES = MODEL_LANES };

// gcc would unroll these short loops before it gets to vectorise them, which costs five times.
#define EACH_LANE _Pragma("GCC unroll 1") for (int i = 0; i < LANES; i++)

struct rows33 { // [column][row][lane]
    float at[3][3][LANES];
};

static void cross_rows(const float a[3][LANES], const float b[3][LANES], float out[3][LANES])
{
    for (int r = 0; r < 3; r++) {
        const float *a1 = a[(r + 1) % 3], *a2 = a[(r + 2) % 3];
        const float *b1 = b[(r + 1) % 3], *b2 = b[(r + 2) % 3];
        EACH_LANE
        out[r][i] = a1[i] * b2[i] - a2[i] * b1[i];
    }
}

static void apply_rows(const struct rows33 *m, const float v[3][LANES], float out[3][LANES])
{
    for (int r = 0; r < 3; r++)
        EACH_LANE
    out[r][i] = m->at[0][r][i] * v[0][i] + m->at[1][r][i] * v[1][i] + m->at[2][r][i] * v[2][i];
}

// One influence: the palette's own cofactors, whose sign was decided in double.
static void turn_normals_single(const struct skeleton_slot *s, const float n[3][LANES],
                                float out[3][LANES])
{
    for (int r = 0; r < 3; r++)
        EACH_LANE
    out[r][i] = s->normal[0][r] * n[0][i] + s->normal[1][r] * n[1][i] + s->normal[2][r] * n[2][i];
}

// sign(det) * cofactor(l) * n, not yet unit.
static void turn_normals(const struct rows33 *l, const float n[3][LANES], float out[3][LANES])
{
    struct rows33 cofactor;
    for (int c = 0; c < 3; c++)
        cross_rows(l->at[(c + 1) % 3], l->at[(c + 2) % 3], cofactor.at[c]);
    apply_rows(&cofactor, n, out);
    EACH_LANE
    {
        float det = 0, column = 0, cofactors = 0;
        for (int r = 0; r < 3; r++) {
            det += l->at[0][r][i] * cofactor.at[0][r][i];
            column += l->at[0][r][i] * l->at[0][r][i];
            cofactors += cofactor.at[0][r][i] * cofactor.at[0][r][i];
        }
        float sign = det < 0 && det * det > SKIN_FLAT * column * cofactors ? -1 : 1;
        for (int r = 0; r < 3; r++)
            out[r][i] *= sign;
    }
}

static void make_unit(const float base[3][LANES], float n[3][LANES])
{
    EACH_LANE
    {
        float length2 = n[0][i] * n[0][i] + n[1][i] * n[1][i] + n[2][i] * n[2][i];
        float s = 1 / sqrtf(length2);
        for (int r = 0; r < 3; r++)
            n[r][i] = length2 < SKIN_NORMAL_VANISHED ? base[r][i] : n[r][i] * s;
    }
}

static const float *block_weights(const struct skin_blocks *b, const struct model_block *block)
{
    static const float one[LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return block->influence_count == 1 ? one : b->weights + block->weight_first;
}

static void linear_block(const struct skin_blocks *b, size_t at)
{
    const struct model_block *block = &b->blocks[at];
    const struct model_rest_block *rest = &b->rest[at];
    const float *weights = block_weights(b, block);
    struct rows33 l = {{{{0}}}};
    float t[3][LANES] = {{0}};
    for (uint32_t k = 0; k < block->influence_count; k++) {
        const struct skeleton_slot *s = &b->palette[b->block_slots[block->slot_first + k]];
        const float *w = weights + (size_t)k * LANES;
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++)
                EACH_LANE
            l.at[c][r][i] += w[i] * s->col[c][r];
            EACH_LANE
            t[r][i] += w[i] * s->col[3][r];
        }
    }
    struct surface_block *out = &b->out[at];
    apply_rows(&l, rest->position, out->position);
    for (int r = 0; r < 3; r++)
        EACH_LANE
    out->position[r][i] += t[r][i];
    if (block->influence_count == 1)
        turn_normals_single(&b->palette[b->block_slots[block->slot_first]], rest->normal,
                            out->normal);
    else
        turn_normals(&l, rest->normal, out->normal);
    make_unit(rest->normal, out->normal);
}

void skin_linear_plain(const struct skin_blocks *b)
{
    for (size_t i = 0; i < b->count; i++)
        linear_block(b, i);
}

struct dual_lane { // one lane's blend
    float rotation[4], dual[4], stretch[6];
};

static struct dual_lane dual_lane_sum(const struct skeleton_dual_slot *palette,
                                      const uint16_t *slots, uint32_t count, const float *weights)
{
    uint32_t heaviest = 0;
    for (uint32_t k = 1; k < count; k++)
        if (weights[(size_t)k * LANES] > weights[(size_t)heaviest * LANES]) heaviest = k;
    const float *align = palette[slots[heaviest]].rotation;
    struct dual_lane sum = {{0}, {0}, {0}};
    for (uint32_t k = 0; k < count; k++) {
        const struct skeleton_dual_slot *s = &palette[slots[k]];
        float cosine = align[0] * s->rotation[0] + align[1] * s->rotation[1] +
                       align[2] * s->rotation[2] + align[3] * s->rotation[3];
        float w = weights[(size_t)k * LANES], signed_w = cosine < 0 ? -w : w;
        for (int e = 0; e < 4; e++) {
            sum.rotation[e] += signed_w * s->rotation[e];
            sum.dual[e] += signed_w * s->dual[e];
        }
        for (int e = 0; e < 6; e++)
            sum.stretch[e] += w * s->stretch[e];
    }
    const float *q = sum.rotation;
    float s = 1 / sqrtf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int e = 0; e < 4; e++) {
        sum.rotation[e] *= s;
        sum.dual[e] *= s;
    }
    return sum;
}

// Splits the blend of one lane into R (columns), t and H.
static void dual_lane_split(const struct dual_lane *d, float rotation[3][3], float t[3],
                            float h[3][3])
{
    float x = d->rotation[0], y = d->rotation[1], z = d->rotation[2], w = d->rotation[3];
    const float *e = d->dual, *g = d->stretch;
    float columns[3][3] = {
        {1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)},
        {2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)},
        {2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)},
    };
    float stretch[3][3] = {{g[0], g[3], g[4]}, {g[3], g[1], g[5]}, {g[4], g[5], g[2]}};
    memcpy(rotation, columns, sizeof columns);
    memcpy(h, stretch, sizeof stretch);
    t[0] = 2 * (w * e[0] - e[3] * x + y * e[2] - z * e[1]);
    t[1] = 2 * (w * e[1] - e[3] * y + z * e[0] - x * e[2]);
    t[2] = 2 * (w * e[2] - e[3] * z + x * e[1] - y * e[0]);
}

static void dual_block(const struct skin_blocks *b, size_t at)
{
    const struct model_block *block = &b->blocks[at];
    const struct model_rest_block *rest = &b->rest[at];
    const float *weights = block_weights(b, block);
    struct rows33 l;
    float t[3][LANES];
    EACH_LANE
    {
        struct dual_lane d = dual_lane_sum(b->dual_palette, b->block_slots + block->slot_first,
                                           block->influence_count, weights + i);
        float rotation[3][3], h[3][3], move[3];
        dual_lane_split(&d, rotation, move, h);
        for (int r = 0; r < 3; r++) {
            t[r][i] = move[r];
            for (int c = 0; c < 3; c++)
                l.at[c][r][i] =
                    rotation[0][r] * h[c][0] + rotation[1][r] * h[c][1] + rotation[2][r] * h[c][2];
        }
    }
    struct surface_block *out = &b->out[at];
    apply_rows(&l, rest->position, out->position);
    for (int r = 0; r < 3; r++)
        EACH_LANE
    out->position[r][i] += t[r][i];
    turn_normals(&l, rest->normal, out->normal);
    make_unit(rest->normal, out->normal);
}

void skin_dual_plain(const struct skin_blocks *b)
{
    for (size_t i = 0; i < b->count; i++)
        dual_block(b, i);
}
