#include <stdio.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "server/stream/link.h"
#include "tests/stream/world.h"
#include "tests/testing.h"

int testing_failures;

static struct world w;
static struct client c, good;

static void begin(void (*tune)(struct config *config))
{
    EXPECT(world_open(&w, NULL, tune));
    EXPECT(world_join(&w, &good, CLIENT_WS, NULL, 5));
}

// Whatever was done to the server: the good client still gets its frames.
static void end(void)
{
    uint32_t before = client_own(&good)->frame_count;
    EXPECT(world_wait_frames(&w, &good, before + 30, 3000));
    EXPECT(client_own(&good)->bad_count == 0);
    world_close(&w);
}

static void connect_only(enum client_kind kind)
{
    EXPECT(client_open(&c, kind, world_port(&w, kind)));
    world_add(&w, &c);
    for (int i = 0; i < 2000 && !(c.open && (kind == CLIENT_NATIVE || c.upgraded)); i++)
        world_run(&w, 1);
}

static void hello_that_never_comes_is_not_waited_for(void)
{
    begin(NULL);
    connect_only(CLIENT_WS);
    uint64_t begun_ns = clock_ns();
    EXPECT(world_wait_end(&w, &c, 7000));
    EXPECT_NEAR((double)(clock_ns() - begun_ns) * 1e-9, 5, 0.6);
    EXPECT(c.close_code == 4013 && c.bye.code == STREAM_HELLO_LATE);
    end();
}

static void another_major_version_is_refused_readably(void)
{
    begin(NULL);
    struct hello hello = {.major = 9};
    EXPECT(!world_join(&w, &c, CLIENT_NATIVE, &hello, 1));
    EXPECT(c.got_bye && c.bye.code == STREAM_PROTOCOL_VERSION);
    printf("  \"%s\"\n", c.bye.text);
    end();
}

static void hello_comes_first_and_once(void)
{
    begin(NULL);
    connect_only(CLIENT_WS);
    client_place(&c, 1, 2, 3, 0);
    EXPECT(world_wait_end(&w, &c, 2000));
    EXPECT(c.close_code == 1002);
    world_remove(&w, &c);
    EXPECT(world_join(&w, &c, CLIENT_WS, NULL, 2));
    struct hello again = {0};
    client_hello(&c, &again);
    EXPECT(world_wait_end(&w, &c, 2000));
    EXPECT(c.close_code == 1002);
    end();
}

static void an_unknown_character_is_named(void)
{
    begin(NULL);
    struct hello hello = {.character = "nobody"};
    EXPECT(!world_join(&w, &c, CLIENT_WS, &hello, 1));
    EXPECT(c.close_code == 4006 && c.bye.code == STREAM_NO_SUCH_CHARACTER);
    EXPECT(strstr(c.bye.text, "bar")); // what there is
    end();
}

static void bytes_that_make_no_sense_end_the_connection(void)
{
    begin(NULL);
    uint8_t noise[64];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * 37 + 3);
    connect_only(CLIENT_NATIVE);
    client_send_bytes(&c, noise, sizeof noise);
    EXPECT(world_wait_end(&w, &c, 2000));
    world_remove(&w, &c);
    connect_only(CLIENT_WS);
    uint8_t unmasked[] = {0x82, 0x01, 0x00};
    client_send_bytes(&c, unmasked, sizeof unmasked);
    EXPECT(world_wait_end(&w, &c, 2000));
    EXPECT(c.close_code == 1002);
    world_remove(&w, &c);
    connect_only(CLIENT_WS);
    uint8_t text[] = {0x81, 0x81, 0, 0, 0, 0, 'a'};
    client_send_bytes(&c, text, sizeof text);
    EXPECT(world_wait_end(&w, &c, 2000));
    EXPECT(c.close_code == 1003);
    end();
}

static void a_frame_of_a_terabyte_costs_nothing(void)
{
    begin(NULL);
    size_t before = world_resident_bytes();
    connect_only(CLIENT_WS);
    uint8_t huge[] = {0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4};
    client_send_bytes(&c, huge, sizeof huge);
    EXPECT(world_wait_end(&w, &c, 2000));
    EXPECT(c.close_code == 1009);
    world_remove(&w, &c);
    connect_only(CLIENT_WS);
    for (int i = 0; i < 100000 && !c.eof; i++) {
        // Of a HELLO of 16 kB, which is allowed: only the count of fragments is not.
        static const uint8_t envelope[] = {MESSAGE_HELLO, 0, 0, 0, 0, 0x40, 0, 0};
        uint8_t fragment[] = {(uint8_t)(i ? 0x00 : 0x02), 0x81, 0, 0, 0, 0,
                              i < 8 ? envelope[i] : 0};
        client_send_bytes(&c, fragment, sizeof fragment);
        if (i % 5000 == 0) world_run(&w, 1);
    }
    EXPECT(world_wait_end(&w, &c, 2000));
    EXPECT(c.close_code == 1009);
    printf("  resident %+ld kB\n", ((long)world_resident_bytes() - (long)before) / 1024);
    end();
}

static void a_flood_of_pings_is_ended(void)
{
    begin(NULL);
    connect_only(CLIENT_WS);
    struct hello hello = {0};
    client_hello(&c, &hello);
    world_run(&w, 200);
    size_t before = world_resident_bytes();
    c.quiet = true;
    uint8_t ping[] = {0x89, 0x84, 0, 0, 0, 0, 1, 2, 3, 4};
    for (int i = 0; i < 1000000 && !c.eof; i++) {
        if (queue_space(&c.out) < 100) world_run(&w, 1);
        if (queue_space(&c.out) < 100) continue;
        client_send_bytes(&c, ping, sizeof ping);
    }
    EXPECT(world_wait_end(&w, &c, 7000));
    EXPECT(c.close_code == 1008);
    world_remove(&w, &c);
    // The same with the protocol's own PING.
    EXPECT(world_join(&w, &c, CLIENT_NATIVE, NULL, 1));
    for (uint32_t i = 0; i < 20000 && !c.eof; i++) {
        client_ping(&c, i);
        if (i % 500 == 0) world_run(&w, 1);
    }
    EXPECT(world_wait_end(&w, &c, 7000));
    EXPECT(c.got_bye && c.bye.code == STREAM_FLOOD);
    printf("  resident %+ld kB\n", ((long)world_resident_bytes() - (long)before) / 1024);
    end();
}

static void a_thousand_messages_right_after_joining_all_count(void)
{
    begin(NULL);
    EXPECT(world_join(&w, &c, CLIENT_WS, NULL, 1));
    uint64_t before = world_counts(&w)->inputs[5][HUB_INPUT_APPLIED];
    for (int i = 0; i < 1000; i++)
        client_place(&c, (float)i, 0, 0, 0);
    world_run(&w, 1500);
    EXPECT(world_counts(&w)->inputs[5][HUB_INPUT_APPLIED] - before == 1000);
    EXPECT(!c.eof && client_own(&c)->input_sequence == 1000);
    end();
}

static void who_sends_too_much_is_read_no_faster(void)
{
    begin(NULL);
    EXPECT(world_join(&w, &c, CLIENT_NATIVE, NULL, 1));
    uint64_t end_ns = clock_ns() + 4000000000u;
    uint32_t sent = 0;
    uint64_t before = world_counts(&w)->inputs[5][HUB_INPUT_APPLIED];
    uint32_t good_before = client_own(&good)->frame_count;
    while (clock_ns() < end_ns && !c.eof) {
        for (int i = 0; i < 50 && queue_space(&c.out) > 1000; i++, sent++)
            client_place(&c, 1, 0, 0, 0);
        world_run(&w, 1);
    }
    uint64_t taken = world_counts(&w)->inputs[5][HUB_INPUT_APPLIED] - before;
    printf("  sent %u, taken %llu, held %llu times, the good one got %u frames in 4 s\n", sent,
           (unsigned long long)taken, (unsigned long long)world_snapshot(&w).links->flood_pauses,
           client_own(&good)->frame_count - good_before);
    EXPECT(taken < 7000);
    EXPECT(client_own(&good)->frame_count - good_before > 200);
    end();
}

static void a_half_closed_connection_is_gone_in_two_seconds(void)
{
    begin(NULL);
    EXPECT(world_join(&w, &c, CLIENT_WS, NULL, 1));
    EXPECT(shutdown(c.fd, SHUT_WR) == 0);
    EXPECT(world_wait_end(&w, &c, 2000));
    world_run(&w, 2000);
    EXPECT(world_snapshot(&w).links_open == 1 && world_snapshot(&w).lost == 1);
    end();
}

static void silence_ends_a_connection_and_the_session_waits(void)
{
    begin(NULL);
    EXPECT(world_join(&w, &c, CLIENT_WS, NULL, 1));
    c.quiet = true;
    uint64_t begun_ns = clock_ns();
    EXPECT(world_wait_end(&w, &c, 10000));
    printf("  gone after %.1f s\n", (double)(clock_ns() - begun_ns) * 1e-9);
    EXPECT(c.got_bye && c.bye.code == STREAM_TIMED_OUT);
    EXPECT(world_snapshot(&w).lost == 1);
    end();
}

static void two_sessions(struct config *config)
{
    config->sessions_max = 2;
}

static void a_full_server_says_when_to_come_back(void)
{
    static struct client second;
    begin(two_sessions);
    EXPECT(world_join(&w, &second, CLIENT_NATIVE, NULL, 1));
    EXPECT(!world_join(&w, &c, CLIENT_WS, NULL, 1));
    EXPECT(c.close_code == 1013 && c.bye.code == STREAM_FULL && c.bye.retry_ms >= 500);
    client_bye(&second);
    EXPECT(world_wait_end(&w, &second, 2000));
    world_remove(&w, &c);
    EXPECT(world_join(&w, &c, CLIENT_WS, NULL, 1));
    end();
}

int main(void)
{
    RUN(hello_that_never_comes_is_not_waited_for);
    RUN(another_major_version_is_refused_readably);
    RUN(hello_comes_first_and_once);
    RUN(an_unknown_character_is_named);
    RUN(bytes_that_make_no_sense_end_the_connection);
    RUN(a_frame_of_a_terabyte_costs_nothing);
    RUN(a_flood_of_pings_is_ended);
    RUN(a_thousand_messages_right_after_joining_all_count);
    RUN(who_sends_too_much_is_read_no_faster);
    RUN(a_half_closed_connection_is_gone_in_two_seconds);
    RUN(silence_ends_a_connection_and_the_session_waits);
    RUN(a_full_server_says_when_to_come_back);
    TESTING_MAIN_END;
}
