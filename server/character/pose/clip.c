#include "server/character/pose/clip.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/rotation.h"

enum { WIDTH_MAX = 4 };

size_t clip_cursor_bytes(const struct model *m, uint32_t clip)
{
    CHECK(clip < m->clips_count);
    return (m->clips[clip].track_count * sizeof(uint32_t) + 63) & ~(size_t)63;
}

struct clip_cursor clip_cursor_take(const struct model *m, uint32_t clip, struct arena *a)
{
    CHECK(clip < m->clips_count);
    size_t count = m->clips[clip].track_count;
    struct clip_cursor cursor = {ARENA_ARRAY(a, uint32_t, count)};
    if (count > 0) memset(cursor.keys, 0, count * sizeof *cursor.keys);
    return cursor;
}

double clip_time(const struct model_clip *clip, double elapsed_s)
{
    double duration_s = (double)clip->duration_s;
    if (!clip->loop || !(duration_s > 0)) return fmin(fmax(elapsed_s, 0), duration_s);
    double wrapped_s = fmod(elapsed_s, duration_s);
    return wrapped_s < 0 ? wrapped_s + duration_s : wrapped_s;
}

static bool key_holds(const float *times, uint32_t count, uint32_t key, double time_s)
{
    return key < count && (double)times[key] <= time_s &&
           (key + 1 == count || time_s < (double)times[key + 1]);
}

// The last key at or before time_s; the first when all are later. `hint` only saves the search.
static uint32_t key_find(const float *times, uint32_t count, double time_s, uint32_t hint)
{
    if (key_holds(times, count, hint, time_s)) return hint;
    if (hint < count && key_holds(times, count, hint + 1, time_s)) return hint + 1;
    uint32_t low = 0, high = count; // times[low] <= time_s < times[high], ends taken on trust
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if ((double)times[middle] <= time_s)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct span { // the place between two keys
    uint32_t key;
    double t, length_s; // t in [0, 1); 0 = on the key itself
};

static struct span span_find(const struct model_track *track, const float *times, double time_s,
                             uint32_t *hint)
{
    struct span s = {.key = key_find(times, track->key_count, time_s, *hint)};
    *hint = s.key;
    double begin_s = (double)times[s.key];
    if (time_s <= begin_s || s.key + 1 == track->key_count) return s;
    s.length_s = (double)times[s.key + 1] - begin_s; // > 0: begin < time < next
    s.t = (time_s - begin_s) / s.length_s;
    return s;
}

// glTF's Hermite form; a key holds in-tangent, value, out-tangent of `width` floats each.
static void sample_cubic(const float *values, int width, struct span s, double out[WIDTH_MAX])
{
    const float *from = values + (size_t)s.key * 3 * (size_t)width;
    const float *to = from + 3 * (size_t)width;
    double t = s.t, tt = t * t, ttt = tt * t;
    double h_from = 2 * ttt - 3 * tt + 1, h_out = (ttt - 2 * tt + t) * s.length_s;
    double h_to = 3 * tt - 2 * ttt, h_in = (ttt - tt) * s.length_s;
    for (int i = 0; i < width; i++)
        out[i] = h_from * (double)from[width + i] + h_out * (double)from[2 * width + i] +
                 h_to * (double)to[width + i] + h_in * (double)to[i];
}

static void sample_linear(const float *values, int width, struct span s, double out[WIDTH_MAX])
{
    const float *from = values + (size_t)s.key * (size_t)width, *to = from + width;
    for (int i = 0; i < width; i++)
        out[i] = (1 - s.t) * (double)from[i] + s.t * (double)to[i];
}

// Linear rotations, most of what clips hold, are slerped some at a time: the loops below are
// vectorised. What one of them gets does not depend on its neighbours.
enum { BATCH = 4 };

struct rotation_batch {
    uint32_t count;
    struct quat *out[BATCH];
    double a[4][BATCH], b[4][BATCH], t[BATCH];
};

static void batch_slerp(struct rotation_batch *restrict q)
{
    double of_a[BATCH], of_b[BATCH], s[BATCH];
    for (int i = 0; i < BATCH; i++) {
        double cosine = (q->a[0][i] * q->b[0][i] + q->a[1][i] * q->b[1][i]) +
                        (q->a[2][i] * q->b[2][i] + q->a[3][i] * q->b[3][i]);
        double sign = cosine < 0 ? -1 : 1;
        rotation_slerp_factors(q->t[i], sign * cosine, &of_a[i], &of_b[i]);
        of_b[i] *= sign;
    }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < BATCH; i++)
            q->a[k][i] = of_a[i] * q->a[k][i] + of_b[i] * q->b[k][i];
    for (int i = 0; i < BATCH; i++)
        s[i] = 1 / sqrt((q->a[0][i] * q->a[0][i] + q->a[1][i] * q->a[1][i]) +
                        (q->a[2][i] * q->a[2][i] + q->a[3][i] * q->a[3][i]));
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < BATCH; i++)
            q->a[k][i] *= s[i];
}

static void batch_flush(struct rotation_batch *q)
{
    if (q->count == 0) return;
    for (uint32_t i = q->count; i < BATCH; i++) { // idle lanes hold something harmless
        q->t[i] = 0;
        for (int k = 0; k < 4; k++)
            q->a[k][i] = q->b[k][i] = k == 3;
    }
    batch_slerp(q);
    for (uint32_t i = 0; i < q->count; i++)
        *q->out[i] = (struct quat){(float)q->a[0][i], (float)q->a[1][i], (float)q->a[2][i],
                                   (float)q->a[3][i]};
    q->count = 0;
}

static void batch_add(struct rotation_batch *q, const float *values, struct span s,
                      struct quat *out)
{
    const float *from = values + (size_t)s.key * 4, *to = from + 4;
    uint32_t i = q->count++;
    q->out[i] = out;
    q->t[i] = s.t;
    for (int k = 0; k < 4; k++) {
        q->a[k][i] = (double)from[k];
        q->b[k][i] = (double)to[k];
    }
    if (q->count == BATCH) batch_flush(q);
}

static void store(const struct model_track *track, const double value[WIDTH_MAX], struct pose out)
{
    struct vec3 v = {(float)value[0], (float)value[1], (float)value[2]};
    switch ((enum model_path)track->path) {
    case MODEL_TRANSLATION:
        out.locals[track->target].translation = v;
        break;
    case MODEL_ROTATION:
        out.locals[track->target].rotation = rotation_round(value);
        break;
    case MODEL_SCALE:
        out.locals[track->target].scale = v;
        break;
    case MODEL_WEIGHTS:
        out.weights[track->target] = v.x;
        break;
    }
}

static void sample_track(const struct model *m, const struct model_track *track, double time_s,
                         uint32_t *hint, struct rotation_batch *rotations, struct pose out)
{
    static const int width_of[] = {3, 4, 3, 1};
    int width = width_of[track->path];
    bool cubic = track->interpolation == MODEL_CUBIC;
    const float *values = m->track_values + track->value_first;
    struct span s = span_find(track, m->track_times + track->time_first, time_s, hint);
    double value[WIDTH_MAX] = {0};
    if (s.t > 0 && cubic) {
        sample_cubic(values, width, s, value);
    } else if (s.t > 0 && track->interpolation == MODEL_LINEAR && width == 4) {
        batch_add(rotations, values, s, &out.locals[track->target].rotation);
        return;
    } else if (s.t > 0 && track->interpolation == MODEL_LINEAR) {
        sample_linear(values, width, s, value);
    } else { // on a key, outside the keys, or step
        const float *key = values + (size_t)s.key * (size_t)width * (cubic ? 3 : 1);
        for (int i = 0; i < width; i++)
            value[i] = (double)key[i + (cubic ? width : 0)];
    }
    store(track, value, out);
}

void clip_sample(const struct model *m, uint32_t clip, double time_s, struct clip_cursor cursor,
                 struct pose out)
{
    CHECK(clip < m->clips_count);
    CHECK(isfinite(time_s));
    const struct model_clip *c = &m->clips[clip];
    struct rotation_batch rotations = {.count = 0};
    for (uint32_t i = 0; i < c->track_count; i++) {
        uint32_t hint = cursor.keys ? cursor.keys[i] : UINT32_MAX;
        sample_track(m, &m->tracks[c->track_first + i], time_s, &hint, &rotations, out);
        if (cursor.keys) cursor.keys[i] = hint;
    }
    batch_flush(&rotations);
}
