#include "tests/stage/play.h"
#include "tests/testing.h"
int testing_failures;

static const struct stage_join in_hall = {.scene = "hall", .controls = true};
static const struct stage_join watcher = {.scene = "hall", .controls = false};

static void everyone_sees_everyone_and_the_encoding_is_shared(void)
{
    struct play p;
    struct player players[4];
    struct stage_snapshot before, after;
    EXPECT(play_open(&p, 1, PLAY_PUP, NULL));
    for (int i = 0; i < 4; i++)
        EXPECT(player_join(&players[i], &p, i < 3 ? &in_hall : &watcher));
    // Let everybody in: whoever has no anchor yet gets key forms.
    for (int t = 0; t < 4; t++) {
        play_tick(&p);
        for (int i = 0; i < 4; i++)
            player_take(&players[i]);
    }
    stage_snapshot(p.stage, &before);
    for (int t = 0; t < 20; t++) {
        play_tick(&p);
        for (int i = 0; i < 4; i++)
            player_take(&players[i]);
    }
    stage_snapshot(p.stage, &after);
    EXPECT(after.views == 4 && after.actors == 3 && after.scenes == 1);
    EXPECT(after.evaluations - before.evaluations == 20 * 3);
    // Own at full detail, others at the details that distance allows: never once a viewer.
    EXPECT(after.encodings - before.encodings <= 20 * 3 * 2);
    EXPECT(after.key_encodings == before.key_encodings);
    for (int i = 0; i < 4; i++) {
        EXPECT(view_count(players[i].view) == 3);
        EXPECT(players[i].entered == 3 && players[i].undecodable == 0);
        for (int k = 0; k < 3; k++)
            EXPECT(players[i].actors[k].frames >= 23);
    }
    EXPECT(view_actor(players[0].view, 0) == view_own_actor(players[0].view));
    player_leave(&players[0]);
    play_tick(&p);
    for (int i = 1; i < 4; i++) {
        player_take(&players[i]);
        EXPECT(players[i].left == 1 && view_count(players[i].view) == 2);
    }
    for (int i = 1; i < 4; i++)
        player_leave(&players[i]);
    stage_snapshot(p.stage, &after);
    EXPECT(after.scenes == 0 && after.actors == 0);
    play_close(&p);
}

static void a_latecomer_gets_a_key_form_and_costs_the_others_nothing(void)
{
    struct play p;
    struct player first, late;
    EXPECT(play_open(&p, 0, PLAY_PUP, NULL));
    EXPECT(player_join(&first, &p, &in_hall));
    for (int t = 0; t < 10; t++) {
        play_tick(&p);
        player_take(&first);
    }
    EXPECT(player_own(&first)->keys == 1);
    EXPECT(player_join(&late, &p, &watcher));
    player_take_events(&late);
    play_tick(&p);
    player_take(&first);
    player_take(&late);
    EXPECT(player_own(&first)->keys == 1);
    EXPECT(late.actors[0].frames == 1 && late.actors[0].keys == 1);
    for (int t = 0; t < 10; t++) {
        play_tick(&p);
        player_take(&first);
        player_take(&late);
    }
    EXPECT(late.actors[0].keys == 1 && late.actors[0].frames == 11);
    EXPECT(first.undecodable == 0 && late.undecodable == 0);
    player_leave(&first);
    player_leave(&late);
    play_close(&p);
}

static void a_wanted_key_comes_with_the_next_tick_but_not_without_end(void)
{
    struct play p;
    struct player player;
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&player, &p, &in_hall));
    for (int t = 0; t < 4; t++) {
        play_tick(&p);
        player_take(&player);
    }
    EXPECT(player_own(&player)->keys == 1);
    view_want_key(player.view, view_own_actor(player.view));
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->keys == 2);
    for (int t = 0; t < 60; t++) { // one that asks all the time
        view_want_key(player.view, view_own_actor(player.view));
        play_tick(&p);
        player_take(&player);
    }
    EXPECT(player_own(&player)->keys <= 2 + 5);
    view_want_key(player.view, 12345); // nobody
    player_leave(&player);
    play_close(&p);
}

static void mixed_rates_share_anchors_and_need_no_keys(void)
{
    struct play p;
    struct player players[4];
    static const int every[4] = {1, 2, 3, 7}; // 60, 30, 20 and 8.6 frames a second
    EXPECT(play_open(&p, 1, PLAY_PUP, NULL));
    for (int i = 0; i < 4; i++)
        EXPECT(player_join(&players[i], &p, i == 0 ? &in_hall : &watcher));
    for (int t = 0; t < 240; t++) {
        for (int i = 0; i < 4; i++)
            view_set_ready(players[i].view, t % every[i] == 0);
        play_tick(&p);
        for (int i = 0; i < 4; i++)
            if (view_is_ready(players[i].view)) player_take(&players[i]);
    }
    for (int i = 0; i < 4; i++) {
        EXPECT(players[i].undecodable == 0);
        EXPECT(players[i].actors[0].frames >= (uint32_t)(240 / every[i] - 2));
        EXPECT(players[i].actors[0].keys <= 2);
        player_leave(&players[i]);
    }
    play_close(&p);
}

static void who_cannot_take_frames_yet_costs_little_and_then_starts_at_once(void)
{
    struct play p;
    struct player good, held, idle; // idle: ready, but never takes anything
    struct stage_snapshot before, after;
    EXPECT(play_open(&p, 0, PLAY_PUP, NULL));
    EXPECT(player_join(&good, &p, &in_hall));
    play_tick(&p);
    player_take(&good);
    EXPECT(player_join(&held, &p, &watcher));
    uint32_t actor = view_own_actor(good.view);
    view_hold(held.view, actor, true);
    stage_snapshot(p.stage, &before);
    for (int t = 0; t < 40; t++) {
        play_tick(&p);
        player_take(&good);
        player_take(&held);
    }
    stage_snapshot(p.stage, &after);
    EXPECT(after.key_encodings == before.key_encodings && held.actors[0].frames == 0);
    view_hold(held.view, actor, false);
    play_tick(&p);
    player_take(&good);
    player_take(&held);
    EXPECT(held.actors[0].frames == 1 && held.actors[0].keys == 1);
    EXPECT(player_join(&idle, &p, &watcher));
    stage_snapshot(p.stage, &before);
    for (int t = 0; t < 40; t++) {
        play_tick(&p);
        player_take(&good);
        player_take(&held);
    }
    stage_snapshot(p.stage, &after);
    EXPECT(after.key_encodings - before.key_encodings <= 12);
    EXPECT(good.undecodable == 0 && held.undecodable == 0);
    EXPECT(player_own(&good)->keys == 1 && held.actors[0].keys == 1);
    player_leave(&good);
    player_leave(&held);
    player_leave(&idle);
    play_close(&p);
}

static void nobody_waits_for_a_reader_that_holds_its_frames(void)
{
    struct play p;
    struct player good, slow[6];
    struct frame *held[6][2] = {{0}};
    struct stage_snapshot counts;
    EXPECT(play_open(&p, 0, PLAY_PUP, NULL));
    EXPECT(player_join(&good, &p, &in_hall));
    for (int i = 0; i < 6; i++)
        EXPECT(player_join(&slow[i], &p, &watcher));
    for (int t = 0; t < 200; t++) {
        play_tick(&p);
        player_take(&good);
        for (int i = 0; i < 6; i++) { // each keeps two different frames for long
            player_take_events(&slow[i]);
            if (t % 12 != i * 2 && t % 12 != i * 2 + 1) continue;
            struct frame *f = view_frame(slow[i].view, 0);
            if (!f) continue;
            frame_unref(held[i][t % 2]);
            held[i][t % 2] = frame_ref(f);
            view_sent(slow[i].view, 0, f);
        }
    }
    stage_snapshot(p.stage, &counts);
    EXPECT(counts.dropped_frames == 0);
    EXPECT(player_own(&good)->frames == 200 && good.undecodable == 0);
    player_leave(&good); // the actor goes, its frames stay as long as they are held
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 2; k++) {
            if (!held[i][k]) continue;
            struct frame_message head;
            EXPECT(frame_message_decode(held[i][k]->payload, held[i][k]->size_bytes, &head) ==
                   ERR_OK);
            frame_unref(held[i][k]);
        }
    for (int i = 0; i < 6; i++)
        player_leave(&slow[i]);
    play_close(&p);
}

static void what_nobody_is_ready_for_is_not_evaluated(void)
{
    struct play p;
    struct player player;
    struct stage_snapshot counts;
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&player, &p, &in_hall));
    player_take_events(&player);
    view_set_ready(player.view, false);
    for (int t = 0; t < 100; t++)
        play_tick(&p);
    stage_snapshot(p.stage, &counts);
    EXPECT(counts.evaluations == 0 && counts.encodings == 0);
    EXPECT(view_frame(player.view, 0) == NULL);
    view_set_ready(player.view, true);
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->frames == 1);
    player_leave(&player);
    play_close(&p);
}

static void only_the_nearest_are_sent_and_own_always(void)
{
    struct play p;
    struct player player;
    struct fault fault = {0};
    uint64_t ids[8];
    struct stage_join join = {.scene = "hall", .controls = true, .settings = {.actors_max = 3}};
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    for (int i = 0; i < 8; i++) {
        float at[3] = {10.0f * (float)(i + 1), 0, 0};
        EXPECT(stage_add_ambient(p.stage, "hall", "sample", at, &ids[i], &fault) == ERR_OK);
    }
    EXPECT(player_join(&player, &p, &join));
    player_take_events(&player);
    EXPECT(view_count(player.view) == 3 && view_hidden_count(player.view) == 6);
    EXPECT(player.entered == 3);
    EXPECT(view_actor(player.view, 0) == view_own_actor(player.view));
    uint32_t nearest = view_actor(player.view, 1);
    EXPECT(player_place(&player, 100, 0, 0, 0, 1) == ERR_OK);
    play_tick(&p);
    player_take(&player);
    EXPECT(view_count(player.view) == 3 && player.left == 2 && player.entered == 5);
    EXPECT(view_actor(player.view, 1) != nearest);
    play_tick(&p);
    player_take(&player);
    EXPECT(player.undecodable == 0);
    stage_remove_ambient(p.stage, ids[7]);
    stage_remove_ambient(p.stage, ids[7]);
    stage_remove_ambient(p.stage, view_own_id(player.view)); // not ambient: stays
    play_tick(&p);
    player_take(&player);
    EXPECT(view_count(player.view) == 3 && view_hidden_count(player.view) == 5);
    player_leave(&player);
    play_close(&p); // takes the ambient ones along
}

static void far_actors_come_in_coarser_details(void)
{
    struct play p;
    struct player player;
    struct fault fault = {0};
    uint64_t id;
    float at[3] = {1, 0, 0};
    EXPECT(play_open(&p, 0, PLAY_PUP, NULL));
    EXPECT(stage_add_ambient(p.stage, "hall", "pup", at, &id, &fault) == ERR_OK);
    EXPECT(player_join(&player, &p, &in_hall));
    uint32_t details[3] = {0}, step = 0;
    static const float distances[3] = {0, 8, 60};
    for (int d = 0; d < 3; d++) {
        EXPECT(player_place(&player, 1 + distances[d], 0, 0, 0, 1) == ERR_OK);
        for (int t = 0; t < 3; t++) {
            play_tick(&p);
            player_take(&player);
        }
        for (int k = 0; k < PLAYER_ACTORS_MAX; k++) {
            const struct player_actor *a = &player.actors[k];
            if (a->number == 0) continue;
            if (a->number == view_own_actor(player.view))
                EXPECT(a->head.lod == 0); // own: full
            else
                details[step] = a->head.lod;
        }
        step++;
    }
    EXPECT(details[0] <= details[1] && details[1] <= details[2]);
    EXPECT(details[2] == 2 && details[0] < 2);
    struct view_settings coarse = *view_settings(player.view);
    coarse.detail = 3;
    EXPECT(view_set(player.view, &coarse) == ERR_OK);
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->head.lod == 2 && player_own(&player)->head.flags & FRAME_KEY);
    coarse.detail = 0;
    coarse.bits = 10; // another quality: another grid, key frames
    EXPECT(view_set(player.view, &coarse) == ERR_OK);
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->head.bits == 10 && player_own(&player)->head.lod == 0);
    EXPECT(player.undecodable == 0);
    player_leave(&player);
    play_close(&p);
}

static void limits_are_kept(void)
{
    struct play p;
    struct player players[3], more;
    struct fault fault = {0};
    uint64_t id;
    struct stage_limits limits = {
        .scenes_max = 2, .actors_max = 3, .actors_per_scene_max = 2, .views_max = 5};
    struct stage_join other = {.scene = "other", .controls = true};
    struct stage_join third = {.scene = "third", .controls = false};
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, &limits));
    EXPECT(player_join(&players[0], &p, &in_hall));
    EXPECT(player_join(&players[1], &p, &in_hall));
    EXPECT(!player_join(&more, &p, &in_hall)); // two a scene
    EXPECT(player_join(&players[2], &p, &other));
    EXPECT(!player_join(&more, &p, &other)); // three in all
    EXPECT(!player_join(&more, &p, &third)); // two scenes
    EXPECT(stage_add_ambient(p.stage, "other", "", NULL, &id, &fault) == ERR_LIMIT);
    struct player watchers[2];
    EXPECT(player_join(&watchers[0], &p, &watcher));
    EXPECT(player_join(&watchers[1], &p, &watcher));
    EXPECT(!player_join(&more, &p, &watcher)); // five views
    player_leave(&watchers[0]);
    EXPECT(player_join(&watchers[0], &p, &watcher));
    struct stage_join nobody = {.character = "nobody", .controls = true};
    player_leave(&watchers[1]);
    EXPECT(!player_join(&more, &p, &nobody));
    for (int i = 0; i < 3; i++)
        player_leave(&players[i]);
    player_leave(&watchers[0]);
    play_close(&p);
}

static void a_new_model_version_is_shown_from_one_tick_to_the_next(void)
{
    struct play p;
    struct player players[2];
    EXPECT(play_open(&p, 1, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&players[0], &p, &in_hall));
    EXPECT(player_join(&players[1], &p, &watcher));
    EXPECT(player_place(&players[0], 3, 0, 0, 0, 1) == ERR_OK);
    EXPECT(player_face(&players[0], 0, 1) == ERR_OK);
    for (int t = 0; t < 5; t++) {
        play_tick(&p);
        for (int i = 0; i < 2; i++)
            player_take(&players[i]);
    }
    const struct role *role = role_ref(stage_cast(p.stage)->entries[0].role);
    EXPECT(play_serve(&p, "sample", PLAY_SAMPLE));
    for (int t = 0; t < 5; t++) {
        play_tick(&p);
        for (int i = 0; i < 2; i++) {
            player_take(&players[i]);
            EXPECT(players[i].changed == 1 && players[i].undecodable == 0);
            if (t > 0) EXPECT(players[i].actors[0].head.model_version == 2);
        }
    }
    EXPECT(player_own(&players[0])->head.translation[0] == 3); // it stands where it stood
    EXPECT(player_own(&players[0])->head.frame > 5);
    role_unref((struct role *)(uintptr_t)role); // the old version goes with its last reference
    for (int i = 0; i < 2; i++)
        player_leave(&players[i]);
    play_close(&p);
}

static void a_new_connection_starts_with_a_full_frame(void)
{
    struct play p;
    struct player player;
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    EXPECT(player_join(&player, &p, &in_hall));
    for (int t = 0; t < 4; t++) {
        play_tick(&p);
        player_take(&player);
    }
    view_restart(player.view);
    play_tick(&p);
    EXPECT(view_frame(player.view, 0) == NULL); // ACTOR first
    player_take_events(&player);
    EXPECT(player.entered == 2);
    play_tick(&p);
    player_take(&player);
    EXPECT(player_own(&player)->head.flags & FRAME_KEY);
    player_leave(&player);
    play_close(&p);
}

static void newcomers_of_a_shared_scene_stand_apart(void)
{
    struct play p;
    struct player players[3];
    EXPECT(play_open(&p, 0, PLAY_SAMPLE, NULL));
    for (int i = 0; i < 3; i++)
        EXPECT(player_join(&players[i], &p, &in_hall));
    for (int t = 0; t < 2; t++) {
        play_tick(&p);
        player_take(&players[0]);
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++) {
            const float *a = players[0].actors[i].head.translation;
            const float *b = players[0].actors[k].head.translation;
            EXPECT(hypotf(a[0] - b[0], a[2] - b[2]) >= 1);
        }
    for (int i = 0; i < 3; i++)
        player_leave(&players[i]);
    play_close(&p);
}

int main(void)
{
    RUN(everyone_sees_everyone_and_the_encoding_is_shared);
    RUN(a_latecomer_gets_a_key_form_and_costs_the_others_nothing);
    RUN(a_wanted_key_comes_with_the_next_tick_but_not_without_end);
    RUN(mixed_rates_share_anchors_and_need_no_keys);
    RUN(who_cannot_take_frames_yet_costs_little_and_then_starts_at_once);
    RUN(nobody_waits_for_a_reader_that_holds_its_frames);
    RUN(what_nobody_is_ready_for_is_not_evaluated);
    RUN(only_the_nearest_are_sent_and_own_always);
    RUN(far_actors_come_in_coarser_details);
    RUN(limits_are_kept);
    RUN(a_new_model_version_is_shown_from_one_tick_to_the_next);
    RUN(a_new_connection_starts_with_a_full_frame);
    RUN(newcomers_of_a_shared_scene_stand_apart);
    play_forget_models();
    TESTING_MAIN_END;
}
