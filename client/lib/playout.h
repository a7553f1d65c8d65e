#pragma once
#include <stdbool.h>
#include <stdint.h>

// When to show what: the jitter buffer's clock. It needs no clock offset: the fastest frame of the
// last seconds says how long the way is at best, and what frames take beyond that is jitter.
//
//   shown server time = now - fastest transit - delay
//   delay = one frame interval + recent jitter, followed slowly so that motion keeps its pace
struct playout {
    bool known;
    uint64_t delay_max_us;
    int64_t base_us,
        base_next_us; // fastest transit: of this window and the one before, of this one
    uint64_t window_at_us;
    double jitter_us, interval_us, delay_us;
    uint64_t server_time_us; // of the newest frame
    uint64_t stepped_at_us;
};
void playout_init(struct playout *p, uint64_t delay_max_us);
// A frame of `server_time_us` arrived at `now_us`. Several actors' frames of one tick may come.
void playout_arrive(struct playout *p, uint64_t server_time_us, uint64_t now_us);
// The server time to show now; moves the delay towards what the link needs.
uint64_t playout_time(struct playout *p, uint64_t now_us);
