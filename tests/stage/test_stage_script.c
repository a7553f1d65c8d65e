#include "server/stage/replay.h"
#include "tests/stage/play.h"
#include "tests/testing.h"
int testing_failures;

static const struct model *model;
static struct arena arena;
static struct face_map map;

static enum err read(const char *text, uint32_t hz, struct script *out, struct fault *fault)
{
    *fault = (struct fault){0};
    return script_read(text, strlen(text), hz, out, fault);
}

static void lines_act_in_the_first_tick_that_is_not_before_them(void)
{
    static const struct {
        const char *text;
        uint64_t tick;
    } cases[] = {{"{\"t_s\": 0}", 0},          {"{\"t_s\": 0.5}", 30},
                 {"{\"t_s\": 0.016666}", 1},   {"{\"t_s\": 0.0166676}", 1}, // within 1e-6 s
                 {"{\"t_s\": 0.016668}", 2},   {"{\"t_s\": 0.0333333}", 2},
                 {"{\"t_s\": 100}", 6000},     {"{\"tick\": 7}", 7},
                 {"\n  \n{\"t_s\": 1e-7}", 0}, {"{\"t_s\": 0.1}", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct script s;
        struct fault fault;
        EXPECT(read(cases[i].text, 60, &s, &fault) == ERR_OK);
        EXPECT(s.line_count == 1 && s.lines[0].tick == cases[i].tick);
        script_free(&s);
    }
    EXPECT(replay_tick_at(0, 60) == 0 && replay_tick_at(-1, 60) == 0);
    EXPECT(replay_tick_at(0.5, 60) == 30 && replay_tick_at(0.499, 60) == 29);
    EXPECT(replay_tick_at(1.0 / 3, 60) == 20 && replay_tick_at(0.0166667, 60) == 1);
}

static void lines_are_taken_in_order_of_time_then_of_the_file(void)
{
    struct script s;
    struct fault fault;
    EXPECT(read("{\"t_s\":1}\n{\"t_s\":0.5}\n{\"tick\":60}\n\n{\"t_s\":0.5}", 60, &s, &fault) ==
           ERR_OK);
    EXPECT(s.line_count == 4);
    EXPECT(s.lines[0].number == 2 && s.lines[1].number == 5);
    EXPECT(s.lines[2].number == 1 && s.lines[3].number == 3);
    script_free(&s);
}

static void bad_lines_are_refused_by_number(void)
{
    static const struct {
        const char *text;
        enum err code;
    } cases[] = {{"{\"t_s\": 0}\nnonsense", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n[]", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"pose\": {}}", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"t_s\": -1}", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"t_s\": \"1\"}", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"tick\": 1.5}", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"tick\": 1, \"t_s\": 1}", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"t_s\": 1, \"dance\": 1}", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"t_s\": 1, \"controls\": {}}", ERR_MALFORMED},
                 {"{\"t_s\": 0}\n{\"t_s\": 1, \"sensors\": {}}", ERR_MALFORMED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct script s = {0};
        struct fault fault;
        EXPECT(read(cases[i].text, 60, &s, &fault) == cases[i].code);
        EXPECT(strstr(fault.line, "line 2") != NULL);
        EXPECT(s.lines == NULL && s.line_count == 0);
    }
}

static enum err run(struct body *b, const char *text, uint64_t tick, struct fault *fault)
{
    struct script s;
    enum err e = read(text, 60, &s, fault);
    if (e == ERR_OK) e = replay_run(b, &s, 60, tick, fault);
    if (e == ERR_OK)
        script_free(&s);
    else if (s.lines)
        script_free(&s);
    return e;
}

static void wrong_names_and_values_stop_the_replay_at_their_line(void)
{
    static const char *const lines[] = {
        "{\"t_s\":0,\"pose\":{\"clip\":\"nope\"}}",
        "{\"t_s\":0,\"pose\":{\"joints\":{\"nope\":{\"rotation\":[0,0,0,1]}}}}",
        "{\"t_s\":0,\"pose\":3}",
        "{\"t_s\":0,\"face\":{\"nope\":1}}",
        "{\"t_s\":0,\"face\":{\"wide\":\"x\"}}",
        "{\"t_s\":0,\"face\":{\"wide\":1e9}}",
        "{\"t_s\":0,\"place\":{\"position\":[1,2]}}",
        "{\"t_s\":0,\"place\":{\"scale\":0}}",
        "{\"t_s\":0,\"place\":{\"size\":1}}",
        "{\"t_s\":0,\"control\":{\"move\":[0,2]}}",
        "{\"t_s\":0,\"control\":{\"press\":\"wave\"}}",
        "{\"t_s\":0,\"control\":{\"fly\":1}}",
        "{\"t_s\":0,\"control\":{\"root\":[1]}}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        static struct body b;
        struct script s;
        struct fault fault;
        play_body(model, &map, &b);
        EXPECT(read(lines[i], 60, &s, &fault) == ERR_OK);
        EXPECT(replay_run(&b, &s, 60, 5, &fault) != ERR_OK);
        EXPECT(strstr(fault.line, "line 1") != NULL);
        script_free(&s);
        body_destroy(&b);
    }
}

static void what_a_line_sets_holds_until_another_sets_it(void)
{
    static struct body b;
    struct fault fault;
    float at[8 * 3], normals[8 * 3];
    const char *text = "{\"t_s\":0.1,\"pose\":{\"clip\":\"bend\",\"time_s\":1}}\n"
                       "{\"t_s\":0.2,\"face\":{\"wide\":1}}\n"
                       "{\"t_s\":0.3,\"place\":{\"position\":[10,0,0]}}\n"
                       "{\"t_s\":0.4,\"place\":{\"yaw\":3.14159265358979}}\n"
                       "{\"t_s\":0.5,\"pose\":{}}\n";
    play_body(model, &map, &b);
    EXPECT(run(&b, text, 29, &fault) == ERR_OK);
    replay_world(&b, at, normals);
    // Vertex 7 of the sample: (0.5 + 0.25, 3, 0.375) on a bone bent by 90 degrees about (0, 1.5),
    // so (-1.5, 2.25, 0.375); turned half round, and 10 to the side.
    EXPECT_NEAR(at[21], 10 + 1.5, 1e-5);
    EXPECT_NEAR(at[22], 2.25, 1e-5);
    EXPECT_NEAR(at[23], -0.375, 1e-5);
    body_destroy(&b);
    play_body(model, &map, &b);
    EXPECT(run(&b, text, 30, &fault) == ERR_OK); // the empty pose is the rest pose
    replay_world(&b, at, normals);
    EXPECT_NEAR(at[21], 10 - 0.75, 1e-5);
    EXPECT_NEAR(at[22], 3, 1e-5);
    body_destroy(&b);
}

static void without_a_pose_the_default_clip_plays_and_loops(void)
{
    static struct body b;
    struct fault fault;
    float early[8 * 3], later[8 * 3], normals[8 * 3];
    play_body(model, &map, &b);
    EXPECT(run(&b, "", 30, &fault) == ERR_OK);
    replay_world(&b, early, normals);
    EXPECT(fabsf(early[21] - 0.5f) > 0.5f); // half bent
    body_destroy(&b);
    play_body(model, &map, &b);
    EXPECT(run(&b, "", 30 + 60 * 5, &fault) == ERR_OK); // the clip is a second long
    replay_world(&b, later, normals);
    EXPECT(memcmp(early, later, sizeof early) == 0);
    body_destroy(&b);
}

int main(void)
{
    model = model_file_model(play_model_file(PLAY_SAMPLE));
    EXPECT(arena_create(&arena, face_map_bytes(model) + 64));
    face_map_build(model, &arena, &map);
    RUN(lines_act_in_the_first_tick_that_is_not_before_them);
    RUN(lines_are_taken_in_order_of_time_then_of_the_file);
    RUN(bad_lines_are_refused_by_number);
    RUN(wrong_names_and_values_stop_the_replay_at_their_line);
    RUN(what_a_line_sets_holds_until_another_sets_it);
    RUN(without_a_pose_the_default_clip_plays_and_loops);
    arena_destroy(&arena);
    play_forget_models();
    TESTING_MAIN_END;
}
