#include "common/check.h"
#include "proto/surface/codec.h"

size_t surface_anchors_bytes(size_t vertex_count)
{
    return (SURFACE_ANCHORS + 1) * vertex_count * sizeof(struct surface_row);
}

void surface_anchors_init(struct surface_anchors *a, void *memory, size_t vertex_count)
{
    CHECK((uintptr_t)memory % 16 == 0);
    *a = (struct surface_anchors){.rows = memory, .vertex_count = vertex_count};
    for (int i = 0; i <= SURFACE_ANCHORS; i++)
        a->slots[i] = (uint8_t)i;
}

void surface_anchors_clear(struct surface_anchors *a)
{
    for (int i = 0; i < SURFACE_ANCHORS; i++)
        a->frames[i] = 0;
}

const struct surface_row *surface_anchors_find(const struct surface_anchors *a, uint32_t frame)
{
    for (int i = 0; i < SURFACE_ANCHORS; i++)
        if (frame != 0 && a->frames[i] == frame) return a->rows + a->slots[i] * a->vertex_count;
    return NULL;
}

struct surface_row *surface_anchors_spare(struct surface_anchors *a)
{
    return a->rows + a->slots[SURFACE_ANCHORS] * a->vertex_count;
}

void surface_anchors_keep(struct surface_anchors *a, uint32_t frame)
{
    CHECK(frame != 0);
    int oldest = 0; // an empty slot (0) counts as oldest
    for (int i = 1; i < SURFACE_ANCHORS; i++)
        if (a->frames[i] < a->frames[oldest]) oldest = i;
    uint8_t freed = a->slots[oldest];
    a->slots[oldest] = a->slots[SURFACE_ANCHORS];
    a->frames[oldest] = frame;
    a->slots[SURFACE_ANCHORS] = freed;
}
