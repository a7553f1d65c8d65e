#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/err.h"
#include "server/net/conn.h"

// Listening sockets and the caps on what they accept. One hub counts the connections of all
// listeners, in total and per address; running out of descriptors never disturbs those that are
// open. Loop thread only.
struct listener_hub;
struct listener;

struct listener_limits {
    size_t connections_max; // 0: 1024; lowered when RLIMIT_NOFILE leaves less
    size_t per_address_max; // 0: 64 (an IPv6 /64 counts as one address)
    size_t handshakes_max;  // 0: 512 TLS handshakes in progress
    bool loopback_counts;   // per_address_max holds for loopback too (a proxy would suffer)
};

struct listener_stats {
    uint64_t accepted, refused_total, refused_address, refused_handshakes, accept_failed;
    uint64_t handshakes_ok, handshakes_resumed, handshakes_failed;
    uint64_t closed[CONN_REASON_COUNT];
    uint64_t received_bytes, sent_bytes; // of connections that are gone
    size_t open, handshaking;
};

struct listener_hub *listener_hub_create(uv_loop_t *loop, const struct listener_limits *limits);
// The order of an end: listener_close, every connection closed, the loop run until stats.open is 0,
// background_destroy, the loop run once more, then this.
void listener_hub_free(struct listener_hub *hub);
const struct listener_stats *listener_hub_stats(const struct listener_hub *hub);
// The connection of that conn_id, or NULL when it is gone.
struct conn *listener_hub_find(struct listener_hub *hub, uint64_t conn_id);
// Calls `visit` for every open connection; it may close the one it is given.
void listener_hub_each(struct listener_hub *hub, void (*visit)(struct conn *c, void *ctx),
                       void *ctx);

struct listener_options {
    const char *host;   // "127.0.0.1", "::", "localhost", a name; every address of it is bound
    uint16_t port;      // 0: the system's choice
    bool loopback_only; // refuse (ERR_DENIED, with the line to act on) anything else
    struct conn_options conn; // copied; its on_open says who takes the connections; on_gone unused
};

// ERR_BUSY: the port is taken; ERR_NOT_FOUND: the host; ERR_DENIED; ERR_IO. The fault's line names
// host, port and what to do.
MUST_CHECK enum err listener_open(struct listener_hub *hub, const struct listener_options *options,
                                  struct listener **out, struct fault *fault);
uint16_t listener_port(const struct listener *l); // what was bound
// Stops accepting at once. Connections stay; the listener's memory goes with the last of them.
void listener_close(struct listener *l);
// Connections accepted from now on use this configuration (a certificate was renewed); those that
// are open keep theirs alive by themselves. Only of a listener that was opened with TLS.
void listener_set_tls(struct listener *l, const struct tls_config *tls);
