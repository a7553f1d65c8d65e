#include "server/character/surface/face.h"

#include <string.h>

#include "common/check.h"
#include "server/character/surface/face_kernel.h"

enum { LANES = MODEL_LANES };

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t face_bytes(const struct face_map *map)
{
    size_t rows = map->turns.row_count;
    return 4 * padded(rows) + 2 * padded((rows + 1) * sizeof(uint32_t)) +
           padded(map->delta_count * sizeof(uint32_t)) +
           padded(rows * sizeof(struct model_rest_block)) +
           2 * padded(rows * LANES * sizeof(struct normals_place));
}

// Lists the active channels' deltas row by row, and the rows as they are met: all of this costs
// what is active, but for a byte a row. Returns how many were met.
static size_t list_active(struct face *f, uint32_t *met)
{
    const struct model *m = f->model;
    size_t count = 0;
    memset(f->copied, 0, f->map->turns.row_count);
    for (size_t c = m->channels_count; c-- > 0;) { // each goes before those listed already
        const struct model_channel *channel = &m->channels[c];
        if (f->weights[c] == 0) continue;
        for (uint32_t i = 0; i < channel->block_count; i++) {
            uint32_t at = channel->block_first + i, row = f->map->delta_rows[at];
            f->next[at] = f->copied[row] ? f->first[row] : FACE_NONE;
            f->first[row] = at;
            met[count] = row; // stays when the row is new
            count += !f->copied[row];
            f->copied[row] = 1;
        }
    }
    return count;
}

// The rows that turns will look at: those around every row that looks at one that moves. All of
// them when much moves: finding out would cost more than it saves.
static void mark_looked_at(struct face *f, const uint32_t *met, size_t met_count, uint8_t *done)
{
    const struct turn_map *t = &f->map->turns;
    bool most = met_count > t->row_count / 4;
    memset(f->looked_at, most, t->row_count);
    if (most) return;
    memset(done, 0, t->row_count);
    for (size_t i = 0; i < met_count; i++)
        for (uint32_t k = t->seen_first[met[i]]; k < t->seen_first[met[i] + 1]; k++) {
            uint32_t row = t->seen[k];
            if (done[row]) continue;
            done[row] = 1;
            for (uint32_t n = t->near_first[row]; n < t->near_first[row + 1]; n++)
                f->looked_at[t->near[n]] = 1;
        }
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
    uint32_t *met = ARENA_ARRAY(a, uint32_t, rows + 1); // the last is written to, never kept
    f.copied = ARENA_ARRAY(a, uint8_t, rows);
    f.first = ARENA_ARRAY(a, uint32_t, rows);
    f.next = ARENA_ARRAY(a, uint32_t, map->delta_count);
    f.moved = ARENA_ARRAY(a, struct model_rest_block, rows);
    size_t met_count = list_active(&f, met);
    if (!f.turning) return f;
    f.turned = ARENA_ARRAY(a, uint8_t, rows);
    f.looked_at = ARENA_ARRAY(a, uint8_t, rows);
    f.to = ARENA_ARRAY(a, struct normals_place, rows * LANES);
    if (f.mixed) f.from = ARENA_ARRAY(a, struct normals_place, rows * LANES);
    memset(f.turned, 0, rows);
    mark_looked_at(&f, met, met_count, ARENA_ARRAY(a, uint8_t, rows));
    return f;
}

static void keep_places(const struct face *f, size_t row)
{
    const struct normals_place *rest = &f->map->rest[row * LANES];
    memcpy(&f->to[row * LANES], rest, LANES * sizeof *rest);
    if (f->mixed) memcpy(&f->from[row * LANES], rest, LANES * sizeof *rest);
}

static face_row_fn *kernel_of(enum simd_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case SIMD_AVX512:
        return face_row_avx512;
    case SIMD_AVX2:
        return face_row_avx2;
#elif defined(__aarch64__)
    case SIMD_NEON:
        return face_row_neon;
#endif
    default:
        return face_row_plain;
    }
}

static void move_row(const struct face *f, face_row_fn *run, size_t at)
{
    _Alignas(64) float before[3 * LANES];
    uint32_t block = f->map->turns.blocks[at];
    struct face_row row = {.face = f,
                           .first = f->first[at],
                           .lane_count = f->model->blocks[block].lane_count,
                           .rest = &f->model->rest[block],
                           .out = &f->moved[at],
                           .before = f->mixed ? before : NULL};
    bool turned = run(&row);
    if (!f->turning) return;
    f->turned[at] = turned;
    turn_take_places(f->moved[at].position[0], &f->to[at * LANES]);
    if (f->mixed) turn_take_places(before, &f->from[at * LANES]);
}

void face_move(const struct face *f, size_t first, size_t count)
{
    if (!f->any) return;
    CHECK(first <= f->map->turns.row_count && count <= f->map->turns.row_count - first);
    face_row_fn *run = kernel_of(f->level);
    for (size_t row = first; row < first + count; row++) {
        if (f->copied[row])
            move_row(f, run, row);
        else if (f->turning && f->looked_at[row])
            keep_places(f, row);
    }
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
