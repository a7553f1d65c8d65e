#include "server/character/surface/correct.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/driver.h"
#include "server/character/surface/correct_kernel.h"

enum { LANES = MODEL_LANES };

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t correct_bytes(const struct model *m, const struct correct_map *map)
{
    size_t rows = map->turns.row_count;
    return padded(driver_weight_count(m) * sizeof(float)) + padded(rows) +
           2 * padded(rows * LANES * sizeof(struct normals_place));
}

struct correct correct_begin(const struct model *m, const struct correct_map *map,
                             const double *weights, bool extras, struct arena *a)
{
    struct correct c = {.model = m, .map = map};
    size_t rows = map->turns.row_count, count = driver_weight_count(m);
    float *floats = ARENA_ARRAY(a, float, count);
    c.still = !extras;
    for (size_t i = 0; i < count; i++) {
        floats[i] = weights && fabs(weights[i]) >= CORRECT_WEIGHT_MIN ? (float)weights[i] : 0;
        c.still = c.still && (floats[i] == 0 || map->idle[i]);
    }
    c.weights = floats;
    c.moved = ARENA_ARRAY(a, uint8_t, rows);
    c.before = ARENA_ARRAY(a, struct normals_place, rows * LANES);
    c.after = ARENA_ARRAY(a, struct normals_place, rows * LANES);
    return c;
}

static void check_range(const struct correct *c, size_t first, size_t count)
{
    CHECK(first <= c->map->turns.row_count && count <= c->map->turns.row_count - first);
}

static void copy_places(const struct surface_block *b, struct normals_place *out)
{
    typedef float four __attribute__((vector_size(16)));
    for (int l = 0; l < LANES; l += 4) {
        four x, y, z, zero = {0, 0, 0, 0}, r[4];
        memcpy(&x, &b->position[0][l], sizeof x);
        memcpy(&y, &b->position[1][l], sizeof y);
        memcpy(&z, &b->position[2][l], sizeof z);
        four xy = __builtin_shufflevector(x, y, 0, 4, 1, 5);
        four zw = __builtin_shufflevector(z, zero, 0, 4, 1, 5);
        four xy_high = __builtin_shufflevector(x, y, 2, 6, 3, 7);
        four zw_high = __builtin_shufflevector(z, zero, 2, 6, 3, 7);
        r[0] = __builtin_shufflevector(xy, zw, 0, 1, 4, 5);
        r[1] = __builtin_shufflevector(xy, zw, 2, 3, 6, 7);
        r[2] = __builtin_shufflevector(xy_high, zw_high, 0, 1, 4, 5);
        r[3] = __builtin_shufflevector(xy_high, zw_high, 2, 3, 6, 7);
        memcpy(out + l, r, sizeof r);
    }
}

void correct_keep(const struct correct *c, size_t first, size_t count)
{
    check_range(c, first, count);
    for (size_t row = first; row < first + count && !c->still; row++)
        copy_places(&c->out[c->map->turns.blocks[row]], &c->before[row * LANES]);
}

static correct_row_fn *kernel_of(enum simd_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case SIMD_AVX512:
        return correct_row_avx512;
    case SIMD_AVX2:
        return correct_row_avx2;
#elif defined(__aarch64__)
    case SIMD_NEON:
        return correct_row_neon;
#endif
    default:
        return correct_row_plain;
    }
}

void correct_lay(const struct correct *c, size_t first, size_t count)
{
    const struct model *m = c->model;
    correct_row_fn *run = kernel_of(c->level);
    check_range(c, first, count);
    for (size_t at = first; at < first + count && !c->still; at++) {
        uint32_t block = c->map->turns.blocks[at];
        const struct model_block *b = &m->blocks[block];
        struct correct_row row = {
            .block = b,
            .slots = m->block_slots + b->slot_first,
            .lane_weights = m->weights + b->weight_first,
            .limits = m->correction_limits + (size_t)block * LANES,
            .deltas = c->map->deltas + c->map->delta_first[at],
            .delta_count = c->map->delta_first[at + 1] - c->map->delta_first[at],
            .weights = c->weights,
            .floats = m->correction_blocks,
            .packed = m->packed_blocks,
            .palette = c->palette,
            .dual_palette = c->dual_palette,
            .dual_lanes = m->dual_lanes_count ? m->dual_lanes[block] : 0,
            .out = &c->out[block],
        };
        if (c->skinning == MODEL_DQ) row.dual_lanes = 0xFFFF;
        if (row.delta_count) (void)run(&row);
    }
}

void correct_compare(const struct correct *c, size_t first, size_t count)
{
    check_range(c, first, count);
    for (size_t row = first; row < first + count && !c->still; row++) {
        struct normals_place *before = &c->before[row * LANES], *after = &c->after[row * LANES];
        copy_places(&c->out[c->map->turns.blocks[row]], after);
        c->moved[row] = memcmp(before, after, LANES * sizeof *after) != 0;
    }
}

static bool surroundings_move(const struct correct *c, size_t row)
{
    const struct turn_map *t = &c->map->turns;
    for (uint32_t i = t->near_first[row]; i < t->near_first[row + 1]; i++)
        if (c->moved[t->near[i]]) return true;
    return false;
}

static normals_row_fn *turner_of(enum simd_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case SIMD_AVX512:
        return normals_row_avx512;
    case SIMD_AVX2:
        return normals_row_avx2;
#elif defined(__aarch64__)
    case SIMD_NEON:
        return normals_row_neon;
#endif
    default:
        return normals_row_plain;
    }
}

// Rows whose vertices have hundreds of triangles (the middle of a fan): one corner at a time.
static void turn_large_row(const struct correct *c, size_t row, float (*normal)[LANES])
{
    const struct turn_map *t = &c->map->turns;
    const struct normals_corner *corner = &t->corners[t->corner_first[row]];
    for (uint32_t i = t->turn_first[row]; i < t->turn_first[row + 1]; i++) {
        float from[3], to[3], n[3];
        uint32_t lane = t->turn_places[i], count = t->turn_corners[i];
        normals_sum_places(c->before, corner, count, from);
        normals_sum_places(c->after, corner, count, to);
        corner += count;
        for (int r = 0; r < 3; r++)
            n[r] = normal[r][lane];
        normals_turn(from, to, n);
        for (int r = 0; r < 3; r++)
            normal[r][lane] = n[r];
    }
}

static void turn_row(const struct correct *c, size_t at)
{
    const struct turn_map *t = &c->map->turns;
    uint32_t block = t->blocks[at], first = t->turn_first[at];
    uint32_t last = c->model->blocks[block].lane_count - 1;
    float(*normal)[LANES] = c->out[block].normal;
    struct normals_row row = {.before = c->before,
                              .after = c->after,
                              .triangles = t->triangles + t->triangle_first[at],
                              .triangle_count = t->triangle_first[at + 1] - t->triangle_first[at],
                              .uses = t->corner_uses + t->corner_first[at],
                              .turn_count = t->turn_first[at + 1] - first,
                              .lanes = t->turn_places + first,
                              .corner_counts = t->turn_corners + first,
                              .normal = normal};
    if (row.triangle_count <= NORMALS_ROW_TRIANGLES)
        turner_of(c->level)(&row);
    else
        turn_large_row(c, at, normal);
    for (int r = 0; r < 3; r++)
        for (uint32_t l = last + 1; l < LANES; l++)
            normal[r][l] = normal[r][last];
}

void correct_turn_normals(const struct correct *c, size_t first, size_t count)
{
    check_range(c, first, count);
    for (size_t row = first; row < first + count && !c->still; row++)
        if (surroundings_move(c, row)) turn_row(c, row);
}
