#include "server/stage/ticker.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

static const uint64_t second_ns = 1000000000u;

const uint32_t ticker_bucket_us[TICKER_BUCKET_COUNT] = {500,   1000,  2000,  4000, 8000,
                                                        11000, 16000, 33000, 66000};

void ticker_init(struct ticker *t, uint32_t rate_hz, uint64_t now_ns)
{
    CHECK(rate_hz > 0);
    CHECK(rate_hz <= 1000000);
    *t = (struct ticker){.start_ns = now_ns, .rate_hz = rate_hz};
}

uint64_t ticker_deadline_ns(const struct ticker *t, uint64_t number)
{
    // Whole seconds apart from the rest: exact for any length of run.
    return t->start_ns + number / t->rate_hz * second_ns +
           number % t->rate_hz * second_ns / t->rate_hz;
}

uint64_t ticker_wait_ns(const struct ticker *t, uint64_t now_ns)
{
    uint64_t deadline_ns = ticker_deadline_ns(t, t->next);
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

// The newest deadline that is not after `now`.
static uint64_t newest_number(const struct ticker *t, uint64_t now_ns)
{
    uint64_t since_ns = now_ns - t->start_ns;
    uint64_t number =
        since_ns / second_ns * t->rate_hz + since_ns % second_ns * t->rate_hz / second_ns;
    // The division above rounds down in time, the deadline in number: they may differ by one.
    while (ticker_deadline_ns(t, number + 1) <= now_ns)
        number++;
    return number;
}

bool ticker_due(struct ticker *t, uint64_t now_ns, struct ticker_tick *out)
{
    if (ticker_wait_ns(t, now_ns) > 0) return false;
    uint64_t number = newest_number(t, now_ns);
    CHECK(number >= t->next);
    uint64_t skipped = number - t->next;
    t->skipped_total += skipped;
    t->next = number + 1;
    *out = (struct ticker_tick){.number = number,
                                .deadline_ns = ticker_deadline_ns(t, number),
                                .skipped = skipped > UINT32_MAX ? UINT32_MAX : (uint32_t)skipped};
    return true;
}

static uint32_t microseconds(uint64_t from_ns, uint64_t to_ns)
{
    uint64_t us = to_ns > from_ns ? (to_ns - from_ns) / 1000 : 0;
    return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

void ticker_done(struct ticker *t, const struct ticker_tick *tick, uint64_t begin_ns,
                 uint64_t end_ns, uint64_t cpu_ns)
{
    uint32_t us = microseconds(begin_ns, end_ns);
    size_t bucket = 0, place = t->tick_total % TICKER_RECENT;
    while (bucket < TICKER_BUCKET_COUNT && us > ticker_bucket_us[bucket])
        bucket++;
    t->buckets[bucket]++;
    t->recent_us[place] = us;
    t->recent_delay_us[place] = microseconds(tick->deadline_ns, begin_ns);
    t->tick_total++;
    t->overrun_total += end_ns > ticker_deadline_ns(t, tick->number + 1);
    t->busy_ns_total += end_ns > begin_ns ? end_ns - begin_ns : 0;
    t->cpu_ns_total += cpu_ns;
}

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void percentiles(const uint32_t *recent, size_t count, uint32_t out[4])
{
    uint32_t sorted[TICKER_RECENT];
    memset(out, 0, 4 * sizeof *out);
    if (count == 0) return;
    memcpy(sorted, recent, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    out[0] = sorted[(count - 1) * 50 / 100];
    out[1] = sorted[(count - 1) * 90 / 100];
    out[2] = sorted[(count - 1) * 99 / 100];
    out[3] = sorted[count - 1];
}

void ticker_snapshot(const struct ticker *t, struct ticker_snapshot *out)
{
    size_t count = t->tick_total < TICKER_RECENT ? (size_t)t->tick_total : TICKER_RECENT;
    uint32_t busy[4], delay[4];
    percentiles(t->recent_us, count, busy);
    percentiles(t->recent_delay_us, count, delay);
    *out = (struct ticker_snapshot){.rate_hz = t->rate_hz,
                                    .tick_total = t->tick_total,
                                    .skipped_total = t->skipped_total,
                                    .overrun_total = t->overrun_total,
                                    .busy_s = (double)t->busy_ns_total * 1e-9,
                                    .cpu_s = (double)t->cpu_ns_total * 1e-9,
                                    .p50_us = busy[0],
                                    .p90_us = busy[1],
                                    .p99_us = busy[2],
                                    .max_us = busy[3],
                                    .delay_p50_us = delay[0],
                                    .delay_p90_us = delay[1],
                                    .delay_p99_us = delay[2],
                                    .delay_max_us = delay[3]};
    memcpy(out->buckets, t->buckets, sizeof out->buckets);
}
