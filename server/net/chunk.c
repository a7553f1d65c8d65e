#include "server/net/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

// The bytes of a copy follow its header in the same block.
struct chunk_block {
    struct chunk chunk;
    uint8_t bytes[];
};

struct chunk *chunk_ref(struct chunk *chunk)
{
    CHECK(chunk->refs > 0);
    chunk->refs++;
    return chunk;
}

void chunk_release(struct chunk *chunk)
{
    if (!chunk) return;
    CHECK(chunk->refs > 0);
    if (--chunk->refs == 0 && chunk->on_free) chunk->on_free(chunk);
}

static void on_block_free(struct chunk *chunk)
{
    free(chunk->owner);
}

struct chunk *chunk_copy(const void *bytes, size_t size_bytes)
{
    struct chunk_block *b = malloc(sizeof *b + size_bytes);
    if (!b) return NULL;
    b->chunk = (struct chunk){.bytes = b->bytes,
                              .size_bytes = size_bytes,
                              .refs = 1,
                              .on_free = on_block_free,
                              .owner = b};
    if (bytes && size_bytes > 0) memcpy(b->bytes, bytes, size_bytes);
    return &b->chunk;
}

uint8_t *chunk_writable(struct chunk *chunk)
{
    CHECK(chunk->refs == 1);
    CHECK(chunk->on_free == on_block_free);
    return ((struct chunk_block *)chunk->owner)->bytes;
}
