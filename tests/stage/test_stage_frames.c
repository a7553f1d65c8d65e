#include "server/stage/replay.h"
#include "tests/stage/play.h"
#include "tests/testing.h"
int testing_failures;

static const struct stage_join own_sample = {.character = "", .controls = true};

// Source-order positions at a tick of the replay of `script`; malloc'd.
static float *replayed(enum play_model model, const char *text, uint64_t tick)
{
    const struct model *m = model_file_model(play_model_file(model));
    struct script script = {0};
    struct fault fault = {0};
    struct arena arena;
    struct face_map map;
    struct body *body = calloc(1, sizeof *body);
    float *out = calloc(model_vertex_count(m) * 3, sizeof *out);
    float *normals = calloc(model_vertex_count(m) * 3, sizeof *normals);
    EXPECT(arena_create(&arena, face_map_bytes(m) + 64));
    face_map_build(m, &arena, &map);
    struct body_options options = {.model = m,
                                   .map = &map,
                                   .default_clip = body_default_clip(m),
                                   .skinning = (enum model_skinning)m->info->skinning,
                                   .level = simd_best()};
    EXPECT(body_create(&options, body) == ERR_OK);
    EXPECT(script_read(text, strlen(text), 60, &script, &fault) == ERR_OK);
    EXPECT(replay_run(body, &script, 60, tick, &fault) == ERR_OK);
    if (fault.code) printf("  %s\n", fault.line);
    replay_world(body, out, normals);
    script_free(&script);
    body_destroy(body);
    free(body);
    free(normals);
    arena_destroy(&arena);
    return out;
}

// The largest distance on an axis between what a player sees and the replay, in steps.
static double steps_apart(struct player *p, enum play_model model, const char *text)
{
    const struct player_actor *a = player_own(p);
    size_t count = a->lods[0].vertex_count;
    uint64_t tick = a->head.tick - view_first_tick(p->view);
    float *expected = replayed(model, text, tick), *seen = calloc(3 * count, sizeof *seen);
    double step = (double)a->head.step * (double)a->head.scale, most = 0;
    player_positions(a, seen);
    for (size_t i = 0; i < 3 * count; i++)
        most = fmax(most, fabs((double)seen[i] - (double)expected[i]));
    free(expected);
    free(seen);
    return step > 0 ? most / step : most;
}

static void what_is_streamed_is_what_the_replay_shows(void)
{
    struct play p;
    struct player player;
    EXPECT(play_open(&p, 1, PLAY_PUP, NULL));
    for (int i = 0; i < 7; i++)
        play_tick(&p); // the session's time begins when it joins
    EXPECT(player_join(&player, &p, &own_sample));
    for (int i = 0; i < 30; i++) {
        play_tick(&p);
        player_take(&player);
    }
    EXPECT(player_own(&player)->frames == 30);
    EXPECT(steps_apart(&player, PLAY_PUP, "") <= 0.51); // it idles
    EXPECT(player_pose(&player, "Walk", 0.3f) == ERR_OK);
    EXPECT(player_place(&player, 1, 0.5f, -2, 0.7f, 1.5f) == ERR_OK);
    for (int i = 0; i < 3; i++) {
        play_tick(&p);
        player_take(&player);
    }
    const char *script = "{\"tick\": 30, \"pose\": {\"clip\": \"Walk\", \"time_s\": 0.3}}\n"
                         "{\"tick\": 30, \"place\": {\"position\": [1, 0.5, -2], \"yaw\": 0.7, "
                         "\"scale\": 1.5}}\n";
    double apart = steps_apart(&player, PLAY_PUP, script);
    // Half a step on each axis of the grid, which is turned against the scene: times cos + sin.
    EXPECT(apart <= 0.72);
    EXPECT(player.undecodable == 0);
    EXPECT(player_own(&player)->keys == 1);
    EXPECT(player_own(&player)->stills == 2); // a held pose costs a header
    player_leave(&player);
    play_close(&p);
}

static void raw_frames_are_the_floats_themselves(void)
{
    struct play p;
    struct player player;
    struct stage_join join = {.controls = true, .settings = {.raw = true}};
    EXPECT(play_open(&p, 0, PLAY_PUP, NULL));
    EXPECT(player_join(&player, &p, &join));
    for (int i = 0; i < 5; i++) {
        play_tick(&p);
        player_take(&player);
    }
    EXPECT(player_own(&player)->head.codec == SURFACE_CODEC_RAW);
    EXPECT(steps_apart(&player, PLAY_PUP, "") == 0);
    player_leave(&player);
    play_close(&p);
}

static void an_input_acts_in_the_next_tick_and_is_logged(void)
{
    struct play p;
    struct player player;
    struct session_applied_entry applied[8];
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&player, &p, &own_sample));
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->head.input_sequence == 0);
    EXPECT(player_pose(&player, "bend", 0.25f) == ERR_OK);
    EXPECT(player_pose(&player, "bend", 0.5f) == ERR_OK); // the newest wins
    EXPECT(stage_applied(p.stage, view_own_id(player.view), applied, 8) == 0);
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->head.input_sequence == 2);
    EXPECT(steps_apart(&player, PLAY_SAMPLE,
                       "{\"tick\":1,\"pose\":{\"clip\":\"bend\",\"time_s\":0.5}}") <= 0.51);
    EXPECT(stage_applied(p.stage, view_own_id(player.view), applied, 8) == 2);
    EXPECT(applied[0].tick == player_own(&player)->head.tick && applied[0].sequence == 1);
    EXPECT(applied[1].tick == applied[0].tick && applied[1].sequence == 2);
    EXPECT(stage_applied(p.stage, view_own_id(player.view), applied, 8) == 0);
    player_leave(&player);
    play_close(&p);
}

static void old_broken_and_unknown_inputs_change_nothing(void)
{
    struct play p;
    struct player player;
    struct fault fault = {0};
    uint8_t junk[64] = {0};
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&player, &p, &own_sample));
    uint64_t id = view_own_id(player.view);
    EXPECT(player_face(&player, 0, 1) == ERR_OK);
    EXPECT(player_face(&player, 7, 1) == ERR_NOT_FOUND);
    EXPECT(player_pose(&player, "no such clip", 0) == ERR_NOT_FOUND);
    player.sequence = 0;
    EXPECT(player_face(&player, 0, 0.5f) == ERR_STALE);
    EXPECT(stage_input(p.stage, id, 0x44, junk, 0, &fault) == ERR_TRUNCATED);
    junk[0] = 200; // sequence
    fault = (struct fault){0};
    EXPECT(stage_input(p.stage, id, 0x41, junk, sizeof junk, &fault) == ERR_UNSUPPORTED);
    fault = (struct fault){0};
    EXPECT(stage_input(p.stage, id + 1, 0x44, junk, sizeof junk, &fault) == ERR_NOT_FOUND);
    play_tick(&p);
    player_take(&player);
    EXPECT(steps_apart(&player, PLAY_SAMPLE, "{\"t_s\":0,\"face\":{\"wide\":1}}") <= 0.51);
    player_leave(&player);
    EXPECT(stage_input(p.stage, id, 0x44, junk, sizeof junk, &fault) == ERR_NOT_FOUND);
    play_close(&p);
}

static void a_surface_that_leaves_its_grid_gets_a_larger_one_and_a_key_frame(void)
{
    struct play p;
    struct player player;
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&player, &p, &own_sample));
    EXPECT(player_face(&player, 0, -2) == ERR_OK);
    EXPECT(player_pose(&player, "", 0) == ERR_OK);
    for (int i = 0; i < 3; i++) {
        play_tick(&p);
        player_take(&player);
    }
    float step = player_own(&player)->head.step;
    EXPECT(player_own(&player)->keys == 1);
    EXPECT(player_pose(&player, "bend", 1) == ERR_OK); // it lies down: wider than it was high
    EXPECT(player_face(&player, 0, 2) == ERR_OK);
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->head.flags & FRAME_KEY);
    EXPECT(player_own(&player)->head.step > step);
    EXPECT(steps_apart(
               &player, PLAY_SAMPLE,
               "{\"t_s\":0,\"pose\":{\"clip\":\"bend\",\"time_s\":1},\"face\":{\"wide\":2}}") <=
           0.51);
    for (int i = 0; i < 3; i++) {
        play_tick(&p);
        player_take(&player);
    }
    EXPECT(player_own(&player)->keys == 2 && player.undecodable == 0);
    player_leave(&player);
    play_close(&p);
}

int main(void)
{
    RUN(what_is_streamed_is_what_the_replay_shows);
    RUN(raw_frames_are_the_floats_themselves);
    RUN(an_input_acts_in_the_next_tick_and_is_logged);
    RUN(old_broken_and_unknown_inputs_change_nothing);
    RUN(a_surface_that_leaves_its_grid_gets_a_larger_one_and_a_key_frame);
    play_forget_models();
    TESTING_MAIN_END;
}
