#include <stdio.h>

#include "common/clock.h"
#include "tests/stream/world.h"
#include "tests/testing.h"

int testing_failures;

static struct world w;

static bool has_lost(void *ctx)
{
    return world_snapshot(ctx).lost == 1;
}

static struct hello with_token(const char *token, uint32_t last_frame)
{
    struct hello hello = {.last_frame = last_frame};
    snprintf(hello.resume, sizeof hello.resume, "%s", token);
    return hello;
}

static void a_dropped_session_goes_on_with_a_full_frame(void)
{
    static struct client first, second;
    EXPECT(world_open(&w, NULL, NULL));
    for (int native = 0; native < 2; native++) {
        enum client_kind kind = native ? CLIENT_NATIVE : CLIENT_WS;
        EXPECT(world_join(&w, &first, kind, NULL, 5));
        client_place(&first, 3, 0, 0, 0);
        world_run(&w, 100);
        struct hello_welcome before = first.welcome;
        struct hello hello = with_token(before.resume, client_own(&first)->last_frame);
        world_remove(&w, &first); // as a crash: no BYE, no close frame
        EXPECT(world_until(&w, has_lost, &w, 3000));
        world_run(&w, 500);
        uint64_t begun_ns = clock_ns();
        EXPECT(client_open(&second, kind, world_port(&w, kind)));
        world_add(&w, &second);
        while (!second.open || (kind == CLIENT_WS && !second.upgraded))
            world_run(&w, 1);
        uint64_t open_ns = clock_ns();
        client_hello(&second, &hello);
        while (second.counts[MESSAGE_FRAME] == 0 && clock_ns() < open_ns + 2000000000u)
            world_run(&w, 1);
        printf("  %s: first frame %.1f ms after the connection, %.1f ms after the handshake\n",
               native ? "sinew" : "ws", (double)(clock_ns() - begun_ns) * 1e-6,
               (double)(clock_ns() - open_ns) * 1e-6);
        EXPECT(second.first_frame_ns - open_ns < 200000000u);
        EXPECT(second.welcome.resumed);
        EXPECT(strcmp(second.welcome.session, before.session) == 0);
        EXPECT(strcmp(second.welcome.resume, before.resume) != 0);
        EXPECT(second.welcome.actor == before.actor);
        EXPECT(second.counts[MESSAGE_SURFACE] == 1 && second.order_broken == 0);
        EXPECT(client_note(&second, STREAM_RESUMED));
        EXPECT(world_snapshot(&w).live == 1 && world_snapshot(&w).lost == 0);
        client_bye(&second);
        EXPECT(world_wait_end(&w, &second, 3000));
        world_remove(&w, &second);
        world_run(&w, 50);
    }
    world_close(&w);
}

static void the_transport_may_change(void)
{
    static struct client first, second;
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &first, CLIENT_WS, NULL, 5));
    struct hello hello = with_token(first.welcome.resume, 0);
    world_remove(&w, &first);
    EXPECT(world_until(&w, has_lost, &w, 3000));
    EXPECT(world_join(&w, &second, CLIENT_NATIVE, &hello, 5));
    EXPECT(client_own(&second)->key_count >= 1 && client_own(&second)->bad_count == 0);
    world_close(&w);
}

static void the_old_connection_is_superseded_at_once(void)
{
    static struct client old, fresh;
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &old, CLIENT_WS, NULL, 5));
    struct hello hello = with_token(old.welcome.resume, 0);
    EXPECT(world_join(&w, &fresh, CLIENT_WS, &hello, 5));
    EXPECT(world_wait_end(&w, &old, 2000));
    EXPECT(old.got_bye && old.bye.code == STREAM_SUPERSEDED);
    EXPECT(old.close_code == 4000);
    EXPECT(world_snapshot(&w).live == 1 && world_snapshot(&w).lost == 0);
    EXPECT(world_wait_frames(&w, &fresh, client_own(&fresh)->frame_count + 20, 2000));
    EXPECT(world_counts(&w)->sessions_superseded == 1);
    world_close(&w);
}

static void a_token_works_once(void)
{
    static struct client first, second, third;
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &first, CLIENT_WS, NULL, 5));
    struct hello hello = with_token(first.welcome.resume, 0);
    EXPECT(world_join(&w, &second, CLIENT_WS, &hello, 5));
    EXPECT(!world_join(&w, &third, CLIENT_WS, &hello, 1));
    EXPECT(third.got_bye && third.bye.code == STREAM_RESUME_EXPIRED);
    EXPECT(third.close_code == 4008);
    EXPECT(world_wait_frames(&w, &second, client_own(&second)->frame_count + 10, 2000));
    world_close(&w);
}

static void goodbye_ends_a_session(void)
{
    static struct client c, again;
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &c, CLIENT_NATIVE, NULL, 5));
    struct hello hello = with_token(c.welcome.resume, 0);
    client_bye(&c);
    EXPECT(world_wait_end(&w, &c, 3000));
    EXPECT(world_snapshot(&w).live == 0 && world_snapshot(&w).lost == 0);
    EXPECT(!world_join(&w, &again, CLIENT_NATIVE, &hello, 1));
    EXPECT(again.got_bye && again.bye.code == STREAM_RESUME_EXPIRED);
    world_close(&w);
}

int main(void)
{
    RUN(a_dropped_session_goes_on_with_a_full_frame);
    RUN(the_transport_may_change);
    RUN(the_old_connection_is_superseded_at_once);
    RUN(a_token_works_once);
    RUN(goodbye_ends_a_session);
    TESTING_MAIN_END;
}
