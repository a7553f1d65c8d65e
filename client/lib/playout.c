#include "client/lib/playout.h"

enum {
    WINDOW_US = 5000000, // a slower way is believed after one to two of these
    INTERVAL_FIRST_US = 16667,
    INTERVAL_MAX_US = 250000, // a longer one is a pause, not a rate
    STEP_MAX_US = 100000      // longer between two updates: the application was away
};

void playout_init(struct playout *p, uint64_t delay_max_us)
{
    *p = (struct playout){.delay_max_us = delay_max_us, .interval_us = INTERVAL_FIRST_US};
}

static double target_delay(const struct playout *p)
{
    double target = p->interval_us + p->jitter_us;
    return target > (double)p->delay_max_us ? (double)p->delay_max_us : target;
}

void playout_arrive(struct playout *p, uint64_t server_time_us, uint64_t now_us)
{
    int64_t transit = (int64_t)(now_us - server_time_us);
    if (!p->known) {
        p->known = true;
        p->base_us = p->base_next_us = transit;
        p->window_at_us = now_us;
        p->server_time_us = server_time_us;
        p->delay_us = target_delay(p);
        return;
    }
    if (now_us - p->window_at_us > WINDOW_US) {
        p->base_us = p->base_next_us;
        p->base_next_us = transit;
        p->window_at_us = now_us;
    }
    if (transit < p->base_next_us) p->base_next_us = transit;
    if (transit < p->base_us) p->base_us = transit;
    double late = (double)(transit - p->base_us);
    p->jitter_us = late > p->jitter_us ? late : p->jitter_us + (late - p->jitter_us) * 0.01;
    if (server_time_us > p->server_time_us) {
        uint64_t step = server_time_us - p->server_time_us;
        if (step < INTERVAL_MAX_US) p->interval_us += ((double)step - p->interval_us) * 0.1;
        p->server_time_us = server_time_us;
    }
}

uint64_t playout_time(struct playout *p, uint64_t now_us)
{
    uint64_t passed = now_us - p->stepped_at_us;
    if (passed > STEP_MAX_US) passed = STEP_MAX_US;
    p->stepped_at_us = now_us;
    // A tenth faster or slower than real time is not seen.
    double change = target_delay(p) - p->delay_us, most = (double)passed * 0.1;
    p->delay_us += change > most ? most : change < -most ? -most : change;
    int64_t shown = (int64_t)now_us - p->base_us - (int64_t)p->delay_us;
    return shown > 0 ? (uint64_t)shown : 0;
}
