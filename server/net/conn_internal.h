#pragma once
#include "common/queue.h"
#include "common/tls.h"
#include "server/net/background.h"
#include "server/net/conn.h"

// The inside of a connection, shared by conn.c (lifetime, reading, TLS), conn_out.c (lanes,
// encryption, writing) and conn_socket.c (what the kernel is told). Nobody else includes this.

enum conn_state { CONN_HANDSHAKE, CONN_OPEN, CONN_DRAINING, CONN_CLOSING, CONN_STATE_COUNT };
enum conn_lane { CONN_LANE_NONE, CONN_LANE_FRAME, CONN_LANE_BULK };
enum { CONN_MARKS_MAX = 128 };

// A piece that is wholly in the out buffer: told to the owner, and its chunk released, once the
// kernel has taken the bytes up to end_at.
struct conn_mark {
    uint64_t end_at; // of out.put_total; 0: its record is not closed yet
    uint64_t tag;
    struct chunk *chunk;
    bool group_end; // the last piece of a frame
};

struct conn_out {
    struct queue control; // whole messages, plaintext
    struct queue bytes;   // ciphertext (TLS) or what goes out as it is
    // The frame lane: pieces of a group that has begun, then the newest batch.
    struct conn_piece *frames; // 2 * pieces_max
    size_t pieces_max;         // of one batch
    size_t frame_first, frame_count;
    bool group_begun, batch_begun;
    struct conn_piece bulk[CONN_BULK_MAX]; // ring
    size_t bulk_first, bulk_count;
    enum conn_lane lane;                    // whose first piece is part-way out
    size_t piece_at;                        // bytes of that piece (prefix included) already taken
    struct conn_mark marks[CONN_MARKS_MAX]; // ring
    size_t mark_first, mark_count, mark_unclosed;
    uint64_t put_total, written_total;
    uint64_t frames_sent, frames_replaced;
    uint64_t blocked_since_ns;
    uv_write_t write_request;
    size_t in_flight; // bytes at the head of `bytes` lent to write_request
    uv_shutdown_t shutdown_request;
    bool flushing, flush_again, was_busy;
    bool shut;   // close_notify and FIN are under way
    bool failed; // TLS refused to encrypt: conn_flush closes
};

struct conn {
    uv_tcp_t tcp;
    uv_timer_t timer; // handshake, the owner's deadline, or the linger, by state
    int handles_open; // memory goes when this reaches 0 and no job runs, never elsewhere
    enum conn_state state;
    enum conn_reason reason;
    const struct conn_options *options;
    const struct conn_events *events;
    void *owner;
    uint64_t id, opened_ns, received_bytes;
    struct tls *tls;
    struct queue cipher;       // TLS only: ciphertext received
    struct queue input;        // plaintext received
    struct background_job job; // a step of the handshake
    enum tls_status job_status;
    bool job_held, job_ran;
    bool was_open, reading, paused, peer_ended, end_told, taken, delivering, tls_dry;
    struct conn_address peer, local;
    struct conn_out out;
};

// conn.c
bool conn_is_closed(const struct conn *c); // CLOSING: every callback returns at once

void conn_handshake_step(struct conn *c); // nothing to do in other states

// conn_out.c
bool conn_out_create(struct conn *c); // false: no memory
void conn_out_free(struct conn *c);
void conn_out_drop_frames(struct conn *c); // those that have not begun
void conn_out_last_words(struct conn *c);  // one try to send what is in the buffer, then never mind

// conn_socket.c
void conn_socket_tune(struct conn *c);
size_t conn_socket_unsent(const struct conn *c); // bytes that the kernel has and never sent yet
void conn_socket_addresses(struct conn *c);
