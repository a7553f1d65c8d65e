#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "server/bake/doc.h"

// Remembers what has been decoded, by a small tuple of numbers, so that what many share is
// decoded and kept once: a file must not grow by repeating an index.
enum { MEMO_KEY_COUNT = 10 };
struct memo_key {
    int32_t part[MEMO_KEY_COUNT]; // unused parts are 0
};
struct memo_slot {
    struct memo_key key;
    const void *value; // NULL = empty slot
};
struct memo {
    struct memo_slot *slots; // power of two, at most half full
    uint32_t capacity, count;
};

// NULL when unknown.
const void *memo_find(const struct memo *m, const struct memo_key *key);
void memo_add(struct memo *m, struct doc *d, const struct doc_at *at, const struct memo_key *key,
              const void *value);

// Text to number, for lookups by name. The first of equal names wins; `twice` tells.
struct names_slot {
    const char *text; // borrowed; NULL = empty slot
    int32_t value;
    bool twice;
};
struct names {
    struct names_slot *slots;
    uint32_t capacity;
};
// Room for `count` names; false when the budget is spent.
bool names_open(struct names *n, struct doc *d, const struct doc_at *at, uint32_t count);
void names_add(struct names *n, const char *text, int32_t value);
// SCENE_NONE when unknown.
int32_t names_find(const struct names *n, const char *text, bool *twice);
