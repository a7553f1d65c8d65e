// The kernels of correct.c on random rows against the method's formula in double, and against each
// other bit for bit. Also cross-compiled for NEON: see CMakeLists.txt.
#include <math.h>
#include <string.h>

#include "server/character/surface/correct_kernel.h"
#include "tests/testing.h"
int testing_failures;

enum { LANES = MODEL_LANES, SLOTS = 5, INFLUENCES = 4, DELTAS = 9 };

static double noise(void) // -1 .. 1
{
    static uint32_t state = 7;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1;
}

struct setting {
    struct model_block block;
    uint16_t slots[INFLUENCES];
    float lane_weights[INFLUENCES * LANES], limits[LANES], weights[DELTAS];
    struct correct_delta deltas[DELTAS];
    struct model_correction_block floats[DELTAS];
    struct model_packed_block packed[DELTAS];
    struct skeleton_slot palette[SLOTS];
    struct skeleton_dual_slot dual_palette[SLOTS];
    uint32_t dual_lanes;
    struct surface_block skinned;
};

static void fill(struct setting *s, uint32_t influences, uint32_t dual_lanes, double limit)
{
    memset(s, 0, sizeof *s);
    s->block = (struct model_block){.influence_count = influences, .lane_count = LANES};
    s->dual_lanes = dual_lanes;
    for (int i = 0; i < SLOTS; i++) {
        double q[4], n = 0;
        for (int r = 0; r < 4; r++) {
            q[r] = noise();
            n += q[r] * q[r];
        }
        for (int r = 0; r < 4; r++)
            s->dual_palette[i].rotation[r] = (float)(q[r] / sqrt(n));
        for (int r = 0; r < 6; r++)
            s->dual_palette[i].stretch[r] = (float)((r < 3) + 0.2 * noise());
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                s->palette[i].col[c][r] = (float)((c == r) + 0.5 * noise());
    }
    for (uint32_t k = 0; k < influences; k++)
        s->slots[k] = (uint16_t)((k * 2 + 1) % SLOTS);
    for (uint32_t l = 0; l < LANES; l++) {
        double sum = 0;
        for (uint32_t k = 0; k < influences; k++) {
            s->lane_weights[k * LANES + l] = (float)(1.01 + noise());
            sum += (double)s->lane_weights[k * LANES + l];
        }
        for (uint32_t k = 0; k < influences; k++)
            s->lane_weights[k * LANES + l] /= (float)sum;
        s->limits[l] = l % 5 == 4 ? 0 : (float)(limit * (1.5 + noise()));
        for (int r = 0; r < 3; r++)
            s->skinned.position[r][l] = (float)noise();
    }
    for (uint32_t i = 0; i < DELTAS; i++) {
        s->weights[i] = i == 2 ? 0 : (float)noise();
        s->deltas[i] = (struct correct_delta){i, i % 2, i};
        s->packed[i].scale = 1e-6f;
        for (int r = 0; r < 3; r++)
            for (uint32_t l = 0; l < LANES; l++) {
                bool none = s->limits[l] == 0;
                s->floats[i].position[r][l] = none ? 0 : (float)(0.02 * noise());
                s->packed[i].position[r][l] = none ? 0 : (int16_t)(20000 * noise());
            }
    }
}

static void run(const struct setting *s, correct_row_fn *kernel, struct surface_block *out)
{
    struct correct_row row = {.block = &s->block,
                              .slots = s->slots,
                              .lane_weights = s->lane_weights,
                              .limits = s->limits,
                              .deltas = s->deltas,
                              .delta_count = DELTAS,
                              .weights = s->weights,
                              .floats = s->floats,
                              .packed = s->packed,
                              .palette = s->palette,
                              .dual_palette = s->dual_palette,
                              .dual_lanes = s->dual_lanes,
                              .out = out};
    *out = s->skinned;
    EXPECT(kernel(&row));
}

// At most twice the limit, nothing below 1.6 times it: the smooth bound of correct_lanes.h in
// double.
static void bound(double limit, double sum[3])
{
    double length = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    if (length <= 1.6 * limit) return;
    double t = (length / limit - 1.6) / 0.4, reach = 1.6 + 0.4 * t / sqrt(1 + t * t);
    for (int r = 0; r < 3; r++)
        sum[r] *= limit > 0 ? reach * limit / length : 0;
}

static double weight_of(const struct setting *s, uint32_t k, uint32_t l)
{
    return s->block.influence_count == 1 ? 1 : (double)s->lane_weights[k * LANES + l];
}

static void linear(const struct setting *s, uint32_t l, const double v[3], double out[3])
{
    memset(out, 0, 3 * sizeof *out);
    for (uint32_t k = 0; k < s->block.influence_count; k++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                out[r] += weight_of(s, k, l) * (double)s->palette[s->slots[k]].col[c][r] * v[c];
}

static void dual(const struct setting *s, uint32_t l, const double v[3], double out[3])
{
    static const int at[3][3] = {{0, 3, 4}, {3, 1, 5}, {4, 5, 2}};
    double q[4] = {0}, h[3] = {0}, n = 0, m[3][3];
    uint32_t heaviest = 0;
    for (uint32_t k = 1; k < s->block.influence_count; k++)
        if (weight_of(s, k, l) > weight_of(s, heaviest, l)) heaviest = k;
    const float *align = s->dual_palette[s->slots[heaviest]].rotation;
    for (uint32_t k = 0; k < s->block.influence_count; k++) {
        const struct skeleton_dual_slot *slot = &s->dual_palette[s->slots[k]];
        double w = weight_of(s, k, l), cosine = 0;
        for (int i = 0; i < 4; i++)
            cosine += (double)align[i] * (double)slot->rotation[i];
        for (int i = 0; i < 4; i++)
            q[i] += (cosine < 0 ? -w : w) * (double)slot->rotation[i];
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++)
                h[r] += w * (double)slot->stretch[at[r][c]] * v[c];
    }
    for (int i = 0; i < 4; i++)
        n += q[i] * q[i];
    double x = q[0], y = q[1], z = q[2], w = q[3], two = 2 / n;
    m[0][0] = 1 - two * (y * y + z * z), m[0][1] = two * (x * y - w * z);
    m[0][2] = two * (x * z + w * y), m[1][0] = two * (x * y + w * z);
    m[1][1] = 1 - two * (x * x + z * z), m[1][2] = two * (y * z - w * x);
    m[2][0] = two * (x * z - w * y), m[2][1] = two * (y * z + w * x);
    m[2][2] = 1 - two * (x * x + y * y);
    for (int r = 0; r < 3; r++)
        out[r] = m[r][0] * h[0] + m[r][1] * h[1] + m[r][2] * h[2];
}

static double worst_error(const struct setting *s, const struct surface_block *got)
{
    double worst = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        double sum[3] = {0}, moved[3];
        for (uint32_t i = 0; i < DELTAS; i++)
            for (int r = 0; r < 3; r++)
                sum[r] += (double)s->weights[i] *
                          (i % 2 ? (double)s->packed[i].scale * s->packed[i].position[r][l]
                                 : (double)s->floats[i].position[r][l]);
        bound((double)s->limits[l], sum);
        if (s->dual_lanes >> l & 1)
            dual(s, l, sum, moved);
        else
            linear(s, l, sum, moved);
        for (int r = 0; r < 3; r++)
            worst = fmax(worst, fabs((double)s->skinned.position[r][l] + moved[r] -
                                     (double)got->position[r][l]));
    }
    return worst;
}

static void kernels_follow_the_formula(void)
{
    static correct_row_fn *const kernels[SIMD_LEVEL_COUNT] = {
        [SIMD_PLAIN] = correct_row_plain,
#if defined(__x86_64__)
        [SIMD_AVX2] = correct_row_avx2,
        [SIMD_AVX512] = correct_row_avx512,
#elif defined(__aarch64__)
        [SIMD_NEON] = correct_row_neon,
#endif
    };
    static const uint32_t duals[] = {0, 0xFFFF, 0x5A31};
    static const double limits[] = {1, 0.01, 0.003}; // nothing, some, all of it bounded
    double worst[SIMD_LEVEL_COUNT] = {0};
    for (uint32_t i = 0; i < 360; i++) {
        static struct setting s;
        struct surface_block got, plain;
        fill(&s, 1 + i % INFLUENCES, duals[i % 3], limits[i / 3 % 3]);
        for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            run(&s, kernels[level], &got);
            worst[level] = fmax(worst[level], worst_error(&s, &got));
            if (level == SIMD_PLAIN) plain = got;
            EXPECT(memcmp(&plain, &got, sizeof got) == 0);
        }
    }
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        printf("    %s: off by %.2g\n", simd_name((enum simd_level)level), worst[level]);
        EXPECT(worst[level] < 1e-6);
    }
}

int main(void)
{
    RUN(kernels_follow_the_formula);
    TESTING_MAIN_END;
}
