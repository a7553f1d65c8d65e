#include "server/bake/index_read.h"

#include <string.h>

#include "common/check.h"
#include "server/bake/accessor.h"

enum mode { POINTS, LINES, LINE_LOOP, LINE_STRIP, TRIANGLES, TRIANGLE_STRIP, TRIANGLE_FAN };

struct list { // what the memo keeps
    uint32_t count;
    uint32_t *indices;
};

// Room for the lists that `count` entries can make.
static size_t list_room(enum mode mode, size_t count)
{
    if (mode == TRIANGLE_STRIP || mode == TRIANGLE_FAN) return 3 * count;
    return mode == LINE_LOOP || mode == LINE_STRIP ? 2 * count : count;
}

static void put(struct list *l, uint32_t a, uint32_t b)
{
    l->indices[l->count++] = a;
    l->indices[l->count++] = b;
}

// Strips are stitched together with triangles that have a corner twice: nothing to draw.
static void put_triangle(struct list *l, uint32_t a, uint32_t b, uint32_t c)
{
    if (a == b || b == c || c == a) return;
    put(l, a, b);
    l->indices[l->count++] = c;
}

// One run of entries without a restart; returns how many of them form no whole primitive.
static uint32_t unroll(enum mode mode, const uint32_t *run, uint32_t n, struct list *l)
{
    uint32_t corners = mode == POINTS ? 1 : mode <= LINE_STRIP ? 2 : 3;
    if (n < corners) return n;
    switch (mode) {
    case POINTS:
    case LINES:
    case TRIANGLES:
        memcpy(l->indices + l->count, run, (n - n % corners) * sizeof *run);
        l->count += n - n % corners;
        return n % corners;
    case LINE_LOOP:
    case LINE_STRIP:
        for (uint32_t i = 1; i < n; i++)
            put(l, run[i - 1], run[i]);
        if (mode == LINE_LOOP) put(l, run[n - 1], run[0]);
        return 0;
    case TRIANGLE_STRIP:
        for (uint32_t i = 2; i < n; i++) // every other one is turned round
            put_triangle(l, run[i - 2], run[i - 1 + i % 2], run[i - i % 2]);
        return 0;
    case TRIANGLE_FAN:
        for (uint32_t i = 2; i < n; i++)
            put_triangle(l, run[i - 1], run[i], run[0]);
        return 0;
    }
    return 0;
}

static uint32_t restart_value(enum source_component component)
{
    return component == SOURCE_U8 ? UINT8_MAX : component == SOURCE_U16 ? UINT16_MAX : UINT32_MAX;
}

static const uint32_t *read_entries(struct source *src, const struct doc_at *at, int32_t accessor,
                                    uint32_t *count)
{
    struct doc *d = &src->doc;
    const struct source_accessor *a = accessor_expect(src, at, accessor, ACCESSOR_SCALAR);
    if (!a || !accessor_check_bytes(src, at, accessor)) return NULL;
    if (a->view == SCENE_NONE) doc_declare(d, 8 * (size_t)a->count);
    uint32_t *entries = DOC_SCRATCH(d, at, uint32_t, a->count);
    if (!entries || !accessor_decode_uint(src, at, accessor, entries)) return NULL;
    *count = a->count;
    return entries;
}

struct entries { // what the file lists
    const uint32_t *values;
    uint32_t count, restart, vertex_count;
};

// Splits at the largest index of the type (other tools' "primitive restart") where it is not a
// vertex, and refuses any other index that is not.
static bool unroll_runs(struct doc *d, const struct doc_at *at, enum mode mode,
                        const struct entries *in, struct list *l)
{
    const uint32_t *entries = in->values, vertex_count = in->vertex_count, restart = in->restart;
    uint32_t left = 0, restarts = 0, start = 0;
    for (uint32_t i = 0; i <= in->count; i++) {
        bool end = i == in->count,
             is_restart = !end && entries[i] == restart && restart >= vertex_count;
        if (!end && !is_restart && entries[i] >= vertex_count)
            return doc_fail(d, at, ERR_MALFORMED, "index %u at place %u, but only %u vertices",
                            entries[i], i, vertex_count);
        if (!end && !is_restart) continue;
        left += unroll(mode, entries + start, i - start, l);
        restarts += is_restart;
        start = i + 1;
    }
    if (restarts && l->count == 0)
        return doc_fail(d, at, ERR_MALFORMED, "index %u, but only %u vertices", restart,
                        vertex_count);
    if (restarts)
        scene_note(d->scene, NOTE_REPAIRED, restarts,
                   "primitive-restart indices, which glTF does not have, taken as breaks");
    if (left)
        scene_note(d->scene, NOTE_REPAIRED, left, "indices that form no whole primitive, dropped");
    return true;
}

static const struct list *make_list(struct source *src, const struct doc_at *at, enum mode mode,
                                    int32_t accessor, uint32_t vertex_count)
{
    struct doc *d = &src->doc;
    struct entries in = {
        .count = vertex_count, .restart = UINT32_MAX, .vertex_count = vertex_count};
    if (accessor != SCENE_NONE) {
        in.values = read_entries(src, at, accessor, &in.count);
        in.restart = restart_value(src->accessors[accessor].layout.component);
    } else {
        uint32_t *sequence = DOC_SCRATCH(d, at, uint32_t, in.count);
        for (uint32_t i = 0; sequence && i < in.count; i++)
            sequence[i] = i;
        in.values = sequence;
    }
    if (!in.values) return NULL;
    struct list *l = DOC_SCRATCH(d, at, struct list, 1);
    uint32_t *room = DOC_KEEP(d, at, uint32_t, list_room(mode, in.count));
    if (!l || !room) return NULL;
    l->indices = room;
    if (!unroll_runs(d, at, mode, &in, l)) return NULL;
    return l;
}

bool index_read(struct source *src, const struct doc_at *primitive, struct scene_primitive *p)
{
    struct doc *d = &src->doc;
    struct doc_at at = doc_member(primitive, "indices");
    enum mode mode = (enum mode)doc_uint(d, primitive, "mode", TRIANGLE_FAN, TRIANGLES);
    int32_t accessor = doc_index(d, primitive, "indices", src->accessor_count);
    if (d->error != ERR_OK) return false;
    CHECK(p->vertex_count <= INT32_MAX);
    struct memo_key key = {{MEMO_INDICES, accessor, (int32_t)mode, (int32_t)p->vertex_count}};
    const struct list *l = memo_find(&src->memo, &key);
    if (!l) {
        l = make_list(src, &at, mode, accessor, p->vertex_count);
        if (!l) return false;
        memo_add(&src->memo, d, &at, &key, l);
    }
    p->topology = mode == POINTS       ? SCENE_POINTS
                  : mode <= LINE_STRIP ? SCENE_LINES
                                       : SCENE_TRIANGLES;
    p->index_count = l->count;
    p->indices = l->indices;
    return d->error == ERR_OK;
}
