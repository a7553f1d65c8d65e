#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

// The background pool: threads of our own for slow work (TLS handshakes, imports, bakes), away
// from the loop and from the tick. Jobs work on inputs that nobody changes and come back to the
// loop as a call of `done`. No job is ever lost: done runs exactly once for each job that was
// taken, unless background_cancel got it back first.
//
// Two classes, so that a bake of half a minute never holds up a handshake: slow jobs leave one
// thread free for quick ones.
enum background_class { BACKGROUND_QUICK, BACKGROUND_SLOW, BACKGROUND_CLASS_COUNT };

// Lies inside the thing that the job is about; borrowed from submit until done has been called.
struct background_job {
    void (*run)(struct background_job *job);  // on a pool thread; NULL with background_post
    void (*done)(struct background_job *job); // on the loop; may free or submit the job again
    void *owner;
    struct background_job *next_; // private
    int state_;
};

struct background;

// thread_count ≥ 2; queue_max: jobs of one class that may wait. NULL: threads or memory refused.
struct background *background_create(uv_loop_t *loop, int thread_count, size_t queue_max);
// Loop thread. Waits for running jobs, calls `done` of every job still held (those that waited did
// not run), then closes its handle: run the loop once more after it. NULL is fine.
void background_destroy(struct background *b);

// Loop thread. False: the queue is full, nothing was taken.
bool background_submit(struct background *b, enum background_class class,
                       struct background_job *job);
// Loop thread. True: the job had not started, is the caller's again and done will not be called.
bool background_cancel(struct background *b, struct background_job *job);
// Any thread: calls job->done on the loop. How the storage thread answers. Never refused.
void background_post(struct background *b, struct background_job *job);

size_t background_waiting(struct background *b, enum background_class class); // for metrics
