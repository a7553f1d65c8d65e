#include "server/character/surface/correct.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/driver.h"
#include "server/character/surface/correct_kernel.h"
#include "server/character/surface/skin.h"

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

void correct_keep(const struct correct *c, size_t first, size_t count)
{
    check_range(c, first, count);
    for (size_t row = first; row < first + count && !c->still; row++)
        turn_take_places(c->out[c->map->turns.blocks[row]].position[0], &c->before[row * LANES]);
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

// Several roots under dual quaternions: Lv is the mix of the roots' R H and blends from no slots.
// Every lane gets a slot of its own instead, which the linear kernel reads.
struct lane_slots {
    struct model_block block;
    uint16_t slots[LANES];
    float weights[LANES][LANES];
    struct skeleton_slot palette[LANES];
};

static void give_lanes_slots(const struct correct *c, uint32_t block, struct lane_slots *own,
                             struct correct_row *row)
{
    memset(own, 0, sizeof *own);
    own->block = *row->block;
    own->block.influence_count = LANES;
    for (uint32_t lane = 0; lane < LANES; lane++) {
        double linear[3][3];
        skin_dual_linear_part(c->model, c->dual_palette, block * LANES + lane, linear);
        for (int col = 0; col < 3; col++)
            for (int r = 0; r < 3; r++)
                own->palette[lane].col[col][r] = (float)linear[col][r];
        own->slots[lane] = (uint16_t)lane;
        own->weights[lane][lane] = 1;
    }
    row->block = &own->block;
    row->slots = own->slots;
    row->lane_weights = own->weights[0];
    row->palette = own->palette;
    row->dual_lanes = 0;
}

void correct_lay(const struct correct *c, size_t first, size_t count)
{
    bool apart = c->skinning == MODEL_DQ && c->model->roots_count > 1;
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
        struct lane_slots own;
        if (c->skinning == MODEL_DQ) row.dual_lanes = 0xFFFF;
        if (apart && row.delta_count) give_lanes_slots(c, block, &own, &row);
        if (row.delta_count) (void)run(&row);
    }
}

void correct_compare(const struct correct *c, size_t first, size_t count)
{
    check_range(c, first, count);
    for (size_t row = first; row < first + count && !c->still; row++) {
        struct normals_place *before = &c->before[row * LANES], *after = &c->after[row * LANES];
        turn_take_places(c->out[c->map->turns.blocks[row]].position[0], after);
        c->moved[row] = memcmp(before, after, LANES * sizeof *after) != 0;
    }
}

static float (*normals_of(const void *owner, size_t row))[LANES]
{
    const struct correct *c = owner;
    return c->out[c->map->turns.blocks[row]].normal;
}

void correct_turn_normals(const struct correct *c, size_t first, size_t count)
{
    struct turn_job job = {.model = c->model,
                           .map = &c->map->turns,
                           .level = c->level,
                           .before = c->before,
                           .after = c->after,
                           .moved = c->moved,
                           .normals = normals_of,
                           .owner = c};
    if (!c->still) turn_groups(&job, first, count);
}
