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

int main(void)
{
    RUN(frames_have_the_same_bytes_for_every_number_of_workers);
    play_forget_models();
    TESTING_MAIN_END;
}
