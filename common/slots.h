#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Value ids for things that other threads or later messages refer to: a late answer for something
// that is gone finds NULL instead of freed memory. Bounded; not thread-safe (the loop owns it).
struct slot;
struct slots {
    struct slot *slots; // owned
    size_t capacity, used;
    uint32_t free_head; // index + 1 of the first free slot; 0: full
};

bool slots_create(struct slots *s, size_t capacity); // false: no memory
void slots_free(struct slots *s);                    // safe on zero; the items are not touched

// The id is never 0 and is not given again until 2^32 re-uses of its slot. 0: full.
uint64_t slots_add(struct slots *s, void *item);      // item: not NULL
void *slots_find(const struct slots *s, uint64_t id); // NULL: gone, or never was
void *slots_remove(struct slots *s, uint64_t id);     // the item, or NULL
// The item in place `index` (0 .. capacity-1), or NULL: to walk all of them.
void *slots_at(const struct slots *s, size_t index);
