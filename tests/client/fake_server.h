#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/queue.h"
#include "common/tls.h"
#include "proto/frame_message.h"
#include "proto/hello.h"
#include "proto/inbox.h"
#include "proto/input_messages.h"
#include "proto/session_messages.h"
#include "proto/surface/codec.h"
#include "proto/surface_message.h"
#include "proto/ws.h"

// A server for tests of the client: each connection runs a scenario, a function of the test, on a
// thread of its own with blocking calls. It speaks the protocol through proto/, well or badly as
// the scenario wants.
enum fake_transport { FAKE_NATIVE, FAKE_WSS, FAKE_WS };
enum { FAKE_COLUMNS = 24, FAKE_VERTICES = FAKE_COLUMNS * FAKE_COLUMNS, FAKE_TICK_HZ = 100 };

struct fake_peer;
typedef void fake_scenario(struct fake_peer *peer, int connection, void *owner);

struct fake_options {
    enum fake_transport transport;
    const char *certificate, *key; // NULL: the self-signed ones of fake_folder
    fake_scenario *scenario;
    void *owner;
    size_t dribble_bytes; // sent at once; 0: all
    bool mute_tls;        // accepts, and says nothing at all
};
struct fake_server;
struct fake_server *fake_start(const struct fake_options *options);
void fake_url(const struct fake_server *server, char out[128]);
void fake_stop(struct fake_server *server);
int fake_connections(const struct fake_server *server);
const char *fake_folder(void);            // a temporary folder
const char *fake_certificate(void);       // path, self-signed for localhost and 127.0.0.1
void fake_certificate_pin(char out[128]); // as text

struct fake_peer {
    int fd;
    enum fake_transport transport;
    size_t dribble_bytes;
    bool gone; // the client closed or nothing came in time
    struct tls *tls;
    struct queue wire_in, wire_out;
    struct ws ws;
    struct inbox inbox;
    uint8_t *inbox_bytes;
    const _Atomic bool *stop;
    struct hello hello; // as received
    // the synthetic character
    struct surface_packer *packer;
    struct surface_anchors anchors;
    void *anchor_memory;
    uint32_t frame;
    uint32_t input_sequence; // put into frames
    uint64_t tick;
    bool raw;
};

void fake_send(struct fake_peer *p, const void *bytes, size_t size_bytes); // whole envelopes
void fake_send_payload(struct fake_peer *p, uint8_t type, const uint8_t *payload, size_t size_bytes,
                       size_t piece_bytes); // in pieces, 0: as usual
// The next message, or false after `timeout_ms`, or when the client is gone.
bool fake_receive(struct fake_peer *p, struct message *out, uint32_t timeout_ms);
// Answers PINGs and collects the newest input sequence while waiting for a type.
bool fake_await(struct fake_peer *p, uint8_t type, struct message *out, uint32_t timeout_ms);
void fake_close(struct fake_peer *p, uint16_t ws_code);

bool fake_hello(struct fake_peer *p);                                        // awaits HELLO
void fake_welcome(struct fake_peer *p, const struct hello_welcome *changes); // NULL: as usual
struct hello_welcome fake_welcome_usual(void);
void fake_actor(struct fake_peer *p, uint32_t actor, bool own);
size_t fake_surface(uint8_t *out, size_t capacity); // payload
void fake_send_surface(struct fake_peer *p);
// Frame of actor 1 at tick p->tick++; key frames and anchors at the codec's will.
enum fake_frame { FAKE_KEY, FAKE_DELTA, FAKE_RAW };
void fake_send_frame(struct fake_peer *p, enum fake_frame kind, uint32_t extra_flags);
// HELLO, WELCOME, ACTOR, SURFACE, one key frame.
bool fake_join(struct fake_peer *p);
// Positions of the character at a tick, stream order, 3 floats a vertex, model space.
void fake_positions(uint64_t tick, float *out);
// Serves frames at FAKE_TICK_HZ and answers pings until the client goes or the server stops.
void fake_serve(struct fake_peer *p, uint32_t frames_max);
