#include "server/bake/clip_sample.h"

#include "common/check.h"

// The key at or before `time`, and how far towards the next (0 at the ends).
static uint32_t seek(const struct scene_channel *c, double time, uint32_t *cursor, double *share)
{
    while (*cursor + 1 < c->key_count && (double)c->times[*cursor + 1] <= time)
        (*cursor)++;
    uint32_t k = *cursor;
    *share = 0;
    if (k + 1 < c->key_count && time > (double)c->times[k])
        *share = (time - (double)c->times[k]) / ((double)c->times[k + 1] - (double)c->times[k]);
    return k;
}

static const float *key(const struct scene_channel *c, uint32_t k, int part)
{
    size_t parts = c->interpolation == SCENE_CUBIC ? 3 : 1;
    size_t place = k * parts + (parts == 3 ? (size_t)part : 0);
    return c->values + place * c->width;
}

static void cubic(const struct scene_channel *c, uint32_t k, double s, double *out)
{
    const float *v0 = key(c, k, 1), *out0 = key(c, k, 2);
    if (s <= 0) {
        for (uint32_t i = 0; i < c->width; i++)
            out[i] = (double)v0[i];
        return;
    }
    const float *in1 = key(c, k + 1, 0), *v1 = key(c, k + 1, 1);
    double d = (double)c->times[k + 1] - (double)c->times[k], s2 = s * s, s3 = s2 * s;
    for (uint32_t i = 0; i < c->width; i++)
        out[i] = (2 * s3 - 3 * s2 + 1) * (double)v0[i] + d * (s3 - 2 * s2 + s) * (double)out0[i] +
                 (3 * s2 - 2 * s3) * (double)v1[i] + d * (s3 - s2) * (double)in1[i];
}

struct turn clip_sample_turn(const struct scene_channel *c, double time, uint32_t *cursor)
{
    CHECK(c->width == 4);
    double s = 0;
    uint32_t k = seek(c, time, cursor, &s);
    if (c->interpolation == SCENE_CUBIC) {
        double q[4];
        cubic(c, k, s, q);
        return turn_from_quat((struct quat){(float)q[0], (float)q[1], (float)q[2], (float)q[3]});
    }
    const float *v = key(c, k, 0);
    struct turn a = turn_from_quat((struct quat){v[0], v[1], v[2], v[3]});
    if (c->interpolation == SCENE_STEP || s <= 0) return a;
    v = key(c, k + 1, 0);
    return turn_slerp(a, turn_from_quat((struct quat){v[0], v[1], v[2], v[3]}), s);
}

void clip_sample_vec3(const struct scene_channel *c, double time, uint32_t *cursor, double out[3])
{
    CHECK(c->width == 3);
    double s = 0;
    uint32_t k = seek(c, time, cursor, &s);
    if (c->interpolation == SCENE_CUBIC) {
        cubic(c, k, s, out);
        return;
    }
    const float *a = key(c, k, 0);
    bool between = s > 0 && c->interpolation == SCENE_LINEAR;
    const float *b = between ? key(c, k + 1, 0) : a;
    for (int i = 0; i < 3; i++)
        out[i] = between ? (1 - s) * (double)a[i] + s * (double)b[i] : (double)a[i];
}
