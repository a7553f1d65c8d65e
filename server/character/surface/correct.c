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
    return padded(driver_weight_count(m) * sizeof(float)) +
           padded(rows * sizeof(struct surface_block)) + padded(rows) +
           2 * padded(rows * sizeof(float *));
}

struct correct correct_begin(const struct model *m, const struct correct_map *map,
                             const double *weights, struct arena *a)
{
    struct correct c = {.model = m, .map = map};
    size_t rows = map->turns.row_count, count = driver_weight_count(m);
    float *floats = ARENA_ARRAY(a, float, count);
    for (size_t i = 0; i < count; i++)
        floats[i] = weights && fabs(weights[i]) >= CORRECT_WEIGHT_MIN ? (float)weights[i] : 0;
    c.weights = floats;
    c.skinned = ARENA_ARRAY(a, struct surface_block, rows);
    c.moved = ARENA_ARRAY(a, uint8_t, rows);
    c.before = ARENA_ARRAY(a, const float *, rows);
    c.after = ARENA_ARRAY(a, const float *, rows);
    return c;
}

static void check_range(const struct correct *c, size_t first, size_t count)
{
    CHECK(first <= c->map->turns.row_count && count <= c->map->turns.row_count - first);
}

void correct_keep(const struct correct *c, size_t first, size_t count)
{
    check_range(c, first, count);
    for (size_t row = first; row < first + count; row++) {
        c->skinned[row] = c->out[c->map->turns.blocks[row]];
        c->before[row] = c->skinned[row].position[0];
        c->after[row] = c->out[c->map->turns.blocks[row]].position[0];
    }
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

static bool positions_equal(const struct surface_block *a, const struct surface_block *b)
{
    return memcmp(a->position, b->position, sizeof a->position) == 0;
}

void correct_lay(const struct correct *c, size_t first, size_t count)
{
    const struct model *m = c->model;
    correct_row_fn *run = kernel_of(c->level);
    check_range(c, first, count);
    for (size_t at = first; at < first + count; at++) {
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
        c->moved[at] = !positions_equal(&c->skinned[at], row.out); // extras may have moved it too
    }
}

static bool surroundings_move(const struct correct *c, size_t row)
{
    const struct turn_map *t = &c->map->turns;
    for (uint32_t i = t->near_first[row]; i < t->near_first[row + 1]; i++)
        if (c->moved[t->near[i]]) return true;
    return false;
}

static void turn_row(const struct correct *c, size_t row)
{
    const struct turn_map *t = &c->map->turns;
    const struct normals_corner *corners = &t->corners[t->corner_first[row]];
    uint32_t block = t->blocks[row], first = t->turn_first[row];
    uint32_t count = t->turn_first[row + 1] - first, last = c->model->blocks[block].lane_count - 1;
    float(*normal)[LANES] = c->out[block].normal;
    float from[LANES][3], to[LANES][3];
    normals_sum_corners(c->before, corners, &t->turn_corners[first], count, from);
    normals_sum_corners(c->after, corners, &t->turn_corners[first], count, to);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = t->turn_places[first + i];
        float n[3] = {normal[0][place], normal[1][place], normal[2][place]};
        normals_turn(from[i], to[i], n);
        for (int r = 0; r < 3; r++)
            normal[r][place] = n[r];
    }
    for (int r = 0; r < 3; r++)
        for (uint32_t l = last + 1; l < LANES; l++)
            normal[r][l] = normal[r][last];
}

void correct_turn_normals(const struct correct *c, size_t first, size_t count)
{
    check_range(c, first, count);
    for (size_t row = first; row < first + count; row++)
        if (surroundings_move(c, row)) turn_row(c, row);
}
