#include "common/arena.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/check.h"

enum { ALIGNMENT = 64 };

bool arena_create(struct arena *a, size_t capacity_bytes)
{
    CHECK(capacity_bytes > 0);
    size_t aligned = (capacity_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    *a = (struct arena){.base = aligned_alloc(ALIGNMENT, aligned), .capacity_bytes = aligned};
    if (!a->base) *a = (struct arena){0};
    return a->base != NULL;
}

void arena_destroy(struct arena *a)
{
    free(a->base);
    *a = (struct arena){0};
}

void *arena_take(struct arena *a, size_t size_bytes)
{
    size_t aligned = (size_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    CHECK(aligned >= size_bytes);
    CHECK(aligned <= a->capacity_bytes - a->used_bytes);
    void *block = a->base + a->used_bytes;
    a->used_bytes += aligned;
    if (a->used_bytes > a->high_water_bytes) a->high_water_bytes = a->used_bytes;
    return block;
}

void arena_reset(struct arena *a)
{
    a->used_bytes = 0;
}

size_t arena_mark(const struct arena *a)
{
    return a->used_bytes;
}

void arena_rewind(struct arena *a, size_t mark)
{
    CHECK(mark <= a->used_bytes);
    a->used_bytes = mark;
}
