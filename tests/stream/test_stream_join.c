#include <unistd.h>

#include "server/character/pose/clip.h"
#include "tests/stream/world.h"
#include "tests/support/stand.h"
#include "tests/testing.h"

int testing_failures;

static const enum client_kind kinds[] = {CLIENT_WS, CLIENT_WSS, CLIENT_NATIVE};

static void frames_arrive_over_every_transport(void)
{
    static struct world w;
    EXPECT(world_open(&w, NULL, NULL));
    for (size_t i = 0; i < 3; i++) {
        static struct client c;
        EXPECT(world_join(&w, &c, kinds[i], NULL, 30));
        const struct client_actor *own = client_own(&c);
        EXPECT(own && own->bad_count == 0 && own->key_count >= 1);
        EXPECT(c.order_broken == 0);
        EXPECT(c.counts[MESSAGE_SURFACE] == 1 && c.counts[MESSAGE_APPEARANCE] == 1);
        EXPECT(c.counts[MESSAGE_ACTOR] == 1 && c.counts[MESSAGE_CATALOGUE] == 1);
        EXPECT(c.welcome.tick_hz == 60 && c.welcome.quality.rate_hz == 60);
        EXPECT(strlen(c.welcome.resume) == 43 && c.welcome.resume_s == 30);
        EXPECT(c.catalogue && strstr(c.catalogue, "\"bend\""));
        client_ping(&c, 77);
        world_run(&w, 50);
        EXPECT(c.pong.id == 77);
        client_bye(&c);
        EXPECT(world_wait_end(&w, &c, 3000));
        world_remove(&w, &c);
    }
    world_run(&w, 100);
    struct hub_snapshot s = world_snapshot(&w);
    EXPECT(s.live == 0 && s.lost == 0 && s.links_open == 0);
    world_close(&w);
}

struct settled {
    struct client *client;
    uint32_t sequence;
};

static bool shows_input(void *ctx)
{
    const struct settled *s = ctx;
    const struct client_actor *own = client_own(s->client);
    return own && own->input_sequence >= s->sequence;
}

// A pose sent as input comes back as the surface that the evaluator makes of it offline.
static void check_surface(const char *path, const char *clip, float time_s, bool raw)
{
    static struct world w;
    static struct client c;
    static struct stand stand;
    struct hello hello = {.quality = {.raw = raw, .bits = 14}};
    if (!world_open(&w, path, NULL) || !world_join(&w, &c, CLIENT_WS, &hello, 1)) {
        EXPECT(false);
        return;
    }
    client_pose_clip(&c, clip, time_s);
    struct settled settled = {&c, c.sequence};
    EXPECT(world_until(&w, shows_input, &settled, 3000));
    EXPECT(stand_open(&stand, path ? path : w.model));
    uint32_t index = 0;
    for (size_t i = 0; i < stand.model->clips_count; i++)
        if (strcmp(model_text(stand.model, stand.model->clips[i].name), clip) == 0)
            index = (uint32_t)i;
    clip_sample(stand.model, index, (double)time_s, (struct clip_cursor){0}, stand.pose);
    stand_evaluate(&stand, MODEL_LBS, SIMD_PLAIN);
    size_t n = model_vertex_count(stand.model);
    float *got = calloc(n * 3, sizeof *got), worst = 0;
    EXPECT(client_positions(&c, c.welcome.actor, got, n));
    for (size_t i = 0; i < n * 3; i++)
        worst = fmaxf(worst, fabsf(got[i] - stand.positions[i]));
    float step = raw ? 1e-5f : client_own(&c)->grid.step;
    printf("  worst difference %g, step %g\n", (double)worst, (double)step);
    EXPECT(worst <= step * 0.5001f + 1e-5f * fabsf(stand.model->info->box_max[1]));
    free(got);
    stand_close(&stand);
    world_close(&w);
}

static void the_surface_is_the_evaluators_own(void)
{
    check_surface(NULL, "bend", 0.37f, false);
    check_surface(NULL, "bend", 0.37f, true);
}

static void real_characters_stream_the_same_surface(void)
{
    const char *data = testing_data();
    char path[512];
    if (!data) {
        printf("  skipped: no test data\n");
        return;
    }
    snprintf(path, sizeof path, "%s/gltf/khronos/Fox.glb", data);
    check_surface(path, "Run", 0.3f, false);
}

static void settings_change_rate_and_bits(void)
{
    static struct world w;
    static struct client c;
    uint8_t bytes[512];
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &c, CLIENT_NATIVE, NULL, 5));
    struct hello_quality q = {.rate_hz = 30, .bits = 12};
    struct wire_writer wr = wire_write(bytes, sizeof bytes);
    EXPECT(hello_encode_settings(&wr, &q) == ERR_OK);
    client_send(&c, bytes, wire_size(&wr));
    world_run(&w, 300);
    EXPECT(client_own(&c)->bits == 12);
    uint32_t before = client_own(&c)->frame_count;
    world_run(&w, 1000);
    uint32_t got = client_own(&c)->frame_count - before;
    EXPECT(got >= 26 && got <= 33);
    EXPECT(client_own(&c)->bad_count == 0);
    world_close(&w);
}

static void several_see_each_other_in_one_scene(void)
{
    static struct world w;
    static struct client c[3];
    EXPECT(world_open(&w, NULL, NULL));
    struct hello hello = {.scene = "stage"}, watcher = {.scene = "stage", .role = "viewer"};
    EXPECT(world_join(&w, &c[0], CLIENT_WS, &hello, 5));
    EXPECT(world_join(&w, &c[1], CLIENT_NATIVE, &hello, 5));
    EXPECT(client_open(&c[2], CLIENT_WS, world_port(&w, CLIENT_WS)));
    world_add(&w, &c[2]);
    world_run(&w, 100);
    client_hello(&c[2], &watcher);
    world_run(&w, 500);
    EXPECT(c[2].welcomed && c[2].welcome.actor == 0);
    EXPECT(c[0].actor_count == 2 && c[1].actor_count == 2 && c[2].actor_count == 2);
    EXPECT(c[0].counts[MESSAGE_SURFACE] == 1); // one character, one surface
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < c[i].actor_count; k++)
            EXPECT(c[i].actors[k].frame_count > 5 && c[i].actors[k].bad_count == 0);
    client_place(&c[2], 1, 2, 3, 0); // controls nothing
    world_run(&w, 100);
    EXPECT(client_note(&c[2], STREAM_NO_ACTOR));
    client_bye(&c[1]);
    world_run(&w, 200);
    EXPECT(c[0].counts[MESSAGE_GONE] == 1);
    EXPECT(client_actor(&c[0], c[1].welcome.actor)->gone);
    world_close(&w);
}

static bool is_open(void *ctx)
{
    const struct client *c = ctx;
    return c->open;
}

static void who_comes_before_the_characters_keeps_its_ticket(void)
{
    static struct world w;
    static struct client c;
    struct hello hello = {.character = "later"}, here = {0};
    const struct auth_identity who = {.scopes = AUTH_VIEW, .name = "someone"};
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(hub_issue_ticket(serve_hub(w.serve), &who, hello.ticket));
    hub_set_loading(serve_hub(w.serve), true);
    for (int loaded = 0; loaded < 2; loaded++) {
        EXPECT(client_open(&c, CLIENT_NATIVE, world_port(&w, CLIENT_NATIVE)));
        world_add(&w, &c);
        EXPECT(world_until(&w, is_open, &c, 3000));
        client_hello(&c, &hello);
        EXPECT(world_wait_end(&w, &c, 3000));
        EXPECT(c.got_bye && c.bye.code == (loaded ? STREAM_NO_SUCH_CHARACTER : STREAM_RESTART));
        EXPECT((c.bye.retry_ms > 0) == !loaded);
        world_remove(&w, &c);
        if (!loaded) { // what is there already is served meanwhile
            EXPECT(world_join(&w, &c, CLIENT_NATIVE, &here, 1));
            world_remove(&w, &c);
        }
        hub_set_loading(serve_hub(w.serve), false);
    }
    world_close(&w);
}

static void wrong_input_is_answered_and_harmless(void)
{
    static struct world w;
    static struct client c;
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &c, CLIENT_WS, NULL, 3));
    client_pose_clip(&c, "no such clip", 0);
    world_run(&w, 100);
    const struct session_note *note = client_note(&c, STREAM_UNKNOWN_NAME);
    EXPECT(note && note->message_type == MESSAGE_POSE && note->subject == 1);
    uint8_t broken[] = {MESSAGE_PLACE, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4};
    client_send(&c, broken, sizeof broken);
    uint8_t unknown[] = {0xc5, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4};
    client_send(&c, unknown, sizeof unknown); // skipped
    world_run(&w, 100);
    EXPECT(client_note(&c, STREAM_INPUT_REFUSED));
    EXPECT(world_wait_frames(&w, &c, client_own(&c)->frame_count + 10, 2000));
    world_close(&w);
}

int main(void)
{
    RUN(frames_arrive_over_every_transport);
    RUN(the_surface_is_the_evaluators_own);
    RUN(real_characters_stream_the_same_surface);
    RUN(settings_change_rate_and_bits);
    RUN(several_see_each_other_in_one_scene);
    RUN(who_comes_before_the_characters_keeps_its_ticket);
    RUN(wrong_input_is_answered_and_harmless);
    TESTING_MAIN_END;
}
