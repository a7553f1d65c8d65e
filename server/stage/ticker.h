#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// When ticks are due. Deadline n is start + n / rate, computed from n: no drift. A tick that comes
// so late that later deadlines have passed too stands for the newest of them; the others are
// skipped and counted, never made up for. Tick numbers are deadline numbers: they rise by one and
// every skipped deadline. Times are nanoseconds of a monotonic clock that the caller reads
// (clock_ns, or a test's own). No allocation; loop thread.
enum {
    TICKER_RATE_MIN = 30,
    TICKER_RATE_MAX = 120,
    TICKER_RECENT = 1024,   // ticks that percentiles look back on
    TICKER_BUCKET_COUNT = 9 // and one for what is longer
};
extern const uint32_t ticker_bucket_us[TICKER_BUCKET_COUNT]; // upper bounds, for /metrics

struct ticker {
    uint64_t start_ns; // of deadline 0
    uint32_t rate_hz;
    uint64_t next; // number of the next deadline
    uint64_t tick_total, skipped_total, overrun_total;
    uint64_t busy_ns_total, cpu_ns_total;
    uint64_t buckets[TICKER_BUCKET_COUNT + 1]; // of durations, not cumulative
    uint32_t recent_us[TICKER_RECENT];         // durations, a ring
    uint32_t recent_delay_us[TICKER_RECENT];   // deadline to begin
};

struct ticker_tick {
    uint64_t number;      // of its deadline
    uint64_t deadline_ns; // <= now
    uint32_t skipped;     // deadlines between this tick and the one before
};

// The first deadline is now. TICKER_RATE_MIN .. MAX (tests may use other rates above 0).
void ticker_init(struct ticker *t, uint32_t rate_hz, uint64_t now_ns);
uint64_t ticker_deadline_ns(const struct ticker *t, uint64_t number);
// How long until the next deadline; 0: it is due.
uint64_t ticker_wait_ns(const struct ticker *t, uint64_t now_ns);
// True when a tick is due: run it now, then tell ticker_done.
bool ticker_due(struct ticker *t, uint64_t now_ns, struct ticker_tick *out);
// cpu_ns: processor time that the tick took on all threads, 0 when unknown.
void ticker_done(struct ticker *t, const struct ticker_tick *tick, uint64_t begin_ns,
                 uint64_t end_ns, uint64_t cpu_ns);

struct ticker_snapshot { // for /status and /metrics
    uint32_t rate_hz;
    uint64_t tick_total;
    uint64_t skipped_total; // deadlines that no tick was run for
    uint64_t overrun_total; // ticks that ended after the next deadline
    double busy_s, cpu_s;   // sums
    uint64_t buckets[TICKER_BUCKET_COUNT + 1];
    uint32_t p50_us, p90_us, p99_us, max_us;                         // durations, recent ticks
    uint32_t delay_p50_us, delay_p90_us, delay_p99_us, delay_max_us; // deadline to begin
};
void ticker_snapshot(const struct ticker *t, struct ticker_snapshot *out);
