#include "server/stream/pace.h"
#include "tests/testing.h"

int testing_failures;

enum { TICK_HZ = 60 };

// Runs `seconds` of ticks over a link that takes at most `link_hz` frames a second, each `age_s`
// old when it arrives. Returns the frames that went out.
struct bench {
    struct pace pace;
    uint64_t now_ns;
    double link_credit;
};

static uint32_t drive(struct bench *b, double seconds, double link_hz, double age_s)
{
    uint32_t sent = 0;
    for (int i = 0; i < (int)(seconds * TICK_HZ); i++) {
        b->now_ns += 1000000000u / TICK_HZ;
        b->link_credit = fmin(b->link_credit + link_hz / TICK_HZ, 1);
        if (pace_due(&b->pace, 1.0 / TICK_HZ, b->link_credit >= 0.999)) {
            sent++;
            b->link_credit -= 1;
            pace_age(&b->pace, age_s);
        }
        (void)pace_step(&b->pace, b->now_ns);
    }
    return sent;
}

static void a_link_without_limits_gets_what_was_asked_for(void)
{
    struct bench b = {.link_credit = 1};
    pace_init(&b.pace, 60, 0, 0);
    uint32_t sent = drive(&b, 10, 1000, 0.005);
    EXPECT(sent >= 598 && sent <= 602);
    pace_ask(&b.pace, 30);
    sent = drive(&b, 10, 1000, 0.005);
    EXPECT(sent >= 298 && sent <= 303);
}

static void a_slow_link_is_adapted_to_within_two_seconds(void)
{
    struct bench b = {.link_credit = 1};
    pace_init(&b.pace, 60, 0, 0);
    (void)drive(&b, 3, 1000, 0.005);
    (void)drive(&b, 2, 20, 0.02);
    EXPECT(b.pace.hz <= 24);
    uint32_t sent = drive(&b, 10, 20, 0.02);
    EXPECT(sent >= 150 && sent <= 205); // most of what the link carries
}

static void the_rate_is_back_within_ten_seconds(void)
{
    struct bench b = {.link_credit = 1};
    pace_init(&b.pace, 60, 0, 0);
    (void)drive(&b, 20, 6, 0.05);
    EXPECT(b.pace.hz < 10);
    EXPECT(b.pace.coarser > 0);
    (void)drive(&b, 10, 1000, 0.01);
    EXPECT_NEAR(b.pace.hz, 60, 0.01);
    (void)drive(&b, 10, 1000, 0.01);
    EXPECT(b.pace.coarser == 0);
}

static void a_queue_on_the_path_lowers_the_rate_too(void)
{
    struct bench b = {.link_credit = 1};
    pace_init(&b.pace, 60, 0, 0);
    (void)drive(&b, 3, 1000, 0.02);
    (void)drive(&b, 2, 1000, 0.4);
    EXPECT(b.pace.hz < 50);
    // A long but steady way is no queue.
    pace_init(&b.pace, 60, 0, b.now_ns);
    (void)drive(&b, 5, 1000, 0.4);
    EXPECT_NEAR(b.pace.hz, 60, 0.01);
}

static void never_below_the_least_rate(void)
{
    struct bench b = {0};
    pace_init(&b.pace, 60, 0, 0);
    (void)drive(&b, 30, 0, 0);
    EXPECT_NEAR(b.pace.hz, PACE_HZ_MIN, 0.01);
}

static void what_a_surface_blocks_is_no_slow_link(void)
{
    struct bench b = {.now_ns = 1};
    pace_init(&b.pace, 60, 0, b.now_ns);
    for (int forgiven = 1; forgiven >= 0; forgiven--) {
        for (int i = 0; i < 3 * TICK_HZ; i++) { // long, and again and again
            b.now_ns += 1000000000u / TICK_HZ;
            if (forgiven) pace_forgive(&b.pace);
            (void)pace_due(&b.pace, 1.0 / TICK_HZ, i % 16 == 0);
            (void)pace_step(&b.pace, b.now_ns);
        }
        EXPECT(forgiven ? b.pace.hz == 60 : b.pace.hz < 20);
    }
}

int main(void)
{
    RUN(a_link_without_limits_gets_what_was_asked_for);
    RUN(a_slow_link_is_adapted_to_within_two_seconds);
    RUN(the_rate_is_back_within_ten_seconds);
    RUN(a_queue_on_the_path_lowers_the_rate_too);
    RUN(never_below_the_least_rate);
    RUN(what_a_surface_blocks_is_no_slow_link);
    TESTING_MAIN_END;
}
