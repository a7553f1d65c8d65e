#include "client/lib/textures.h"

#include <mbedtls/sha256.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/client.h"

struct texture *textures_find(struct textures *t, const uint8_t hash[SESSION_HASH_BYTES])
{
    for (uint32_t i = 0; i < t->count; i++)
        if (memcmp(t->items[i].hash, hash, SESSION_HASH_BYTES) == 0) return &t->items[i];
    return NULL;
}

void textures_note(struct sinew_client *c, const uint8_t hash[SESSION_HASH_BYTES])
{
    static const uint8_t none[SESSION_HASH_BYTES];
    struct textures *t = &c->textures;
    if (memcmp(hash, none, sizeof none) == 0 || textures_find(t, hash)) return;
    if (!t->items) t->items = calloc(TEXTURES_MAX, sizeof *t->items);
    if (!t->items || t->count == TEXTURES_MAX) return;
    memcpy(t->items[t->count++].hash, hash, SESSION_HASH_BYTES);
}

_Bool textures_next_want(struct textures *t, struct session_want *out)
{
    out->hash_count = 0;
    for (uint32_t i = 0; i < t->count && out->hash_count < SESSION_WANTS_MAX; i++) {
        if (t->items[i].whole || t->items[i].wanted) continue;
        t->items[i].wanted = 1;
        memcpy(out->hashes[out->hash_count++], t->items[i].hash, SESSION_HASH_BYTES);
    }
    return out->hash_count > 0;
}

void textures_rejoin(struct textures *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        t->items[i].wanted = 0;
        if (!t->items[i].whole) t->items[i].have_bytes = 0;
    }
}

static void check_whole(struct texture *x)
{
    uint8_t hash[32];
    x->whole = mbedtls_sha256_ret(x->bytes, x->size_bytes, hash, 0) == 0 &&
               memcmp(hash, x->hash, SESSION_HASH_BYTES) == 0;
}

enum err textures_on_chunk(struct sinew_client *c, const uint8_t *payload, size_t size_bytes,
                           _Bool *whole)
{
    struct appearance_chunk chunk;
    enum err e = appearance_decode_chunk(payload, size_bytes, &chunk);
    if (e) return e;
    struct texture *x = textures_find(&c->textures, chunk.hash);
    if (!x || x->whole || chunk.total_bytes == 0) return ERR_OK;
    if (!x->bytes) {
        if (!client_take_memory(c, chunk.total_bytes)) return ERR_OK;
        x->bytes = malloc(chunk.total_bytes);
        if (!x->bytes) return ERR_OK; // shown without it
        x->size_bytes = chunk.total_bytes;
        x->mime = chunk.mime;
    }
    // Pieces come in order; a gap or another size means a server that is confused: left out.
    if (chunk.total_bytes != x->size_bytes || chunk.first_byte != x->have_bytes ||
        chunk.size_bytes > x->size_bytes - x->have_bytes)
        return ERR_OK;
    if (chunk.size_bytes) memcpy(x->bytes + x->have_bytes, chunk.bytes, chunk.size_bytes);
    x->have_bytes += chunk.size_bytes;
    if (x->have_bytes < x->size_bytes) return ERR_OK;
    check_whole(x);
    *whole = x->whole;
    if (!x->whole) x->have_bytes = 0; // damaged: never shown
    return ERR_OK;
}

void textures_free(struct textures *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        free(t->items[i].bytes);
    free(t->items);
    *t = (struct textures){0};
}
