#include "server/character/surface/face.h"

#include <string.h>

#include "common/check.h"
#include "server/character/surface/normals.h"

enum { LANES = MODEL_LANES };

struct face_delta {
    uint32_t channel;
    uint32_t morph_block;
    uint32_t normal_block; // valid when the channel has normals
};
struct face_turn { // a vertex whose normal turns when its surroundings move
    uint32_t vertex, place;
    double rest[3]; // m(M0)
};

// --- the map, once a model ---

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t face_map_bytes(const struct model *m)
{
    size_t blocks = m->blocks_count;
    return padded(blocks * sizeof(uint32_t)) + padded(blocks * sizeof(int32_t)) +
           2 * padded((blocks + 1) * sizeof(uint32_t)) + padded(blocks * sizeof(uint16_t)) +
           padded(m->morph_blocks_count * sizeof(struct face_delta)) +
           padded(model_vertex_count(m) * sizeof(struct face_turn));
}

// Which lanes some channel without normal deltas moves: bit i of [block].
static void mark_turning_lanes(const struct model *m, uint16_t *lanes)
{
    memset(lanes, 0, m->blocks_count * sizeof *lanes);
    for (size_t c = 0; c < m->channels_count; c++) {
        const struct model_channel *channel = &m->channels[c];
        for (uint32_t i = 0; i < channel->block_count && !channel->has_normals; i++) {
            const struct model_morph_block *d = &m->morph_blocks[channel->block_first + i];
            for (int place = 0; place < LANES; place++)
                if (d->position[0][place] != 0 || d->position[1][place] != 0 ||
                    d->position[2][place] != 0)
                    lanes[d->block] |= (uint16_t)(1U << place);
        }
    }
}

// The corner's triangle, the corner's own vertex first.
static void corner_vertices(const struct model *m, uint32_t corner, uint32_t out[3])
{
    uint32_t first = corner - corner % 3;
    for (uint32_t k = 0; k < 3; k++)
        out[k] = m->indices[first + (corner + k) % 3];
}

static bool ring_moves(const struct model *m, const uint16_t *lanes, uint32_t vertex)
{
    uint32_t weld = m->weld[vertex];
    for (uint32_t i = m->corner_first[weld]; i < m->corner_first[weld + 1]; i++) {
        uint32_t v[3];
        corner_vertices(m, m->corners[i], v);
        for (int k = 0; k < 3; k++) {
            uint32_t lane = m->vertex_lanes[v[k]];
            if (lanes[lane / LANES] >> (lane % LANES) & 1) return true;
        }
    }
    return false;
}

static void rest_position(const struct model *m, uint32_t vertex, double out[3])
{
    uint32_t lane = m->vertex_lanes[vertex];
    for (int r = 0; r < 3; r++)
        out[r] = (double)m->rest[lane / LANES].position[r][lane % LANES];
}

static void rest_direction(const struct model *m, uint32_t vertex, double sum[3])
{
    uint32_t weld = m->weld[vertex];
    sum[0] = sum[1] = sum[2] = 0;
    for (uint32_t i = m->corner_first[weld]; i < m->corner_first[weld + 1]; i++) {
        uint32_t v[3];
        double at[3][3];
        corner_vertices(m, m->corners[i], v);
        for (int k = 0; k < 3; k++)
            rest_position(m, v[k], at[k]);
        normals_add_corner(at[0], at[1], at[2], sum);
    }
}

// Counts into first[face block + 1], sums up, and leaves first[i] where row i begins.
static void sum_counts(uint32_t *first, size_t rows)
{
    first[0] = 0;
    for (size_t i = 0; i < rows; i++)
        first[i + 1] += first[i];
}

// After filling, row i's cursor stands where row i + 1 begins: shift back.
static void rewind_rows(uint32_t *first, size_t rows)
{
    for (size_t i = rows; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

static void build_deltas(const struct model *m, const int32_t *face_blocks, size_t rows,
                         uint32_t *first, struct face_delta *deltas)
{
    memset(first, 0, (rows + 1) * sizeof *first);
    for (size_t c = 0; c < m->channels_count; c++)
        for (uint32_t i = 0; i < m->channels[c].block_count; i++)
            first[face_blocks[m->morph_blocks[m->channels[c].block_first + i].block] + 1]++;
    sum_counts(first, rows);
    for (size_t c = 0; c < m->channels_count; c++) {
        const struct model_channel *channel = &m->channels[c];
        for (uint32_t i = 0; i < channel->block_count; i++) {
            uint32_t at = channel->block_first + i;
            int32_t row = face_blocks[m->morph_blocks[at].block];
            deltas[first[row]++] = (struct face_delta){(uint32_t)c, at, channel->normal_first + i};
        }
    }
    rewind_rows(first, rows);
}

static void build_turns(const struct model *m, const uint16_t *turning, const int32_t *face_blocks,
                        size_t rows, uint32_t *first, struct face_turn *turns)
{
    memset(first, 0, (rows + 1) * sizeof *first);
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        if (ring_moves(m, turning, v)) first[face_blocks[m->vertex_lanes[v] / LANES] + 1]++;
    sum_counts(first, rows);
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        if (!ring_moves(m, turning, v)) continue;
        uint32_t lane = m->vertex_lanes[v];
        struct face_turn turn = {.vertex = v, .place = lane % LANES};
        rest_direction(m, v, turn.rest);
        turns[first[face_blocks[lane / LANES]]++] = turn;
    }
    rewind_rows(first, rows);
}

// Blocks that a channel moves or whose normals may turn.
static size_t number_blocks(const struct model *m, const uint16_t *turning, uint32_t *blocks,
                            int32_t *face_blocks)
{
    for (size_t i = 0; i < m->blocks_count; i++)
        face_blocks[i] = MODEL_NONE;
    for (size_t c = 0; c < m->channels_count; c++)
        for (uint32_t i = 0; i < m->channels[c].block_count; i++)
            face_blocks[m->morph_blocks[m->channels[c].block_first + i].block] = 0;
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        if (ring_moves(m, turning, v)) face_blocks[m->vertex_lanes[v] / LANES] = 0;
    size_t count = 0;
    for (size_t i = 0; i < m->blocks_count; i++) {
        if (face_blocks[i] == MODEL_NONE) continue;
        face_blocks[i] = (int32_t)count;
        blocks[count++] = (uint32_t)i;
    }
    return count;
}

void face_map_build(const struct model *m, struct arena *a, struct face_map *out)
{
    *out = (struct face_map){0};
    if (m->channels_count == 0) return;
    uint32_t *blocks = ARENA_ARRAY(a, uint32_t, m->blocks_count);
    int32_t *face_blocks = ARENA_ARRAY(a, int32_t, m->blocks_count);
    uint32_t *delta_first = ARENA_ARRAY(a, uint32_t, m->blocks_count + 1);
    uint32_t *turn_first = ARENA_ARRAY(a, uint32_t, m->blocks_count + 1);
    struct face_delta *deltas = ARENA_ARRAY(a, struct face_delta, m->morph_blocks_count);
    uint16_t *turning = ARENA_ARRAY(a, uint16_t, m->blocks_count);
    mark_turning_lanes(m, turning);
    size_t rows = number_blocks(m, turning, blocks, face_blocks);
    build_deltas(m, face_blocks, rows, delta_first, deltas);

    size_t turn_count = 0; // taken last, at its true size: most vertices never turn
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        turn_count += ring_moves(m, turning, v);
    struct face_turn *turns = ARENA_ARRAY(a, struct face_turn, turn_count);
    build_turns(m, turning, face_blocks, rows, turn_first, turns);
    *out = (struct face_map){rows, blocks, face_blocks, delta_first, deltas, turn_first, turns};
}

// --- one frame ---

size_t face_bytes(const struct model *m, const struct face_map *map)
{
    (void)m;
    size_t rows = map->face_block_count;
    return padded(rows * sizeof(uint16_t)) + padded(rows) +
           padded(rows * sizeof(struct model_rest_block)) + padded(rows * sizeof(struct face_rows));
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
    size_t rows = map->face_block_count;
    f.moved_lanes = ARENA_ARRAY(a, uint16_t, rows);
    f.copied = ARENA_ARRAY(a, uint8_t, rows);
    f.moved = ARENA_ARRAY(a, struct model_rest_block, rows);
    if (f.mixed) f.turn_base = ARENA_ARRAY(a, struct face_rows, rows);
    return f;
}

enum { ROWS = 3 * LANES };

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

static void move_block(const struct face *f, size_t row)
{
    const struct model *m = f->model;
    const struct face_map *map = f->map;
    const struct model_rest_block *rest = &m->rest[map->blocks[row]];
    struct model_rest_block *out = &f->moved[row];
    struct face_sums s;
    memset(&s, 0, sizeof s);
    sum_deltas(f, row, &s);
    bool may_turn = f->turning && map->turn_first[row] < map->turn_first[row + 1];
    f->moved_lanes[row] = touched_lanes(&s.turning);
    f->copied[row] = s.any || may_turn;
    if (!f->copied[row]) return;
    if (f->mixed) apply(rest->position[0], s.carried.at, f->turn_base[row].at);
    add_scaled(s.carried.at, s.turning.at, 1);
    apply(rest->position[0], s.carried.at, out->position[0]);
    apply(rest->normal[0], s.normal.at, out->normal[0]);
    uint32_t lane_count = m->blocks[map->blocks[row]].lane_count;
    repeat_last(lane_count, out->position);
    repeat_last(lane_count, out->normal);
}

void face_move(const struct face *f, size_t first, size_t count)
{
    if (!f->any) return;
    CHECK(first <= f->map->face_block_count && count <= f->map->face_block_count - first);
    for (size_t row = first; row < first + count; row++)
        move_block(f, row);
}

// Both surfaces that a normal turns between, at one vertex. True when they differ there.
static bool turn_positions(const struct face *f, uint32_t vertex, double base[3], double moved[3])
{
    uint32_t lane = f->model->vertex_lanes[vertex], block = lane / LANES, place = lane % LANES;
    int32_t row = f->map->face_blocks[block];
    if (row == MODEL_NONE || !f->copied[row]) {
        rest_position(f->model, vertex, base);
        memcpy(moved, base, sizeof(double[3]));
        return false;
    }
    for (int r = 0; r < 3; r++) {
        moved[r] = (double)f->moved[row].position[r][place];
        base[r] = f->mixed ? (double)f->turn_base[row].at[(uint32_t)r * LANES + place]
                           : (double)f->model->rest[block].position[r][place];
    }
    return f->moved_lanes[row] >> place & 1;
}

// False when nothing around the vertex moved.
static bool turn_directions(const struct face *f, const struct face_turn *turn, double from[3],
                            double to[3])
{
    const struct model *m = f->model;
    uint32_t weld = m->weld[turn->vertex];
    bool moves = false;
    for (int r = 0; r < 3; r++)
        from[r] = to[r] = 0;
    for (uint32_t i = m->corner_first[weld]; i < m->corner_first[weld + 1]; i++) {
        uint32_t v[3];
        double base[3][3], moved[3][3];
        corner_vertices(m, m->corners[i], v);
        for (int k = 0; k < 3; k++)
            moves = turn_positions(f, v[k], base[k], moved[k]) || moves;
        normals_add_corner(moved[0], moved[1], moved[2], to);
        if (f->mixed) normals_add_corner(base[0], base[1], base[2], from);
    }
    if (!f->mixed) memcpy(from, turn->rest, sizeof turn->rest);
    return moves;
}

static void turn_block(const struct face *f, size_t row)
{
    float(*normal)[LANES] = f->moved[row].normal;
    for (uint32_t i = f->map->turn_first[row]; i < f->map->turn_first[row + 1]; i++) {
        const struct face_turn *turn = &f->map->turns[i];
        double from[3], to[3];
        if (!turn_directions(f, turn, from, to)) continue;
        float n[3] = {normal[0][turn->place], normal[1][turn->place], normal[2][turn->place]};
        normals_turn(from, to, n);
        for (int r = 0; r < 3; r++)
            normal[r][turn->place] = n[r];
    }
    repeat_last(f->model->blocks[f->map->blocks[row]].lane_count, normal);
}

void face_turn_normals(const struct face *f, size_t first, size_t count)
{
    if (!f->turning) return;
    CHECK(first <= f->map->face_block_count && count <= f->map->face_block_count - first);
    for (size_t row = first; row < first + count; row++)
        if (f->copied[row]) turn_block(f, row);
}

const struct model_rest_block *face_block(const struct face *f, size_t block)
{
    if (f->any) {
        int32_t row = f->map->face_blocks[block];
        if (row != MODEL_NONE && f->copied[row]) return &f->moved[row];
    }
    return &f->model->rest[block];
}
