#include "client/lib/clock_sync.h"

void clock_sync_add(struct clock_sync *c, int64_t offset_us, uint32_t rtt_us)
{
    uint32_t at = c->sample_count++ % CLOCK_SYNC_SAMPLES;
    c->samples[at].offset_us = offset_us;
    c->samples[at].rtt_us = rtt_us;
    uint32_t held = c->sample_count < CLOCK_SYNC_SAMPLES ? c->sample_count : CLOCK_SYNC_SAMPLES;
    uint32_t best = 0;
    for (uint32_t i = 1; i < held; i++)
        if (c->samples[i].rtt_us < c->samples[best].rtt_us) best = i;
    c->known = true;
    c->offset_us = c->samples[best].offset_us;
    c->rtt_us = c->samples[best].rtt_us;
}
