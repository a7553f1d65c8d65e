#include "server/character/surface/lanes.h"

static inline lanes lanes_fma(lanes a, lanes b, lanes c)
{
    return vfmaq_f32(c, a, b);
}
static inline lanes lanes_fms(lanes a, lanes b, lanes c)
{
    return vfmaq_f32(vnegq_f32(c), a, b);
}
static inline lanes lanes_rsqrt(lanes a)
{
    return vdivq_f32(vdupq_n_f32(1), vsqrtq_f32(a));
}
static inline lanes lanes_sign_of(lanes a, lanes b)
{
    uint32x4_t sign = vandq_u32(vreinterpretq_u32_f32(b), vdupq_n_u32(0x80000000U));
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), sign));
}

#include "server/character/surface/skin_lanes.h"

void skin_linear_neon(const struct skin_blocks *b)
{
    linear_run(b);
}

void skin_dual_neon(const struct skin_blocks *b)
{
    dual_run(b);
}
