#include <string.h>

#include "tests/stage/play.h"
#include "tests/testing.h"
int testing_failures;

// The same inputs at the same ticks give the same bytes for every number of workers: with few
// actors (work is cut into parts) and with many.
static uint64_t play_through(uint32_t workers, enum play_model model, int actor_count)
{
    struct play p;
    struct player players[PLAYER_ACTORS_MAX];
    struct stage_join join = {.scene = "hall", .controls = true};
    uint64_t hash = 0;
    EXPECT(play_open(&p, workers, model, NULL));
    for (int i = 0; i < actor_count; i++) {
        join.settings.bits = (uint8_t)(i % 3 == 2 ? 12 : 14);
        join.settings.raw = i == 4;
        EXPECT(player_join(&players[i], &p, &join));
    }
    for (int t = 0; t < 24; t++) {
        for (int i = 0; i < actor_count; i++) {
            view_set_ready(players[i].view, t % (i + 1) == 0);
            if (t % 5 != i % 5) continue;
            EXPECT(player_pose(&players[i], model == PLAY_PUP ? "Run" : "bend", 0.07f * (float)t) ==
                   ERR_OK);
            if (model == PLAY_SAMPLE)
                EXPECT(player_face(&players[i], 0, 0.08f * (float)t) == ERR_OK);
        }
        play_tick(&p);
        for (int i = 0; i < actor_count; i++)
            player_take(&players[i]);
    }
    for (int i = 0; i < actor_count; i++) {
        EXPECT(players[i].undecodable == 0);
        hash = hash * 31 + players[i].hash;
        player_leave(&players[i]);
    }
    play_close(&p);
    return hash;
}

static void frames_have_the_same_bytes_for_every_number_of_workers(void)
{
    static const struct {
        enum play_model model;
        int actors;
    } cases[] = {{PLAY_PUP, 1}, {PLAY_PUP, 3}, {PLAY_SAMPLE, 2}, {PLAY_SAMPLE, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t alone = play_through(0, cases[i].model, cases[i].actors);
        EXPECT(play_through(1, cases[i].model, cases[i].actors) == alone);
        EXPECT(play_through(3, cases[i].model, cases[i].actors) == alone);
    }
}

// Ten seconds in which the machine is held up now and then, against ten without: what has a memory
// looks the same in the end, and inputs are said to have been used where they took effect.
static void missed_ticks_change_nothing(void)
{
    struct play p[2];
    struct player players[2];
    struct stage_join join = {.scene = "hall", .controls = true, .settings = {.raw = true}};
    for (int k = 0; k < 2; k++) {
        EXPECT(play_open(&p[k], 0, PLAY_PUP, NULL));
        EXPECT(player_join(&players[k], &p[k], &join));
        for (int t = 0; t < 600;) {
            uint32_t halt = k == 1 && t % 50 == 20 ? 7 : k == 1 && t % 50 == 40 ? 3 : 0;
            if (t % 50 == 20) // arrives while the machine is held up
                EXPECT(player_move(&players[k], t % 100 == 20 ? 0.4F : -1, 1) == ERR_OK);
            view_set_ready(players[k].view, true);
            if (halt)
                play_halt(&p[k], halt);
            else
                play_tick(&p[k]);
            player_take(&players[k]);
            t += (int)halt + 1;
        }
    }
    const struct player_actor *a = player_own(&players[0]), *b = player_own(&players[1]);
    struct session_applied_entry used[2][16];
    size_t count[2];
    EXPECT(a->head.tick == b->head.tick && a->frames > b->frames);
    EXPECT(memcmp(a->head.translation, b->head.translation, sizeof a->head.translation) == 0);
    EXPECT(memcmp(a->raw, b->raw, 6 * a->lods[0].vertex_count * sizeof *a->raw) == 0);
    for (int k = 0; k < 2; k++)
        count[k] = stage_applied(p[k].stage, view_own_id(players[k].view), used[k], 16);
    EXPECT(count[0] == 12 && count[1] == 12);
    for (size_t i = 0; i < 12; i++)
        EXPECT(used[0][i].tick == used[1][i].tick && used[0][i].sequence == used[1][i].sequence);
    for (int k = 0; k < 2; k++) {
        player_leave(&players[k]);
        play_close(&p[k]);
    }
}

int main(void)
{
    RUN(frames_have_the_same_bytes_for_every_number_of_workers);
    RUN(missed_ticks_change_nothing);
    play_forget_models();
    TESTING_MAIN_END;
}
