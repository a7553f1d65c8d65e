#pragma once
#include "server/stream/hub.h"
#include "server/stream/link.h"
#include "server/stream/metronome.h"
#include "server/stream/session.h"

// The inside of a hub, for hub*.c and session*.c.
struct hub {
    struct hub_options options;
    struct metronome metronome; // of the next tick
    struct ticker ticker;
    double busy_s, share; // recent duration of ticks; what part of the asked rates that allows
    uint64_t last_tick_ns, last_second_ns, boot_us;
    struct session **sessions; // [session_count] of sessions_capacity
    size_t session_count, sessions_capacity;
    struct conn **encrypting; // scratch of one tick
    size_t encrypting_count;
    struct link *links; // all, with and without session
    size_t link_count;
    uint64_t session_serial;
    struct tickets tickets;
    struct parcel_shelf shelf;
    char osc_host[256];
    uint16_t osc_first, osc_last;
    bool osc; // leases may be had
    struct link_stats link_stats;
    struct hub_counts counts;
    bool started, stopped, loading, draining, drained;
    uint64_t drain_from_ns, drain_window_ns;
    size_t drain_total, drain_closed;
    void (*on_drained)(void *owner);
    void *drain_owner;
};

static inline struct hub *hub_of(const struct link *l)
{
    return l->owner;
}
uint32_t
hub_retry_ms(const struct hub *h); // with jitter, so that a crowd does not come back as one
struct session *hub_find_resume(const struct hub *h, const char *token);
void hub_hear(struct hub *h); // before a tick: what leases have heard
size_t hub_sessions_of(const struct hub *h, const struct conn_address *peer);
