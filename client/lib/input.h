#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "proto/input_messages.h"
#include "proto/pose_message.h"

// What the application has set, as messages: sequence numbers, events that ride along until they
// are acknowledged, and everything that holds, to be said again on a new session. Under the
// client's lock.
enum { INPUT_SENT_MAX = 512 };

struct input_pending { // an event that no frame has acknowledged yet
    struct input_event event;
    char *json; // owned; event.json points to it
};

struct input {
    uint32_t sequence; // of the newest message
    uint32_t event_number;
    struct {
        uint32_t sequence;
        uint32_t event; // newest event that it carried; 0: none
        uint64_t sent_at_us;
    } sent[INPUT_SENT_MAX]; // [sequence % INPUT_SENT_MAX], for latency
    uint32_t seen;          // newest sequence that a frame had
    struct input_pending pending[INPUT_EVENTS_MAX];
    uint32_t pending_count;
    uint64_t carried_at_us; // when they were sent last

    // What holds; NULL: never set.
    struct pose_message *pose;
    struct input_values *face, *customise;
    struct input_control *control; // its events are not used
    struct input_place place;      // fields 0: never set
    struct input_control *message; // scratch
};

struct sinew_client;
int input_pose(struct sinew_client *c, const struct sinew_pose *in, uint32_t *sequence);
int input_place(struct sinew_client *c, const struct sinew_place *in, uint32_t *sequence);
int input_values(struct sinew_client *c, uint8_t type, const struct sinew_value *in, size_t count,
                 uint32_t *sequence);
int input_control(struct sinew_client *c, const struct sinew_control *from, uint32_t *sequence);
int input_sensor(struct sinew_client *c, const struct sinew_sensor *from, uint32_t *sequence);

// Says once more what waits to be acknowledged, when that was long ago: it may have been lost.
void input_step(struct sinew_client *c, uint64_t now_us);
// A frame of the own actor used inputs up to `sequence`. Microseconds since that one was sent, or
// -1 when it is not a new one.
int64_t input_on_seen(struct input *in, uint32_t sequence, uint64_t now_us);
// Joined (again): says everything that holds. `resumed`: the server knows the events' numbers.
void input_rejoin(struct sinew_client *c, bool resumed);
void input_free(struct input *in);
