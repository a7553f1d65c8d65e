#include <float.h>
#include <immintrin.h>

#include "proto/surface/kernels.h"
#include "proto/surface/payload.h"

// The same arithmetic as the plain loops, 8 lanes or one whole row at a time. Called only where
// simd_has(SIMD_AVX2).

// ---- quantise ----

static inline __m256i octahedral(const float *normals, __m256i *v_out)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), full = _mm256_set1_ps(127.0f);
    __m256 x = _mm256_loadu_ps(normals), y = _mm256_loadu_ps(normals + SURFACE_LANES);
    __m256 z = _mm256_loadu_ps(normals + (size_t)2 * SURFACE_LANES);
    __m256 sum = _mm256_add_ps(_mm256_add_ps(_mm256_andnot_ps(sign, x), _mm256_andnot_ps(sign, y)),
                               _mm256_andnot_ps(sign, z));
    __m256 usable = _mm256_and_ps(_mm256_cmp_ps(sum, _mm256_setzero_ps(), _CMP_GT_OQ),
                                  _mm256_cmp_ps(sum, _mm256_set1_ps(FLT_MAX), _CMP_LE_OQ));
    __m256 scale = _mm256_div_ps(full, sum);
    __m256 u = _mm256_mul_ps(x, scale), v = _mm256_mul_ps(y, scale);
    __m256 fold_u = _mm256_sub_ps(full, _mm256_andnot_ps(sign, v));
    __m256 fold_v = _mm256_sub_ps(full, _mm256_andnot_ps(sign, u));
    fold_u = _mm256_or_ps(_mm256_andnot_ps(sign, fold_u), _mm256_and_ps(sign, u));
    fold_v = _mm256_or_ps(_mm256_andnot_ps(sign, fold_v), _mm256_and_ps(sign, v));
    __m256 below = _mm256_cmp_ps(z, _mm256_setzero_ps(), _CMP_LT_OQ);
    u = _mm256_blendv_ps(u, fold_u, below);
    v = _mm256_blendv_ps(v, fold_v, below);
    __m256i keep = _mm256_castps_si256(usable);
    *v_out = _mm256_and_si256(_mm256_cvtps_epi32(v), keep);
    return _mm256_and_si256(_mm256_cvtps_epi32(u), keep);
}

static inline void store_rows(struct surface_row *rows, const __m256i p[3], __m256i u, __m256i v)
{
    const __m256i half = _mm256_set1_epi32(0xffff), zero = _mm256_setzero_si256();
    __m256i xy = _mm256_or_si256(p[0], _mm256_slli_epi32(p[1], 16));
    __m256i zu = _mm256_or_si256(p[2], _mm256_slli_epi32(u, 16));
    v = _mm256_and_si256(v, half);
    __m256i a = _mm256_unpacklo_epi32(xy, zu), b = _mm256_unpackhi_epi32(xy, zu);
    __m256i c = _mm256_unpacklo_epi32(v, zero), d = _mm256_unpackhi_epi32(v, zero);
    __m256i pairs[4] = {_mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c),
                        _mm256_unpacklo_epi64(b, d), _mm256_unpackhi_epi64(b, d)};
    for (int i = 0; i < 4; i++) { // each holds rows i and i + 4
        _mm_storeu_si128((__m128i *)(rows + i), _mm256_castsi256_si128(pairs[i]));
        _mm_storeu_si128((__m128i *)(rows + i + 4), _mm256_extracti128_si256(pairs[i], 1));
    }
}

void surface_quantise_avx2(const float *blocks, size_t block_count, const struct surface_grid *grid,
                           struct surface_row *rows, struct surface_limits *limits)
{
    float top_value = (float)((1 << grid->bits) - 1);
    const __m256 scale = _mm256_set1_ps(1.0f / grid->step), top = _mm256_set1_ps(top_value);
    const __m256 under = _mm256_set1_ps(-0.5f), over = _mm256_set1_ps(top_value + 0.5f);
    __m256 low[3], high[3], outside = _mm256_setzero_ps();
    for (int k = 0; k < 3; k++) {
        low[k] = _mm256_set1_ps(limits->low[k]);
        high[k] = _mm256_set1_ps(limits->high[k]);
    }
    for (size_t half = 0; half < block_count * 2; half++) {
        const float *lane = blocks + (half / 2) * SURFACE_BLOCK_FLOATS + (half & 1) * 8;
        __m256i on[3];
        for (int k = 0; k < 3; k++) {
            __m256 p = _mm256_loadu_ps(lane + (size_t)k * SURFACE_LANES);
            __m256 t = _mm256_mul_ps(_mm256_sub_ps(p, _mm256_set1_ps(grid->origin[k])), scale);
            outside = _mm256_or_ps(outside, _mm256_cmp_ps(t, under, _CMP_LT_OQ));
            outside = _mm256_or_ps(outside, _mm256_cmp_ps(t, over, _CMP_GT_OQ));
            low[k] = _mm256_min_ps(p, low[k]); // the second operand wins over NaN
            high[k] = _mm256_max_ps(p, high[k]);
            t = _mm256_min_ps(_mm256_max_ps(t, _mm256_setzero_ps()), top);
            on[k] = _mm256_cvtps_epi32(t);
        }
        __m256i v, u = octahedral(lane + (size_t)3 * SURFACE_LANES, &v);
        store_rows(rows + half * 8, on, u, v);
    }
    for (int k = 0; k < 3; k++) {
        float lows[8], highs[8];
        _mm256_storeu_ps(lows, low[k]);
        _mm256_storeu_ps(highs, high[k]);
        for (int i = 0; i < 8; i++) {
            if (lows[i] < limits->low[k]) limits->low[k] = lows[i];
            if (highs[i] > limits->high[k]) limits->high[k] = highs[i];
        }
    }
    if (_mm256_movemask_ps(outside)) limits->inside = false;
}

// ---- rows ----

enum { NORMAL_LANES = 0x18 }; // lanes 3 and 4 of a row

static inline __m128i load_row(const struct surface_row *row)
{
    return _mm_loadu_si128((const __m128i *)row);
}

// Normals are signed bytes: whatever was added up wraps to one.
static inline __m128i wrap_normals(__m128i row)
{
    return _mm_blend_epi16(row, _mm_srai_epi16(_mm_slli_epi16(row, 8), 8), NORMAL_LANES);
}

static inline __m128i predict_row(const struct surface_row *at, const uint16_t *back,
                                  enum surface_predictor predictor)
{
    if (predictor == SURFACE_PARALLELOGRAM)
        return _mm_sub_epi16(_mm_add_epi16(load_row(at - back[4]), load_row(at - back[5])),
                             load_row(at - back[6]));
    // Unsigned averages round up; of complements, down. The bias makes signed numbers unsigned.
    const __m128i bias = _mm_set1_epi16(INT16_MIN), flip = _mm_set1_epi16(INT16_MAX);
    __m128i up = _mm_avg_epu16(_mm_xor_si128(load_row(at - back[0]), bias),
                               _mm_xor_si128(load_row(at - back[1]), bias));
    __m128i down = _mm_avg_epu16(_mm_xor_si128(load_row(at - back[2]), flip),
                                 _mm_xor_si128(load_row(at - back[3]), flip));
    down = _mm_xor_si128(down, _mm_set1_epi16(-1));
    return _mm_xor_si128(_mm_avg_epu16(up, down), bias);
}

void surface_delta_avx2(const struct surface_encode_job *job, struct surface_row *deltas)
{
    for (size_t i = 0; i < job->vertex_count; i++) {
        __m128i row = load_row(&job->lane_rows[job->lanes[i]]);
        __m128i from = job->anchor ? load_row(&job->anchor[i]) : _mm_setzero_si128();
        _mm_storeu_si128((__m128i *)&job->current[i], row);
        _mm_storeu_si128((__m128i *)&deltas[i], wrap_normals(_mm_sub_epi16(row, from)));
    }
}

// 8 rows of 8 words to 8 columns and back.
static inline void transpose(__m128i r[8])
{
    __m128i a[8], b[8];
    for (size_t i = 0; i < 4; i++) {
        a[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (size_t i = 0; i < 2; i++) {
        b[4 * i] = _mm_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    for (size_t i = 0; i < 4; i++) {
        r[2 * i] = _mm_unpacklo_epi64(b[i], b[4 + i]);
        r[2 * i + 1] = _mm_unpackhi_epi64(b[i], b[4 + i]);
    }
}

void surface_residual_avx2(const struct surface_row *deltas, const uint16_t *predictors,
                           enum surface_predictor predictor, size_t first, size_t count,
                           uint8_t *planes)
{
    const __m128i low_byte = _mm_set1_epi16(0xff);
    size_t i = first;
    for (; i + 16 <= count; i += 16) {
        __m128i z[2][8];
        for (size_t k = 0; k < 16; k++) {
            const struct surface_row *at = deltas + i + k;
            const uint16_t *back = predictors + SURFACE_PREDICTORS_WIDTH * (i + k);
            __m128i r = wrap_normals(_mm_sub_epi16(load_row(at), predict_row(at, back, predictor)));
            z[k / 8][k % 8] = _mm_xor_si128(_mm_slli_epi16(r, 1), _mm_srai_epi16(r, 15));
        }
        transpose(z[0]);
        transpose(z[1]);
        for (size_t k = 0; k < 5; k++) {
            __m128i low = _mm_packus_epi16(_mm_and_si128(z[0][k], low_byte),
                                           _mm_and_si128(z[1][k], low_byte));
            _mm_storeu_si128((__m128i *)(planes + (3 + k) * count + i), low);
            if (k >= 3) continue;
            __m128i high = _mm_packus_epi16(_mm_srli_epi16(z[0][k], 8), _mm_srli_epi16(z[1][k], 8));
            _mm_storeu_si128((__m128i *)(planes + k * count + i), high);
        }
    }
    surface_residual_plain(deltas, predictors, predictor, i, count, planes);
}

// Residual rows of 16 vertices from the planes.
static inline void gather_rows(const uint8_t *planes, size_t count, size_t i, __m128i rows[16])
{
    __m128i halves[2][8];
    for (size_t k = 0; k < 8; k++) {
        halves[0][k] = halves[1][k] = _mm_setzero_si128();
        if (k >= 5) continue;
        __m128i high = _mm_setzero_si128();
        __m128i low = _mm_loadu_si128((const __m128i *)(planes + (3 + k) * count + i));
        if (k < 3) high = _mm_loadu_si128((const __m128i *)(planes + k * count + i));
        halves[0][k] = _mm_unpacklo_epi8(low, high);
        halves[1][k] = _mm_unpackhi_epi8(low, high);
    }
    for (size_t h = 0; h < 2; h++) {
        transpose(halves[h]);
        for (size_t k = 0; k < 8; k++) {
            __m128i z = halves[h][k], odd = _mm_and_si128(z, _mm_set1_epi16(1));
            rows[8 * h + k] =
                _mm_xor_si128(_mm_srli_epi16(z, 1), _mm_sub_epi16(_mm_setzero_si128(), odd));
        }
    }
}

void surface_restore_avx2(struct surface_row *deltas, const uint16_t *predictors,
                          enum surface_predictor predictor, size_t count, const uint8_t *planes)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        __m128i rows[16];
        gather_rows(planes, count, i, rows);
        for (size_t k = 0; k < 16; k++) {
            struct surface_row *at = deltas + i + k;
            const uint16_t *back = predictors + SURFACE_PREDICTORS_WIDTH * (i + k);
            __m128i d = _mm_add_epi16(rows[k], predict_row(at, back, predictor));
            _mm_storeu_si128((__m128i *)at, wrap_normals(d));
        }
    }
    surface_restore_plain(deltas, predictors, predictor, i, count, planes);
}

bool surface_add_avx2(const struct surface_decode_job *job, const struct surface_row *deltas)
{
    __m128i seen = _mm_setzero_si128(), wrong = _mm_setzero_si128();
    const __m128i least = _mm_set1_epi16(-128);
    for (size_t i = 0; i < job->vertex_count; i++) {
        __m128i row = load_row(&deltas[i]);
        if (job->anchor) row = wrap_normals(_mm_add_epi16(row, load_row(&job->anchor[i])));
        _mm_storeu_si128((__m128i *)&job->rows[i], row);
        seen = _mm_or_si128(seen, row);
        wrong = _mm_or_si128(wrong, _mm_cmpeq_epi16(row, least));
    }
    uint16_t bits[8], bad[8];
    _mm_storeu_si128((__m128i *)bits, seen);
    _mm_storeu_si128((__m128i *)bad, wrong);
    return !bad[3] && !bad[4] && (bits[0] | bits[1] | bits[2]) >> job->bits == 0;
}
