#pragma once
#include <stdbool.h>
#include <stdint.h>

// The server's clock minus ours, from PING and PONG: of the last exchanges the one with the
// shortest round trip is believed, because queues only ever add to it.
enum { CLOCK_SYNC_SAMPLES = 16 };
struct clock_sync {
    struct {
        int64_t offset_us;
        uint32_t rtt_us;
    } samples[CLOCK_SYNC_SAMPLES];
    uint32_t sample_count; // ever
    bool known;
    int64_t offset_us;
    uint32_t rtt_us; // of the sample that is believed
};
void clock_sync_add(struct clock_sync *c, int64_t offset_us, uint32_t rtt_us);
