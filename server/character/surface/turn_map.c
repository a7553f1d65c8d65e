// Who turns when what moves: see the header.
#include "server/character/surface/turn_map.h"

#include <stdbool.h>
#include <string.h>

#include "server/character/surface/normals_kernel.h"

enum { LANES = MODEL_LANES };

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static uint32_t corner_count(const struct model *m, uint32_t vertex)
{
    uint32_t weld = m->weld[vertex];
    return m->corner_first[weld + 1] - m->corner_first[weld];
}

// Every vertex may turn, twins each for themselves.
static size_t corners_bound(const struct model *m)
{
    size_t count = 0;
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        count += corner_count(m, v);
    return count;
}

size_t turn_map_bytes(const struct model *m)
{
    size_t blocks = m->blocks_count, corners = corners_bound(m), vertices = model_vertex_count(m);
    return 12 * padded((blocks + 1) * sizeof(uint32_t)) + padded(blocks) + padded(vertices) +
           2 * padded(vertices * sizeof(uint32_t)) +
           2 * padded(corners * sizeof(struct normals_corner)) +
           padded(corners * sizeof(uint32_t)) + 2 * padded(3 * corners * sizeof(uint32_t)) +
           padded(corners * sizeof(uint32_t)) + padded(corners * sizeof(uint32_t)) +
           3 * padded(m->indices_count / 3 * sizeof(uint32_t));
}

// A map in the making: the tables of turn_map, writable.
struct build {
    const struct model *m;
    size_t rows;
    const uint16_t *moving;
    const uint8_t *extra;
    uint8_t *turns; // [vertex] 1: some of its corners' triangles move
    uint32_t *blocks;
    int32_t *row_of;
    uint32_t *turn_first, *corner_first, *near_first;
    uint32_t *turn_places, *turn_corners;
    struct normals_corner *corners, *triangles;
    size_t groups;
    uint32_t *group_first, *group_rows, *triangle_first;
    uint32_t *links, *linked; // [row] to the group in the making; rows that have some
    uint8_t *taken;           // [row] in a group
    uint32_t *corner_source;  // [corner] its place in `indices`
    uint16_t *corner_uses;
    uint32_t *triangle_rows;
    uint32_t asked;                                // how often new_triangles was
    uint32_t *row_seen, *group_seen, *triangle_at; // [triangle of the model] scratch
    uint32_t *near, *seen_by; // seen_by: [row] scratch, the last row that listed it, plus one
    uint32_t *seen_first, *seen;
};

// The corner's triangle, the corner's own vertex first.
static void corner_vertices(const struct model *m, uint32_t corner, uint32_t out[3])
{
    uint32_t place = corner % 3, first = corner - place; // parts begin at multiples of three
    for (uint32_t k = 0; k < 3; k++)
        out[k] = m->indices[first + (place + k) % 3];
}

static bool lane_turns(const struct build *b, uint32_t vertex)
{
    uint32_t lane = b->m->vertex_lanes[vertex];
    return b->moving[lane / LANES] >> (lane % LANES) & 1;
}

static bool is_triangles(const struct model_part *p)
{
    return p->topology == MODEL_TRIANGLES;
}

// A vertex may turn when a triangle at its place moves; all that share the place do.
static void mark_turns(struct build *b)
{
    const struct model *m = b->m;
    memset(b->turns, 0, model_vertex_count(m));
    for (size_t p = 0; p < m->parts_count; p++) {
        const uint32_t *v = m->indices + m->parts[p].index_first;
        for (uint32_t i = 0; i < m->parts[p].index_count && is_triangles(&m->parts[p]); i += 3)
            if (lane_turns(b, v[i]) || lane_turns(b, v[i + 1]) || lane_turns(b, v[i + 2]))
                b->turns[m->weld[v[i]]] = b->turns[m->weld[v[i + 1]]] =
                    b->turns[m->weld[v[i + 2]]] = 1;
    }
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        b->turns[v] = b->turns[m->weld[v]]; // a weld is its own first vertex
}

// Whole triangles: a turn looks at all three of each triangle around it.
static void mark_turning_rows(struct build *b)
{
    const struct model *m = b->m;
    for (size_t p = 0; p < m->parts_count; p++) {
        const uint32_t *v = m->indices + m->parts[p].index_first;
        for (uint32_t i = 0; i < m->parts[p].index_count && is_triangles(&m->parts[p]); i += 3) {
            if (!b->turns[v[i]] && !b->turns[v[i + 1]] && !b->turns[v[i + 2]]) continue;
            for (uint32_t k = 0; k < 3; k++)
                b->row_of[m->vertex_lanes[v[i + k]] / LANES] = 0;
        }
    }
    for (uint32_t v = 0; v < model_vertex_count(m); v++) // twins may have no triangle of their own
        if (b->turns[v]) b->row_of[m->vertex_lanes[v] / LANES] = 0;
}

static void number_rows(struct build *b)
{
    const struct model *m = b->m;
    for (size_t i = 0; i < m->blocks_count; i++)
        b->row_of[i] = b->moving[i] || (b->extra && b->extra[i]) ? 0 : MODEL_NONE;
    mark_turns(b);
    mark_turning_rows(b);
    for (size_t i = 0; i < m->blocks_count; i++) {
        if (b->row_of[i] == MODEL_NONE) continue;
        b->row_of[i] = (int32_t)b->rows;
        b->blocks[b->rows++] = (uint32_t)i;
    }
}

// first[row + 1] holds counts; afterwards first[row] is where the row begins.
static void sum_counts(uint32_t *first, size_t rows)
{
    first[0] = 0;
    for (size_t i = 0; i < rows; i++)
        first[i + 1] += first[i];
}

// Filling moved first[row] to the row's end, where the next one begins: shift back.
static void rewind_rows(uint32_t *first, size_t rows)
{
    for (size_t i = rows; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

static uint32_t place_of(const struct build *b, uint32_t vertex)
{
    uint32_t lane = b->m->vertex_lanes[vertex];
    return (uint32_t)b->row_of[lane / LANES] * LANES + lane % LANES;
}

static void list_turns(struct build *b)
{
    const struct model *m = b->m;
    memset(b->turn_first, 0, (b->rows + 1) * sizeof *b->turn_first);
    memset(b->corner_first, 0, (b->rows + 1) * sizeof *b->corner_first);
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        if (!b->turns[v]) continue;
        int32_t row = b->row_of[m->vertex_lanes[v] / LANES];
        b->turn_first[row + 1]++;
        b->corner_first[row + 1] += corner_count(m, v);
    }
    sum_counts(b->turn_first, b->rows);
    sum_counts(b->corner_first, b->rows);
    for (uint32_t v = 0; v < model_vertex_count(m); v++) {
        if (!b->turns[v]) continue;
        uint32_t lane = m->vertex_lanes[v], weld = m->weld[v];
        int32_t row = b->row_of[lane / LANES];
        uint32_t at = b->turn_first[row]++;
        b->turn_places[at] = lane % LANES;
        b->turn_corners[at] = corner_count(m, v);
        for (uint32_t i = m->corner_first[weld]; i < m->corner_first[weld + 1]; i++) {
            uint32_t c[3];
            corner_vertices(m, m->corners[i], c);
            b->corner_source[b->corner_first[row]] = m->corners[i];
            b->corners[b->corner_first[row]++] =
                (struct normals_corner){place_of(b, c[0]), place_of(b, c[1]), place_of(b, c[2])};
        }
    }
    rewind_rows(b->turn_first, b->rows);
    rewind_rows(b->corner_first, b->rows);
}

// How many triangles the row would add to the group.
static uint32_t new_triangles(struct build *b, uint32_t row)
{
    uint32_t count = 0, stamp = ++b->asked;
    for (uint32_t i = b->corner_first[row]; i < b->corner_first[row + 1]; i++) {
        uint32_t triangle = b->corner_source[i] / 3;
        if (b->group_seen[triangle] == b->groups + 1 || b->row_seen[triangle] == stamp) continue;
        b->row_seen[triangle] = stamp;
        count++;
    }
    return count;
}

// `bit`: the row's place in the group.
static uint32_t take_triangles(struct build *b, uint32_t row, uint32_t bit, uint32_t count)
{
    const struct model *m = b->m;
    uint32_t first = b->triangle_first[b->groups];
    for (uint32_t i = b->corner_first[row]; i < b->corner_first[row + 1]; i++) {
        uint32_t triangle = b->corner_source[i] / 3, place = b->corner_source[i] % 3;
        if (b->group_seen[triangle] != b->groups + 1) {
            const uint32_t *v = m->indices + 3 * (size_t)triangle;
            b->group_seen[triangle] = (uint32_t)b->groups + 1;
            b->triangle_at[triangle] = count - first;
            b->triangle_rows[count] = 0;
            b->triangles[count++] =
                (struct normals_corner){place_of(b, v[0]), place_of(b, v[1]), place_of(b, v[2])};
        }
        uint32_t at = b->triangle_at[triangle];
        b->triangle_rows[first + at] = b->triangle_rows[first + at] | 1u << bit;
        b->corner_uses[i] = (uint16_t)NORMALS_USE(at, place);
    }
    return count;
}

static uint32_t link_neighbours(struct build *b, uint32_t row, uint32_t linked)
{
    for (uint32_t i = b->corner_first[row]; i < b->corner_first[row + 1]; i++) {
        const struct normals_corner *c = &b->corners[i];
        const uint32_t rows[3] = {c->at / LANES, c->next / LANES, c->last / LANES};
        for (int k = 0; k < 3; k++) {
            if (b->taken[rows[k]]) continue;
            if (b->links[rows[k]]++ == 0) b->linked[linked++] = rows[k];
        }
    }
    return linked;
}

// The row with most links, or MODEL_NONE; taken off the list.
static int32_t next_row(struct build *b, uint32_t *linked)
{
    uint32_t best = *linked;
    for (uint32_t i = 0; i < *linked; i++)
        if (best == *linked || b->links[b->linked[i]] > b->links[b->linked[best]]) best = i;
    if (best == *linked) return MODEL_NONE;
    uint32_t row = b->linked[best];
    b->linked[best] = b->linked[--*linked];
    b->links[row] = 0;
    return (int32_t)row;
}

// From `row` on outwards while there is room; returns the triangles' end.
static uint32_t grow_group(struct build *b, uint32_t row, uint32_t *rows, uint32_t count)
{
    uint32_t first = b->triangle_first[b->groups], size = 0, linked = 0;
    for (int32_t next = (int32_t)row; next != MODEL_NONE && size < NORMALS_GROUP_ROWS;
         next = next_row(b, &linked)) {
        uint32_t more = new_triangles(b, (uint32_t)next);
        bool alone = size == 0 && more > NORMALS_GROUP_TRIANGLES;
        if (!alone && count - first + more > NORMALS_GROUP_TRIANGLES) continue; // try another
        b->taken[next] = 1;
        b->group_rows[(*rows)++] = (uint32_t)next;
        if (alone) break;
        count = take_triangles(b, (uint32_t)next, size++, count);
        linked = link_neighbours(b, (uint32_t)next, linked);
    }
    for (uint32_t i = 0; i < linked; i++)
        b->links[b->linked[i]] = 0;
    return count;
}

// Vertices that lie together share most of their triangles: each is measured once a group.
static void list_groups(struct build *b)
{
    uint32_t count = 0, rows = 0;
    memset(b->row_seen, 0, b->m->indices_count / 3 * sizeof *b->row_seen);
    memset(b->group_seen, 0, b->m->indices_count / 3 * sizeof *b->group_seen);
    memset(b->links, 0, b->rows * sizeof *b->links);
    memset(b->taken, 0, b->rows);
    for (uint32_t row = 0; row < b->rows; row++) {
        if (b->taken[row]) continue;
        b->group_first[b->groups] = rows;
        b->triangle_first[b->groups] = count;
        count = grow_group(b, row, &rows, count);
        b->groups++;
    }
    b->group_first[b->groups] = rows;
    b->triangle_first[b->groups] = count;
}

static void list_near_rows(struct build *b)
{
    uint32_t at = 0;
    memset(b->seen_by, 0, b->rows * sizeof *b->seen_by);
    for (uint32_t row = 0; row < b->rows; row++) {
        b->near_first[row] = at;
        for (uint32_t i = b->corner_first[row]; i < b->corner_first[row + 1]; i++) {
            const struct normals_corner *c = &b->corners[i];
            const uint32_t rows[3] = {c->at / LANES, c->next / LANES, c->last / LANES};
            for (int k = 0; k < 3; k++) {
                if (b->seen_by[rows[k]] == row + 1) continue;
                b->seen_by[rows[k]] = row + 1;
                b->near[at++] = rows[k];
            }
        }
    }
    b->near_first[b->rows] = at;
}

// The same pairs the other way round.
static void list_seen_rows(struct build *b)
{
    memset(b->seen_first, 0, (b->rows + 1) * sizeof *b->seen_first);
    for (uint32_t i = 0; i < b->near_first[b->rows]; i++)
        b->seen_first[b->near[i] + 1]++;
    for (size_t row = 0; row < b->rows; row++)
        b->seen_first[row + 1] += b->seen_first[row];
    memcpy(b->seen_by, b->seen_first, b->rows * sizeof *b->seen_by);
    for (uint32_t row = 0; row < b->rows; row++)
        for (uint32_t i = b->near_first[row]; i < b->near_first[row + 1]; i++)
            b->seen[b->seen_by[b->near[i]]++] = row;
}

void turn_map_build(const struct model *m, const uint16_t *moving, const uint8_t *extra_blocks,
                    struct arena *a, struct turn_map *out)
{
    size_t blocks = m->blocks_count, corners = corners_bound(m);
    struct build b = {
        .m = m,
        .moving = moving,
        .extra = extra_blocks,
        .turns = ARENA_ARRAY(a, uint8_t, model_vertex_count(m)),
        .blocks = ARENA_ARRAY(a, uint32_t, blocks),
        .row_of = ARENA_ARRAY(a, int32_t, blocks),
        .turn_first = ARENA_ARRAY(a, uint32_t, blocks + 1),
        .corner_first = ARENA_ARRAY(a, uint32_t, blocks + 1),
        .near_first = ARENA_ARRAY(a, uint32_t, blocks + 1),
        .seen_by = ARENA_ARRAY(a, uint32_t, blocks + 1),
        .turn_places = ARENA_ARRAY(a, uint32_t, model_vertex_count(m)),
        .turn_corners = ARENA_ARRAY(a, uint32_t, model_vertex_count(m)),
        .corners = ARENA_ARRAY(a, struct normals_corner, corners),
        .near = ARENA_ARRAY(a, uint32_t, 3 * corners),
        .seen_first = ARENA_ARRAY(a, uint32_t, blocks + 1),
        .seen = ARENA_ARRAY(a, uint32_t, 3 * corners),
        .triangles = ARENA_ARRAY(a, struct normals_corner, corners),
        .triangle_rows = ARENA_ARRAY(a, uint32_t, corners),
        .group_first = ARENA_ARRAY(a, uint32_t, blocks + 1),
        .group_rows = ARENA_ARRAY(a, uint32_t, blocks),
        .links = ARENA_ARRAY(a, uint32_t, blocks),
        .linked = ARENA_ARRAY(a, uint32_t, blocks),
        .taken = ARENA_ARRAY(a, uint8_t, blocks),
        .triangle_first = ARENA_ARRAY(a, uint32_t, blocks + 1),
        .corner_source = ARENA_ARRAY(a, uint32_t, corners),
        .corner_uses = ARENA_ARRAY(a, uint16_t, corners),
        .row_seen = ARENA_ARRAY(a, uint32_t, m->indices_count / 3),
        .group_seen = ARENA_ARRAY(a, uint32_t, m->indices_count / 3),
        .triangle_at = ARENA_ARRAY(a, uint32_t, m->indices_count / 3),
    };
    number_rows(&b);
    list_turns(&b);
    list_groups(&b);
    list_near_rows(&b);
    list_seen_rows(&b);
    *out = (struct turn_map){
        .row_count = b.rows,
        .blocks = b.blocks,
        .rows = b.row_of,
        .turn_first = b.turn_first,
        .turn_places = b.turn_places,
        .turn_corners = b.turn_corners,
        .corner_first = b.corner_first,
        .corners = b.corners,
        .group_count = b.groups,
        .group_first = b.group_first,
        .group_rows = b.group_rows,
        .triangle_first = b.triangle_first,
        .triangles = b.triangles,
        .triangle_rows = b.triangle_rows,
        .corner_uses = b.corner_uses,
        .near_first = b.near_first,
        .near = b.near,
        .seen_first = b.seen_first,
        .seen = b.seen,
    };
}
