#include <unistd.h>

#include "tests/client/client_support.h"
#include "tests/testing.h"

int testing_failures;

// The way from a server's bytes to a vertex buffer, over every transport.

static const double STEP = 2 * 1.5 / 16383 + 1e-5; // two quanta of a 14-bit grid, scaled by two

static void serve(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    p->raw = owner != NULL;
    if (fake_join(p)) fake_serve(p, UINT32_MAX);
}

static void stream_over(enum fake_transport transport, size_t dribble_bytes)
{
    struct fake_server *server = fake_start(&(struct fake_options){
        .transport = transport, .scenario = serve, .dribble_bytes = dribble_bytes});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_actor a = {.struct_size = sizeof a};
    EXPECT(support_frame(client, 10, &a, 20000));
    EXPECT(a.vertex_count == FAKE_VERTICES && a.source_vertex_count == FAKE_VERTICES);
    EXPECT(a.index_count == 6 * (FAKE_COLUMNS - 1) * (FAKE_COLUMNS - 1));
    EXPECT(a.stride_bytes == 24 && a.part_count == 1 && a.uvs != NULL);
    double error = support_error(client, a.tick);
    EXPECT(error >= 0 && error <= STEP);
    struct sinew_stats stats = {.struct_size = sizeof stats};
    EXPECT(sinew_get_stats(client, &stats) == SINEW_OK);
    EXPECT(stats.connection == SINEW_JOINED && stats.frames_undecoded == 0);
    EXPECT(stats.vertices > 0 && stats.vertex_bits / stats.vertices < 64);
    sinew_close(client);
    fake_stop(server);
}

static void native_tls_streams_a_character(void)
{
    stream_over(FAKE_NATIVE, 0);
}

static void websocket_streams_a_character(void)
{
    stream_over(FAKE_WS, 0);
}

static void websocket_over_tls_streams_a_character(void)
{
    stream_over(FAKE_WSS, 0);
}

static void bytes_that_dribble_in_are_joined(void)
{
    stream_over(FAKE_WS, 7);
}

static void application_driven(struct sinew_options *o)
{
    o->own_thread = 0;
}

static void sinew_poll_drives_without_a_thread(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = serve});
    struct sinew_client *client = support_open(server, application_driven);
    EXPECT(sinew_wait_joined(client, 5000, NULL, 0) == SINEW_OK);
    struct sinew_wait wait = {.struct_size = sizeof wait};
    EXPECT(sinew_get_wait(client, &wait) == SINEW_OK && wait.socket >= 0);
    struct sinew_actor a = {.struct_size = sizeof a};
    EXPECT(support_frame(client, 5, &a, 5000));
    EXPECT(support_error(client, a.tick) <= STEP);
    sinew_close(client);
    fake_stop(server);
}

static void want_raw(struct sinew_options *o)
{
    o->quality.raw = 1;
}

static void raw_frames_are_exact(void)
{
    struct fake_server *server = fake_start(
        &(struct fake_options){.transport = FAKE_WS, .scenario = serve, .owner = &server});
    struct sinew_client *client = support_open(server, want_raw);
    struct sinew_actor a = {.struct_size = sizeof a};
    EXPECT(support_frame(client, 5, &a, 5000));
    EXPECT(support_error(client, a.tick) <= 1e-6);
    sinew_close(client);
    fake_stop(server);
}

static void want_small(struct sinew_options *o)
{
    o->position_format = SINEW_POSITION_UINT16_4;
    o->normal_format = SINEW_NORMAL_OCT8_2;
    o->playout = SINEW_PLAY_SMOOTH;
}

static void small_formats_hold_the_same_surface(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = serve});
    struct sinew_client *client = support_open(server, want_small);
    struct sinew_actor a = {.struct_size = sizeof a};
    EXPECT(support_frame(client, 20, &a, 5000));
    EXPECT(a.stride_bytes == 12 && a.step > 0 && a.normal_offset_bytes == 8);
    EXPECT(support_error(client, a.tick) <= 0.03); // interpolated: up to a tick behind
    sinew_close(client);
    fake_stop(server);
}

static void buffers_keep_their_addresses(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = serve});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_actor first = {.struct_size = sizeof first}, later = {.struct_size = sizeof later};
    EXPECT(support_frame(client, 2, &first, 5000));
    EXPECT(support_frame(client, first.tick + 30, &later, 5000));
    EXPECT(first.vertices == later.vertices && first.indices == later.indices);
    EXPECT(first.surface == later.surface && later.changes > first.changes);
    sinew_close(client);
    fake_stop(server);
}

static void split(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    static const uint8_t unknown[16] = {0x9f, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5};
    uint8_t *surface = malloc(1 << 20);
    size_t size = fake_surface(surface, 1 << 20);
    if (!fake_hello(p)) return;
    fake_welcome(p, NULL);
    fake_send(p, unknown, sizeof unknown);
    fake_actor(p, 1, true);
    fake_send_payload(p, MESSAGE_SURFACE, surface, size, 333);
    fake_send(p, unknown, sizeof unknown);
    free(surface);
    fake_send_frame(p, FAKE_KEY, 0);
    fake_serve(p, UINT32_MAX);
}

static void pieces_are_joined_and_unknown_messages_skipped(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = split});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_actor a = {.struct_size = sizeof a};
    EXPECT(support_frame(client, 5, &a, 5000));
    struct sinew_stats stats = {.struct_size = sizeof stats};
    EXPECT(sinew_get_stats(client, &stats) == SINEW_OK && stats.messages_skipped == 2);
    sinew_close(client);
    fake_stop(server);
}

static void want_every(struct sinew_options *o)
{
    o->playout = SINEW_PLAY_EVERY;
    o->own_thread = 0;
}

static void a_recorder_sees_every_frame_once(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = serve});
    struct sinew_client *client = support_open(server, want_every);
    struct sinew_actor a = {.struct_size = sizeof a};
    uint64_t expected = 1, seen = 0, until = sinew_now_us() + 5000000;
    while (seen < 40 && sinew_now_us() < until) {
        (void)sinew_poll(client, 50);
        if (seen % 10 == 0) usleep(50000); // several frames wait
        while (sinew_update(client) > 0) {
            EXPECT(sinew_actor_get(client, 1, &a) == SINEW_OK && a.tick == expected);
            expected = a.tick + 1;
            seen++;
        }
    }
    EXPECT(seen >= 40);
    sinew_close(client);
    fake_stop(server);
}

static void details(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (!fake_join(p)) return;
    struct session_gone gone = {.scene = 1, .actor = 2};
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    fake_actor(p, 2, false);
    fake_serve(p, 20);
    if (session_encode_gone(&w, &gone) == ERR_OK) fake_send(p, bytes, wire_size(&w));
    fake_serve(p, UINT32_MAX);
}

static void actors_come_and_go(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = details});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_event e = {.struct_size = sizeof e};
    struct sinew_actor a = {.struct_size = sizeof a};
    EXPECT(support_event(client, SINEW_EVENT_JOINED, &e, 5000) && e.actor == 1);
    EXPECT(support_event(client, SINEW_EVENT_ACTOR_IN, &e, 5000) && e.actor == 1);
    EXPECT(support_event(client, SINEW_EVENT_ACTOR_IN, &e, 5000) && e.actor == 2);
    EXPECT(strcmp(e.text, "cloth") == 0);
    EXPECT(sinew_actor_get(client, 2, &a) == SINEW_OK && a.vertices == NULL);
    EXPECT(support_event(client, SINEW_EVENT_ACTOR_OUT, &e, 5000) && e.actor == 2);
    (void)sinew_update(client);
    EXPECT(sinew_actor_get(client, 2, &a) == SINEW_ERR_NOT_FOUND);
    EXPECT(sinew_actor_at(client, 0, &a) == SINEW_OK && a.actor == 1 && a.unit_m == 0.5f);
    EXPECT(sinew_actor_at(client, 1, &a) == SINEW_ERR_NOT_FOUND);
    sinew_close(client);
    fake_stop(server);
}

static void figures(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (fake_join(p)) fake_serve(p, UINT32_MAX);
}

static void figures_tell_age_latency_and_rate(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = figures});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_actor a = {.struct_size = sizeof a};
    for (uint64_t tick = 40; tick < 140; tick += 5) {
        struct sinew_place place = {sizeof place, SINEW_PLACE_YAW, {0}, 0.5f, 0};
        EXPECT(support_frame(client, tick, &a, 5000));
        EXPECT(sinew_send_place(client, &place, NULL) == SINEW_OK);
    }
    struct sinew_stats s = {.struct_size = sizeof s};
    EXPECT(sinew_get_stats(client, &s) == SINEW_OK);
    EXPECT(s.latency_us.count >= 15 && s.latency_us.p50_us < 30000);
    EXPECT(s.age_us.count > 50 && s.age_us.p50_us < 20000);
    EXPECT(s.clock_error_us > 0 && s.rtt_us.count >= 3);
    EXPECT(llabs(s.clock_offset_us) < 5000); // the same clock at both ends
    EXPECT(s.interval_us.p50_us > 8000 && s.interval_us.p50_us < 12000);
    EXPECT(s.tick_hz == FAKE_TICK_HZ && s.granted.bits == 14);
    EXPECT(a.input_sequence > 0);
    sinew_close(client);
    fake_stop(server);
}

int main(void)
{
    RUN(native_tls_streams_a_character);
    RUN(websocket_streams_a_character);
    RUN(websocket_over_tls_streams_a_character);
    RUN(bytes_that_dribble_in_are_joined);
    RUN(sinew_poll_drives_without_a_thread);
    RUN(raw_frames_are_exact);
    RUN(small_formats_hold_the_same_surface);
    RUN(buffers_keep_their_addresses);
    RUN(pieces_are_joined_and_unknown_messages_skipped);
    RUN(a_recorder_sees_every_frame_once);
    RUN(actors_come_and_go);
    RUN(figures_tell_age_latency_and_rate);
    TESTING_MAIN_END;
}
