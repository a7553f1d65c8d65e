// The kernel's body, included once by each normals_*.c: loops that the compiler turns into whatever
// the file's flags allow.
#include <math.h>
#include <string.h>

#include "server/character/surface/lanes.h"
#include "server/character/surface/normals_kernel.h"

enum { LANES = MODEL_LANES };

typedef float four __attribute__((vector_size(16)));

// What a triangle adds to m at one of its corners, before and after.
struct share {
    _Alignas(32) float at[8]; // x y z 0, x y z 0
};

// A stretch of triangles, four before, the same four after, and so on: each step runs over all of
// them, so that no vector is read back right after it was written in pieces.
enum { STRETCH = 64, BOTH = 2 * STRETCH };
struct batch {
    _Alignas(64) float a[3][BOTH], b[3][BOTH]; // edges from the first corner
    float add[3][3][BOTH];                     // [corner][x y z]
};

static inline four load(const struct normals_place *p)
{
    four f;
    memcpy(&f, p->at, sizeof f);
    return f;
}

// Before and after side by side; four at a time where the machine has no wider vectors.
#if defined(__AVX2__)
typedef __m256 pair;
static inline pair join(four before, four after)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(before), after, 1);
}
static inline pair pair_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void pair_store(float *p, pair a)
{
    _mm256_storeu_ps(p, a);
}
static inline pair pair_sub(pair a, pair b)
{
    return _mm256_sub_ps(a, b);
}
static inline pair pair_add(pair a, pair b)
{
    return _mm256_add_ps(a, b);
}
static inline void transpose(pair r[4]) // each half for itself
{
    pair ab = _mm256_unpacklo_ps(r[0], r[1]), cd = _mm256_unpacklo_ps(r[2], r[3]);
    pair ef = _mm256_unpackhi_ps(r[0], r[1]), gh = _mm256_unpackhi_ps(r[2], r[3]);
    r[0] = _mm256_shuffle_ps(ab, cd, 0x44);
    r[1] = _mm256_shuffle_ps(ab, cd, 0xEE);
    r[2] = _mm256_shuffle_ps(ef, gh, 0x44);
    r[3] = _mm256_shuffle_ps(ef, gh, 0xEE);
}
#else
typedef struct {
    four half[2];
} pair;
static inline pair join(four before, four after)
{
    return (pair){{before, after}};
}
static inline pair pair_load(const float *p)
{
    pair a;
    memcpy(&a, p, sizeof a);
    return a;
}
static inline void pair_store(float *p, pair a)
{
    memcpy(p, &a, sizeof a);
}
static inline pair pair_sub(pair a, pair b)
{
    return join(a.half[0] - b.half[0], a.half[1] - b.half[1]);
}
static inline pair pair_add(pair a, pair b)
{
    return join(a.half[0] + b.half[0], a.half[1] + b.half[1]);
}
static inline void transpose(pair r[4])
{
    for (int h = 0; h < 2; h++) {
        four ab = __builtin_shufflevector(r[0].half[h], r[1].half[h], 0, 4, 1, 5);
        four cd = __builtin_shufflevector(r[2].half[h], r[3].half[h], 0, 4, 1, 5);
        four ef = __builtin_shufflevector(r[0].half[h], r[1].half[h], 2, 6, 3, 7);
        four gh = __builtin_shufflevector(r[2].half[h], r[3].half[h], 2, 6, 3, 7);
        r[0].half[h] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
        r[1].half[h] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        r[2].half[h] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5);
        r[3].half[h] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
    }
}
#endif

static inline void load_edges(const struct normals_group *g, const uint16_t *list, uint32_t count,
                              struct batch *s)
{
    for (uint32_t i = 0; i < count; i += 4) {
        pair a[4], b[4];
        _Pragma("GCC unroll 4") for (uint32_t k = 0; k < 4; k++)
        {
            const struct normals_corner *c = &g->triangles[list[i + k]];
            pair at = join(load(&g->before[c->at]), load(&g->after[c->at]));
            a[k] = pair_sub(join(load(&g->before[c->next]), load(&g->after[c->next])), at);
            b[k] = pair_sub(join(load(&g->before[c->last]), load(&g->after[c->last])), at);
        }
        transpose(a);
        transpose(b);
        _Pragma("GCC unroll 3") for (int r = 0; r < 3; r++)
        {
            pair_store(&s->a[r][2 * i], a[r]);
            pair_store(&s->b[r][2 * i], b[r]);
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

// An angle by its sine >= 0 and cosine, both times any factor: the smaller over the larger, to be
// divided, and what follows from the quotient. Not a number for 0 and 0.
struct slope {
    lanes small, large;
    lanes_mask steep, blunt;
};
static inline struct slope slope_of(lanes s, lanes c)
{
    lanes size = lanes_abs(c);
    lanes_mask steep = lanes_above(s, size);
    return (struct slope){lanes_choose(steep, size, s), lanes_choose(steep, s, size), steep,
                          lanes_above(lanes_all(0), c)};
}
static inline lanes angle_of(struct slope s, lanes quotient)
{
    lanes angle = atan_unit(quotient);
    angle = lanes_choose(s.steep, lanes_sub(lanes_all(1.57079633f), angle), angle);
    return lanes_choose(s.blunt, lanes_sub(lanes_all(3.14159265f), angle), angle);
}

static inline void weigh(struct batch *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += LANES_WIDTH) {
        lanes a[3], b[3], n[3], angles[3], zero = lanes_all(0), tiny = lanes_all(1e-37f);
        for (int r = 0; r < 3; r++) {
            a[r] = lanes_load(&s->a[r][i]);
            b[r] = lanes_load(&s->b[r][i]);
        }
        lanes_cross(a, b, n);
        lanes ab = lanes_dot(a, b), sine = lanes_root(lanes_dot(n, n));
        struct slope first = slope_of(sine, ab),
                     next = slope_of(sine, lanes_sub(lanes_dot(a, a), ab));
        // One division for both; edges below 1e-9 or above 1e9 units have no area.
        lanes both = lanes_mul(first.large, next.large);
        lanes_mask measured =
            lanes_both(lanes_above(both, tiny), lanes_above(lanes_all(1e38f), both));
        lanes_mask has_area = lanes_both(lanes_above(sine, zero), measured);
        lanes over = lanes_div(lanes_all(1), sine), under = lanes_div(lanes_all(1), both);
        angles[0] = angle_of(first, lanes_mul(lanes_mul(first.small, next.large), under));
        angles[1] = angle_of(next, lanes_mul(lanes_mul(next.small, first.large), under));
        // The three make a straight line; rounding must not leave less than nothing.
        angles[2] = lanes_sub(lanes_all(3.14159265f), lanes_add(angles[0], angles[1]));
        angles[2] = lanes_choose(lanes_above(angles[2], zero), angles[2], zero);
        for (int r = 0; r < 3; r++) {
            lanes weight = lanes_choose(has_area, lanes_mul(angles[r], over), zero);
            for (int k = 0; k < 3; k++)
                lanes_store(&s->add[r][k][i], lanes_mul(weight, n[k]));
        }
    }
}

static inline void hand_out(const struct batch *s, const uint16_t *list, uint32_t count,
                            struct share *shares)
{
    for (uint32_t i = 0; i < count; i += 4)
        _Pragma("GCC unroll 3") for (uint32_t corner = 0; corner < 3; corner++)
        {
            const float(*add)[BOTH] = s->add[corner];
            pair v[4] = {pair_load(&add[0][2 * i]), pair_load(&add[1][2 * i]),
                         pair_load(&add[2][2 * i]), join((four){0}, (four){0})};
            transpose(v);
            _Pragma("GCC unroll 4") for (uint32_t k = 0; k < 4; k++)
                pair_store(shares[NORMALS_USE(list[i + k], corner)].at, v[k]);
        }
}

// The triangles that rows which turn look at; the last is repeated to a whole vector.
static inline uint32_t list_triangles(const struct normals_group *g, uint16_t *list)
{
    uint32_t rows = 0, count = 0;
    for (uint32_t i = 0; i < g->row_count; i++)
        rows |= g->rows[i].normal ? 1u << i : 0;
    for (uint32_t i = 0; i < g->triangle_count; i++) {
        list[count] = (uint16_t)i;
        count += (g->triangle_rows[i] & rows) != 0;
    }
    for (; count % 16 != 0; count++)
        list[count] = list[count - 1];
    return count;
}

static inline void measure(const struct normals_group *g, const uint16_t *list, uint32_t count,
                           struct share *shares)
{
    struct batch batch;
    for (uint32_t i = 0; i < count; i += STRETCH) {
        uint32_t now = count - i < STRETCH ? count - i : STRETCH;
        load_edges(g, list + i, now, &batch);
        weigh(&batch, 2 * now);
        hand_out(&batch, list + i, now, shares);
    }
}

struct sums {
    _Alignas(64) float from[3][LANES], to[3][LANES];
};

static inline void sum_corners(const struct normals_row *row, const struct share *shares,
                               struct sums *s)
{
    const uint16_t *use = row->uses;
    pair m[LANES];
    memset(m, 0, sizeof m);
    for (uint32_t i = 0; i < row->turn_count; i++) {
        pair sum = m[row->lanes[i]];
        for (uint32_t left = row->corner_counts[i]; left > 0; left--, use++) {
            sum = pair_add(sum, pair_load(shares[*use].at));
        }
        m[row->lanes[i]] = sum;
    }
    for (uint32_t l = 0; l < LANES; l += 4) {
        transpose(&m[l]);
        for (int r = 0; r < 3; r++) {
            memcpy(&s->from[r][l], &m[l + (uint32_t)r], sizeof(four));
            memcpy(&s->to[r][l], (const float *)&m[l + (uint32_t)r] + 4, sizeof(four));
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

static void normals_group_run(const struct normals_group *g)
{
    struct share shares[3 * NORMALS_GROUP_TRIANGLES];
    uint16_t list[NORMALS_GROUP_TRIANGLES + 16];
    struct sums s;
    measure(g, list, list_triangles(g, list), shares);
    for (uint32_t i = 0; i < g->row_count; i++) {
        if (!g->rows[i].normal) continue;
        sum_corners(&g->rows[i], shares, &s);
        turn_lanes(&s, g->rows[i].normal);
    }
}
