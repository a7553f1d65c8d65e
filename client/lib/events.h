#pragma once
#include <stddef.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"

// The queue behind sinew_next_event. It grows to EVENTS_MAX; then the oldest event that is not
// about the connection makes room. Under the client's lock.
enum { EVENTS_MAX = 1024 };
struct event {
    enum sinew_event_kind kind;
    int result;
    uint32_t code, actor, sequence, retry_ms;
    uint64_t tick, time_us;
    char *text; // malloc'd, or NULL
};
struct events {
    struct event *ring;
    size_t capacity, first, count;
    uint64_t lost_count;
};
// `text` is copied; `event->text` is ignored.
void events_push(struct events *e, const struct event *event, const char *text);
// False when there is none. `out->text` is the caller's to free.
_Bool events_pop(struct events *e, struct event *out);
void events_free(struct events *e);
