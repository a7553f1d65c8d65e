#include "server/character/surface/turn.h"

#include <stdbool.h>
#include <string.h>

#include "common/check.h"
#include "server/character/surface/normals_kernel.h"

enum { LANES = MODEL_LANES };

void turn_take_places(const float *position, struct normals_place *out)
{
    typedef float four __attribute__((vector_size(16)));
    for (int l = 0; l < LANES; l += 4) {
        four x, y, z, zero = {0, 0, 0, 0}, r[4];
        memcpy(&x, &position[l], sizeof x);
        memcpy(&y, &position[LANES + l], sizeof y);
        memcpy(&z, &position[2 * LANES + l], sizeof z);
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

static normals_group_fn *kernel_of(enum simd_level level)
{
    switch (level) {
#if defined(__x86_64__)
    case SIMD_AVX512:
        return normals_group_avx512;
    case SIMD_AVX2:
        return normals_group_avx2;
#elif defined(__aarch64__)
    case SIMD_NEON:
        return normals_group_neon;
#endif
    default:
        return normals_group_plain;
    }
}

static bool surroundings_move(const struct turn_job *j, size_t row)
{
    const struct turn_map *t = j->map;
    for (uint32_t i = t->near_first[row]; i < t->near_first[row + 1]; i++)
        if (j->moved[t->near[i]]) return true;
    return false;
}

// A row whose vertices have hundreds of triangles (the middle of a fan): one corner at a time.
static void turn_large_row(const struct turn_job *j, size_t row, float (*normal)[LANES])
{
    const struct turn_map *t = j->map;
    const struct normals_corner *corner = &t->corners[t->corner_first[row]];
    for (uint32_t i = t->turn_first[row]; i < t->turn_first[row + 1]; i++) {
        float from[3], to[3], n[3];
        uint32_t lane = t->turn_places[i], count = t->turn_corners[i];
        normals_sum_places(j->before, corner, count, from);
        normals_sum_places(j->after, corner, count, to);
        corner += count;
        for (int r = 0; r < 3; r++)
            n[r] = normal[r][lane];
        normals_turn(from, to, n);
        for (int r = 0; r < 3; r++)
            normal[r][lane] = n[r];
    }
}

// Lanes past the block's own repeat the last one.
static void repeat_last(const struct turn_job *j, size_t row, float (*normal)[LANES])
{
    uint32_t last = j->model->blocks[j->map->blocks[row]].lane_count - 1;
    for (int r = 0; r < 3; r++)
        for (uint32_t l = last + 1; l < LANES; l++)
            normal[r][l] = normal[r][last];
}

static void turn_group(const struct turn_job *j, size_t at)
{
    const struct turn_map *t = j->map;
    const uint32_t *rows = t->group_rows + t->group_first[at];
    uint32_t triangle = t->triangle_first[at];
    struct normals_group g = {.before = j->before,
                              .after = j->after,
                              .triangles = t->triangles + triangle,
                              .triangle_rows = t->triangle_rows + triangle,
                              .triangle_count = t->triangle_first[at + 1] - triangle,
                              .row_count = t->group_first[at + 1] - t->group_first[at]};
    bool any = false;
    for (uint32_t i = 0; i < g.row_count; i++) {
        uint32_t row = rows[i], first = t->turn_first[row];
        g.rows[i] = (struct normals_row){.uses = t->corner_uses + t->corner_first[row],
                                         .turn_count = t->turn_first[row + 1] - first,
                                         .lanes = t->turn_places + first,
                                         .corner_counts = t->turn_corners + first};
        if (!surroundings_move(j, row)) continue;
        g.rows[i].normal = j->normals(j->owner, row);
        any = true;
    }
    if (!any) return;
    if (g.triangle_count > 0)
        kernel_of(j->level)(&g);
    else
        turn_large_row(j, rows[0], g.rows[0].normal);
    for (uint32_t i = 0; i < g.row_count; i++)
        if (g.rows[i].normal) repeat_last(j, rows[i], g.rows[i].normal);
}

void turn_groups(const struct turn_job *job, size_t first, size_t count)
{
    CHECK(first <= job->map->group_count && count <= job->map->group_count - first);
    for (size_t i = first; i < first + count; i++)
        turn_group(job, i);
}
