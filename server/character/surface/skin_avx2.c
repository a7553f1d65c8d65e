#include <immintrin.h>

enum { SKIN_WIDTH = 8 };
typedef __m256 lanes;

static inline lanes lanes_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void lanes_store(float *p, lanes a)
{
    _mm256_storeu_ps(p, a);
}
static inline lanes lanes_all(float f)
{
    return _mm256_set1_ps(f);
}
static inline lanes lanes_mul(lanes a, lanes b)
{
    return _mm256_mul_ps(a, b);
}
static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline lanes lanes_fms(lanes a, lanes b, lanes c)
{
    return _mm256_fmsub_ps(a, b, c);
}
// Not rsqrtps: its bits differ between makers of processors.
static inline lanes lanes_rsqrt(lanes a)
{
    return _mm256_div_ps(_mm256_set1_ps(1), _mm256_sqrt_ps(a));
}
static inline lanes lanes_sign_of(lanes a, lanes b)
{
    return _mm256_xor_ps(a, _mm256_and_ps(b, _mm256_set1_ps(-0.0f)));
}
static inline lanes lanes_where_less(lanes a, lanes b, lanes c, lanes d)
{
    return _mm256_blendv_ps(d, c, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

#include "server/character/surface/skin_lanes.h"

void skin_linear_avx2(const struct skin_blocks *b)
{
    linear_run(b);
}

void skin_dual_avx2(const struct skin_blocks *b)
{
    dual_run(b);
}
