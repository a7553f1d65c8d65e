#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/err.h"

// Fork and join: the loop thread splits one task into parts, takes part itself and goes on when
// the last part is done. Between two runs the workers own nothing, so what a task touches needs no
// lock. Waiting threads spin for a moment, then sleep.
//
// A run allocates nothing. Which thread gets which part is open; results must not depend on it.
enum { WORKERS_MAX = 63 }; // besides the loop

// One thread's own things, for the length of a part.
struct workers_seat {
    size_t index;         // 0: the loop; 1 .. worker count
    struct arena scratch; // empty when a part begins
    void *own;            // what workers_set_own gave this seat; NULL before
};

struct workers;
// Starts `worker_count` threads (0: the loop works alone), each seat with `scratch_bytes`. The
// creating thread is the loop. ERR_MEMORY; ERR_LIMIT: too many, or the system gives no thread.
MUST_CHECK enum err workers_create(size_t worker_count, size_t scratch_bytes, struct workers **out);
void workers_destroy(struct workers *w);                         // stops and joins; NULL is fine
size_t workers_seat_count(const struct workers *w);              // workers and the loop
void workers_set_own(struct workers *w, size_t seat, void *own); // loop, between runs
void *workers_own(const struct workers *w, size_t seat);

// Calls run(owner, part, part_count, seat) once for every part 0 .. part_count - 1, on any of the
// threads, and returns after the last. Loop thread only; parts must not call it. What was written
// before the call is seen by the parts, what they wrote is seen after it.
void workers_run(struct workers *w, size_t part_count,
                 void (*run)(void *owner, size_t part, size_t part_count,
                             struct workers_seat *seat),
                 void *owner);

uint64_t workers_cpu_ns(const struct workers *w); // processor time of the worker threads so far
