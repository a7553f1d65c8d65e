// The kernel's body, included once by each normals_*.c: loops that the compiler turns into whatever
// the file's flags allow.
#include <math.h>
#include <string.h>

#include "server/character/surface/lanes.h"
#include "server/character/surface/normals_kernel.h"

enum { LANES = MODEL_LANES };

typedef float four __attribute__((vector_size(16)));

// A triangle's share of m at its corner k: weight[k] * normal. Angle over twice the area, and the
// cross product of two edges.
struct measured {
    four normal, weight;
};

// All triangles of the row, before and then after: each step runs over all of them, so that no
// vector is read back right after it was written in pieces.
enum { BOTH = 2 * NORMALS_ROW_TRIANGLES };
struct batch {
    _Alignas(64) float a[3][BOTH], b[3][BOTH]; // edges from the first corner
    float normal[3][BOTH], weight[3][BOTH];
    struct measured out[BOTH];
};

static inline four load(const struct normals_place *p)
{
    four f;
    memcpy(&f, p->at, sizeof f);
    return f;
}

static inline void transpose(four r[4])
{
    four ab = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    four cd = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    four ef = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    four gh = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
}

static inline void load_edges(const struct normals_place *places, const struct normals_corner *t,
                              uint32_t count, uint32_t first, struct batch *s)
{
    for (uint32_t i = 0; i < count; i += 4) {
        four a[4], b[4];
        for (uint32_t k = 0; k < 4; k++) {
            four at = load(&places[t[i + k].at]);
            a[k] = load(&places[t[i + k].next]) - at;
            b[k] = load(&places[t[i + k].last]) - at;
        }
        transpose(a);
        transpose(b);
        for (int r = 0; r < 3; r++) {
            memcpy(&s->a[r][first + i], &a[r], sizeof a[r]);
            memcpy(&s->b[r][first + i], &b[r], sizeof b[r]);
        }
    }
}

// atan on 0 .. 1 to 1e-5: the polynomial of Abramowitz and Stegun, 4.4.47. Both surfaces of a turn
// are weighed alike, so that far less would do.
static inline lanes atan_unit(lanes t)
{
    lanes z = lanes_mul(t, t), zz = lanes_mul(z, z);
    lanes low = lanes_add(lanes_all(0.9998660f), lanes_mul(lanes_all(-0.3302995f), z));
    lanes high = lanes_add(lanes_all(0.1801410f), lanes_mul(lanes_all(-0.0851330f), z));
    high = lanes_add(high, lanes_mul(lanes_all(0.0208351f), zz));
    return lanes_mul(t, lanes_add(low, lanes_mul(high, zz)));
}

// The angle whose sine and cosine are proportional to s >= 0 and c; not a number for 0 and 0.
static inline lanes angle_of(lanes s, lanes c)
{
    lanes size = lanes_abs(c);
    lanes_mask steep = lanes_above(s, size);
    lanes small = lanes_choose(steep, size, s), large = lanes_choose(steep, s, size);
    lanes angle = atan_unit(lanes_div(small, large));
    angle = lanes_choose(steep, lanes_sub(lanes_all(1.57079633f), angle), angle);
    return lanes_choose(lanes_above(lanes_all(0), c), lanes_sub(lanes_all(3.14159265f), angle),
                        angle);
}

static inline void weigh(struct batch *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += LANES_WIDTH) {
        lanes a[3], b[3], n[3], angles[3], zero = lanes_all(0);
        for (int r = 0; r < 3; r++) {
            a[r] = lanes_load(&s->a[r][i]);
            b[r] = lanes_load(&s->b[r][i]);
        }
        lanes_cross(a, b, n);
        lanes ab = lanes_dot(a, b), sine = lanes_root(lanes_dot(n, n));
        lanes_mask has_area = lanes_above(sine, zero);
        lanes over = lanes_div(lanes_all(1), sine);
        angles[0] = angle_of(sine, ab);
        angles[1] = angle_of(sine, lanes_sub(lanes_dot(a, a), ab));
        // The three make a straight line; rounding must not leave less than nothing.
        angles[2] = lanes_sub(lanes_all(3.14159265f), lanes_add(angles[0], angles[1]));
        angles[2] = lanes_choose(lanes_above(angles[2], zero), angles[2], zero);
        for (int r = 0; r < 3; r++) {
            lanes_store(&s->normal[r][i], n[r]);
            lanes_store(&s->weight[r][i], lanes_choose(has_area, lanes_mul(angles[r], over), zero));
        }
    }
}

static inline void gather(struct batch *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 4) {
        four n[4] = {{0}}, w[4] = {{0}};
        for (int r = 0; r < 3; r++) {
            memcpy(&n[r], &s->normal[r][i], sizeof n[r]);
            memcpy(&w[r], &s->weight[r][i], sizeof w[r]);
        }
        transpose(n);
        transpose(w);
        for (uint32_t k = 0; k < 4; k++)
            s->out[i + k] = (struct measured){n[k], w[k]};
    }
}

struct sums {
    float from[3][LANES], to[3][LANES];
};

static inline void sum_corners(const struct normals_row *row, const struct measured *before,
                               const struct measured *after, struct sums *s)
{
    const uint16_t *use = row->uses;
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < row->turn_count; i++) {
        four from = {0, 0, 0, 0}, to = {0, 0, 0, 0};
        for (uint32_t left = row->corner_counts[i]; left > 0; left--, use++) {
            const struct measured *b = &before[*use / 4], *a = &after[*use / 4];
            from += b->normal * b->weight[*use % 4];
            to += a->normal * a->weight[*use % 4];
        }
        for (int r = 0; r < 3; r++) {
            s->from[r][row->lanes[i]] = from[r];
            s->to[r][row->lanes[i]] = to[r];
        }
    }
}

// Near half turns, where single precision does not do.
static void turn_by_double(const struct sums *s, int first, float (*normal)[LANES])
{
    for (int l = first; l < first + LANES_WIDTH; l++) {
        float from[3], to[3], v[3], cosine = 0, aa = 0, bb = 0;
        for (int r = 0; r < 3; r++) {
            from[r] = s->from[r][l];
            to[r] = s->to[r][l];
            v[r] = normal[r][l];
            cosine += from[r] * to[r];
            aa += from[r] * from[r];
            bb += to[r] * to[r];
        }
        if (!(cosine * (1 / sqrtf(aa * bb)) < -0.999f)) continue;
        normals_turn(from, to, v);
        for (int r = 0; r < 3; r++)
            normal[r][l] = v[r];
    }
}

static inline void turn_lanes(const struct sums *s, float (*normal)[LANES])
{
    const lanes zero = lanes_all(0), one = lanes_all(1);
    for (int l = 0; l < LANES; l += LANES_WIDTH) {
        lanes from[3], to[3], v[3], axis[3], across[3], differ = zero;
        for (int r = 0; r < 3; r++) {
            from[r] = lanes_load(&s->from[r][l]);
            to[r] = lanes_load(&s->to[r][l]);
            v[r] = lanes_load(&normal[r][l]);
            differ = lanes_add(differ, lanes_abs(lanes_sub(from[r], to[r])));
        }
        lanes size = lanes_root(lanes_mul(lanes_dot(from, from), lanes_dot(to, to)));
        lanes_mask turns = lanes_both(lanes_above(differ, zero), lanes_above(size, zero));
        if (!lanes_any(turns)) continue;
        lanes over = lanes_div(one, lanes_choose(turns, size, one));
        lanes c = lanes_mul(lanes_dot(from, to), over);
        lanes_cross(from, to, axis);
        for (int r = 0; r < 3; r++)
            axis[r] = lanes_mul(axis[r], over);
        lanes_mask sharp = lanes_above(lanes_all(-0.999f), c);
        lanes along = lanes_div(lanes_dot(axis, v), lanes_add(one, lanes_choose(sharp, zero, c)));
        lanes_cross(axis, v, across);
        lanes_mask by_double = lanes_both(turns, sharp);
        for (int r = 0; r < 3; r++) {
            lanes turned =
                lanes_add(lanes_add(lanes_mul(c, v[r]), across[r]), lanes_mul(along, axis[r]));
            turned = lanes_choose(turns, turned, v[r]);
            lanes_store(&normal[r][l], lanes_choose(sharp, v[r], turned));
        }
        if (lanes_any(by_double)) turn_by_double(s, l, normal);
    }
}

static void normals_row_run(const struct normals_row *row)
{
    struct batch batch;
    struct sums s;
    uint32_t count = row->triangle_count;
    if (count == 0) return;
    load_edges(row->before, row->triangles, count, 0, &batch);
    load_edges(row->after, row->triangles, count, count, &batch);
    weigh(&batch, 2 * count);
    gather(&batch, 2 * count);
    sum_corners(row, batch.out, batch.out + count, &s);
    turn_lanes(&s, row->normal);
}
