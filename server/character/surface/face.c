#include "server/character/surface/face.h"

#include <string.h>

#include "common/check.h"

enum { LANES = MODEL_LANES, ROWS = 3 * LANES };

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t face_bytes(const struct face_map *map)
{
    size_t rows = map->turns.row_count;
    return 2 * padded(rows) + padded(rows * sizeof(struct model_rest_block)) +
           2 * padded(rows * LANES * sizeof(struct normals_place));
}

struct face face_begin(const struct model *m, const struct face_map *map, const float *weights,
                       struct arena *a)
{
    struct face f = {.model = m, .map = map, .weights = weights};
    bool with_normals = false;
    for (size_t c = 0; c < m->channels_count; c++) {
        const struct model_channel *channel = &m->channels[c];
        if (weights[c] == 0 || channel->block_count == 0) continue;
        f.any = true;
        if (channel->has_normals) with_normals = true;
        if (!channel->has_normals) f.turning = true;
    }
    if (!f.any) return f;
    f.mixed = f.turning && with_normals;
    size_t rows = map->turns.row_count;
    f.copied = ARENA_ARRAY(a, uint8_t, rows);
    f.moved = ARENA_ARRAY(a, struct model_rest_block, rows);
    if (!f.turning) return f;
    f.turned = ARENA_ARRAY(a, uint8_t, rows);
    f.to = ARENA_ARRAY(a, struct normals_place, rows * LANES);
    if (f.mixed) f.from = ARENA_ARRAY(a, struct normals_place, rows * LANES);
    return f;
}

static void add_scaled(float *restrict sum, const float *restrict delta, float w)
{
    for (int i = 0; i < ROWS; i++)
        sum[i] += w * delta[i];
}

// Only where the sum is not zero, so that lanes which nothing touches keep their bits (-0 + 0
// would not).
static void apply(const float *restrict base, const float *restrict sum, float *restrict out)
{
    for (int i = 0; i < ROWS; i++)
        out[i] = sum[i] != 0 ? base[i] + sum[i] : base[i];
}

// Lanes past the block's own repeat the last one, whatever the deltas hold there.
static void repeat_last(uint32_t lane_count, float rows[3][LANES])
{
    for (int r = 0; r < 3; r++)
        for (uint32_t i = lane_count; i < LANES; i++)
            rows[r][i] = rows[r][lane_count - 1];
}

struct face_rows {
    float at[ROWS]; // x of 16 lanes, y, z
};

static bool is_touched(const struct face_rows *sum)
{
    bool any = false;
    for (int i = 0; i < ROWS; i++)
        any |= sum->at[i] != 0;
    return any;
}

struct face_sums {
    struct face_rows turning; // position deltas of channels without normals
    struct face_rows carried; // ... of channels that bring normals
    struct face_rows normal;
    bool any;
};

static void sum_deltas(const struct face *f, size_t row, struct face_sums *s)
{
    const struct model *m = f->model;
    for (uint32_t i = f->map->delta_first[row]; i < f->map->delta_first[row + 1]; i++) {
        const struct face_delta *d = &f->map->deltas[i];
        float w = f->weights[d->channel];
        if (w == 0) continue;
        s->any = true;
        bool carried = m->channels[d->channel].has_normals != 0;
        add_scaled(carried ? s->carried.at : s->turning.at,
                   m->morph_blocks[d->morph_block].position[0], w);
        if (carried) add_scaled(s->normal.at, m->morph_normal_blocks[d->normal_block].normal[0], w);
    }
}

static void keep_places(const struct face *f, size_t row)
{
    const struct normals_place *rest = &f->map->rest[row * LANES];
    if (f->turning) memcpy(&f->to[row * LANES], rest, LANES * sizeof *rest);
    if (f->mixed) memcpy(&f->from[row * LANES], rest, LANES * sizeof *rest);
}

static void move_row(const struct face *f, size_t row)
{
    const struct model *m = f->model;
    const struct face_map *map = f->map;
    const struct model_rest_block *rest = &m->rest[map->turns.blocks[row]];
    struct model_rest_block *out = &f->moved[row];
    struct face_sums s;
    memset(&s, 0, sizeof s);
    sum_deltas(f, row, &s);
    f->copied[row] = s.any;
    if (f->turning) f->turned[row] = is_touched(&s.turning);
    if (!s.any) {
        keep_places(f, row);
        return;
    }
    if (f->mixed) {
        float base[ROWS];
        apply(rest->position[0], s.carried.at, base);
        turn_take_places(base, &f->from[row * LANES]);
    }
    add_scaled(s.carried.at, s.turning.at, 1);
    apply(rest->position[0], s.carried.at, out->position[0]);
    apply(rest->normal[0], s.normal.at, out->normal[0]);
    uint32_t lane_count = m->blocks[map->turns.blocks[row]].lane_count;
    repeat_last(lane_count, out->position);
    repeat_last(lane_count, out->normal);
    if (f->turning) turn_take_places(out->position[0], &f->to[row * LANES]);
}

void face_move(const struct face *f, size_t first, size_t count)
{
    if (!f->any) return;
    CHECK(first <= f->map->turns.row_count && count <= f->map->turns.row_count - first);
    for (size_t row = first; row < first + count; row++)
        move_row(f, row);
}

static float (*normals_of(const void *owner, size_t row))[LANES]
{
    const struct face *f = owner;
    if (!f->copied[row]) {
        f->moved[row] = f->model->rest[f->map->turns.blocks[row]];
        f->copied[row] = 1;
    }
    return f->moved[row].normal;
}

void face_turn_normals(const struct face *f, size_t first, size_t count)
{
    struct turn_job job = {.model = f->model,
                           .map = &f->map->turns,
                           .level = f->level,
                           .before = f->mixed ? f->from : f->map->rest,
                           .after = f->to,
                           .moved = f->turned,
                           .normals = normals_of,
                           .owner = f};
    if (f->turning) turn_groups(&job, first, count);
}

const struct model_rest_block *face_block(const struct face *f, size_t block)
{
    if (f->any) {
        int32_t row = f->map->turns.rows[block];
        if (row != MODEL_NONE && f->copied[row]) return &f->moved[row];
    }
    return &f->model->rest[block];
}
