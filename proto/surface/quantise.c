#include <float.h>
#include <math.h>
#include <string.h>

#include "common/check.h"
#include "proto/surface/kernels.h"

bool surface_grid_valid(const struct surface_grid *grid)
{
    for (int k = 0; k < 3; k++)
        if (!isfinite(grid->origin[k])) return false;
    return isfinite(grid->step) && grid->step > 0 && isfinite(1.0f / grid->step) &&
           grid->bits >= SURFACE_BITS_MIN && grid->bits <= SURFACE_BITS_MAX;
}

struct surface_grid surface_grid_fit(const float box_min[3], const float box_max[3], uint8_t bits,
                                     float margin)
{
    CHECK(bits >= SURFACE_BITS_MIN && bits <= SURFACE_BITS_MAX);
    CHECK(margin >= 0);
    double longest = 0, furthest = 0, low[3];
    for (int k = 0; k < 3; k++) {
        // An empty box (minimum above maximum) has no size; what is not finite is held in.
        low[k] = fmax(fmin((double)box_min[k], 1e18), -1e18);
        double high = fmax(fmin((double)box_max[k], 1e18), low[k]);
        longest = fmax(longest, high - low[k]);
        furthest = fmax(furthest, fmax(fabs(low[k]), fabs(high)));
    }
    // Floats this far from zero cannot tell smaller steps apart.
    longest = fmax(longest, fmax(furthest * 1e-6, 1e-6));
    double margin_length = longest * (double)margin, size = longest + 2 * margin_length;
    struct surface_grid grid = {.bits = bits};
    // A hair more, so that rounding in origin and step cannot push the far side off.
    grid.step = (float)(size * 1.0001 / ((1 << bits) - 1));
    for (int k = 0; k < 3; k++)
        grid.origin[k] = (float)(low[k] - margin_length - size * 0.00005);
    return grid;
}

void surface_normal_pack(const float normal[3], int16_t out[2])
{
    float sum = fabsf(normal[0]) + fabsf(normal[1]) + fabsf(normal[2]);
    out[0] = out[1] = 0;
    if (!(sum > 0 && sum <= FLT_MAX)) return;
    float scale = 127.0f / sum;
    float u = normal[0] * scale, v = normal[1] * scale;
    if (normal[2] < 0) { // the lower half folds outwards over the diagonals
        float fold_u = 127.0f - fabsf(v), fold_v = 127.0f - fabsf(u);
        u = copysignf(fold_u, u);
        v = copysignf(fold_v, v);
    }
    out[0] = (int16_t)lrintf(u);
    out[1] = (int16_t)lrintf(v);
}

static uint16_t on_grid(float t, float top)
{
    float low = t > 0 ? t : 0; // NaN becomes 0, as the wide kernel's max does
    return (uint16_t)lrintf(low < top ? low : top);
}

void surface_quantise_plain(const float *blocks, size_t block_count,
                            const struct surface_grid *grid, struct surface_row *rows,
                            struct surface_limits *limits)
{
    float scale = 1.0f / grid->step, top = (float)((1 << grid->bits) - 1);
    for (size_t b = 0; b < block_count;
         b++, blocks += SURFACE_BLOCK_FLOATS, rows += SURFACE_LANES) {
        for (size_t i = 0; i < SURFACE_LANES; i++) {
            struct surface_row row = {0};
            for (size_t k = 0; k < 3; k++) {
                float p = blocks[k * SURFACE_LANES + i];
                float t = (p - grid->origin[k]) * scale;
                if (t < -0.5f || t > top + 0.5f) limits->inside = false;
                if (p < limits->low[k]) limits->low[k] = p;
                if (p > limits->high[k]) limits->high[k] = p;
                row.position[k] = on_grid(t, top);
            }
            const float *n = blocks + SURFACE_BLOCK_FLOATS / 2 + i;
            float normal[3] = {n[0], n[SURFACE_LANES], n[(size_t)2 * SURFACE_LANES]};
            surface_normal_pack(normal, row.normal);
            rows[i] = row;
        }
    }
}

bool surface_quantise(struct surface_quantise_job *job)
{
    CHECK(surface_grid_valid(&job->grid));
    struct surface_limits limits = {
        {FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}, true};
#if defined(__x86_64__)
    if (job->level >= SIMD_AVX2)
        surface_quantise_avx2(job->blocks, job->block_count, &job->grid, job->rows, &limits);
    else
#endif
        surface_quantise_plain(job->blocks, job->block_count, &job->grid, job->rows, &limits);
    memcpy(job->box_min, limits.low, sizeof job->box_min);
    memcpy(job->box_max, limits.high, sizeof job->box_max);
    return limits.inside;
}
