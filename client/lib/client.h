#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/lib/actors.h"
#include "client/lib/clock_sync.h"
#include "client/lib/events.h"
#include "client/lib/histogram.h"
#include "client/lib/include/sinew/sinew.h"
#include "client/lib/input.h"
#include "client/lib/link.h"
#include "client/lib/net.h"
#include "client/lib/playout.h"
#include "client/lib/textures.h"
#include "common/simd.h"
#include "proto/hello.h"
#include "proto/inbox.h"

// One client: everything behind struct sinew_client. `lock` guards all of it; the network side
// (session.c, called by the library's thread or by sinew_poll) and the application's calls
// (sinew.c) each take it for a short while. Nothing waits for the network with the lock held.

//   RESOLVING --> LINKING --> HELLO --> JOINED --> WAITING --> RESOLVING ...
//        \___________\___________\__________\_________\--> ENDED
enum session_phase {
    SESSION_RESOLVING, // the host name is looked up, without the lock
    SESSION_LINKING,
    SESSION_HELLO, // HELLO is sent, WELCOME awaited
    SESSION_JOINED,
    SESSION_WAITING, // for the next attempt
    SESSION_ENDED
};

struct session_reason { // why a connection ended
    int result;
    uint32_t code, retry_ms;
    bool final;
    char text[SINEW_TEXT_MAX];
};

enum { JOIN_TYPES = 5, ACK_ANCHORS_MAX = 32 };

struct session {
    enum session_phase phase;
    struct link link;
    struct inbox_join joins[JOIN_TYPES]; // long messages, a join for each type
    struct hello_welcome welcome;        // `bindings` is not valid
    bool ever_joined, resumable, closing, tried_resume;
    struct session_reason reason; // noted by BYE and ERROR before the link closes
    uint32_t attempt;
    uint64_t deadline_us; // of the attempt; in WAITING: of the next one
    uint64_t joined_at_us, lost_at_us;
    uint64_t joined_total_us;
    uint64_t ping_at_us, ack_at_us;
    uint32_t ping_id;
    bool ack_now;
    struct {
        uint32_t actor, frame;
        uint64_t receive_time_us;
    } anchors[ACK_ANCHORS_MAX]; // to be acknowledged at once
    uint32_t anchor_count;
    uint32_t random; // of the back-off
};

struct figures {
    uint64_t frames, frames_own, frames_key, frames_missed, frames_undecoded, frames_unshown;
    uint64_t resyncs, vertex_bits, vertices, messages_skipped, reconnects, resumes;
    uint64_t own_tick, own_at_us; // newest frame of the own actor; 0: none since the join
    struct histogram age, shown_age, latency, interval, rtt;
};

struct sinew_client {
    struct net_lock *lock;
    struct sinew_options options; // strings are in `texts`
    char *texts;
    struct url url;
    struct tls_config *tls;
    struct net_thread *thread; // NULL: sinew_poll
    struct net_wake wake;
    bool stop;

    struct session session;
    struct clock_sync clock;
    struct playout playout;
    struct actors actors;
    struct textures textures;
    struct input input;
    struct events events;
    struct figures figures;
    enum simd_level simd;
    size_t memory_bytes; // surfaces, frames, textures

    char *bindings, *catalogue;         // JSON, NUL-ended; what the application holds
    char *bindings_new, *catalogue_new; // swapped in by sinew_update
    bool bindings_fresh, catalogue_fresh;
};

// True when `size_bytes` more stay inside options.memory_max_bytes; then they are counted.
static inline bool client_take_memory(struct sinew_client *c, size_t size_bytes)
{
    if (size_bytes > c->options.memory_max_bytes - c->memory_bytes) return false;
    c->memory_bytes += size_bytes;
    return true;
}
static inline void client_give_memory(struct sinew_client *c, size_t size_bytes)
{
    c->memory_bytes -= size_bytes;
}
