#include "server/character/surface/lanes.h"

static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline lanes lanes_fms(lanes a, lanes b, lanes c)
{
    return _mm512_fmsub_ps(a, b, c);
}
// The 14-bit estimate is defined to the bit by the instruction set; one Newton step doubles it.
static inline lanes lanes_rsqrt(lanes a)
{
    lanes y = _mm512_rsqrt14_ps(a);
    lanes half_ay = _mm512_mul_ps(_mm512_mul_ps(a, y), _mm512_set1_ps(0.5f));
    return _mm512_fmadd_ps(y, _mm512_fnmadd_ps(half_ay, y, _mm512_set1_ps(0.5f)), y);
}
static inline lanes lanes_sign_of(lanes a, lanes b)
{
    return _mm512_xor_ps(a, _mm512_and_ps(b, _mm512_set1_ps(-0.0f)));
}

#include "server/character/surface/skin_lanes.h"

void skin_linear_avx512(const struct skin_blocks *b)
{
    linear_run(b);
}

void skin_dual_avx512(const struct skin_blocks *b)
{
    dual_run(b);
}
