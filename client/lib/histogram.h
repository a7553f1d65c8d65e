#pragma once
#include <stdint.h>

// Durations in microseconds, in buckets of 3 %: percentiles of any number of samples in fixed
// memory. Zero-initialised is empty.
enum { HISTOGRAM_BUCKETS = 896 };
struct histogram {
    uint64_t count;
    uint32_t max_us;
    uint32_t buckets[HISTOGRAM_BUCKETS];
};
void histogram_add(struct histogram *h, uint64_t us);
uint32_t histogram_quantile(const struct histogram *h, double quantile); // 0 .. 1; 0 when empty
void histogram_merge(struct histogram *into, const struct histogram *from);
