#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/messages.h"

// Received bytes to whole messages, in memory of fixed size that the owner lends. The same for a
// TLS stream and for the payload bytes of WebSocket binary messages. One owner thread.
//
//   inbox_put -> inbox_next until ERR_TRUNCATED -> inbox_put ...
struct inbox {
    uint8_t *bytes; // borrowed until the inbox is dropped; 4-byte aligned
    size_t capacity_bytes;
    size_t begin, end; // bytes held: [begin, end)
    enum messages_from from;
    uint64_t skipped_count; // unknown types passed over
};

// Capacity a server needs for clients: one largest message. A client's inbox needs the same.
enum { INBOX_BYTES = MESSAGES_HEADER_BYTES + MESSAGES_PIECE_BYTES + 4096 };

void inbox_init(struct inbox *in, void *bytes, size_t capacity_bytes, enum messages_from from);

// Copies as much as fits; returns the count taken (the rest is given again after inbox_next).
size_t inbox_put(struct inbox *in, const void *bytes, size_t size_bytes);

// The next whole known message; its payload is borrowed until the next call on this inbox.
// ERR_TRUNCATED: none yet. ERR_LIMIT, ERR_MALFORMED: the peer is broken; the stream cannot go on.
MUST_CHECK enum err inbox_next(struct inbox *in, struct message *out);

// True when no part of a message is held: what the end of a WebSocket message must find.
bool inbox_at_boundary(const struct inbox *in);

// Joins pieces (MESSAGES_MORE, MESSAGES_CONTINUES) of one type into memory the owner lends.
struct inbox_join {
    uint8_t *bytes;
    size_t capacity_bytes, size_bytes;
    uint8_t type; // 0: nothing begun
};

// ERR_OK: *out is whole (borrowed from the join, or from `piece` when it was whole already).
// ERR_TRUNCATED: taken, more pieces follow. ERR_MEMORY: `capacity_bytes` does not do; nothing was
// taken: enlarge (bytes up to size_bytes keep their value) and call again. ERR_LIMIT: larger
// than the type may be. ERR_MALFORMED: a continuation of nothing. A first piece drops what an
// earlier sender left unfinished.
MUST_CHECK enum err inbox_join(struct inbox_join *join, const struct message *piece,
                               struct message *out);
