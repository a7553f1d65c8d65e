#pragma once
#include <stddef.h>
#include <stdint.h>

// Timing of variants against each other in one process: warmed up, alternated round by round (a
// noisy machine then slows all alike), reported by median and tenth and ninetieth percentile.
// Absolute times are for reading; the ratios are what counts.

enum { BENCH_VARIANTS_MAX = 16 };

struct bench_variant {
    const char *name;
    void (*run)(void *context);
    void *context;
    double median_ns, p10_ns, p90_ns; // written by bench_alternate
};

// Each variant runs `rounds` times after `rounds / 8 + 2` warm-up rounds.
void bench_alternate(struct bench_variant *variants, size_t count, int rounds);

// One JSON line: name, variant, inputs, median, p10, p90 (microseconds a run), ratio =
// reference's median over this one's (or the other way round when `share` is set: this one's
// median as a share of the reference's), CPU, commit.
void bench_print(const char *name, const struct bench_variant *v, const char *inputs,
                 const struct bench_variant *reference, int share);

// A line for what cannot run here.
void bench_skip(const char *name, const char *why);
