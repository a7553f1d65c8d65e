#include "server/stage/ticker.h"
#include "tests/testing.h"
int testing_failures;

static const uint64_t second = 1000000000u;

static void deadlines_do_not_drift(void)
{
    static const uint32_t rates[] = {30, 60, 72, 90, 120, 7};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct ticker t;
        struct ticker_tick tick;
        uint64_t now = 12345, count = (uint64_t)rates[i] * 3600;
        ticker_init(&t, rates[i], now);
        for (uint64_t n = 0; n < count; n++) {
            now += ticker_wait_ns(&t, now) + n % 3 * 1000; // always a little late
            EXPECT(ticker_due(&t, now, &tick) && tick.number == n && tick.skipped == 0);
            EXPECT(!ticker_due(&t, now, &tick));
            if (testing_failures) return;
        }
        EXPECT(ticker_deadline_ns(&t, count) == 12345 + 3600 * second);
        EXPECT(t.skipped_total == 0);
    }
}

static void a_tick_waits_for_its_deadline(void)
{
    struct ticker t;
    struct ticker_tick tick;
    ticker_init(&t, 60, 1000);
    EXPECT(ticker_wait_ns(&t, 1000) == 0);
    EXPECT(ticker_due(&t, 1000, &tick) && tick.number == 0 && tick.deadline_ns == 1000);
    EXPECT(ticker_wait_ns(&t, 1000) == second / 60);
    EXPECT(!ticker_due(&t, 1000 + second / 60 - 1, &tick));
    EXPECT(ticker_due(&t, 1000 + second / 60, &tick) && tick.number == 1);
}

static void late_ticks_are_skipped_and_counted(void)
{
    struct ticker t;
    struct ticker_tick tick;
    ticker_init(&t, 100, 0);
    EXPECT(ticker_due(&t, 0, &tick));
    EXPECT(ticker_due(&t, 35000000, &tick)); // deadlines 1, 2 and 3 have passed
    EXPECT(tick.number == 3 && tick.skipped == 2 && tick.deadline_ns == 30000000);
    EXPECT(t.skipped_total == 2);
    EXPECT(!ticker_due(&t, 39999999, &tick));
    EXPECT(ticker_due(&t, 40000000, &tick) && tick.number == 4 && tick.skipped == 0);
}

static void a_stop_of_two_seconds_is_one_tick_not_a_burst(void)
{
    struct ticker t;
    struct ticker_tick tick;
    uint64_t now = 5 * second;
    ticker_init(&t, 60, now);
    int ticks = 0;
    for (int i = 0; i < 60; i++) {
        now += ticker_wait_ns(&t, now);
        ticks += ticker_due(&t, now, &tick);
    }
    EXPECT(ticks == 60 && tick.number == 59);
    now += 2 * second + 3000000;
    EXPECT(ticker_due(&t, now, &tick));
    EXPECT(tick.number == 179 && tick.skipped == 119);
    EXPECT(now - tick.deadline_ns < second / 60);
    EXPECT(!ticker_due(&t, now, &tick));
    EXPECT(ticker_wait_ns(&t, now) > 0);
    EXPECT(t.skipped_total == 119);
}

static void statistics_say_how_long_ticks_took(void)
{
    struct ticker t;
    struct ticker_tick tick;
    struct ticker_snapshot s;
    uint64_t now = 0;
    ticker_init(&t, 50, now);
    ticker_snapshot(&t, &s);
    EXPECT(s.tick_total == 0 && s.p99_us == 0);
    for (int i = 0; i < 100; i++) {
        now += ticker_wait_ns(&t, now);
        EXPECT(ticker_due(&t, now, &tick));
        uint64_t took = i == 99 ? 25000000 : (uint64_t)(i + 1) * 10000; // 10 us .. 990 us, 25 ms
        ticker_done(&t, &tick, now + 5000, now + 5000 + took, 1000);
    }
    ticker_snapshot(&t, &s);
    EXPECT(s.rate_hz == 50 && s.tick_total == 100);
    EXPECT(s.p50_us == 500 && s.p90_us == 900 && s.p99_us == 990 && s.max_us == 25000);
    EXPECT(s.delay_p50_us == 5 && s.delay_max_us == 5);
    EXPECT(s.overrun_total == 1);
    EXPECT(s.buckets[0] == 50 && s.buckets[1] == 49);
    EXPECT(s.buckets[7] == 1); // 16 ms .. 33 ms
    EXPECT_NEAR(s.cpu_s, 1e-4, 1e-9);
    for (int i = 0; i < 2000; i++) { // the window forgets
        now += ticker_wait_ns(&t, now);
        EXPECT(ticker_due(&t, now, &tick));
        ticker_done(&t, &tick, now, now + 2000, 0);
    }
    ticker_snapshot(&t, &s);
    EXPECT(s.max_us == 2 && s.tick_total == 2100);
}

int main(void)
{
    RUN(deadlines_do_not_drift);
    RUN(a_tick_waits_for_its_deadline);
    RUN(late_ticks_are_skipped_and_counted);
    RUN(a_stop_of_two_seconds_is_one_tick_not_a_burst);
    RUN(statistics_say_how_long_ticks_took);
    TESTING_MAIN_END;
}
