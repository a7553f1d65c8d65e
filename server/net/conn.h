#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "server/net/chunk.h"

// One TCP connection: bytes, TLS and lifetime; what the bytes mean is its owner's affair. Loop
// thread only, except conn_encrypt. Memory is bounded whatever the peer does: buffers have fixed
// sizes, frames are replaced by newer ones before they are encrypted.
//
//   HANDSHAKE --tls done--> OPEN --conn_finish, peer's end--> DRAINING
//       \_____________________\__________________________________\____ conn_close --> CLOSING
//
// Sending has three lanes. At every message boundary the first one that has something wins:
//   control  conn_send        copied into a bounded queue, never dropped, never behind a frame
//   frame    conn_send_frame  newest wins: replaced as long as it has not begun
//   bulk     conn_send_bulk   in order, never dropped (SURFACE, textures, HTTP answers)
// A control message may pass a bulk or frame message that was queued earlier, but never cuts
// into a piece that has begun. conn_send* only queue; conn_flush writes. The connection flushes
// by itself after each call of its events.
struct conn;
struct tls_config;
struct background;

#define CONN_REASON_MAP(X)                                                                         \
    X(PEER_CLOSED, "peer_closed") /* orderly, by the peer */                                       \
    X(PEER_RESET, "peer_reset")   /* reset, timeout of the network */                              \
    X(FINISHED, "finished")       /* orderly, by us */                                             \
    X(DEADLINE, "deadline")       /* a phase took too long */                                      \
    X(LINGER, "linger")           /* the peer did not answer our close */                          \
    X(PROTOCOL, "protocol")       /* bytes that make no sense, or too many of them */              \
    X(TLS, "tls")                 /* handshake or record refused */                                \
    X(SLOW, "slow")               /* the control queue is full: the peer does not read */          \
    X(REFUSED, "refused")         /* caps */                                                       \
    X(SHUTDOWN, "shutdown")       /* the server stops */                                           \
    X(MEMORY, "memory")
enum conn_reason {
#define X(name, text) CONN_REASON_##name,
    CONN_REASON_MAP(X)
#undef X
        CONN_REASON_COUNT
};
const char *conn_reason_text(enum conn_reason reason); // "peer_closed"; stable, for metrics

enum {
    CONN_PREFIX_BYTES_MAX = 128,
    CONN_PIECES_USUAL = 64, // a batch takes so many pieces unless conn_reserve made room for more
    CONN_PIECES_MAX = 512,
    CONN_BULK_MAX = 16
};

// One message (or one part of a big one): a few bytes of this connection's own, then shared bytes.
struct conn_piece {
    uint8_t prefix[CONN_PREFIX_BYTES_MAX];
    uint8_t prefix_bytes;
    struct chunk *chunk;       // may be NULL; conn takes its own reference
    size_t offset, size_bytes; // within the chunk
    uint32_t group;            // frame lane: pieces of one frame, adjacent; sent all or not at all
    uint64_t tag;              // comes back in on_sent
};

// Every call may close the connection; the connection checks after each.
struct conn_events {
    // Plaintext; returns how many bytes are used up, the rest comes again with more behind it.
    // Negative: closed with PROTOCOL. A full buffer of which nothing is used: the same. The bytes
    // may be changed in place (unmasking).
    ptrdiff_t (*on_bytes)(struct conn *c, uint8_t *bytes, size_t size_bytes, void *owner);
    // The peer half-closed; what is queued can still be sent. NULL: conn_finish.
    void (*on_end)(struct conn *c, void *owner);
    // The last byte of a piece (frame, bulk) went to the kernel, or the piece was replaced.
    // NULL: not wanted.
    void (*on_sent)(struct conn *c, uint64_t tag, bool sent, void *owner);
    // Nothing is queued any more. NULL: not wanted.
    void (*on_drained)(struct conn *c, void *owner);
    // The deadline set by conn_deadline passed. NULL: closed with DEADLINE.
    void (*on_deadline)(struct conn *c, void *owner);
    // The last call; `c` is freed after it.
    void (*on_closed)(struct conn *c, enum conn_reason reason, void *owner);
};

struct conn_options {
    const struct tls_config *tls;  // NULL: plain
    struct background *background; // for handshakes; may be NULL when plain
    uint32_t handshake_ms;         // 0: 5000, absolute from accept
    uint32_t linger_ms;            // 0: 5000, for the peer to take what is queued and close
    uint32_t user_timeout_ms;      // 0: 8000; unacknowledged data, where the system has it
    size_t input_bytes;            // 0: 16 kB of plaintext
    size_t control_bytes;          // 0: 64 kB
    size_t out_bytes;              // 0: 128 kB of ciphertext
    uint32_t send_buffer_bytes;    // 0: the system's own
    bool cubic;                    // ask for TCP_CONGESTION=cubic: tests
    // TLS agreed (or plain accepted): set events with conn_take. `alpn` is NULL when none was
    // agreed. Not taking it closes the connection.
    void (*on_open)(struct conn *c, const char *alpn, void *owner);
    // Before the memory goes, whoever owns the events by then: for counting.
    void (*on_gone)(struct conn *c, enum conn_reason reason, void *owner);
    void *owner;
};

// For server/net/listener. Accepts from a listener that has a connection waiting; conn_start then
// begins (TLS, or on_open from inside the call). `options` must outlive the connection.
// NULL: no memory (the waiting connection stays waiting); failures later come as on_gone.
struct conn *conn_accept(uv_stream_t *listener, const struct conn_options *options);
void conn_start(struct conn *c);
void conn_set_id(struct conn *c, uint64_t id);
// A value id, never used again: what late answers from other threads are matched with by
// listener_hub_find. 0 before the listener has set it.
uint64_t conn_id(const struct conn *c);

// From now on these events; bytes that wait (after an upgrade: the first message) are delivered
// to them when the current call returns. May be called again to hand over.
void conn_take(struct conn *c, const struct conn_events *events, void *owner);

// Sending. False: the queue is full; the control lane then also closes the connection (SLOW).
bool conn_send(struct conn *c, const void *bytes, size_t size_bytes);
size_t conn_send_room(const struct conn *c); // bytes that conn_send still takes
// Room for batches of up to `pieces` (<= CONN_PIECES_MAX), for good. False: no memory, as it was.
bool conn_reserve(struct conn *c, size_t pieces);
size_t conn_pieces_max(const struct conn *c); // of one batch
// Replaces every group of the pending batch that has not begun (on_sent false for each of its
// pieces). The pieces are copied, the chunks referenced. False: closing; nothing was taken.
bool conn_send_frame(struct conn *c, const struct conn_piece *pieces, size_t piece_count);
bool conn_send_bulk(struct conn *c, const struct conn_piece *piece);
size_t conn_bulk_room(const struct conn *c); // pieces that conn_send_bulk still takes
// True when a batch given now begins at once: nothing of an older one waits, little is unsent.
bool conn_can_send(const struct conn *c);

// Any thread, one at a time for one connection, while the loop waits: takes what is queued through
// TLS into the out buffer. No allocation, no system call. conn_flush does it too.
void conn_encrypt(struct conn *c);
void conn_flush(struct conn *c);

// Reading can be held (back-pressure towards the peer) and taken up again.
void conn_pause(struct conn *c);
void conn_resume(struct conn *c);

// One absolute deadline, ms from now; replaces the one before; 0: none. The linger deadline of
// conn_finish is the connection's own.
void conn_deadline(struct conn *c, uint32_t ms_from_now);

// Orderly: what is queued goes out (frames that have not begun are dropped), then close_notify and
// FIN; closed when the peer closes too, at the latest after linger_ms. Idempotent.
void conn_finish(struct conn *c, enum conn_reason reason);
void conn_close(struct conn *c, enum conn_reason reason); // at once; idempotent
bool conn_is_closing(const struct conn *c);               // DRAINING or CLOSING

struct conn_address {
    char text[64]; // "192.0.2.1" or "2001:db8::1", without the port
    uint16_t port;
    uint8_t key[16]; // for counting: the IPv4 address (mapped), or the /64 of an IPv6 one
    bool loopback;
};
const struct conn_address *conn_peer(const struct conn *c);
const struct conn_address *conn_local(const struct conn *c);
bool conn_was_open(const struct conn *c); // on_open has been called
bool conn_is_tls(const struct conn *c);
const struct tls *conn_tls(const struct conn *c); // NULL: plain

struct conn_stats {
    uint64_t received_bytes, sent_bytes;   // on the wire, sent: taken by the kernel
    uint64_t frames_sent, frames_replaced; // groups
    size_t control_bytes, out_bytes;       // waiting now
    size_t pieces;                         // waiting now, frame lane
    uint64_t blocked_since_ns;             // the kernel takes nothing since then; 0: it does
    uint64_t opened_ns;
};
void conn_stats(const struct conn *c, struct conn_stats *out);
