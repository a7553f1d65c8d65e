#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/queue.h"
#include "common/tls.h"
#include "proto/frame_message.h"
#include "proto/hello.h"
#include "proto/inbox.h"
#include "proto/messages.h"
#include "proto/session_messages.h"
#include "proto/stream_codes.h"
#include "proto/surface/codec.h"
#include "proto/surface_message.h"
#include "proto/ws.h"

// A thin client for tests: one non-blocking socket, everything that a hostile peer needs to send
// what it should not. Pumped by the test beside the server's loop, on one thread.
enum client_kind { CLIENT_WS, CLIENT_WSS, CLIENT_NATIVE };
enum { CLIENT_SURFACES_MAX = 8, CLIENT_ACTORS_MAX = 64, CLIENT_NOTES_MAX = 64 };

struct client_surface { // one character's topology, as far as frames need it
    uint32_t model, version;
    struct surface_message message;
    uint8_t *bytes; // owned; message borrows
    uint16_t *predictors[SURFACE_LODS_MAX];
    uint32_t *vertices[SURFACE_LODS_MAX];
};
struct client_actor {
    uint32_t actor, frame_count, key_count, last_frame, bad_count, still_count;
    uint64_t last_tick;
    uint32_t input_sequence;
    uint8_t lod, bits;
    struct surface_grid grid;
    struct surface_anchors anchors[SURFACE_LODS_MAX];
    void *anchor_memory[SURFACE_LODS_MAX];
    struct surface_row *rows; // newest frame, stream order of its detail
    float *raw;               // newest raw frame: 6 floats a vertex
    size_t vertex_count;
    bool gone;
};

struct client {
    int fd;
    enum client_kind kind;
    bool open, upgraded, eof, stalled, quiet; // quiet: no PONG, no ACK
    uint32_t bytes_per_s;                     // a slow link: reads no more; 0: all there is
    uint64_t read_ns;
    double read_credit;
    struct tls_config *tls_config;
    struct tls *tls;
    struct queue cipher_in, out; // out: ciphertext or plain bytes to send
    struct queue in;             // plaintext received and not parsed
    struct ws ws;
    struct inbox inbox;
    uint8_t *inbox_bytes;
    struct inbox_join join;
    char http[2048]; // the answer's head when it was no upgrade
    uint16_t close_code;
    bool got_close, got_bye;
    struct session_note bye, notes[CLIENT_NOTES_MAX];
    size_t note_count;
    bool welcomed;
    struct hello_welcome welcome;
    uint64_t counts[256];
    uint32_t order_broken; // frames before their SURFACE and APPEARANCE
    struct client_surface surfaces[CLIENT_SURFACES_MAX];
    size_t surface_count;
    struct client_actor actors[CLIENT_ACTORS_MAX];
    size_t actor_count;
    struct session_pong pong;
    uint64_t received_bytes, largest_gap_ns, last_frame_ns, first_frame_ns, texture_bytes;
    uint32_t sequence;
    struct surface_packer *packer;
    char *catalogue;
    struct session_applied applied;
};

bool client_open(struct client *c, enum client_kind kind, uint16_t port);
void client_close(struct client *c); // as a crash would
// From now on a link of that rate, and a small window, so that the kernel hides little.
void client_slow(struct client *c, uint32_t bytes_per_s);
void client_pump(struct client *c); // reads and writes what goes without waiting

// Queues bytes as they are (below WebSocket and envelopes).
void client_send_bytes(struct client *c, const void *bytes, size_t size_bytes);
// One envelope in one WebSocket message or bare.
void client_send(struct client *c, const void *envelope, size_t size_bytes);
void client_hello(struct client *c, const struct hello *hello); // versions are filled in when 0
void client_ping(struct client *c, uint32_t id);
void client_place(struct client *c, float x, float y, float z, float yaw_rad);
void client_pose_clip(struct client *c, const char *clip, float time_s);
void client_ack(struct client *c); // of the newest frame of every actor
void client_bye(struct client *c);

struct client_actor *client_actor(struct client *c, uint32_t actor); // NULL: never seen
struct client_actor *client_own(struct client *c);
const struct client_surface *client_surface(const struct client *c, uint32_t model);
const struct session_note *client_note(const struct client *c, uint16_t code); // or NULL
// Positions of the actor's newest frame in source order, from grid or raw; vertex_count * 3.
bool client_positions(struct client *c, uint32_t actor, float *out, size_t vertex_count);
