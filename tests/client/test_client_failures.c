#include <stdlib.h>
#include <unistd.h>

#include "client/lib/backoff.h"
#include "common/tls_cert.h"
#include "proto/stream_codes.h"
#include "tests/client/client_support.h"
#include "tests/testing.h"

int testing_failures;

// What goes wrong: certificates, silence, cuts, damage, lies.

static void serve(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (fake_join(p)) fake_serve(p, UINT32_MAX);
}

// ---- certificates ----

static int join_with(const struct fake_server *server, const char *ca, const char *pin,
                     const char *host)
{
    char url[128], why[SINEW_TEXT_MAX] = "";
    struct sinew_options o = support_options(server, url);
    struct sinew_client *client = NULL;
    char changed[160];
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(strstr(url, "://") - url) + 3, url, host,
             strrchr(url, ':'));
    o.url = changed;
    o.insecure = 0;
    o.ca_file = ca;
    o.pin = pin;
    int r = sinew_open(&o, &client, why, sizeof why);
    if (r == SINEW_OK) r = sinew_wait_joined(client, 5000, why, sizeof why);
    sinew_close(client);
    EXPECT(r == SINEW_OK || why[0]);
    return r;
}

static void a_certificate_counts_by_ca_or_pin(void)
{
    char pin[128];
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = serve});
    fake_certificate_pin(pin);
    EXPECT(join_with(server, fake_certificate(), NULL, "127.0.0.1") == SINEW_OK);
    EXPECT(join_with(server, fake_certificate(), NULL, "localhost") == SINEW_OK);
    EXPECT(join_with(server, NULL, pin, "127.0.0.1") == SINEW_OK);
    fake_stop(server);
}

static void a_wrong_certificate_is_refused_for_good(void)
{
    char pin[128], other_certificate[1024], other_key[1024], other[1024];
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WSS, .scenario = serve});
    fake_certificate_pin(pin);
    pin[0] = pin[0] == 'A' ? 'B' : 'A';
    snprintf(other, sizeof other, "%s/other", fake_folder());
    EXPECT(mkdtemp(strcat(other, "XXXXXX")) != NULL);
    static struct tls_cert_names names;
    tls_cert_add_dns(&names, "elsewhere");
    EXPECT(tls_cert_ensure(other, &names, other_certificate, other_key, NULL) == ERR_OK);
    EXPECT(join_with(server, NULL, pin, "127.0.0.1") == SINEW_ERR_TLS);
    EXPECT(join_with(server, other_certificate, NULL, "127.0.0.1") == SINEW_ERR_TLS);
    EXPECT(join_with(server, NULL, NULL, "127.0.0.1") == SINEW_ERR_TLS); // the system knows it not
    EXPECT(join_with(server, NULL, "abc", "127.0.0.1") == SINEW_ERR_USAGE);
    EXPECT(join_with(server, "/nowhere.pem", NULL, "127.0.0.1") == SINEW_ERR_TLS);
    fake_stop(server);
    server = fake_start(&(struct fake_options){.transport = FAKE_NATIVE,
                                               .scenario = serve,
                                               .certificate = other_certificate,
                                               .key = other_key});
    // Signed by whom we trust, but for another host.
    EXPECT(join_with(server, other_certificate, NULL, "127.0.0.1") == SINEW_ERR_TLS);
    EXPECT(join_with(server, other_certificate, NULL, "localhost") == SINEW_ERR_TLS);
    fake_stop(server);
    EXPECT(unlink(other_certificate) == 0 && unlink(other_key) == 0 && rmdir(other) == 0);
}

// ---- silence ----

static void short_patience(struct sinew_options *o)
{
    o->connect_timeout_ms = 300;
    o->reconnect = 0;
}

static void nothing(struct fake_peer *p, int connection, void *owner)
{
    struct message m;
    (void)connection;
    (void)owner;
    while (!p->gone && !*p->stop)
        (void)fake_receive(p, &m, 100);
}

static void a_server_that_says_nothing_times_out(void)
{
    for (int mute = 0; mute < 2; mute++) {
        struct fake_server *server = fake_start(&(struct fake_options){
            .transport = FAKE_NATIVE, .scenario = nothing, .mute_tls = mute});
        struct sinew_client *client = support_open(server, short_patience);
        struct sinew_event e;
        EXPECT(support_event(client, SINEW_EVENT_CLOSED, &e, 3000));
        EXPECT(e.result == SINEW_ERR_TIMEOUT);
        sinew_close(client);
        fake_stop(server);
    }
}

static void falls_silent(struct fake_peer *p, int connection, void *owner)
{
    struct hello_welcome w = fake_welcome_usual();
    (void)owner;
    w.heartbeat_ms = 100;
    if (!fake_hello(p)) return;
    fake_welcome(p, &w);
    if (connection == 0)
        nothing(p, 0, NULL);
    else
        fake_serve(p, 0);
    while (connection > 0 && !p->gone && !*p->stop) {
        struct message m;
        (void)fake_await(p, MESSAGE_HELLO, &m, 50); // answers pings
    }
}

static void a_server_that_falls_silent_is_left_and_tried_again(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = falls_silent});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_event e;
    EXPECT(support_event(client, SINEW_EVENT_JOINED, &e, 3000));
    uint64_t joined_us = sinew_now_us();
    EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 3000) && e.result == SINEW_ERR_TIMEOUT);
    EXPECT(sinew_now_us() - joined_us < 1500000);
    EXPECT(support_event(client, SINEW_EVENT_JOINED, &e, 3000));
    usleep(600000);
    struct sinew_stats s = {.struct_size = sizeof s};
    EXPECT(sinew_get_stats(client, &s) == SINEW_OK && s.connection == SINEW_JOINED);
    sinew_close(client);
    fake_stop(server);
}

// ---- loss and return ----

static void waits_double_and_stay_short_enough_for_a_crowd(void)
{
    static const uint32_t spans[] = {500, 1000, 2000, 4000, 4000, 4000};
    for (uint32_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        EXPECT(backoff_ms(i, 0, 0) == spans[i] / 2);
        EXPECT(backoff_ms(i, 0, 1) == spans[i] + spans[i] / 2);
    }
    EXPECT(backoff_ms(1000000, 0, 1) == 6000); // and then 4 s for a handshake: back within 10
    EXPECT(backoff_ms(9, 800, 0) == 800 && backoff_ms(9, 800, 1) == 1200);
    EXPECT(backoff_ms(0, UINT32_MAX, 0) == 60000);
}

static void says_when_to_come_back(struct fake_peer *p, int connection, void *owner)
{
    const struct session_note bye = {.code = STREAM_RESTART, .retry_ms = 20};
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    (void)owner;
    if (!fake_hello(p)) return;
    if (connection < 8 && session_encode_note(&w, MESSAGE_BYE, &bye) == ERR_OK)
        fake_send(p, bytes, wire_size(&w));
    fake_close(p, 1012); // the ninth is cut without a word
}

static void advice_to_wait_is_not_one_more_failure(void)
{
    struct fake_server *server = fake_start(
        &(struct fake_options){.transport = FAKE_NATIVE, .scenario = says_when_to_come_back});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_event e;
    for (int i = 0; i < 8; i++)
        EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 3000) && e.retry_ms >= 20 &&
               e.retry_ms <= 30);
    EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 3000) && e.retry_ms >= 250 &&
           e.retry_ms <= 750);
    sinew_close(client);
    fake_stop(server);
}

static void cut_once(struct fake_peer *p, int connection, void *owner)
{
    int *resumed = owner;
    if (connection == 0) {
        if (fake_join(p)) fake_serve(p, 20);
        return; // cut, without a word
    }
    if (!fake_hello(p)) return;
    struct hello_welcome w = fake_welcome_usual();
    *resumed =
        strcmp(p->hello.resume, "once") == 0 && p->hello.last_frame > 0 && !p->hello.token[0];
    w.resumed = true;
    memcpy(w.resume, "twice", 6);
    fake_welcome(p, &w);
    p->tick = 1000;
    fake_actor(p, 1, true);
    fake_send_surface(p); // again; the client has it
    fake_send_frame(p, FAKE_KEY, 0);
    fake_serve(p, UINT32_MAX);
}

static void a_cut_connection_resumes_where_it_was(void)
{
    int resumed = 0;
    struct fake_server *server = fake_start(
        &(struct fake_options){.transport = FAKE_NATIVE, .scenario = cut_once, .owner = &resumed});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_event e;
    struct sinew_actor before, after;
    EXPECT(support_frame(client, 5, &before, 5000));
    EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 5000) && e.retry_ms > 0);
    EXPECT(sinew_actor_at(client, 0, &before) == SINEW_OK);
    EXPECT(before.flags & SINEW_ACTOR_STALE && before.vertices); // the last frame stays
    EXPECT(support_event(client, SINEW_EVENT_RESUMED, &e, 5000) && resumed);
    EXPECT(support_frame(client, 1000, &after, 5000));
    EXPECT(before.vertices == after.vertices && before.surface == after.surface);
    EXPECT(support_error(client, after.tick) < 0.001);
    struct sinew_stats s = {.struct_size = sizeof s};
    EXPECT(sinew_get_stats(client, &s) == SINEW_OK && s.resumes == 1 && s.reconnects == 1);
    sinew_close(client);
    fake_stop(server);
}

static void note(struct fake_peer *p, uint8_t type, uint16_t code, uint32_t retry_ms)
{
    const struct session_note n = {.code = code, .fatal = 1, .retry_ms = retry_ms};
    uint8_t bytes[128];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    EXPECT(session_encode_note(&w, type, &n) == ERR_OK);
    fake_send(p, bytes, wire_size(&w));
}

static void forgets(struct fake_peer *p, int connection, void *owner)
{
    int *anew = owner;
    if (connection == 0) {
        if (fake_join(p)) fake_serve(p, 10);
        note(p, MESSAGE_BYE, STREAM_RESTART, 100);
    } else if (fake_hello(p) && p->hello.resume[0]) {
        note(p, MESSAGE_BYE, STREAM_RESUME_EXPIRED, 0);
    } else {
        *anew = strcmp(p->hello.token, "secret") == 0;
        fake_welcome(p, NULL);
        fake_actor(p, 1, true);
        fake_send_surface(p);
        p->tick = 500;
        fake_send_frame(p, FAKE_KEY, 0);
        fake_serve(p, UINT32_MAX);
    }
}

static void with_token(struct sinew_options *o)
{
    o->token = "secret";
}

static void a_session_that_cannot_resume_joins_anew(void)
{
    int anew = 0;
    struct fake_server *server = fake_start(
        &(struct fake_options){.transport = FAKE_WS, .scenario = forgets, .owner = &anew});
    struct sinew_client *client = support_open(server, with_token);
    struct sinew_event e;
    struct sinew_actor a;
    EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 5000) && e.code == STREAM_RESTART);
    EXPECT(e.retry_ms >= 100);
    EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 5000) && e.code == STREAM_RESUME_EXPIRED);
    EXPECT(support_event(client, SINEW_EVENT_ACTOR_OUT, &e, 5000)); // of the session before
    EXPECT(support_event(client, SINEW_EVENT_JOINED, &e, 5000) && anew);
    EXPECT(support_frame(client, 500, &a, 5000));
    sinew_close(client);
    fake_stop(server);
}

static void refuses(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (fake_hello(p)) note(p, MESSAGE_BYE, STREAM_NO_SUCH_CHARACTER, 0);
}

static void closes_superseded(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (fake_join(p)) fake_close(p, 4000);
}

static void a_refusal_is_final(void)
{
    static fake_scenario *const scenarios[] = {refuses, closes_superseded};
    static const uint32_t codes[] = {STREAM_NO_SUCH_CHARACTER, STREAM_SUPERSEDED};
    for (int i = 0; i < 2; i++) {
        struct fake_server *server =
            fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = scenarios[i]});
        struct sinew_client *client = support_open(server, NULL);
        struct sinew_event e;
        EXPECT(support_event(client, SINEW_EVENT_CLOSED, &e, 5000));
        EXPECT(e.code == codes[i] && e.result == SINEW_ERR_REFUSED && e.text[0]);
        usleep(400000);
        EXPECT(fake_connections(server) == 1);
        EXPECT(sinew_send_face(client, NULL, 0, NULL) == SINEW_ERR_STATE);
        sinew_close(client);
        fake_stop(server);
    }
}

static void nobody_there_is_said_and_tried_again(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = serve});
    char url[128];
    struct sinew_options o = support_options(server, url);
    fake_stop(server);
    struct sinew_client *client = NULL;
    struct sinew_event e;
    EXPECT(sinew_open(&o, &client, NULL, 0) == SINEW_OK);
    EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 2000) && e.result == SINEW_ERR_NETWORK);
    EXPECT(strstr(e.text, "127.0.0.1") != NULL);
    EXPECT(support_event(client, SINEW_EVENT_LOST, &e, 3000));
    sinew_close(client);
}

// ---- input across a loss ----

struct presses {
    uint32_t numbers[8], count;
    float yaw;
};

static void counts_presses(struct fake_peer *p, int connection, void *owner)
{
    struct presses *seen = owner;
    struct message m;
    if (connection == 0) {
        if (!fake_join(p)) return;
        (void)fake_await(p, MESSAGE_CONTROL, &m, 5000);
        return; // cut before any frame acknowledges it
    }
    if (!fake_hello(p)) return;
    struct hello_welcome w = fake_welcome_usual();
    w.resumed = true;
    fake_welcome(p, &w);
    if (fake_await(p, MESSAGE_CONTROL, &m, 5000)) {
        static struct input_control c;
        EXPECT(input_decode_control(m.payload, m.size_bytes, &c) == ERR_OK);
        for (uint32_t i = 0; i < c.event_count; i++)
            seen->numbers[seen->count++] = c.events[i].number;
        EXPECT(c.fields == INPUT_MOVE && c.move[1] == 1 && strcmp(c.events[0].name, "jump") == 0);
    }
    struct input_place place = {0};
    if (fake_await(p, MESSAGE_PLACE, &m, 5000) &&
        input_decode_place(m.payload, m.size_bytes, &place) == ERR_OK)
        seen->yaw = place.yaw_rad;
    fake_serve(p, 20);
    if (fake_await(p, MESSAGE_CONTROL, &m, 5000)) {
        static struct input_control c;
        EXPECT(input_decode_control(m.payload, m.size_bytes, &c) == ERR_OK && c.event_count == 0);
        seen->count += 100;
    }
    fake_serve(p, UINT32_MAX);
}

static void a_press_rides_until_it_is_acknowledged(void)
{
    static struct presses seen;
    struct fake_server *server = fake_start(&(struct fake_options){
        .transport = FAKE_NATIVE, .scenario = counts_presses, .owner = &seen});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_event e;
    struct sinew_actor a;
    EXPECT(support_frame(client, 1, &a, 5000));
    const struct sinew_action_event jump = {SINEW_PRESS, "jump", NULL};
    const struct sinew_place place = {sizeof place, SINEW_PLACE_YAW, {0}, 0.25f, 0};
    struct sinew_control control = {.struct_size = sizeof control,
                                    .fields = SINEW_CONTROL_MOVE,
                                    .move = {0, 1},
                                    .events = &jump,
                                    .event_count = 1};
    uint32_t first = 0, second = 0;
    EXPECT(sinew_send_place(client, &place, &first) == SINEW_OK);
    EXPECT(sinew_send_control(client, &control, &second) == SINEW_OK && second > first);
    EXPECT(support_event(client, SINEW_EVENT_RESUMED, &e, 5000));
    usleep(500000); // acknowledged by now: the next one carries none
    control.event_count = 0;
    EXPECT(sinew_send_control(client, &control, NULL) == SINEW_OK);
    usleep(300000);
    sinew_close(client);
    fake_stop(server);
    EXPECT(seen.count == 101 && seen.numbers[0] == 1 && seen.yaw == 0.25f);
}

static void bad_input_is_refused_and_nothing_held(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = serve});
    struct sinew_client *client = support_open(server, NULL);
    EXPECT(sinew_wait_joined(client, 5000, NULL, 0) == SINEW_OK);
    struct sinew_place place = {sizeof place, SINEW_PLACE_YAW, {0}, NAN, 0};
    EXPECT(sinew_send_place(client, &place, NULL) == SINEW_ERR_USAGE);
    const struct sinew_value value = {0, INFINITY};
    EXPECT(sinew_send_face(client, &value, 1, NULL) == SINEW_ERR_USAGE);
    EXPECT(sinew_send_face(client, &value, 5000, NULL) == SINEW_ERR_USAGE);
    const struct sinew_pose_joint joint = {.name = "", .fields = SINEW_POSE_ROTATION};
    const struct sinew_pose pose = {.struct_size = sizeof pose, .joints = &joint, .joint_count = 1};
    EXPECT(sinew_send_pose(client, &pose, NULL) == SINEW_ERR_USAGE);
    const struct sinew_device device = {.name = "tail"};
    const struct sinew_sensor sensor = {
        .struct_size = sizeof sensor, .devices = &device, .device_count = 1};
    EXPECT(sinew_send_sensor(client, &sensor, NULL) == SINEW_ERR_USAGE);
    const struct sinew_action_event event = {SINEW_PRESS, NULL, NULL};
    const struct sinew_control control = {
        .struct_size = sizeof control, .events = &event, .event_count = 1};
    EXPECT(sinew_send_control(client, &control, NULL) == SINEW_ERR_USAGE);
    sinew_close(client);
    fake_stop(server);
}

// ---- damage and lies ----

static void damages(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (!fake_join(p)) return;
    fake_serve(p, 10);
    uint8_t junk[300];
    memset(junk, 0xa5, sizeof junk);
    fake_send_payload(p, MESSAGE_FRAME, junk, sizeof junk, 0); // a header that cannot be
    struct message m;
    EXPECT(fake_await(p, MESSAGE_RESYNC, &m, 5000));
    fake_send_frame(p, FAKE_KEY, 0);
    usleep(300000);
    uint32_t frame = p->frame;
    surface_anchors_clear(&p->anchors);
    fake_send_frame(p, FAKE_KEY, 0);
    p->frame += 100; // an anchor that the client never got
    surface_anchors_keep(&p->anchors, p->frame);
    fake_send_frame(p, FAKE_DELTA, 0);
    EXPECT(fake_await(p, MESSAGE_RESYNC, &m, 5000));
    struct session_resync r = {0};
    EXPECT(session_decode_resync(m.payload, m.size_bytes, &r) == ERR_OK && r.frame > frame + 100);
    p->tick = 2000;
    fake_send_frame(p, FAKE_KEY, 0);
    fake_serve(p, UINT32_MAX);
}

static void damaged_frames_are_left_out_and_asked_for_anew(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = damages});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_actor a;
    EXPECT(support_frame(client, 2005, &a, 8000));
    EXPECT(support_error(client, a.tick) < 0.001);
    struct sinew_stats s = {.struct_size = sizeof s};
    EXPECT(sinew_get_stats(client, &s) == SINEW_OK);
    EXPECT(s.resyncs >= 2 && s.frames_undecoded >= 2 && s.reconnects == 0);
    sinew_close(client);
    fake_stop(server);
}

// Every byte of a SURFACE and of a frame is changed in turn; the sanitizers watch.
static void lies(struct fake_peer *p, int connection, void *owner)
{
    static uint8_t surface[1 << 20], changed[1 << 20];
    (void)owner;
    if (!fake_hello(p)) return;
    fake_welcome(p, NULL);
    fake_actor(p, 1, true);
    size_t size = fake_surface(surface, sizeof surface);
    srand((unsigned)connection);
    for (int i = 0; i < 60 && !p->gone && !*p->stop; i++) {
        memcpy(changed, surface, size);
        for (int k = 0; k < 1 + i % 4; k++) {
            size_t at = (size_t)rand() % (i % 2 ? size : 400);
            changed[at] = (uint8_t)(changed[at] ^ (1u << (rand() % 8)));
        }
        size_t cut = i % 5 == 4 ? (size_t)rand() % size : size;
        fake_send_payload(p, MESSAGE_SURFACE, changed, cut, 0);
        fake_send_frame(p, FAKE_KEY, 0);
        fake_send_frame(p, FAKE_RAW, 0);
    }
    usleep(100000);
}

static void smooth(struct sinew_options *o)
{
    o->playout = SINEW_PLAY_SMOOTH;
    o->memory_max_bytes = 64 << 20;
}

static void a_hostile_server_harms_nothing(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_NATIVE, .scenario = lies});
    struct sinew_client *client = NULL;
    for (int i = 0; i < 12; i++) {
        client = support_open(server, smooth);
        struct sinew_event e;
        struct sinew_actor a;
        (void)support_event(client, SINEW_EVENT_CLOSED, &e, 250);
        if (sinew_actor_at(client, 0, &a) == SINEW_OK && a.indices) {
            for (uint32_t k = 0; k < a.index_count; k++)
                EXPECT(a.indices[k] < a.vertex_count);
            for (uint32_t k = 0; k < a.vertex_count; k++)
                EXPECT(a.source_vertices[k] < a.source_vertex_count);
        }
        sinew_close(client);
    }
    fake_stop(server);
}

static void too_large(struct fake_peer *p, int connection, void *owner)
{
    (void)connection;
    (void)owner;
    if (!fake_hello(p)) return;
    fake_welcome(p, NULL);
    fake_actor(p, 1, true);
    uint8_t *piece = calloc(1, 60000);
    for (int i = 0; i < 2000 && !p->gone && !*p->stop; i++) { // 120 MB of one SURFACE
        uint8_t envelope[60000 + 8];
        messages_header(envelope, MESSAGE_SURFACE,
                        (uint8_t)(MESSAGES_MORE | (i ? MESSAGES_CONTINUES : 0)), 60000);
        memcpy(envelope + 8, piece, 60000);
        fake_send(p, envelope, sizeof envelope);
    }
    free(piece);
}

static void small_memory(struct sinew_options *o)
{
    o->memory_max_bytes = 16 << 20;
    o->reconnect = 0;
}

static void an_endless_surface_is_cut_off(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = too_large});
    struct sinew_client *client = support_open(server, small_memory);
    struct sinew_event e;
    EXPECT(support_event(client, SINEW_EVENT_CLOSED, &e, 10000));
    EXPECT(e.result == SINEW_ERR_MEMORY);
    struct sinew_stats s = {.struct_size = sizeof s};
    EXPECT(sinew_get_stats(client, &s) == SINEW_OK && s.bytes_in < 32 << 20);
    sinew_close(client);
    fake_stop(server);
}

static void garbage(struct fake_peer *p, int connection, void *owner)
{
    uint8_t bytes[512];
    (void)connection;
    (void)owner;
    memset(bytes, 0xee, sizeof bytes);
    if (fake_hello(p)) fake_send(p, bytes, sizeof bytes);
    usleep(50000);
}

static void a_peer_of_another_protocol_is_left(void)
{
    for (int transport = 0; transport < 3; transport += 2) {
        struct fake_server *server = fake_start(&(struct fake_options){
            .transport = (enum fake_transport)transport, .scenario = garbage});
        struct sinew_client *client = support_open(server, NULL);
        struct sinew_event e;
        EXPECT(support_event(client, SINEW_EVENT_CLOSED, &e, 5000));
        EXPECT(e.result == SINEW_ERR_PROTOCOL);
        sinew_close(client);
        fake_stop(server);
    }
}

static void other_version(struct fake_peer *p, int connection, void *owner)
{
    struct hello_welcome w = fake_welcome_usual();
    (void)connection;
    (void)owner;
    w.major = 9;
    if (fake_hello(p)) fake_welcome(p, &w);
    usleep(50000);
}

static void another_major_version_is_said_readably(void)
{
    struct fake_server *server =
        fake_start(&(struct fake_options){.transport = FAKE_WS, .scenario = other_version});
    struct sinew_client *client = support_open(server, NULL);
    struct sinew_event e;
    EXPECT(support_event(client, SINEW_EVENT_CLOSED, &e, 5000));
    EXPECT(e.result == SINEW_ERR_PROTOCOL && strstr(e.text, "9.0") != NULL);
    sinew_close(client);
    fake_stop(server);
}

static void wrong_options_are_refused_with_a_line(void)
{
    static const char *const urls[] = {"",          "127.0.0.1", "tcp://a",      "ws://",
                                       "ws://a:0",  "ws://a:x",  "ws://a:70000", "ws://u@h:1",
                                       "ws://[::1", "ws://a b",  "https://a"};
    struct sinew_options o;
    struct sinew_client *client = NULL;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char why[SINEW_TEXT_MAX] = "";
        sinew_options_init(&o, sizeof o);
        o.url = urls[i];
        EXPECT(sinew_open(&o, &client, why, sizeof why) == SINEW_ERR_USAGE && why[0]);
    }
    sinew_options_init(&o, sizeof o);
    EXPECT(sinew_open(&o, &client, NULL, 0) == SINEW_ERR_USAGE);
    o.url = "ws://[::1]:7480";
    o.quality.bits = 9;
    EXPECT(sinew_open(&o, &client, NULL, 0) == SINEW_ERR_USAGE);
    o.quality.bits = 0;
    o.quality.raw = 1;
    o.position_format = SINEW_POSITION_UINT16_4;
    EXPECT(sinew_open(&o, &client, NULL, 0) == SINEW_ERR_USAGE && client == NULL);
    sinew_close(NULL);
}

int main(void)
{
    RUN(a_certificate_counts_by_ca_or_pin);
    RUN(a_wrong_certificate_is_refused_for_good);
    RUN(a_server_that_says_nothing_times_out);
    RUN(a_server_that_falls_silent_is_left_and_tried_again);
    RUN(waits_double_and_stay_short_enough_for_a_crowd);
    RUN(advice_to_wait_is_not_one_more_failure);
    RUN(a_cut_connection_resumes_where_it_was);
    RUN(a_session_that_cannot_resume_joins_anew);
    RUN(a_refusal_is_final);
    RUN(nobody_there_is_said_and_tried_again);
    RUN(a_press_rides_until_it_is_acknowledged);
    RUN(bad_input_is_refused_and_nothing_held);
    RUN(damaged_frames_are_left_out_and_asked_for_anew);
    RUN(a_hostile_server_harms_nothing);
    RUN(an_endless_surface_is_cut_off);
    RUN(a_peer_of_another_protocol_is_left);
    RUN(another_major_version_is_said_readably);
    RUN(wrong_options_are_refused_with_a_line);
    TESTING_MAIN_END;
}
