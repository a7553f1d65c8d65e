#include "server/http/throttle.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

enum { WAYS = 8 }; // places an address may be in

struct throttle_entry {
    uint8_t key[16];
    double tokens;
    uint64_t at_ns; // 0: never used
};

bool throttle_create(struct throttle *t, size_t capacity, uint32_t burst, uint32_t per_minute)
{
    CHECK(capacity >= WAYS && capacity % WAYS == 0);
    CHECK(burst > 0);
    *t = (struct throttle){.entries = calloc(capacity, sizeof(struct throttle_entry)),
                           .capacity = capacity,
                           .burst = burst,
                           .per_ns = per_minute / 60e9};
    return t->entries != NULL;
}

void throttle_free(struct throttle *t)
{
    free(t->entries);
    *t = (struct throttle){0};
}

static struct throttle_entry *bucket(const struct throttle *t, const uint8_t key[16])
{
    uint64_t h = 14695981039346656037u; // FNV-1a
    for (size_t i = 0; i < 16; i++)
        h = (h ^ key[i]) * 1099511628211u;
    return &t->entries[(h ^ h >> 29) % (t->capacity / WAYS) * WAYS];
}

static double tokens_at(const struct throttle *t, const struct throttle_entry *e, uint64_t now_ns)
{
    if (e->at_ns == 0) return t->burst;
    double tokens = e->tokens;
    if (now_ns > e->at_ns) tokens += (double)(now_ns - e->at_ns) * t->per_ns;
    return tokens < t->burst ? tokens : t->burst;
}

static struct throttle_entry *find(const struct throttle *t, const uint8_t key[16])
{
    struct throttle_entry *b = bucket(t, key);
    for (size_t i = 0; i < WAYS; i++)
        if (b[i].at_ns != 0 && memcmp(b[i].key, key, sizeof b[i].key) == 0) return &b[i];
    return NULL;
}

bool throttle_allows(struct throttle *t, const uint8_t key[16], uint64_t now_ns)
{
    const struct throttle_entry *e = find(t, key);
    return !e || tokens_at(t, e, now_ns) >= 1;
}

void throttle_take(struct throttle *t, const uint8_t key[16], uint64_t now_ns)
{
    if (now_ns == 0) now_ns = 1;
    struct throttle_entry *e = find(t, key);
    if (!e) {
        // The fullest of the places: whose address loses least by being forgotten.
        struct throttle_entry *b = bucket(t, key);
        e = &b[0];
        for (size_t i = 1; i < WAYS; i++)
            if (tokens_at(t, &b[i], now_ns) > tokens_at(t, e, now_ns)) e = &b[i];
        memcpy(e->key, key, sizeof e->key);
        e->at_ns = 0;
    }
    e->tokens = tokens_at(t, e, now_ns) - 1;
    if (e->tokens < 0) e->tokens = 0;
    e->at_ns = now_ns;
}
