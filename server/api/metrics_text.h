#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writes the Prometheus text format 0.0.4 into a block of the caller's. A family is begun once
// (HELP, TYPE), then its values follow. Nothing is written past the block: `failed` then.
struct metrics_text {
    char *text; // borrowed
    size_t capacity_bytes, used_bytes, series;
    bool failed;
    const char *name; // of the family that was begun
};

void metrics_begin(struct metrics_text *m, const char *name, const char *type, const char *help);
// `labels`: as they stand between the braces, `reason="late"`; NULL: none.
void metrics_value(struct metrics_text *m, const char *labels, double value);
void metrics_counter(struct metrics_text *m, const char *name, const char *help, uint64_t value);
void metrics_gauge(struct metrics_text *m, const char *name, const char *help, double value);
struct metrics_buckets { // borrowed
    const double *bounds;
    const uint64_t *counts; // [i]: up to bounds[i] and above the bound before; [count]: the rest
    size_t count;
    double sum; // of all that was observed
};
void metrics_histogram(struct metrics_text *m, const char *name, const char *help,
                       const struct metrics_buckets *buckets);
