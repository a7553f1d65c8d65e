#include <unistd.h>

#include "client/lib/clock_sync.h"
#include "client/lib/histogram.h"
#include "client/lib/playout.h"
#include "tests/client/client_support.h"
#include "tests/testing.h"

int testing_failures;

// When frames are shown: the jitter buffer's clock alone, then interpolation end to end.

static void playout_steady_frames_are_shown_an_interval_late(void)
{
    struct playout p;
    playout_init(&p, 200000);
    uint64_t now = 5000000;
    for (int i = 0; i < 300; i++, now += 20000) {
        playout_arrive(&p, now - 1000000, now); // another clock, constant transit
        (void)playout_time(&p, now);
    }
    EXPECT_NEAR(p.delay_us, 20000, 500);
    EXPECT_NEAR((double)playout_time(&p, now), (double)now - 1000000 - 20000, 600);
}

static void playout_jitter_widens_the_buffer_and_calm_narrows_it(void)
{
    struct playout p;
    playout_init(&p, 200000);
    uint64_t now = 5000000, before = 0;
    for (int i = 0; i < 300; i++, now += 20000) {
        uint64_t late = i % 3 == 0 ? 45000 : 0, arrival = now + late;
        playout_arrive(&p, now, arrival);
        uint64_t at = playout_time(&p, arrival);
        EXPECT(at + 50000 >= before); // it may slow down, not jump back
        before = at;
    }
    EXPECT(p.delay_us > 55000 && p.delay_us < 80000);
    for (int i = 0; i < 1500; i++, now += 20000) {
        playout_arrive(&p, now, now);
        (void)playout_time(&p, now);
    }
    EXPECT(p.delay_us < 25000);
}

static void playout_delay_has_an_upper_bound(void)
{
    struct playout p;
    playout_init(&p, 50000);
    uint64_t now = 5000000;
    for (int i = 0; i < 600; i++, now += 20000) {
        playout_arrive(&p, now, now + (i % 2 ? 400000u : 0));
        (void)playout_time(&p, now);
    }
    EXPECT(p.delay_us <= 50000);
}

static void playout_a_server_that_was_stopped_leaves_no_backlog(void)
{
    struct playout p;
    playout_init(&p, 200000);
    uint64_t now = 5000000;
    for (int i = 0; i < 600; i++, now += 20000) {
        if (i == 300) now += 2000000;
        playout_arrive(&p, now, now + 3000);
        (void)playout_time(&p, now + 3000);
    }
    EXPECT(p.delay_us < 30000);
    EXPECT_NEAR((double)playout_time(&p, now), (double)now, 30000);
}

static void clock_sync_believes_the_fastest_exchange(void)
{
    struct clock_sync c = {0};
    for (int i = 0; i < 40; i++)
        clock_sync_add(&c, i % 8 == 3 ? 1000 : 1000 + i * 100,
                       i % 8 == 3 ? 90u : 90u + 200u * (uint32_t)i);
    EXPECT(c.known && c.offset_us == 1000 && c.rtt_us == 90);
}

static void histogram_percentiles_are_within_three_percent(void)
{
    static struct histogram h, other;
    EXPECT(histogram_quantile(&h, 0.5) == 0);
    for (uint64_t us = 1; us <= 100000; us++)
        histogram_add(us % 2 ? &h : &other, us);
    histogram_merge(&h, &other);
    EXPECT(h.count == 100000 && h.max_us == 100000);
    EXPECT_NEAR(histogram_quantile(&h, 0.5), 50000, 1500);
    EXPECT_NEAR(histogram_quantile(&h, 0.99), 99000, 3000);
    histogram_add(&h, UINT64_MAX);
    EXPECT(h.max_us == UINT32_MAX && histogram_quantile(&h, 1) > 4000000000u);
}

// Twenty frames a second, each five ticks of motion after the one before.
static void slow(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    uint32_t flags = owner ? FRAME_JUMP : 0;
    if (!fake_join(p)) return;
    for (int i = 0; i < 200 && !p->gone && !*p->stop; i++) {
        struct message m;
        p->tick += 4;
        fake_send_frame(p, FAKE_DELTA, flags);
        (void)fake_await(p, MESSAGE_RESYNC, &m, 50);
    }
}

struct seen {
    uint32_t changes, frames;
    double error;
    bool forward;
};

static struct seen watch(enum sinew_playout playout, bool jumps)
{
    int yes = 1;
    struct fake_server *server = fake_start(&(struct fake_options){
        .transport = FAKE_WS, .scenario = slow, .owner = jumps ? &yes : NULL});
    char url[128];
    struct sinew_options o = support_options(server, url);
    struct sinew_client *client = NULL;
    struct seen seen = {.forward = true};
    struct sinew_actor a, first;
    o.playout = playout;
    EXPECT(sinew_open(&o, &client, NULL, 0) == SINEW_OK);
    EXPECT(support_frame(client, 20, &first, 10000));
    uint64_t time_us = 0, until = sinew_now_us() + 1000000;
    struct sinew_stats before = {.struct_size = sizeof before}, after = before;
    EXPECT(sinew_get_stats(client, &before) == SINEW_OK);
    while (sinew_now_us() < until) {
        usleep(4000);
        a.struct_size = sizeof a;
        if (sinew_update(client) <= 0 || sinew_actor_at(client, 0, &a) != SINEW_OK) continue;
        seen.forward = seen.forward && a.server_time_us >= time_us;
        time_us = a.server_time_us;
        double error = support_error(client, a.tick);
        if (error > seen.error) seen.error = error;
    }
    EXPECT(sinew_get_stats(client, &after) == SINEW_OK);
    seen.changes = a.changes - first.changes;
    seen.frames = (uint32_t)(after.frames - before.frames);
    EXPECT(a.vertices == first.vertices);
    sinew_close(client);
    fake_stop(server);
    return seen;
}

static void newest_shows_each_frame_as_it_is(void)
{
    struct seen s = watch(SINEW_PLAY_NEWEST, false);
    EXPECT(s.frames >= 10 && s.changes <= s.frames + 1 && s.error < 0.001 && s.forward);
}

static void smooth_fills_the_time_between_frames(void)
{
    struct seen s = watch(SINEW_PLAY_SMOOTH, false);
    EXPECT(s.frames >= 10 && s.changes > 3 * s.frames && s.forward);
    EXPECT(s.error > 0.001 && s.error < 0.06); // at most one frame's motion behind the newer one
}

static void smooth_does_not_blend_across_a_jump(void)
{
    struct seen s = watch(SINEW_PLAY_SMOOTH, true);
    EXPECT(s.frames >= 10 && s.changes <= s.frames + 2 && s.error < 0.001 && s.forward);
}

int main(void)
{
    RUN(playout_steady_frames_are_shown_an_interval_late);
    RUN(playout_jitter_widens_the_buffer_and_calm_narrows_it);
    RUN(playout_delay_has_an_upper_bound);
    RUN(playout_a_server_that_was_stopped_leaves_no_backlog);
    RUN(clock_sync_believes_the_fastest_exchange);
    RUN(histogram_percentiles_are_within_three_percent);
    RUN(newest_shows_each_frame_as_it_is);
    RUN(smooth_fills_the_time_between_frames);
    RUN(smooth_does_not_blend_across_a_jump);
    TESTING_MAIN_END;
}
