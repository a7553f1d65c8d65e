// Spring bones: against three-vrm, at every rate, through gaps and leaps, and bad files.
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "server/bake/bake.h"
#include "server/character/pose/springs.h"
#include "server/model/lookup.h"
#include "server/stage/body.h"
#include "tests/support/sample.h"
#include "tests/support/stand.h"
#include "tests/testing.h"
int testing_failures;

static const double DEGREES = 57.29577951308232;

struct swing {
    struct stand stand;
    struct springs springs;
    struct arena arena;
    uint32_t turned, moved; // nodes of the drive, or UINT32_MAX
    double far;             // where the whole stands
};

static bool open_swing(struct swing *s, const char *path)
{
    *s = (struct swing){.turned = UINT32_MAX, .moved = UINT32_MAX};
    if (!stand_open(&s->stand, path)) return false;
    if (!arena_create(&s->arena, springs_bytes(s->stand.model) + 64)) return false;
    s->springs = springs_take(s->stand.model, &s->arena);
    return s->springs.model != NULL;
}

static void close_swing(struct swing *s)
{
    arena_destroy(&s->arena);
    stand_close(&s->stand);
}

static uint32_t node_of(const struct model *m, int source)
{
    for (uint32_t i = 0; i < m->nodes_count; i++)
        if ((int)m->nodes[i].source == source) return i;
    return UINT32_MAX;
}

// The drive of tests/tools/make_spring_values.mjs.
static void drive(struct swing *s, double t, struct springs_place *place)
{
    pose_rest(s->stand.model, s->stand.pose);
    double half = 0.6 * sin(0.9 * t);
    *place = (struct springs_place){
        {s->far + 0.6 * sin(2.1 * t), 0.1 * sin(3.3 * t), 0.4 * sin(1.3 * t)},
        {0, sin(half), 0, cos(half)}};
    if (s->turned != UINT32_MAX) {
        double a = 0.25 * sin(4 * t);
        s->stand.pose.locals[s->turned].rotation =
            (struct quat){0, 0, (float)sin(a), (float)cos(a)};
    }
    if (s->moved != UINT32_MAX)
        s->stand.pose.locals[s->moved].translation.x += (float)(0.2 * sin(t));
}

static void advance(struct swing *s, double t)
{
    struct springs_place place;
    drive(s, t, &place);
    springs_advance(&s->springs, t, &place, false, s->stand.pose.locals);
}

static double angle_between(const struct quat *a, const struct quat *b)
{
    const float p[4] = {a->x, a->y, a->z, a->w}, q[4] = {b->x, b->y, b->z, b->w};
    double same = 0, opposite = 0; // chords: acos loses small angles
    for (int r = 0; r < 4; r++) {
        same += ((double)p[r] - (double)q[r]) * ((double)p[r] - (double)q[r]);
        opposite += ((double)p[r] + (double)q[r]) * ((double)p[r] + (double)q[r]);
    }
    return 4 * asin(fmin(1, sqrt(fmin(same, opposite)) / 2)) * DEGREES;
}

static struct quat quat_at(const cJSON *numbers, int index)
{
    float q[4];
    for (int k = 0; k < 4; k++)
        q[k] = (float)cJSON_GetArrayItem(numbers, index * 4 + k)->valuedouble;
    return quat_normalise((struct quat){q[0], q[1], q[2], q[3]});
}

static void compare_with_three_vrm(const cJSON *entry, const char *data)
{
    char path[1024];
    const char *file = cJSON_GetObjectItem(entry, "file")->valuestring;
    const cJSON *joints = cJSON_GetObjectItem(entry, "joints");
    const cJSON *rotations = cJSON_GetObjectItem(entry, "rotations");
    struct swing s;
    double worst = 0, swung = 0;
    (void)snprintf(path, sizeof path, "%s/%s", data, file);
    EXPECT(open_swing(&s, path));
    s.turned = node_of(s.stand.model, cJSON_GetObjectItem(entry, "turn")->valueint);
    s.moved = node_of(s.stand.model, cJSON_GetObjectItem(entry, "move")->valueint);
    for (int tick = 0; tick <= 300; tick++) {
        advance(&s, tick / 60.0);
        if (tick % 6 != 0) continue;
        const cJSON *expected = cJSON_GetArrayItem(rotations, tick / 6);
        for (int j = 0; j < cJSON_GetArraySize(joints); j++) {
            uint32_t node = node_of(s.stand.model, cJSON_GetArrayItem(joints, j)->valueint);
            struct quat q = quat_at(expected, j);
            worst = fmax(worst, angle_between(&q, &s.stand.pose.locals[node].rotation));
            swung = fmax(swung, angle_between(&q, &s.stand.model->nodes[node].rest.rotation));
        }
    }
    printf("     %s: within %.4f degrees over 5 s, swings of up to %.1f\n", file, worst, swung);
    EXPECT(worst < 0.05 && swung > 3);
    close_swing(&s);
}

static void tails_swing_as_three_vrm_swings_them(void)
{
    size_t size;
    struct fault fault;
    char *text = NULL;
    const char *data = testing_data();
    if (!data) {
        printf("     skipped: no shared data (SINEW_TEST_DATA)\n");
        return;
    }
    EXPECT(file_read("tests/character/spring_values.json", 1 << 20, (uint8_t **)&text, &size,
                     &fault) == ERR_OK);
    cJSON *values = cJSON_ParseWithLength(text, size), *entry;
    EXPECT(cJSON_GetArraySize(values) == 4);
    cJSON_ArrayForEach(entry, values) compare_with_three_vrm(entry, data);
    cJSON_Delete(values);
    free(text);
}

// Rotations of every joint at t = 0.5, 1, ... 5 s.
enum { SAMPLES = 10, JOINTS_MAX = 64 };
static void sample_at(const char *path, double far, const double *hz, int kinds,
                      struct quat out[SAMPLES][JOINTS_MAX])
{
    struct swing s;
    double t = 0;
    EXPECT(open_swing(&s, path));
    s.far = far;
    int sample = 0, tick = 0;
    advance(&s, 0);
    while (sample < SAMPLES) {
        double goal = 0.5 * (sample + 1);
        t += 1 / hz[tick++ % kinds];
        if (t > goal - 1e-9) t = goal;
        advance(&s, t);
        if (t < goal) continue;
        for (size_t j = 0; j < s.stand.model->spring_joints_count; j++)
            out[sample][j] = s.stand.pose.locals[s.stand.model->spring_joints[j].node].rotation;
        sample++;
    }
    close_swing(&s);
}

static double worst_of(struct quat a[SAMPLES][JOINTS_MAX], struct quat b[SAMPLES][JOINTS_MAX],
                       size_t joints)
{
    double worst = 0;
    for (int i = 0; i < SAMPLES; i++)
        for (size_t j = 0; j < joints; j++)
            worst = fmax(worst, angle_between(&a[i][j], &b[i][j]));
    return worst;
}

static void every_rate_shows_the_same(void)
{
    static const double rates[][3] = {{20, 20, 20},   {30, 30, 30},    {60, 60, 60},
                                      {90, 90, 90},   {144, 144, 144}, {250, 250, 250},
                                      {17, 133, 41.5}};
    static struct quat reference[SAMPLES][JOINTS_MAX], other[SAMPLES][JOINTS_MAX];
    const char *path = "tests/assets/characters/mira.rig.json";
    struct swing s;
    EXPECT(open_swing(&s, path));
    size_t joints = s.stand.model->spring_joints_count;
    close_swing(&s);
    EXPECT(joints > 0 && joints <= JOINTS_MAX);
    sample_at(path, 0, (const double[]){960}, 1, reference);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        sample_at(path, 0, rates[i], 3, other);
        double worst = worst_of(reference, other, joints);
        printf("     %g, %g, %g Hz: within %.3f degrees of 960 Hz\n", rates[i][0], rates[i][1],
               rates[i][2], worst);
        EXPECT(worst < 1);
    }
    sample_at(path, 1000, rates[2], 3, other);
    sample_at(path, 0, rates[2], 3, reference);
    printf("     1 km away: within %.2g degrees\n", worst_of(reference, other, joints));
    EXPECT(worst_of(reference, other, joints) < 1e-3);
}

static double turned_by(const struct swing *s, struct quat *before)
{
    double worst = 0;
    for (size_t j = 0; j < s->stand.model->spring_joints_count; j++) {
        const struct quat *now =
            &s->stand.pose.locals[s->stand.model->spring_joints[j].node].rotation;
        worst = fmax(worst, angle_between(now, &before[j]));
        before[j] = *now;
    }
    return worst;
}

// First frame, a leap of 10 m, a pause of 3 s, standing for ten minutes.
static void nothing_kicks(void)
{
    struct swing s;
    struct quat before[JOINTS_MAX];
    struct springs_place place = {{0, 0, 0}, {0, 0, 0, 1}};
    EXPECT(open_swing(&s, "tests/assets/characters/mira.rig.json"));
    const struct model *m = s.stand.model;
    for (size_t j = 0; j < m->spring_joints_count; j++)
        before[j] = m->nodes[m->spring_joints[j].node].rest.rotation;
    advance(&s, 0);
    double first = turned_by(&s, before);
    double t = 0, leap = 0, pause = 0, usual = 0;
    for (int i = 1; i <= 120; i++) {
        advance(&s, t = i / 60.0);
        usual = fmax(usual, turned_by(&s, before));
    }
    pose_rest(m, s.stand.pose);
    place.position[0] = 10;
    springs_advance(&s.springs, t += 1 / 60.0, &place, true, s.stand.pose.locals);
    leap = turned_by(&s, before);
    pose_rest(m, s.stand.pose);
    springs_advance(&s.springs, t += 3, &place, false, s.stand.pose.locals);
    pause = turned_by(&s, before);
    for (int i = 0; i < 36000; i++) {
        pose_rest(m, s.stand.pose);
        springs_advance(&s.springs, t += 1 / 60.0, &place, false, s.stand.pose.locals);
    }
    (void)turned_by(&s, before);
    pose_rest(m, s.stand.pose);
    springs_advance(&s.springs, t += 1 / 60.0, &place, false, s.stand.pose.locals);
    double drift = turned_by(&s, before);
    printf("     degrees: first frame %.3g, usual %.3g a frame, leap %.3g, pause %.3g; after ten "
           "minutes %.3g a frame\n",
           first, usual, leap, pause, drift);
    EXPECT(first < 1 && leap < 0.5 && pause < 0.5 && drift < 1e-3 && !s.springs.moving);
    close_swing(&s);
}

// A hanging chain that nothing moves loses energy and comes to the rest pose.
static void what_is_left_alone_comes_to_rest(void)
{
    struct swing s;
    const char *data = testing_data();
    char path[1024];
    if (!data) {
        printf("     skipped: no shared data (SINEW_TEST_DATA)\n");
        return;
    }
    (void)snprintf(path, sizeof path, "%s/vrm/three-vrm/plane-collider.gltf", data);
    EXPECT(open_swing(&s, path));
    const struct model *m = s.stand.model;
    for (int i = 0; i <= 60; i++)
        advance(&s, i / 60.0);
    struct springs_place place = s.springs.last_place;
    double widest = 180;
    for (int part = 0; part < 20; part++) {
        double wide = 0;
        for (int i = 0; i < 60; i++) {
            pose_rest(m, s.stand.pose);
            springs_advance(&s.springs, 1 + (part * 60 + i + 1) / 60.0, &place, false,
                            s.stand.pose.locals);
            for (size_t j = 0; j < m->spring_joints_count; j++) {
                uint32_t node = m->spring_joints[j].node;
                wide = fmax(wide, angle_between(&s.stand.pose.locals[node].rotation,
                                                &m->nodes[node].rest.rotation));
            }
        }
        EXPECT(wide <= widest + 1e-3);
        widest = wide;
    }
    printf("     after 20 s alone: %.2g degrees from rest\n", widest);
    EXPECT(widest < 0.05);
    close_swing(&s);
}

static void bodies_swing_alike_at_every_scale(void)
{
    struct stand stand;
    EXPECT(stand_open(&stand, "tests/assets/characters/mira.rig.json"));
    static const float scales[] = {1, 0.2F, 8};
    struct quat kept[3][JOINTS_MAX];
    for (int k = 0; k < 3; k++) {
        struct body body;
        struct body_options options = {.model = stand.model,
                                       .map = &stand.map,
                                       .correct = &stand.correct,
                                       .default_clip = MODEL_NONE,
                                       .level = simd_best()};
        EXPECT(body_create(&options, &body) == ERR_OK);
        for (int i = 0; i <= 90; i++) {
            body.state.scale = scales[k];
            body.state.position[0] = scales[k] * 0.3F * sinf((float)i / 10);
            (void)body_pose(&body, i / 60.0);
        }
        for (size_t j = 0; j < stand.model->spring_joints_count; j++)
            kept[k][j] = body.pose.locals[stand.model->spring_joints[j].node].rotation;
        body_destroy(&body);
    }
    double worst = 0, swung = 0;
    for (size_t j = 0; j < stand.model->spring_joints_count; j++) {
        worst = fmax(worst, angle_between(&kept[0][j], &kept[1][j]));
        worst = fmax(worst, angle_between(&kept[0][j], &kept[2][j]));
        swung = fmax(
            swung,
            angle_between(&kept[0][j],
                          &stand.model->nodes[stand.model->spring_joints[j].node].rest.rotation));
    }
    printf("     scale 0.2 and 8 against 1: %.3g degrees apart, swings of %.3g\n", worst, swung);
    EXPECT(worst < 0.1 && swung > 1);
    stand_close(&stand);
}

static void wrong_springs_are_refused_by_path(void)
{
    static const struct {
        const char *springs, *path;
    } cases[] = {
#define JOINTS(list) "[{\"name\": \"s\", \"joints\": [" list "]}]"
        {"[{\"joint\": []}]", "/springs/0/joint"},
        {"[{\"joints\": 1}]", "/springs/0/joints"},
        {JOINTS("{\"node\": \"nobody\"}"), "/springs/0/joints/0/node"},
        {JOINTS("{\"node\": 99}"), "/springs/0/joints/0/node"},
        {JOINTS("{\"node\": \"upper\", \"stiff\": 1}"), "/springs/0/joints/0/stiff"},
        {JOINTS("{\"node\": \"upper\", \"dragForce\": 2}"), "/springs/0/joints/0/dragForce"},
        {JOINTS("{\"node\": \"upper\", \"gravityDir\": [0, 1]}"), "/springs/0/joints/0/gravityDir"},
        {JOINTS("{\"node\": \"upper\"}, {\"node\": \"lower\"}"), "/springs/0/joints/1/node"},
        {"[{\"joints\": [], \"colliders\": [{\"node\": \"upper\", \"shape\": {\"cube\": {}}}]}]",
         "/springs/0/colliders/0/shape"},
        {"[{\"joints\": [], \"colliders\": [{\"node\": \"upper\", \"shape\": {\"sphere\": "
         "{\"radius\": -1}}}]}]",
         "/springs/0/colliders/0/shape/sphere/radius"},
        {"[{\"joints\": [], \"colliderGroups\": [0]}]", "/springs/0/colliderGroups"},
        {"{\"springs\": 1}", "/springs/springs"},
        {"{\"springs\": [], \"wind\": 1}", "/springs/wind"},
        {"[{\"joints\": [{\"node\": \"upper\"}], \"endLength\": 0.1}, {\"joints\": [{\"node\": "
         "\"upper\"}], \"endLength\": 0.1}]",
         "/springs/1/joints"},
    };
    size_t size;
    char *gltf = sample_gltf(&size), folder[] = "/tmp/sinew-springs-XXXXXX", path[128];
    EXPECT(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/bar.gltf", folder);
    EXPECT(file_write_atomic(path, gltf, size, NULL) == ERR_OK);
    (void)snprintf(path, sizeof path, "%s/bar.rig.json", folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        struct fault fault = {0};
        struct bake_result result;
        (void)snprintf(text, sizeof text,
                       "{\"sinew_rig\": 1, \"source\": \"bar.gltf\", \"springs\": %s}",
                       cases[i].springs);
        EXPECT(file_write_atomic(path, text, strlen(text), NULL) == ERR_OK);
        bool named = bake_run(path, NULL, &result, &fault) != ERR_OK &&
                     strstr(fault.line, cases[i].path) != NULL;
        if (!named) printf("  %s: \"%s\"\n", cases[i].path, fault.line);
        EXPECT(named);
    }
    free(gltf);
}

int main(void)
{
    RUN(wrong_springs_are_refused_by_path);
    RUN(tails_swing_as_three_vrm_swings_them);
    RUN(every_rate_shows_the_same);
    RUN(nothing_kicks);
    RUN(what_is_left_alone_comes_to_rest);
    RUN(bodies_swing_alike_at_every_scale);
    TESTING_MAIN_END;
}
