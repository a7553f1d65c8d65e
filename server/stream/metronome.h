#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

// Calls the loop when the next tick is due. libuv's timers count whole milliseconds, an eighth of a
// tick at 120 Hz; where the system has timers as descriptors (Linux) those are used. Loop thread.
struct metronome {
    void (*on_due)(void *owner);
    void *owner;
    uv_timer_t timer; // private
    uv_poll_t poll;
    int fd; // -1: the timer is used
    bool closed;
};

// The struct must stay where it is until the loop has run after metronome_close.
void metronome_init(struct metronome *m, uv_loop_t *loop, void (*on_due)(void *owner), void *owner);
// One call, wait_ns from now; replaces the one before.
void metronome_set(struct metronome *m, uint64_t wait_ns);
void metronome_close(struct metronome *m); // idempotent
