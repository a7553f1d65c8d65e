#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/net/udp.h"
#include "server/stage/stage_sensors.h"

// UDP input for one session: a port of its own, which a token holder asked for. UDP has no
// identity, so the first sender of something useful is the source, and nobody else is heard until
// it has been silent for two seconds. Loop thread only.
struct lease;
struct stage;

struct lease_counts { // of all leases, for metrics
    uint64_t datagrams, bytes;
    uint64_t foreign; // of others than the source
    uint64_t dropped; // more in a tick than is looked at
    uint64_t paused;  // ticks in which the socket's budget was used up
    uint64_t messages[OSC_PROTOCOLS][OSC_RESULTS];
    uint64_t poses; // committed to a character
};

struct lease_options {
    uv_loop_t *loop;
    struct stage *stage;
    struct lease_counts *counts; // borrowed, shared
    const char *host;            // "": every address
    uint16_t port_first, port_last;
    uint64_t tick_ns;
};

// The first free port of the range. ERR_BUSY: none is.
MUST_CHECK enum err lease_open(const struct lease_options *options, struct lease **out,
                               struct fault *fault);
void lease_close(struct lease *l); // NULL is fine
uint16_t lease_port(const struct lease *l);

// Before the tick of the actor `id`: what was heard goes to it, and more may come.
void lease_tick(struct lease *l, uint64_t actor, uint64_t now_ns);

struct lease_info {
    char source[80]; // "": nobody, for two seconds now
    const struct osc_source *said;
};
void lease_tell(const struct lease *l, uint64_t now_ns, struct lease_info *out);
