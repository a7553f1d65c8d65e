#include "server/stage/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "common/check.h"

// One word says all about a run: which it is, whether workers may still enter, how many are
// inside. A worker enters by compare-and-swap and leaves by subtraction; the loop closes the run
// when no part is left to claim and waits for those inside. A worker that wakes too late finds the
// run closed: the loop never waits for a thread that the system has not woken yet.
//
//   generation << 32 | RUN_OPEN | inside
#define RUN_OPEN   ((uint64_t)1 << 31)
#define RUN_INSIDE ((uint64_t)0x7fffffff)

enum { SPINS = 1500 }; // some tens of microseconds: the gap between two runs of one tick

struct worker {
    struct workers *all;
    struct workers_seat seat;
    pthread_t thread;
};

struct workers {
    _Alignas(64) _Atomic uint64_t run_word;
    _Alignas(64) _Atomic size_t next_part;
    // Written by the loop while no worker is inside.
    _Alignas(64) size_t part_count;
    void (*run)(void *owner, size_t part, size_t part_count, struct workers_seat *seat);
    void *owner;

    pthread_mutex_t mutex;
    pthread_cond_t wake, left;
    _Atomic uint32_t sleepers;
    _Atomic bool loop_waits;
    bool stop; // under the mutex

    struct worker *seats; // [0] is the loop, without a thread
    size_t seat_count, threads_started;
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void claim_parts(struct workers *w, struct workers_seat *seat)
{
    for (;;) {
        size_t part = atomic_fetch_add_explicit(&w->next_part, 1, memory_order_relaxed);
        if (part >= w->part_count) return;
        arena_reset(&seat->scratch);
        w->run(w->owner, part, w->part_count, seat);
    }
}

// Sleeps until the run differs from `seen`; false: stop.
static bool wait_for_run(struct workers *w, uint32_t seen)
{
    for (int i = 0; i < SPINS; i++) {
        if ((uint32_t)(atomic_load(&w->run_word) >> 32) != seen) return true;
        relax();
    }
    pthread_mutex_lock(&w->mutex);
    atomic_fetch_add(&w->sleepers, 1);
    while (!w->stop && (uint32_t)(atomic_load(&w->run_word) >> 32) == seen)
        pthread_cond_wait(&w->wake, &w->mutex);
    atomic_fetch_sub(&w->sleepers, 1);
    bool stop = w->stop;
    pthread_mutex_unlock(&w->mutex);
    return !stop;
}

static void leave_run(struct workers *w)
{
    uint64_t before = atomic_fetch_sub(&w->run_word, 1);
    bool last = (before & RUN_INSIDE) == 1 && !(before & RUN_OPEN);
    if (!last || !atomic_load(&w->loop_waits)) return;
    pthread_mutex_lock(&w->mutex);
    pthread_cond_signal(&w->left);
    pthread_mutex_unlock(&w->mutex);
}

static void *worker_main(void *argument)
{
    struct worker *self = argument;
    struct workers *w = self->all;
    uint32_t seen = 0;
    while (wait_for_run(w, seen)) {
        uint64_t word = atomic_load(&w->run_word);
        seen = (uint32_t)(word >> 32);
        bool entered = false;
        while ((word & RUN_OPEN) && (uint32_t)(word >> 32) == seen && !entered)
            entered = atomic_compare_exchange_weak(&w->run_word, &word, word + 1);
        if (!entered) continue;
        claim_parts(w, &self->seat);
        leave_run(w);
    }
    return NULL;
}

static bool start_threads(struct workers *w)
{
    for (size_t i = 1; i < w->seat_count; i++) {
        if (pthread_create(&w->seats[i].thread, NULL, worker_main, &w->seats[i]) != 0) return false;
        w->threads_started++;
    }
    return true;
}

enum err workers_create(size_t worker_count, size_t scratch_bytes, struct workers **out)
{
    if (worker_count > WORKERS_MAX) return ERR_LIMIT;
    struct workers *w = aligned_alloc(64, (sizeof *w + 63) / 64 * 64);
    if (!w) return ERR_MEMORY;
    *w = (struct workers){.seat_count = worker_count + 1};
    CHECK(pthread_mutex_init(&w->mutex, NULL) == 0);
    CHECK(pthread_cond_init(&w->wake, NULL) == 0);
    CHECK(pthread_cond_init(&w->left, NULL) == 0);
    w->seats = calloc(w->seat_count, sizeof *w->seats);
    bool fine = w->seats != NULL;
    for (size_t i = 0; fine && i < w->seat_count; i++) {
        w->seats[i].all = w;
        w->seats[i].seat.index = i;
        fine = arena_create(&w->seats[i].seat.scratch, scratch_bytes ? scratch_bytes : 64);
    }
    if (!fine || !start_threads(w)) {
        workers_destroy(w);
        return fine ? ERR_LIMIT : ERR_MEMORY;
    }
    *out = w;
    return ERR_OK;
}

void workers_destroy(struct workers *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->mutex);
    w->stop = true;
    atomic_fetch_add(&w->run_word, (uint64_t)1 << 32); // a closed run: spinners look up
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    for (size_t i = 1; i <= w->threads_started; i++)
        CHECK(pthread_join(w->seats[i].thread, NULL) == 0);
    for (size_t i = 0; w->seats && i < w->seat_count; i++)
        arena_destroy(&w->seats[i].seat.scratch);
    free(w->seats);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->left);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}

size_t workers_seat_count(const struct workers *w)
{
    return w->seat_count;
}

void workers_set_own(struct workers *w, size_t seat, void *own)
{
    CHECK(seat < w->seat_count);
    w->seats[seat].seat.own = own;
}

void *workers_own(const struct workers *w, size_t seat)
{
    CHECK(seat < w->seat_count);
    return w->seats[seat].seat.own;
}

static void open_run(struct workers *w)
{
    atomic_store_explicit(&w->next_part, 0, memory_order_relaxed);
    uint64_t word = atomic_load(&w->run_word);
    CHECK((word & (RUN_OPEN | RUN_INSIDE)) == 0); // no run inside a run
    atomic_store(&w->run_word, ((word >> 32) + 1) << 32 | RUN_OPEN);
    if (atomic_load(&w->sleepers) == 0) return;
    pthread_mutex_lock(&w->mutex);
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

static void close_run(struct workers *w)
{
    atomic_fetch_and(&w->run_word, ~RUN_OPEN);
    for (int i = 0; i < SPINS; i++) {
        if ((atomic_load(&w->run_word) & RUN_INSIDE) == 0) return;
        relax();
    }
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->loop_waits, true);
    while ((atomic_load(&w->run_word) & RUN_INSIDE) != 0)
        pthread_cond_wait(&w->left, &w->mutex);
    atomic_store(&w->loop_waits, false);
    pthread_mutex_unlock(&w->mutex);
}

void workers_run(struct workers *w, size_t part_count,
                 void (*run)(void *owner, size_t part, size_t part_count,
                             struct workers_seat *seat),
                 void *owner)
{
    if (part_count == 0) return;
    w->part_count = part_count;
    w->run = run;
    w->owner = owner;
    if (part_count == 1 || w->seat_count == 1) { // nobody to share with
        atomic_store_explicit(&w->next_part, 0, memory_order_relaxed);
        claim_parts(w, &w->seats[0].seat);
        return;
    }
    open_run(w);
    claim_parts(w, &w->seats[0].seat);
    close_run(w);
}

uint64_t workers_cpu_ns(const struct workers *w)
{
    uint64_t sum = 0;
    for (size_t i = 1; i <= w->threads_started; i++) {
        clockid_t clock;
        struct timespec t;
        if (pthread_getcpuclockid(w->seats[i].thread, &clock) == 0 && clock_gettime(clock, &t) == 0)
            sum += (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    return sum;
}
