#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/pose/skeleton.h"
#include "server/stage/replay.h"
#include "tests/stage/play.h"
#include "tests/testing.h"
int testing_failures;

// A player's hands on the quadruped of the assets: presses that act once whatever the network does,
// motion that neither jumps nor drifts, and the same way at any tick rate.
static const struct model *model;
static struct arena arena;
static struct face_map map;

static double height(void)
{
    return (double)(model->info->box_max[1] - model->info->box_min[1]);
}

static void hold(struct body *b, float right, float ahead)
{
    struct input_control c = {.fields = INPUT_MOVE, .move = {right, ahead}};
    input_control(b, &c);
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void every_press_acts_once_over_a_bad_network(void)
{
    enum { PRESSES = 400, MESSAGES = 4000 };
    struct control c = {0};
    static struct input_control sent[MESSAGES];
    uint32_t seed = 7, made = 0, acknowledged = 0, acted = 0, dropped = 0, stale = 0, newest = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct input_control *message = &sent[i];
        *message = (struct input_control){.head.sequence = i + 1};
        if (made < PRESSES && random_next(&seed) % 6 == 0) made++;
        for (uint32_t n = acknowledged + 1; n <= made && message->event_count < INPUT_EVENTS_MAX;
             n++) {
            struct input_event *e = &message->events[message->event_count++];
            *e = (struct input_event){.number = n, .kind = INPUT_PRESS};
            memcpy(e->name, model_text(model, model->actions[0].name),
                   strlen(model_text(model, model->actions[0].name)) + 1);
        }
        // Of ten messages three are lost, three come twice, three come late: out of order.
        uint32_t fate = random_next(&seed) % 10, at[2] = {i, i}, times = fate < 3 ? 0 : 1;
        dropped += fate < 3;
        if (fate >= 3 && fate < 6) times = 2;
        if (fate >= 6 && fate < 9 && i > 3) at[0] = i - 1 - random_next(&seed) % 3;
        for (uint32_t k = 0; k < times; k++) {
            if (sent[at[k]].head.sequence <= newest) { // as stage_input refuses it
                stale++;
                continue;
            }
            newest = sent[at[k]].head.sequence;
            (void)control_take(&c, model, &sent[at[k]]);
            acted += c.press_count;
            c.press_count = 0;
            acknowledged = c.event_seen;
        }
    }
    EXPECT(made == PRESSES && acted == PRESSES);
    EXPECT(dropped > MESSAGES / 4 && stale > MESSAGES / 4);
    (void)printf("presses: %u made, %u acted; %u messages lost, %u stale\n", made, acted, dropped,
                 stale);
}

static double angle_between(struct quat a, struct quat b)
{
    double dot = (double)a.x * (double)b.x + (double)a.y * (double)b.y + (double)a.z * (double)b.z +
                 (double)a.w * (double)b.w;
    return 2 * acos(fmin(1, fabs(dot))) * 180 / 3.14159265358979;
}

// The most that a clip itself turns a joint in 1/60 s, at 1.0 of its speed.
static double clip_turn(uint32_t clip)
{
    struct arena a;
    EXPECT(arena_create(&a, 2 * (pose_bytes(model) + 256)));
    struct pose p[2] = {pose_take(model, &a), pose_take(model, &a)};
    double most = 0;
    for (int i = 0; i <= 240; i++) {
        pose_rest(model, p[i % 2]);
        clip_sample(model, clip, clip_time(&model->clips[clip], i / 60.0), (struct clip_cursor){0},
                    p[i % 2]);
        for (size_t n = 0; i > 0 && n < model->nodes_count; n++)
            most = fmax(most, angle_between(p[0].locals[n].rotation, p[1].locals[n].rotation));
    }
    arena_destroy(&a);
    return most;
}

static void nothing_jumps_whatever_the_hands_do(void)
{
    static struct body b;
    double most = 0, own = 0, accelerated = 0, speed = 0;
    struct trs *before = calloc(model->nodes_count, sizeof *before);
    for (uint32_t c = 0; c < model->clips_count; c++)
        own = fmax(own, clip_turn(c));
    play_body(model, &map, &b);
    for (int tick = 0; tick < 60 * 40; tick++) {
        double t = tick / 60.0;
        if (tick < 600)
            hold(&b, 0, tick / 60 % 4 == 3 ? 0 : tick / 60 % 2 ? -1 : 1); // start, reverse, stop
        else if (tick < 1200)
            hold(&b, (float)sin(t), (float)cos(t)); // a circle
        else if (tick < 1800)
            hold(&b, (float)sin(12.566 * t), (float)cos(12.566 * t)); // 2 Hz
        else
            hold(&b, tick / 120 % 2 ? 0 : 1, 0);
        if (tick > 1800 && tick % 2 == 0) // 30 Hz
            for (uint32_t n = 0; n < 1; n++) {
                struct input_control c = {.event_count = 1};
                uint32_t action = (uint32_t)(tick / 2) % (uint32_t)model->actions_count;
                c.events[0].number = b.control.event_seen + 1;
                c.events[0].kind = INPUT_PRESS;
                const char *name = model_text(model, model->actions[action].name);
                memcpy(c.events[0].name, name, strlen(name) + 1);
                input_control(&b, &c);
            }
        (void)body_pose(&b, t);
        for (size_t n = 0; n < model->nodes_count; n++) {
            if (tick > 0)
                most = fmax(most, angle_between(before[n].rotation, b.pose.locals[n].rotation));
            before[n] = b.pose.locals[n];
            EXPECT(isfinite(b.pose.locals[n].translation.x));
        }
        accelerated = fmax(accelerated, fabs(b.motion.way.speed - speed) * 60);
        speed = b.motion.way.speed;
    }
    (void)printf("largest turn of a joint in a frame: %.2f deg, of the clips alone %.2f deg; "
                 "acceleration %.2f heights/s2\n",
                 most, own, accelerated / height());
    EXPECT(most <= own + 15);
    EXPECT(accelerated < 40 * height());
    body_destroy(&b);
    free(before);
}

static void tick_rates_agree(void)
{
    static const uint32_t rates[] = {30, 60, 120};
    float ends[3][3];
    static const char *const text =
        "{\"t_s\":0.5,\"control\":{\"move\":[0,1]}}\n{\"t_s\":2,\"control\":{\"move\":[0.7,0.2]}}\n"
        "{\"t_s\":4,\"control\":{\"move\":[-1,-0.3],\"look\":[0.4,0]}}\n"
        "{\"t_s\":7,\"control\":{\"move\":[0,0],\"look\":[0,0]}}\n"
        "{\"t_s\":8,\"control\":{\"goto\":[3,4]}}\n";
    for (int i = 0; i < 3; i++) {
        static struct body b;
        struct script s;
        struct fault fault = {0};
        play_body(model, &map, &b);
        EXPECT(script_read(text, strlen(text), rates[i], &s, &fault) == ERR_OK);
        EXPECT(replay_run(&b, &s, rates[i], 10 * rates[i], &fault) == ERR_OK);
        memcpy(ends[i], b.state.position, sizeof ends[i]);
        script_free(&s);
        body_destroy(&b);
    }
    EXPECT((double)fabsf(ends[1][0]) + (double)fabsf(ends[1][2]) > height());
    for (int i = 0; i < 3; i += 2) {
        double x = (double)(ends[i][0] - ends[1][0]), z = (double)(ends[i][2] - ends[1][2]);
        double apart = sqrt(x * x + z * z) / height();
        (void)printf("%u Hz against 60 Hz after 10 s: %.4f %% of the height\n", rates[i],
                     100 * apart);
        EXPECT(apart <= 0.01);
    }
}

static void the_surface_follows_within_a_tick(void)
{
    static struct body b;
    play_body(model, &map, &b);
    size_t vertices = model_vertex_count(model);
    float *at[2] = {calloc(vertices, 12), calloc(vertices, 12)};
    float *normals = calloc(vertices, 12);
    for (int tick = 0; tick < 31; tick++) {
        if (tick == 30) hold(&b, 0, 1);
        if (body_pose(&b, tick / 60.0)) body_run(&b);
        if (tick >= 29) replay_world(&b, at[tick - 29], normals);
    }
    EXPECT(b.state.position[2] > 0 && memcmp(at[0], at[1], vertices * 12) != 0);
    free(at[0]);
    free(at[1]);
    free(normals);
    body_destroy(&b);
}

// Ten minutes of wandering: what is held still comes back to the idle clip, bit for bit.
static void nothing_drifts_in_ten_minutes(void)
{
    static struct body b, fresh;
    double longest = 0;
    play_body(model, &map, &b);
    play_body(model, &map, &fresh);
    uint32_t seed = 3;
    hold(&fresh, 0, 1);
    hold(&b, 0, 1);
    for (int tick = 0; tick <= 36000; tick++) {
        if (tick % 97 == 0)
            hold(&b, (float)(random_next(&seed) % 201) / 100 - 1,
                 (float)(random_next(&seed) % 201) / 100 - 1);
        if (tick == 1) hold(&fresh, 0, 0);
        if (tick >= 35000) hold(&b, 0, 0);
        (void)body_pose(&b, tick / 60.0);
        (void)body_pose(&fresh, tick / 60.0);
    }
    for (size_t n = 0; n < model->nodes_count; n++) {
        const struct trs *x = &b.pose.locals[n], *y = &fresh.pose.locals[n];
        longest = fmax(longest, angle_between(x->rotation, y->rotation));
        EXPECT(fabsf(x->translation.x - y->translation.x) < 1e-4F * (float)height());
    }
    (void)printf("after ten minutes: %.5f deg from one that has stood\n", longest);
    EXPECT(longest < 0.1);
    body_destroy(&b);
    body_destroy(&fresh);
}

int main(void)
{
    struct model_file *file = play_model_file(PLAY_PUP);
    if (!file) {
        (void)puts("skipped: no pup");
        return TESTING_SKIPPED;
    }
    model = model_file_model(file);
    EXPECT(arena_create(&arena, face_map_bytes(model) + 64));
    face_map_build(model, &arena, &map);
    EXPECT(model->actions_count > 0 && model->moves_count >= 3);
    every_press_acts_once_over_a_bad_network();
    nothing_jumps_whatever_the_hands_do();
    tick_rates_agree();
    the_surface_follows_within_a_tick();
    nothing_drifts_in_ten_minutes();
    arena_destroy(&arena);
    play_forget_models();
    return testing_failures ? 1 : 0;
}
