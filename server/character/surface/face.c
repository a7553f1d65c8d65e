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
    return padded(rows * sizeof(uint16_t)) + padded(rows) +
           padded(rows * sizeof(struct model_rest_block)) +
           padded(rows * sizeof(struct face_rows)) + 2 * padded(rows * sizeof(float *));
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
    f.moved_lanes = ARENA_ARRAY(a, uint16_t, rows);
    f.copied = ARENA_ARRAY(a, uint8_t, rows);
    f.moved = ARENA_ARRAY(a, struct model_rest_block, rows);
    f.positions = ARENA_ARRAY(a, const float *, rows);
    if (f.mixed) f.turn_base = ARENA_ARRAY(a, struct face_rows, rows);
    if (f.mixed) f.turn_from = ARENA_ARRAY(a, const float *, rows);
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

static uint16_t touched_lanes(const struct face_rows *sum)
{
    uint16_t lanes = 0;
    for (int i = 0; i < LANES; i++)
        if (sum->at[i] != 0 || sum->at[LANES + i] != 0 || sum->at[2 * LANES + i] != 0)
            lanes |= (uint16_t)(1U << i);
    return lanes;
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
    f->moved_lanes[row] = 0;
    f->positions[row] = rest->position[0];
    if (f->mixed) f->turn_from[row] = rest->position[0];
    if (!s.any) return;
    f->moved_lanes[row] = touched_lanes(&s.turning);
    f->positions[row] = out->position[0];
    if (f->mixed) {
        f->turn_from[row] = f->turn_base[row].at;
        apply(rest->position[0], s.carried.at, f->turn_base[row].at);
    }
    add_scaled(s.carried.at, s.turning.at, 1);
    apply(rest->position[0], s.carried.at, out->position[0]);
    apply(rest->normal[0], s.normal.at, out->normal[0]);
    uint32_t lane_count = m->blocks[map->turns.blocks[row]].lane_count;
    repeat_last(lane_count, out->position);
    repeat_last(lane_count, out->normal);
}

void face_move(const struct face *f, size_t first, size_t count)
{
    if (!f->any) return;
    CHECK(first <= f->map->turns.row_count && count <= f->map->turns.row_count - first);
    for (size_t row = first; row < first + count; row++)
        move_row(f, row);
}

static bool surroundings_move(const struct face *f, size_t row)
{
    for (uint32_t i = f->map->turns.near_first[row]; i < f->map->turns.near_first[row + 1]; i++)
        if (f->moved_lanes[f->map->turns.near[i]]) return true;
    return false;
}

static void turn_row(const struct face *f, size_t row)
{
    const struct face_map *map = f->map;
    const struct normals_corner *corners = &map->turns.corners[map->turns.corner_first[row]];
    uint32_t block = map->turns.blocks[row], first = map->turns.turn_first[row];
    uint32_t count = map->turns.turn_first[row + 1] - first;
    float(*normal)[LANES] = f->moved[row].normal;
    if (!f->copied[row]) {
        f->moved[row] = f->model->rest[block];
        f->copied[row] = 1; // other rows go on reading positions where they did
    }
    float from[LANES][3], to[LANES][3];
    memcpy(from, map->turn_rest[first], count * sizeof from[0]);
    if (f->mixed)
        normals_sum_corners(f->turn_from, corners, &map->turns.turn_corners[first], count, from);
    normals_sum_corners(f->positions, corners, &map->turns.turn_corners[first], count, to);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = map->turns.turn_places[first + i];
        float n[3] = {normal[0][place], normal[1][place], normal[2][place]};
        normals_turn(from[i], to[i], n);
        for (int r = 0; r < 3; r++)
            normal[r][place] = n[r];
    }
    repeat_last(f->model->blocks[block].lane_count, normal);
}

void face_turn_normals(const struct face *f, size_t first, size_t count)
{
    if (!f->turning) return;
    CHECK(first <= f->map->turns.row_count && count <= f->map->turns.row_count - first);
    for (size_t row = first; row < first + count; row++)
        if (surroundings_move(f, row)) turn_row(f, row);
}

const struct model_rest_block *face_block(const struct face *f, size_t block)
{
    if (f->any) {
        int32_t row = f->map->turns.rows[block];
        if (row != MODEL_NONE && f->copied[row]) return &f->moved[row];
    }
    return &f->model->rest[block];
}
