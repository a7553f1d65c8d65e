#include "server/bake/memo.h"

#include <string.h>

#include "common/check.h"

static uint32_t hash_bytes(const void *bytes, size_t size_bytes)
{
    const unsigned char *b = bytes;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size_bytes; i++)
        h = (h ^ b[i]) * 0x100000001b3u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

static struct memo_slot *memo_slot(const struct memo *m, const struct memo_key *key)
{
    uint32_t mask = m->capacity - 1;
    for (uint32_t i = hash_bytes(key, sizeof *key) & mask;; i = (i + 1) & mask)
        if (!m->slots[i].value || memcmp(&m->slots[i].key, key, sizeof *key) == 0)
            return &m->slots[i];
}

const void *memo_find(const struct memo *m, const struct memo_key *key)
{
    return m->capacity ? memo_slot(m, key)->value : NULL;
}

static bool memo_grow(struct memo *m, struct doc *d, const struct doc_at *at)
{
    struct memo larger = {.capacity = m->capacity ? m->capacity * 2 : 64, .count = m->count};
    larger.slots = DOC_SCRATCH(d, at, struct memo_slot, larger.capacity);
    if (!larger.slots) return false;
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->slots[i].value) *memo_slot(&larger, &m->slots[i].key) = m->slots[i];
    *m = larger;
    return true;
}

void memo_add(struct memo *m, struct doc *d, const struct doc_at *at, const struct memo_key *key,
              const void *value)
{
    CHECK(value != NULL);
    if (m->count * 2 >= m->capacity && !memo_grow(m, d, at)) return;
    struct memo_slot *slot = memo_slot(m, key);
    m->count += slot->value == NULL;
    *slot = (struct memo_slot){.key = *key, .value = value};
}

bool names_open(struct names *n, struct doc *d, const struct doc_at *at, uint32_t count)
{
    uint32_t capacity = 16;
    while (capacity / 2 < count && capacity < UINT32_MAX / 4)
        capacity *= 2;
    *n = (struct names){.slots = DOC_SCRATCH(d, at, struct names_slot, capacity)};
    if (n->slots) n->capacity = capacity;
    return n->slots != NULL;
}

static struct names_slot *names_slot(const struct names *n, const char *text)
{
    uint32_t mask = n->capacity - 1;
    for (uint32_t i = hash_bytes(text, strlen(text)) & mask;; i = (i + 1) & mask)
        if (!n->slots[i].text || strcmp(n->slots[i].text, text) == 0) return &n->slots[i];
}

void names_add(struct names *n, const char *text, int32_t value)
{
    struct names_slot *slot = names_slot(n, text);
    if (slot->text)
        slot->twice = true;
    else
        *slot = (struct names_slot){.text = text, .value = value};
}

int32_t names_find(const struct names *n, const char *text, bool *twice)
{
    const struct names_slot *slot = n->capacity ? names_slot(n, text) : NULL;
    if (twice) *twice = slot && slot->twice;
    return slot && slot->text ? slot->value : SCENE_NONE;
}
