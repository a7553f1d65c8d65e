#include "tests/stage/play.h"
#include "tests/stage/trap.h"
#include "tests/testing.h"
int testing_failures;

static void a_thousand_ticks_touch_the_heap_not_once(void)
{
    enum { SESSIONS = 5 };
    struct play p;
    struct player players[SESSIONS];
    struct stage_join join = {.scene = "hall"};
    uint64_t touched = 0;
    EXPECT(play_open(&p, 2, PLAY_PUP, NULL));
    for (int i = 0; i < SESSIONS; i++) {
        join.controls = i < 3;
        join.settings = (struct view_settings){.bits = (uint8_t)(i == 4 ? 12 : 14),
                                               .actors_max = i == 3 ? 2 : 0};
        EXPECT(player_join(&players[i], &p, &join));
    }
    for (int t = 0; t < 1000; t++) {
        if (t % 50 == 0) view_want_key(players[3].view, view_own_actor(players[0].view));
        view_set_ready(players[2].view, t % 3 == 0);
        trap_arm(true); // inputs from the wire too
        if (t % 7 == 0)
            EXPECT(player_pose(&players[t % 3], "Jump", 0.01f * (float)(t % 90)) == ERR_OK);
        if (t % 90 == 0)
            EXPECT(player_place(&players[1], (float)(t % 4) * 9, 0, 0, 0, 1) == ERR_OK);
        play_tick(&p);
        touched += trap_count();
        trap_arm(false);
        for (int i = 0; i < SESSIONS; i++)
            player_take(&players[i]);
    }
    EXPECT(touched == 0);
    for (int i = 0; i < SESSIONS; i++) {
        EXPECT(players[i].undecodable == 0);
        EXPECT(players[i].actors[0].frames > 200);
        player_leave(&players[i]);
    }
    play_close(&p);
}

static void the_trap_sees_allocations(void)
{
    trap_arm(true);
    void *volatile p = malloc(10);
    free(p);
    trap_arm(false);
    EXPECT(trap_count() == 2);
}

static void joining_and_leaving_ten_thousand_times_leaves_no_trace(void)
{
    struct play p;
    struct player stays;
    struct stage_join shared = {.scene = "hall", .controls = true};
    struct stage_join kinds[4] = {{.scene = "hall", .controls = true},
                                  {.scene = "hall", .controls = false},
                                  {.controls = true},
                                  {.scene = "other", .controls = true}};
    struct view *views[5] = {0};
    struct fault fault = {0};
    int64_t before = 0;
    EXPECT(play_open(&p, 1, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&stays, &p, &shared));
    for (int n = 0; n < 10000; n++) {
        int place = n % 5;
        stage_leave(p.stage, views[place]);
        struct stage_join join = kinds[n % 4];
        join.settings = (struct view_settings){.bits = (uint8_t)(10 + n % 7), .raw = n % 11 == 0};
        EXPECT(stage_join(p.stage, &join, &views[place], &fault) == ERR_OK);
        view_set_ready(views[place], true);
        if (n % 3 == 0) play_tick(&p);
        if (n % 3 == 0) player_take_events(&stays);
        // Once round the cycle of places, kinds and qualities: the same state as before.
        if (n == 2000) before = trap_live();
        if (n == 2000 + 1540 * 5) EXPECT(trap_live() <= before);
    }
    for (int i = 0; i < 5; i++)
        stage_leave(p.stage, views[i]);
    player_take_events(&stays);
    play_tick(&p);
    player_take(&stays);
    EXPECT(view_count(stays.view) == 1 && stays.entered - stays.left == 1);
    player_leave(&stays);
    play_close(&p);
}

static void closing_the_stage_gives_everything_back(void)
{
    struct play p;
    struct player player;
    struct stage_join join = {.scene = "hall", .controls = true};
    struct fault fault = {0};
    uint64_t id;
    int64_t before = trap_live();
    EXPECT(play_open(&p, 2, PLAY_SAMPLE, NULL));
    EXPECT(stage_add_ambient(p.stage, "hall", "sample", NULL, &id, &fault) == ERR_OK);
    EXPECT(player_join(&player, &p, &join));
    for (int t = 0; t < 5; t++) {
        play_tick(&p);
        player_take(&player);
    }
    player_leave(&player);
    play_close(&p);
    EXPECT(trap_live() <= before + 2); // the C library may keep a thread's stack record
}

int main(void)
{
    trap_start();
    EXPECT(play_model_file(PLAY_PUP) && play_model_file(PLAY_SAMPLE));
    RUN(the_trap_sees_allocations);
    RUN(a_thousand_ticks_touch_the_heap_not_once);
    RUN(joining_and_leaving_ten_thousand_times_leaves_no_trace);
    RUN(closing_the_stage_gives_everything_back);
    play_forget_models();
    TESTING_MAIN_END;
}
