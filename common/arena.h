#pragma once
#include <stddef.h>
#include <stdint.h>

// Bump allocator over one block sized at admission; the frame path takes all its memory from
// these. Not thread-safe: one owner at a time. Blocks are 64-byte aligned (AVX-512).
struct arena {
    uint8_t *base; // 64-byte aligned; owned by whoever called arena_create
    size_t capacity_bytes, used_bytes, high_water_bytes;
};

// False when memory is not to be had (an operating error at admission).
_Bool arena_create(struct arena *a, size_t capacity_bytes);
void arena_destroy(struct arena *a); // safe on zero

// Never fails and never grows: budgets are enforced where work is admitted, so running out here
// is a sizing bug and trips CHECK. The block is not cleared.
void *arena_take(struct arena *a, size_t size_bytes);
#define ARENA_ARRAY(a, type, count) ((type *)arena_take((a), sizeof(type) * (size_t)(count)))

void arena_reset(struct arena *a); // forgets every block

// A mark lets a stage give back its scratch: arena_rewind(a, arena_mark(a) from before).
size_t arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, size_t mark);
