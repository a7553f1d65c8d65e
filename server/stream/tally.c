#include "server/stream/tally.h"

#include <stdlib.h>
#include <string.h>

const double tally_bounds_s[TALLY_BUCKETS] = {0.0005, 0.001, 0.002, 0.004, 0.008, 0.011, 0.016,
                                              0.033,  0.066, 0.13,  0.26,  0.5,   1,     2};

void tally_add(struct tally *t, double seconds)
{
    if (!(seconds > 0)) seconds = 0;
    size_t i = 0;
    while (i < TALLY_BUCKETS && seconds > tally_bounds_s[i])
        i++;
    t->counts[i]++;
    t->sum_s += seconds;
    t->recent_s[t->total++ % TALLY_RECENT] = (float)seconds;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

struct tally_percentiles tally_percentiles(const struct tally *t)
{
    float sorted[TALLY_RECENT];
    size_t n = t->total < TALLY_RECENT ? (size_t)t->total : TALLY_RECENT;
    if (n == 0) return (struct tally_percentiles){0};
    memcpy(sorted, t->recent_s, n * sizeof sorted[0]);
    qsort(sorted, n, sizeof sorted[0], by_value);
    return (struct tally_percentiles){.p50_s = (double)sorted[n / 2],
                                      .p90_s = (double)sorted[n * 9 / 10],
                                      .p99_s = (double)sorted[n * 99 / 100],
                                      .max_s = (double)sorted[n - 1]};
}
