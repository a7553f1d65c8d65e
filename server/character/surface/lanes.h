#pragma once
#include <stdint.h>

// Vectors of floats as wide as the flags of the including file allow: LANES_WIDTH at a time. Only
// operations that every machine rounds alike, so that all widths give the same bits; nothing is
// fused.
#if defined(__AVX512F__)
#include <immintrin.h>
enum { LANES_WIDTH = 16 };
typedef __m512 lanes;
typedef __mmask16 lanes_mask;
#define LANES_OF(operation) _mm512_##operation
static inline lanes lanes_abs(lanes a)
{
    return _mm512_abs_ps(a);
}
static inline lanes_mask lanes_above(lanes a, lanes b) // false for NaN
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
static inline lanes lanes_choose(lanes_mask m, lanes yes, lanes no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
static inline int lanes_any(lanes_mask m)
{
    return m != 0;
}
static inline lanes_mask lanes_both(lanes_mask a, lanes_mask b)
{
    return (lanes_mask)(a & b);
}
static inline lanes lanes_from_int16(const int16_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}
static inline lanes_mask lanes_bits(uint32_t bits, int first) // bit by bit of 16
{
    return (lanes_mask)(bits >> first);
}
#elif defined(__AVX2__)
#include <immintrin.h>
enum { LANES_WIDTH = 8 };
typedef __m256 lanes;
typedef __m256 lanes_mask;
#define LANES_OF(operation) _mm256_##operation
static inline lanes lanes_abs(lanes a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
static inline lanes_mask lanes_above(lanes a, lanes b)
{
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}
static inline lanes lanes_choose(lanes_mask m, lanes yes, lanes no)
{
    return _mm256_blendv_ps(no, yes, m);
}
static inline int lanes_any(lanes_mask m)
{
    return _mm256_movemask_ps(m) != 0;
}
static inline lanes_mask lanes_both(lanes_mask a, lanes_mask b)
{
    return _mm256_and_ps(a, b);
}
static inline lanes lanes_from_int16(const int16_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline lanes_mask lanes_bits(uint32_t bits, int first)
{
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i here = _mm256_and_si256(_mm256_set1_epi32((int)(bits >> first)), each);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(here, each));
}
#elif defined(__SSE2__)
#include <emmintrin.h>
enum { LANES_WIDTH = 4 };
typedef __m128 lanes;
typedef __m128 lanes_mask;
#define LANES_OF(operation) _mm_##operation
static inline lanes lanes_abs(lanes a)
{
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
}
static inline lanes_mask lanes_above(lanes a, lanes b)
{
    return _mm_cmpgt_ps(a, b);
}
static inline lanes lanes_choose(lanes_mask m, lanes yes, lanes no)
{
    return _mm_or_ps(_mm_and_ps(m, yes), _mm_andnot_ps(m, no));
}
static inline int lanes_any(lanes_mask m)
{
    return _mm_movemask_ps(m) != 0;
}
static inline lanes_mask lanes_both(lanes_mask a, lanes_mask b)
{
    return _mm_and_ps(a, b);
}
static inline lanes lanes_from_int16(const int16_t *p)
{
    __m128i x = _mm_loadl_epi64((const __m128i *)p);
    return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(x, x), 16));
}
static inline lanes_mask lanes_bits(uint32_t bits, int first)
{
    const __m128i each = _mm_setr_epi32(1, 2, 4, 8);
    __m128i here = _mm_and_si128(_mm_set1_epi32((int)(bits >> first)), each);
    return _mm_castsi128_ps(_mm_cmpeq_epi32(here, each));
}
#elif defined(__ARM_NEON)
#include <arm_neon.h>
enum { LANES_WIDTH = 4 };
typedef float32x4_t lanes;
typedef uint32x4_t lanes_mask;
static inline lanes lanes_abs(lanes a)
{
    return vabsq_f32(a);
}
static inline lanes_mask lanes_above(lanes a, lanes b)
{
    return vcgtq_f32(a, b);
}
static inline lanes lanes_choose(lanes_mask m, lanes yes, lanes no)
{
    return vbslq_f32(m, yes, no);
}
static inline int lanes_any(lanes_mask m)
{
    return vmaxvq_u32(m) != 0;
}
static inline lanes_mask lanes_both(lanes_mask a, lanes_mask b)
{
    return vandq_u32(a, b);
}
static inline lanes lanes_from_int16(const int16_t *p)
{
    return vcvtq_f32_s32(vmovl_s16(vld1_s16(p)));
}
static inline lanes_mask lanes_bits(uint32_t bits, int first)
{
    static const uint32_t each[4] = {1, 2, 4, 8};
    return vtstq_u32(vdupq_n_u32(bits >> first), vld1q_u32(each));
}
static inline lanes lanes_load(const float *p)
{
    return vld1q_f32(p);
}
static inline void lanes_store(float *p, lanes a)
{
    vst1q_f32(p, a);
}
static inline lanes lanes_all(float f)
{
    return vdupq_n_f32(f);
}
static inline lanes lanes_add(lanes a, lanes b)
{
    return vaddq_f32(a, b);
}
static inline lanes lanes_sub(lanes a, lanes b)
{
    return vsubq_f32(a, b);
}
static inline lanes lanes_mul(lanes a, lanes b)
{
    return vmulq_f32(a, b);
}
static inline lanes lanes_div(lanes a, lanes b)
{
    return vdivq_f32(a, b);
}
static inline lanes lanes_root(lanes a)
{
    return vsqrtq_f32(a);
}
#else // one at a time
#include <math.h>
enum { LANES_WIDTH = 1 };
typedef float lanes;
typedef int lanes_mask;
static inline lanes lanes_abs(lanes a)
{
    return fabsf(a);
}
static inline lanes_mask lanes_above(lanes a, lanes b)
{
    return a > b;
}
static inline lanes lanes_choose(lanes_mask m, lanes yes, lanes no)
{
    return m ? yes : no;
}
static inline int lanes_any(lanes_mask m)
{
    return m;
}
static inline lanes_mask lanes_both(lanes_mask a, lanes_mask b)
{
    return a & b;
}
static inline lanes lanes_from_int16(const int16_t *p)
{
    return (float)*p;
}
static inline lanes_mask lanes_bits(uint32_t bits, int first)
{
    return bits >> first & 1;
}
static inline lanes lanes_load(const float *p)
{
    return *p;
}
static inline void lanes_store(float *p, lanes a)
{
    *p = a;
}
static inline lanes lanes_all(float f)
{
    return f;
}
static inline lanes lanes_add(lanes a, lanes b)
{
    return a + b;
}
static inline lanes lanes_sub(lanes a, lanes b)
{
    return a - b;
}
static inline lanes lanes_mul(lanes a, lanes b)
{
    return a * b;
}
static inline lanes lanes_div(lanes a, lanes b)
{
    return a / b;
}
static inline lanes lanes_root(lanes a)
{
    return sqrtf(a);
}
#endif

#if defined(LANES_OF)
static inline lanes lanes_load(const float *p)
{
    return LANES_OF(loadu_ps)(p);
}
static inline void lanes_store(float *p, lanes a)
{
    LANES_OF(storeu_ps)(p, a);
}
static inline lanes lanes_all(float f)
{
    return LANES_OF(set1_ps)(f);
}
static inline lanes lanes_add(lanes a, lanes b)
{
    return LANES_OF(add_ps)(a, b);
}
static inline lanes lanes_sub(lanes a, lanes b)
{
    return LANES_OF(sub_ps)(a, b);
}
static inline lanes lanes_mul(lanes a, lanes b)
{
    return LANES_OF(mul_ps)(a, b);
}
static inline lanes lanes_div(lanes a, lanes b)
{
    return LANES_OF(div_ps)(a, b);
}
static inline lanes lanes_root(lanes a)
{
    return LANES_OF(sqrt_ps)(a);
}
#endif

static inline lanes lanes_dot(const lanes a[3], const lanes b[3])
{
    return lanes_add(lanes_add(lanes_mul(a[0], b[0]), lanes_mul(a[1], b[1])),
                     lanes_mul(a[2], b[2]));
}
static inline void lanes_cross(const lanes a[3], const lanes b[3], lanes out[3])
{
    out[0] = lanes_sub(lanes_mul(a[1], b[2]), lanes_mul(a[2], b[1]));
    out[1] = lanes_sub(lanes_mul(a[2], b[0]), lanes_mul(a[0], b[2]));
    out[2] = lanes_sub(lanes_mul(a[0], b[1]), lanes_mul(a[1], b[0]));
}
