#include "client/lib/histogram.h"

// Below 32 a bucket is one microsecond; above, each octave has 32.
void histogram_add(struct histogram *h, uint64_t us)
{
    uint32_t value = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
    uint32_t octave = 0;
    while (value >> octave >= 64)
        octave++;
    h->buckets[octave * 32 + (value >> octave)]++;
    h->count++;
    if (value > h->max_us) h->max_us = value;
}

uint32_t histogram_quantile(const struct histogram *h, double quantile)
{
    double wanted = quantile * (double)h->count;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen == 0 || (double)seen < wanted) continue;
        uint32_t octave = i < 64 ? 0 : i / 32 - 1;
        uint64_t low = (uint64_t)(i - octave * 32) << octave;
        uint64_t middle = low + ((UINT64_C(1) << octave) >> 1);
        return middle > h->max_us ? h->max_us : (uint32_t)middle;
    }
    return h->max_us;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
    into->count += from->count;
    if (from->max_us > into->max_us) into->max_us = from->max_us;
}
