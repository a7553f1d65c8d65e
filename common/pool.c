#include "common/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct pool_chunk {
    struct pool_chunk *next;
    size_t size_bytes, used_bytes; // of `data`
    _Alignas(ALIGNMENT) unsigned char data[];
};

void pool_init(struct pool *p, size_t cap_bytes)
{
    *p = (struct pool){.cap_bytes = cap_bytes};
}

void pool_free(struct pool *p)
{
    for (struct pool_chunk *c = p->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    *p = (struct pool){0};
}

void pool_raise_cap(struct pool *p, size_t cap_bytes)
{
    if (cap_bytes > p->cap_bytes) p->cap_bytes = cap_bytes;
}

static struct pool_chunk *pool_grow(struct pool *p, size_t size_bytes)
{
    size_t data_bytes = size_bytes > CHUNK_BYTES ? size_bytes : CHUNK_BYTES;
    struct pool_chunk *c = calloc(1, sizeof *c + data_bytes);
    if (!c) return NULL;
    c->size_bytes = data_bytes;
    // A big block gets a chunk of its own behind the head, so the head's free tail stays in use.
    if (p->chunks && size_bytes > CHUNK_BYTES / 4) {
        c->next = p->chunks->next;
        p->chunks->next = c;
    } else {
        c->next = p->chunks;
        p->chunks = c;
    }
    return c;
}

void *pool_take(struct pool *p, size_t count, size_t size_bytes)
{
    CHECK(size_bytes > 0);
    if (count > (SIZE_MAX / 2) / size_bytes) return NULL;
    size_t bytes = (count * size_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes > p->cap_bytes || p->used_bytes > p->cap_bytes - bytes) return NULL;
    struct pool_chunk *c = p->chunks;
    if (!c || c->size_bytes - c->used_bytes < bytes) c = pool_grow(p, bytes);
    if (!c) return NULL;
    void *block = c->data + c->used_bytes;
    c->used_bytes += bytes;
    p->used_bytes += bytes;
    return block;
}

char *pool_copy_text(struct pool *p, const char *text, size_t length)
{
    char *copy = pool_take(p, length + 1, 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}
