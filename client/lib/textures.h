#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/appearance_message.h"

// Texture files by hash, as they arrive in pieces. Shared by all actors of a client; kept until it
// closes, within its memory budget. Under the client's lock.
enum { TEXTURES_MAX = 1024 };
struct texture {
    uint8_t hash[SESSION_HASH_BYTES];
    uint8_t mime; // enum appearance_mime; 0 before the first piece
    uint8_t *bytes;
    uint32_t size_bytes, have_bytes;
    _Bool wanted; // asked for on this connection
    _Bool whole;  // and its hash is right
    _Bool shown;  // sinew_update has passed since
};
struct textures {
    struct texture *items; // TEXTURES_MAX, at the first use
    uint32_t count;
};
struct sinew_client;

struct texture *textures_find(struct textures *t, const uint8_t hash[SESSION_HASH_BYTES]);
// Notes a texture that a material names.
void textures_note(struct sinew_client *c, const uint8_t hash[SESSION_HASH_BYTES]);
// Up to SESSION_WANTS_MAX that were not asked for yet; false: none.
_Bool textures_next_want(struct textures *t, struct session_want *out);
void textures_rejoin(struct textures *t); // a new connection: what is not whole is asked for again
// ERR_OK also for pieces that are of no use; *whole: a texture has become whole.
MUST_CHECK enum err textures_on_chunk(struct sinew_client *c, const uint8_t *payload,
                                      size_t size_bytes, _Bool *whole);
void textures_free(struct textures *t);
