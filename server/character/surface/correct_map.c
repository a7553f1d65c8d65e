// What a model's drivers can reach, worked out once.
#include <string.h>

#include "server/character/pose/driver.h"
#include "server/character/surface/correct.h"

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static size_t delta_count(const struct model *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->corrections_count; i++)
        count += m->corrections[i].block_count;
    return count;
}

size_t correct_map_bytes(const struct model *m)
{
    return turn_map_bytes(m) + padded((m->blocks_count + 1) * sizeof(uint32_t)) +
           padded(m->blocks_count * sizeof(uint16_t)) + padded(m->blocks_count) +
           padded(delta_count(m) * sizeof(struct correct_delta)) + padded(driver_weight_count(m)) +
           256;
}

static uint32_t block_of(const struct model *m, const struct model_correction *c, uint32_t i)
{
    return c->packed ? m->packed_blocks[c->block_first + i].block
                     : m->correction_blocks[c->block_first + i].block;
}

// A lane moves where some example does: its limit says so.
static void mark_lanes(const struct model *m, const uint16_t *extra_lanes, uint16_t *moving)
{
    for (size_t b = 0; b < m->blocks_count; b++) {
        moving[b] = extra_lanes ? extra_lanes[b] : 0;
        for (uint32_t lane = 0; m->correction_limits_count && lane < MODEL_LANES; lane++)
            if (m->correction_limits[b * MODEL_LANES + lane] > 0)
                moving[b] = (uint16_t)(moving[b] | 1u << lane);
    }
}

static void mark_extras(const struct model *m, uint16_t *moving)
{
    for (size_t i = 0; i < m->extra_blocks_count; i++)
        for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
            if (m->extra_blocks[i].share[lane] > 0)
                moving[m->extra_blocks[i].block] =
                    (uint16_t)(moving[m->extra_blocks[i].block] | 1u << lane);
}

static void list_deltas(const struct model *m, const struct turn_map *turns, uint32_t *first,
                        struct correct_delta *deltas)
{
    size_t rows = turns->row_count;
    memset(first, 0, (rows + 1) * sizeof *first);
    for (size_t i = 0; i < m->corrections_count; i++)
        for (uint32_t k = 0; k < m->corrections[i].block_count; k++)
            first[turns->rows[block_of(m, &m->corrections[i], k)] + 1]++;
    for (size_t i = 0; i < rows; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < m->corrections_count; i++) {
        const struct model_correction *c = &m->corrections[i];
        for (uint32_t k = 0; k < c->block_count; k++) {
            int32_t row = turns->rows[block_of(m, c, k)];
            deltas[first[row]++] = (struct correct_delta){
                m->solves[c->solve].weight_first + c->center, c->packed, c->block_first + k};
        }
    }
    for (size_t i = rows; i > 0; i--) // filling moved each row's begin to its end
        first[i] = first[i - 1];
    first[0] = 0;
}

void correct_map_build(const struct model *m, const uint16_t *extra_lanes, struct arena *a,
                       struct correct_map *out)
{
    *out = (struct correct_map){.any = m->corrections_count > 0};
    uint16_t *moving = ARENA_ARRAY(a, uint16_t, m->blocks_count);
    uint8_t *reached = ARENA_ARRAY(a, uint8_t, m->blocks_count);
    mark_lanes(m, extra_lanes, moving);
    mark_extras(m, moving);
    memset(reached, 0, m->blocks_count);
    for (size_t i = 0; i < m->corrections_count; i++)
        for (uint32_t k = 0; k < m->corrections[i].block_count; k++)
            reached[block_of(m, &m->corrections[i], k)] = 1;
    turn_map_build(m, moving, reached, a, &out->turns);
    uint32_t *first = ARENA_ARRAY(a, uint32_t, out->turns.row_count + 1);
    struct correct_delta *deltas = ARENA_ARRAY(a, struct correct_delta, delta_count(m));
    list_deltas(m, &out->turns, first, deltas);
    uint8_t *idle = ARENA_ARRAY(a, uint8_t, driver_weight_count(m));
    memset(idle, 1, driver_weight_count(m));
    for (size_t i = 0; i < delta_count(m); i++)
        idle[deltas[i].weight] = 0;
    out->idle = idle;
    out->delta_first = first;
    out->deltas = deltas;
}
