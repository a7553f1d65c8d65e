#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/net/conn.h"
#include "server/stage/stage.h"
#include "server/stream/auth.h"
#include "server/stream/lease.h"
#include "server/stream/parcel.h"
#include "server/stream/tally.h"
#include "server/stream/tickets.h"

// All thin clients of one server, and the tick that serves them. Loop thread only.
//
//   tick: which sessions are due → stage_tick (evaluate, encode: forked) → events, batches →
//         encryption (forked) → writing
//
// Memory is bounded by the caps: a session has fixed buffers, a frame is shared by all who get it.
// A tick allocates nothing; joining, leaving and new settings do.
struct hub;
struct http_exchange;
struct session;

struct hub_options {
    uv_loop_t *loop;
    struct stage *stage; // borrowed
    uint32_t tick_hz;
    struct auth auth;
    uint32_t sessions_max, sessions_per_address_max; // waiting for resume counts too
    size_t batch_bytes_max; // of frames given to one connection at once; one frame always goes
    uint32_t hello_ms;      // 0: 5000
    uint32_t heartbeat_ms;  // 0: 2000; three of silence end a connection
    uint32_t resume_s;      // 0: 30
    // The draft that a modeller's stream shows instead of what is served; NULL: none. May be NULL.
    struct role *(*find_draft)(void *owner, uint64_t token, const char *character);
    // After every tick: the loop lives (watchdog). May be NULL.
    void (*on_tick)(void *owner, uint64_t now_ns);
    void *owner;
};

// NULL: no memory.
struct hub *hub_create(const struct hub_options *options);
void hub_start(struct hub *h); // ticks begin
// New limits and store; sessions that are there stay.
void hub_reload(struct hub *h, uint32_t sessions_max, uint32_t sessions_per_address_max);

// A token's newest draft of a character is another now: its modeller's streams show it from the
// next tick on. NULL: what is served.
void hub_show_draft(struct hub *h, uint64_t token, const char *character, struct role *role);
// Tokens have changed: sessions whose token is not good any more end.
void hub_check_tokens(struct hub *h);

// An open connection whose ALPN was sinew/1; an upgrade of /v1/stream.
void hub_take_native(struct hub *h, struct conn *c);
void hub_take_websocket(struct hub *h, struct http_exchange *x);

// A ticket for one HELLO. False: too many are out, or the server stops.
bool hub_issue_ticket(struct hub *h, const struct auth_identity *identity,
                      char out[SECRET_TEXT_BYTES]);
bool hub_is_full(const struct hub *h);

// UDP input (hub_sensors.c): a port of the range that leases take. Without this there is none.
void hub_set_osc(struct hub *h, const char *host, uint16_t port_first, uint16_t port_last);
enum hub_lease {
    HUB_LEASE_OFF,
    HUB_LEASE_UNKNOWN,
    HUB_LEASE_DENIED,
    HUB_LEASE_FAILED,
    HUB_LEASE_OK
};
struct hub_sensing { // of one session
    uint16_t port;   // 0: it has no lease
    char host[64], source[80];
    uint64_t messages[OSC_PROTOCOLS][OSC_RESULTS];
    bool made;
};
// Who may: whoever opened the session with the same token; of a session without one, a peer of the
// same address; an admin.
enum hub_lease hub_lease_open(struct hub *h, const char *session, const struct auth_identity *who,
                              const struct conn_address *peer, struct hub_sensing *out,
                              struct fault *fault);
enum hub_lease hub_lease_close(struct hub *h, const char *session, const struct auth_identity *who,
                               const struct conn_address *peer);
enum hub_lease hub_lease_tell(struct hub *h, const char *session, const struct auth_identity *who,
                              const struct conn_address *peer, struct hub_sensing *out);
// Requests of a SENSOR message, for whom only UDP speaks.
enum hub_lease hub_calibrate(struct hub *h, const char *session, const struct auth_identity *who,
                             const struct conn_address *peer, uint16_t requests,
                             struct fault *fault);

// Characters are being loaded: who asks for one that is not there yet is told to come back
// (RESTART) instead of being turned away for good, and keeps its ticket. False at the start.
void hub_set_loading(struct hub *h, bool loading);

// No new sessions from now on; those there are told and closed with RESTART, spread over the
// window; then on_drained, once. With no sessions: from inside the next tick.
void hub_drain(struct hub *h, uint32_t window_ms, void (*on_drained)(void *owner), void *owner);
bool hub_is_draining(const struct hub *h);
// Ends every session and link at once and stops ticking; run the loop until the handles are gone,
// then hub_destroy (which also gives the stage its views and frames back).
void hub_stop(struct hub *h);
void hub_destroy(struct hub *h); // after the last connection; NULL is fine

// Why a frame that a session could have had was not sent.
#define HUB_SKIP_MAP(X)                                                                            \
    X(LINK, "link")       /* the link was busy with an older one */                                \
    X(PACE, "pace")       /* the rate was lowered to what the link carries */                      \
    X(LOAD, "load")       /* the server has not the processor time for all of them */              \
    X(LATE, "late")       /* the server missed the tick */                                         \
    X(SURFACE, "surface") /* its SURFACE is not there yet */                                       \
    X(BATCH, "batch")     /* more than one batch carries; it goes next time */                     \
    X(REPLACED, "replaced")
enum hub_skip {
#define X(name, text) HUB_SKIP_##name,
    HUB_SKIP_MAP(X)
#undef X
        HUB_SKIP_COUNT
};
const char *hub_skip_text(enum hub_skip s);

// INPUT messages by type and result.
enum { HUB_INPUT_TYPES = 6 }; // CONTROL, SENSOR, FACE, CUSTOMISE, POSE, PLACE
enum hub_input_result { HUB_INPUT_APPLIED, HUB_INPUT_STALE, HUB_INPUT_REFUSED, HUB_INPUT_NOT_YET };
enum { HUB_INPUT_RESULTS = 4 };

struct hub_counts {
    uint64_t sessions_opened, sessions_resumed, sessions_superseded, sessions_ended,
        sessions_expired, refused_full, refused_auth, timed_out;
    uint64_t frames_sent, frame_bytes_sent, batches_sent, skipped[HUB_SKIP_COUNT];
    uint64_t inputs[HUB_INPUT_TYPES][HUB_INPUT_RESULTS];
    uint64_t acks, resyncs, pings, errors_sent, rate_lowered, detail_lowered;
    struct lease_counts leases;
    struct tally age, input_to_socket, join; // seconds
};
struct hub_snapshot {
    const struct hub_counts *counts; // borrowed
    const struct link_stats *links;  // borrowed
    const struct tickets *tickets;   // borrowed
    struct ticker_snapshot tick;
    double share; // of the asked rates that the processor allows: 0.1 .. 1
    size_t live, lost, links_open, sessions_max, leases;
    size_t queue_bytes; // waiting in all connections
    uint64_t last_tick_ns;
    bool draining;
};
void hub_snapshot(const struct hub *h, struct hub_snapshot *out);

struct hub_session_info {
    char session[24], link[8], peer[64], scene[64], character[64];
    const char *state; // "live" "lost"
    double rate_hz, age_s, rtt_s;
    int64_t clock_offset_us; // client's clock minus ours
    uint32_t asked_hz, coarser, actors;
    uint64_t frames_sent, frames_skipped, bytes_sent;
    size_t queue_bytes;
};
bool hub_session_at(const struct hub *h, size_t index, struct hub_session_info *out);
