#include <arm_neon.h>

enum { SKIN_WIDTH = 4 };
typedef float32x4_t lanes;

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
static inline lanes lanes_mul(lanes a, lanes b)
{
    return vmulq_f32(a, b);
}
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
static inline lanes lanes_where_less(lanes a, lanes b, lanes c, lanes d)
{
    return vbslq_f32(vcltq_f32(a, b), c, d);
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
