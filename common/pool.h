#pragma once
#include <stddef.h>

#include "common/err.h"

// Growing allocator for offline work (import, bake): many small blocks, freed together. Bounded
// from birth: past the cap it refuses, so that no input can exhaust the machine. Never on the
// frame path. Not thread-safe.
struct pool_chunk;
struct pool {
    struct pool_chunk *chunks;
    size_t used_bytes, cap_bytes;
};

void pool_init(struct pool *p, size_t cap_bytes);
void pool_free(struct pool *p); // safe on zero; frees every block

// Raises the cap (never lowers it), e.g. when a sparse accessor declares its decoded size.
void pool_raise_cap(struct pool *p, size_t cap_bytes);

// Zeroed, 16-byte aligned. NULL when count * size overflows, the cap would be passed, or memory
// is out; with count 0 a valid pointer that must not be read.
void *pool_take(struct pool *p, size_t count, size_t size_bytes);
#define POOL_ARRAY(p, type, count) ((type *)pool_take((p), (size_t)(count), sizeof(type)))

char *pool_copy_text(struct pool *p, const char *text, size_t length); // NUL is added
