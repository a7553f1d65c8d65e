#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/bake.h"
#include "server/character/pose/skeleton.h"
#include "server/stage/input.h"
#include "tests/stage/play.h"
#include "tests/testing.h"
int testing_failures;

// How control feels, in numbers, on characters that stand differently: feet that stay where they
// stand, joints that never snap, bodies that never jerk. Looked at from outside: where the soles
// are in the scene, tick by tick.
static const struct model *model;
static struct face_map map;
static struct xform *nodes;
static double height;

enum { RATE = 60, STEPS_MAX = 4096 };

static void hold(struct body *b, double right, double ahead)
{
    struct input_control c = {.fields = INPUT_MOVE, .move = {(float)right, (float)ahead}};
    input_control(b, &c);
}

// ---- feet ---------------------------------------------------------------------------------

struct trail { // of one sole
    double *at[3];
    double low; // of its heights
};

static void record(const struct body *b, int tick, struct trail *trails)
{
    double s = sin((double)b->state.yaw_rad), c = cos((double)b->state.yaw_rad);
    skeleton_model_from_nodes(model, b->pose.locals, nodes);
    for (size_t i = 0; i < model->legs_count; i++) {
        const struct model_leg *leg = &model->legs[i];
        for (uint32_t k = 0; k < leg->sole_count; k++) {
            struct trail *t = &trails[i * MODEL_SOLES_MAX + k];
            const double sole[3] = {(double)leg->soles[k][0], (double)leg->soles[k][1],
                                    (double)leg->soles[k][2]};
            double at[3];
            xform_point(&nodes[leg->sole_nodes[k]], sole, at);
            t->at[0][tick] = at[0] * c + at[2] * s + (double)b->state.position[0];
            t->at[1][tick] = at[1] + (double)b->state.position[1];
            t->at[2][tick] = at[2] * c - at[0] * s + (double)b->state.position[2];
            t->low = tick ? fmin(t->low, t->at[1][tick]) : t->at[1][tick];
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A sole stands while it is within half a hundredth of the height of its lowest place, for at least
// three ticks; it has slid as far as it got from where it came down.
static size_t measure_slides(const struct trail *t, double low, int first, int last, double *out,
                             size_t room)
{
    size_t count = 0;
    int start = -1;
    double most = 0;
    for (int i = first; i < last; i++) {
        bool stands = t->at[1][i] < low + 0.005 * height;
        if (stands && start < 0) {
            start = i;
            most = 0;
        }
        if (stands) {
            double x = t->at[0][i] - t->at[0][start], z = t->at[2][i] - t->at[2][start];
            most = fmax(most, sqrt(x * x + z * z));
        }
        if (!stands && start > first && i - start >= 3 && count < room)
            out[count++] = most / height;
        if (!stands) start = -1;
    }
    return count;
}

static double low_of_leg(const struct trail *trails, size_t leg)
{
    double low = trails[leg * MODEL_SOLES_MAX].low;
    for (uint32_t k = 1; k < model->legs[leg].sole_count; k++)
        low = fmin(low, trails[leg * MODEL_SOLES_MAX + k].low);
    return low;
}

static void take_trails(struct trail *trails, int ticks)
{
    for (int i = 0; i < MODEL_LEGS_MAX * MODEL_SOLES_MAX; i++)
        for (int r = 0; r < 3; r++)
            trails[i].at[r] = calloc((size_t)ticks, sizeof(double));
}

static void give_trails(struct trail *trails)
{
    for (int i = 0; i < MODEL_LEGS_MAX * MODEL_SOLES_MAX; i++)
        for (int r = 0; r < 3; r++)
            free(trails[i].at[r]);
}

static void feet_stay_where_they_stand_at_any_speed(void)
{
    enum { SPEEDS = 9, TICKS = RATE * 8 };
    struct trail trails[MODEL_LEGS_MAX * MODEL_SOLES_MAX];
    static double all[STEPS_MAX];
    double most = 0;
    size_t count = 0;
    take_trails(trails, TICKS);
    for (int i = 0; i < SPEEDS; i++) {
        static struct body b;
        play_body(model, &map, &b);
        const double *speeds = b.motion.way.speeds;
        double walk = speeds[MODEL_MOVE_WALK], run = fmax(speeds[MODEL_MOVE_RUN], walk);
        double wanted = walk + (run - walk) * i / (SPEEDS - 1);
        size_t before = count;
        for (int tick = 0; tick < TICKS; tick++) {
            hold(&b, 0, wanted / run);
            (void)body_pose(&b, (double)tick / RATE);
            record(&b, tick, trails);
        }
        EXPECT(fabs(b.motion.way.speed - wanted) < 0.01 * wanted);
        for (size_t k = 0; k < model->legs_count * MODEL_SOLES_MAX; k++)
            if (k % MODEL_SOLES_MAX < model->legs[k / MODEL_SOLES_MAX].sole_count)
                count += measure_slides(&trails[k], low_of_leg(trails, k / MODEL_SOLES_MAX),
                                        2 * RATE, TICKS, all + count, STEPS_MAX - count);
        double worst = 0;
        for (size_t k = before; k < count; k++)
            worst = fmax(worst, all[k]);
        (void)printf("  %.2f heights/s: %zu steps, largest slide %.2f %%\n", wanted / height,
                     count - before, 100 * worst);
        most = fmax(most, worst);
        body_destroy(&b);
    }
    give_trails(trails);
    qsort(all, count, sizeof *all, by_value);
    EXPECT(count > 50);
    double median = count ? all[count / 2] : 1;
    (void)printf("  slide of a step: median %.3f %%, most %.2f %% of the height\n", 100 * median,
                 100 * most);
    EXPECT(most <= 0.012);
    EXPECT(median <= 0.003);
}

// ---- joints -------------------------------------------------------------------------------

static double angle_between(struct quat a, struct quat b)
{
    double dot = (double)a.x * (double)b.x + (double)a.y * (double)b.y + (double)a.z * (double)b.z +
                 (double)a.w * (double)b.w;
    return 2 * acos(fmin(1, fabs(dot))) * 180 / 3.14159265358979;
}

// Springs swing as they are pushed: what control makes of a pose is looked at without them.
static void play_on(const struct ground *ground, struct body *out)
{
    struct body_options options = {.model = model,
                                   .map = &map,
                                   .default_clip = body_default_clip(model),
                                   .skinning = MODEL_LBS,
                                   .level = simd_best(),
                                   .ground = ground,
                                   .without_springs = true};
    EXPECT(body_create(&options, out) == ERR_OK);
}

// [node] the most that any clip turns it in 1/60 s, played as fast as it is made.
static double *own_turns(void)
{
    struct arena a;
    double *most = calloc(model->nodes_count, sizeof *most);
    EXPECT(arena_create(&a, 2 * (pose_bytes(model) + 256)));
    struct pose p[2] = {pose_take(model, &a), pose_take(model, &a)};
    for (uint32_t c = 0; c < model->clips_count; c++)
        for (int i = 0; i <= 4 * (int)(60 * (double)model->clips[c].duration_s); i++) {
            for (int k = 0; k < 2; k++) {
                pose_rest(model, p[k]);
                clip_sample(model, c, i / 240.0 + k / 60.0, (struct clip_cursor){0}, p[k]);
            }
            for (size_t n = 0; n < model->nodes_count; n++)
                most[n] =
                    fmax(most[n], angle_between(p[0].locals[n].rotation, p[1].locals[n].rotation));
        }
    arena_destroy(&a);
    return most;
}

static void mash(struct body *b, uint32_t count)
{
    struct input_control c = {.event_count = 1};
    if (model->actions_count == 0) return;
    const char *name = model_text(model, model->actions[count % model->actions_count].name);
    c.events[0].number = b->control.event_seen + 1;
    c.events[0].kind = INPUT_PRESS;
    memcpy(c.events[0].name, name, strlen(name) + 1);
    input_control(b, &c);
}

static void play_hands(struct body *b, int tick)
{
    static const double turn = 6.283185307179586;
    double t = (double)tick / RATE;
    int part = tick / (8 * RATE);
    if (part == 0) // start, reverse, stop
        hold(b, 0, tick / RATE % 4 == 3 ? 0 : tick / RATE % 2 ? -1 : 1);
    else if (part == 1)
        hold(b, sin(t), cos(t)); // a circle
    else if (part == 2)
        hold(b, sin(2 * turn * t), cos(2 * turn * t)); // 2 Hz
    else
        hold(b, tick / (2 * RATE) % 2 ? 0 : 1, 0);
    if (part == 3 && tick % 2 == 0) mash(b, (uint32_t)(tick / 2)); // 30 Hz
}

static void nothing_snaps_whatever_the_hands_do(void)
{
    static struct body b;
    double *own = own_turns(), most[4] = {0}, jerk = 0, before[2] = {0}, speed[2] = {0};
    uint32_t worst[4] = {0};
    int when[4] = {0};
    struct trs *last = calloc(model->nodes_count, sizeof *last);
    play_on(NULL, &b);
    for (int tick = 0; tick < 4 * 8 * RATE; tick++) {
        int part = tick / (8 * RATE);
        play_hands(&b, tick);
        (void)body_pose(&b, (double)tick / RATE);
        for (uint32_t n = 0; n < model->nodes_count; n++) {
            double turn =
                tick ? angle_between(last[n].rotation, b.pose.locals[n].rotation) - own[n] : 0;
            if (turn > most[part]) {
                most[part] = turn;
                worst[part] = n;
                when[part] = tick;
            }
            last[n] = b.pose.locals[n];
            EXPECT(isfinite(last[n].translation.x));
        }
        double now[2] = {((double)b.state.position[0] - before[0]) * RATE,
                         ((double)b.state.position[2] - before[1]) * RATE};
        double dx = (now[0] - speed[0]) * RATE, dz = (now[1] - speed[1]) * RATE;
        if (tick > 1) jerk = fmax(jerk, sqrt(dx * dx + dz * dz));
        memcpy(speed, now, sizeof now);
        before[0] = (double)b.state.position[0];
        before[1] = (double)b.state.position[2];
    }
    for (int i = 0; i < 4; i++) {
        (void)printf("  joints beyond their clips: %.2f deg a frame (%s, tick %d)\n", most[i],
                     model_text(model, model->nodes[worst[i]].name), when[i]);
        EXPECT(most[i] <= 15);
    }
    (void)printf("  acceleration: at most %.1f heights/s2\n", jerk / height);
    EXPECT(jerk < 40 * height);
    body_destroy(&b);
    free(last);
    free(own);
}

// ---- up and down, and looking -------------------------------------------------------------

static void press_named(struct body *b, const char *name)
{
    struct input_control c = {.event_count = 1};
    c.events[0].number = b->control.event_seen + 1;
    c.events[0].kind = INPUT_PRESS;
    memcpy(c.events[0].name, name, strlen(name) + 1);
    input_control(b, &c);
}

// Standing and running: take-off, flight and landing where there are clips for them.
static void a_jump_leaves_the_ground_and_comes_down(void)
{
    if (!locomotion_move(model, MODEL_MOVE_FALL)) return;
    for (int runs = 0; runs < 2; runs++) {
        static struct body b;
        double most = 0, last = 0, fastest = 0;
        int flew = 0;
        play_on(NULL, &b);
        for (int tick = 0; tick < 4 * RATE; tick++) {
            hold(&b, 0, runs);
            if (tick == RATE) press_named(&b, "jump");
            (void)body_pose(&b, (double)tick / RATE);
            double y = (double)b.state.position[1];
            fastest = fmax(fastest, fabs(y - last) * RATE);
            most = fmax(most, y);
            flew += y > 0;
            last = y;
        }
        (void)printf("  jump %s: %.1f %% of the height, %d ticks in the air\n",
                     runs ? "running" : "standing", 100 * most / height, flew);
        EXPECT(most > 0.1 * height && most < height);
        EXPECT(last == 0 && flew > 10);
        EXPECT(fastest < 5 * height);
        body_destroy(&b);
    }
}

// Soles stand on what is there: steps of a tenth of the height, up and down again.
static void feet_stand_on_steps(void)
{
    enum { TICKS = 20 * RATE };
    const double rise = 0.08 * height, far = (double)INFINITY;
    const struct ground_box boxes[] = {{{-far, height}, {far, 4 * height}, rise},
                                       {{-far, 2 * height}, {far, 3 * height}, 2 * rise}};
    const struct ground ground = {boxes, 2};
    static struct body b;
    struct trail trails[MODEL_LEGS_MAX * MODEL_SOLES_MAX];
    double deepest = 0, highest = 0, walk, run;
    take_trails(trails, TICKS);
    play_on(&ground, &b);
    walk = b.motion.way.speeds[MODEL_MOVE_WALK];
    run = fmax(b.motion.way.speeds[MODEL_MOVE_RUN], walk);
    int tick = 0;
    for (; tick < TICKS && (double)b.state.position[2] < 5 * height; tick++) {
        hold(&b, 0, walk / run);
        (void)body_pose(&b, (double)tick / RATE);
        record(&b, tick, trails);
        highest = fmax(highest, (double)b.state.position[1]);
        for (size_t k = 0; k < model->legs_count * MODEL_SOLES_MAX; k++) {
            if (k % MODEL_SOLES_MAX >= model->legs[k / MODEL_SOLES_MAX].sole_count) continue;
            if (model->legs[k / MODEL_SOLES_MAX].hip == MODEL_NONE) continue;
            double ground_there =
                ground_height(&ground, trails[k].at[0][tick], trails[k].at[2][tick]);
            deepest = fmax(deepest, ground_there - trails[k].at[1][tick]);
        }
    }
    (void)printf("  steps: up to %.1f %% of the height, soles at most %.2f %% inside\n",
                 100 * highest / height, 100 * deepest / height);
    EXPECT(tick < TICKS);
    EXPECT(fabs(highest - 2 * rise) < 0.01 * height);
    EXPECT(fabs((double)b.state.position[1]) < 0.01 * height);
    give_trails(trails);
    body_destroy(&b);
}

// The head goes with the look stick, no further than it may, and back.
static void the_head_follows_the_look_stick(void)
{
    static struct body b;
    double turned = 0;
    play_on(NULL, &b);
    if (b.motion.aim.joint_count > 0) {
        size_t head = (size_t)b.motion.aim.joints[b.motion.aim.joint_count - 1].node;
        double front[2] = {0, 0};
        for (int tick = 0; tick < 4 * RATE; tick++) {
            struct input_control c = {.fields = INPUT_LOOK | INPUT_MOVE};
            c.look[0] = tick >= RATE && tick < 2 * RATE ? 1 : 0;
            c.move[1] = tick == 0 ? 0.1F : 0;
            input_control(&b, &c);
            (void)body_pose(&b, (double)tick / RATE);
            skeleton_model_from_nodes(model, b.pose.locals, nodes);
            double x = nodes[head].col[2][0], z = nodes[head].col[2][2];
            double size = sqrt(x * x + z * z);
            if (tick == RATE - 1) {
                front[0] = x / size;
                front[1] = z / size;
            }
            double across = (front[1] * x - front[0] * z) / size;
            if (tick >= RATE) turned = fmin(turned, asin(fmin(fmax(across, -1), 1)));
        }
        EXPECT(fabs(b.motion.aim.yaw) < 1e-3); // and back
        (void)printf("  the head turns %.0f deg to the right\n", -turned * 57.29578);
        EXPECT(turned < -0.4 && turned > -1.5);
    }
    body_destroy(&b);
}

static void tick_rates_agree_in_every_joint(void)
{
    static const int rates[] = {60, 30, 120};
    double *ends = calloc(3 * model->nodes_count, sizeof *ends), most = 0;
    for (int i = 0; i < 3; i++) {
        static struct body b;
        play_on(NULL, &b);
        for (int tick = 0; tick <= 10 * rates[i]; tick++) {
            double t = (double)tick / rates[i];
            hold(&b, t < 4 ? 0 : -0.7, t < 2 ? 1 : t < 7 ? 0.5 : 0.2);
            (void)body_pose(&b, t);
        }
        double s = sin((double)b.state.yaw_rad), c = cos((double)b.state.yaw_rad);
        skeleton_model_from_nodes(model, b.pose.locals, nodes);
        for (size_t n = 0; n < model->nodes_count; n++) {
            double x = nodes[n].col[3][0], y = nodes[n].col[3][1], z = nodes[n].col[3][2];
            double at[3] = {x * c + z * s + (double)b.state.position[0], y,
                            z * c - x * s + (double)b.state.position[2]};
            double away = 0;
            for (int r = 0; r < 3; r++) {
                if (i == 0) ends[3 * n + (size_t)r] = at[r];
                away += (at[r] - ends[3 * n + (size_t)r]) * (at[r] - ends[3 * n + (size_t)r]);
            }
            if (model->nodes[n].flags & MODEL_NODE_JOINT) most = fmax(most, sqrt(away));
        }
        body_destroy(&b);
    }
    (void)printf("  30 and 120 Hz against 60 Hz after 10 s, any joint: %.3f %% of the height\n",
                 100 * most / height);
    EXPECT(most <= 0.01 * height);
    free(ends);
}

// ---- characters ---------------------------------------------------------------------------

static bool open_character(const char *path, struct model_file **file, struct arena *arena)
{
    struct bake_result baked = {0};
    struct fault fault = {0};
    enum err e = bake_run(path, NULL, &baked, &fault);
    if (e == ERR_OK) e = model_file_from_bytes(baked.bytes, baked.size_bytes, file, &fault);
    bake_free(&baked);
    if (e != ERR_OK) {
        (void)printf("skipped: %s: %s\n", path, fault.line);
        return false;
    }
    model = model_file_model(*file);
    height = (double)model->info->box_max[1] - (double)model->info->box_min[1];
    EXPECT(arena_create(arena, face_map_bytes(model) + 64));
    face_map_build(model, arena, &map);
    nodes = calloc(model->nodes_count, sizeof *nodes);
    return true;
}

int main(void)
{
    static const struct {
        const char *path;
        bool shared;
        size_t legs;
    } characters[] = {{"tests/assets/characters/mira.rig.json", false, 2},
                      {"tests/assets/characters/pup.rig.json", false, 4},
                      {"gltf/khronos/Fox.glb", true, 4},
                      {"gltf/other/RobotExpressive.glb", true, 2}};
    const char *data = getenv("SINEW_TEST_DATA");
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        char path[512];
        struct model_file *file = NULL;
        struct arena arena;
        (void)snprintf(path, sizeof path, "%s%s%s",
                       characters[i].shared ? (data ? data : "../shared/data") : "",
                       characters[i].shared ? "/" : "", characters[i].path);
        if (!open_character(path, &file, &arena)) continue;
        (void)printf("%s\n", characters[i].path);
        EXPECT(model->legs_count == characters[i].legs);
        feet_stay_where_they_stand_at_any_speed();
        nothing_snaps_whatever_the_hands_do();
        a_jump_leaves_the_ground_and_comes_down();
        feet_stand_on_steps();
        the_head_follows_the_look_stick();
        tick_rates_agree_in_every_joint();
        free(nodes);
        arena_destroy(&arena);
        model_file_unref(file);
    }
    return testing_failures ? 1 : 0;
}
