#pragma once
#include <stddef.h>
#include <stdint.h>

// Durations counted two ways: in fixed buckets for /metrics, and the newest ones for percentiles.
// No allocation; one owner thread.
enum { TALLY_BUCKETS = 14, TALLY_RECENT = 1024 };
extern const double tally_bounds_s[TALLY_BUCKETS]; // upper bounds; one bucket more for the rest

struct tally {
    uint64_t counts[TALLY_BUCKETS + 1];
    double sum_s;
    uint64_t total;
    float recent_s[TALLY_RECENT]; // a ring: place total % TALLY_RECENT is the oldest
};
void tally_add(struct tally *t, double seconds); // below 0 counts as 0

struct tally_percentiles {
    double p50_s, p90_s, p99_s, max_s; // of the recent ones; 0 without any
};
struct tally_percentiles tally_percentiles(const struct tally *t);
