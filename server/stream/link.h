#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/inbox.h"
#include "proto/messages.h"
#include "proto/stream_codes.h"
#include "proto/ws.h"
#include "server/net/conn.h"
#include "server/stream/bucket.h"

// The messages of the stream protocol over one connection, native (TLS with ALPN sinew/1) or
// WebSocket: what a session sees of the network. Owns its memory, about 70 kB, most of it the
// inbox for one largest message; the connection below has its own fixed buffers. Loop thread only.
//
// A link comes before its session (it has none until HELLO) and may die before it (the session
// waits to be resumed).
struct link;
struct link_kind;
struct http_exchange;

// How a link came to its end.
enum link_end {
    LINK_LOST,    // the network, or the peer vanished: the session can be resumed
    LINK_LEFT,    // the peer said goodbye
    LINK_REFUSED, // we closed it with a code
};

struct link_events {
    // A whole, known message of a client; its payload is borrowed for the call. May close the link.
    void (*on_message)(struct link *l, const struct message *m);
    // A bulk piece or a frame piece went to the kernel, or was replaced. By its tag.
    void (*on_sent)(struct link *l, uint64_t tag, bool sent);
    // conn_deadline passed: HELLO did not come.
    void (*on_deadline)(struct link *l);
    // The last call; the link is freed after it.
    void (*on_gone)(struct link *l, enum link_end end, enum conn_reason reason);
};

struct link_stats { // counted over all links of one owner
    uint64_t messages_received, bytes_received, skipped, flood_pauses;
    uint64_t closed[256]; // by stream code: what we said, 0: the peer or the network ended it
};

struct link {
    struct conn *conn;
    const struct link_kind *kind;
    const struct link_events *events;
    void *owner;
    void *session; // the owner's; NULL before HELLO
    struct link_stats *stats;
    uint64_t heard_ns; // last time that bytes came
    uint32_t ping_id;  // of our newest PING
    bool closing, left, dropped, paused;
    uint8_t close_code; // what we said
    struct bucket messages, bytes, pings, floods, errors;
    struct ws ws;
    struct inbox inbox;
    struct link *next, *before; // the owner's list
    _Alignas(8) uint8_t inbox_bytes[INBOX_BYTES];
};

struct link_options {
    const struct link_events *events;
    void *owner;
    struct link_stats *stats;
    uint32_t hello_ms; // deadline for HELLO, absolute
};

// Takes the connection over. NULL: no memory (the caller refuses it).
struct link *link_native(struct conn *c, const struct link_options *options);
// Answers the upgrade. NULL: refused or no memory; answered either way.
struct link *link_websocket(struct http_exchange *x, const struct link_options *options);

const char *link_name(const struct link *l); // "sinew", "wss", "ws"

// A whole envelope to the control lane. False: the link is closing.
bool link_send(struct link *l, const void *envelope, size_t size_bytes);
// One piece of a large payload: framing and envelope of piece `k` of `payload_bytes` that begin at
// `offset` in `chunk`, followed there by at least 3 zero bytes (padding). False past the last.
bool link_piece(const struct link *l, uint8_t type, struct chunk *chunk, size_t offset,
                size_t payload_bytes, size_t k, struct conn_piece *out);

// The same for bytes that are whole envelopes already, from the start of `chunk`.
bool link_envelope(const struct link *l, struct chunk *chunk, size_t size_bytes,
                   struct conn_piece *inout);

// Says BYE (and a WebSocket close frame) with the code, its text or `text`, and when to come back;
// then the connection ends in order. Idempotent.
void link_close(struct link *l, enum stream_code code, uint32_t retry_ms, const char *text);
// The same, but at once: the peer is taken for gone, nobody waits for its answer. The session can
// be resumed.
void link_drop(struct link *l, enum stream_code code);
// Once a second: counters of control frames begin anew.
void link_second(struct link *l);
// Once a tick: a link that was held for sending too much is taken up again when it may send more.
void link_resume(struct link *l, uint64_t now_ns);
