#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/session_messages.h"
#include "server/stage/role.h"
#include "server/stream/link.h"

// What one session still has to be sent besides frames, in order: SURFACE, APPEARANCE, CATALOGUE
// in pieces as the connection takes them, then textures that it asked for, one piece at a time and
// only when nothing else of this waits. Bounded; holds references of shared bytes. Loop thread.
enum {
    SUPPLY_ITEMS_MAX = 3 * 64 + 16, // three for each actor that a view shows
    SUPPLY_WANTS_MAX = SESSION_WANTS_MAX
};

// Tags of pieces, as link_events.on_sent gives them back.
#define SUPPLY_TAG_ACTOR   ((uint64_t)1 << 56) // the last piece before frames of that actor may go
#define SUPPLY_TAG_TEXTURE ((uint64_t)2 << 56)
#define SUPPLY_TAG_INPUT   ((uint64_t)3 << 56) // frame lane: own frame, with its input sequence
#define SUPPLY_TAG_KIND    ((uint64_t)0xff << 56)

struct supply_item {
    uint8_t type; // enum messages_id
    uint64_t tag; // of its last piece
    struct chunk *chunk;
    size_t payload_bytes, piece;
};
struct supply_want {
    struct role *role; // a reference: the texture's bytes are in its model
    const struct role_texture *texture;
};
struct supply {
    struct supply_item items[SUPPLY_ITEMS_MAX]; // a ring
    size_t first, count;
    struct supply_want wants[SUPPLY_WANTS_MAX]; // a ring
    size_t want_first, want_count, want_at;     // want_at: bytes of the first one already given
    bool want_in_flight;
    bool failed; // memory was refused: the session cannot go on
};

// Takes the reference of `chunk` over, in every case. False: full, or chunk is NULL.
bool supply_put(struct supply *s, uint8_t type, uint64_t tag, struct chunk *chunk,
                size_t payload_bytes);
// False: full. A texture that waits already is not asked for twice.
bool supply_want(struct supply *s, const struct role *role, const struct role_texture *texture);
// Gives the link what it takes now.
void supply_feed(struct supply *s, struct link *l);
void supply_on_sent(struct supply *s, uint64_t tag);
void supply_clear(struct supply *s);
static inline bool supply_empty(const struct supply *s)
{
    return s->count == 0 && s->want_count == 0;
}
