#include "server/character/surface/lanes.h"

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

#include "server/character/surface/skin_lanes.h"

void skin_linear_avx2(const struct skin_blocks *b)
{
    linear_run(b);
}

void skin_dual_avx2(const struct skin_blocks *b)
{
    dual_run(b);
}
