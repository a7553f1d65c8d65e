// The identities of method A, on the demo character, a scanned body and an arm, for linear blend
// and dual quaternion skinning.
#include <string.h>

#include "server/character/pose/driver.h"
#include "tests/support/sculpt.h"
#include "tests/testing.h"
int testing_failures;

struct subject {
    const char *name, *path, *left, *right; // two hinges far from each other
    float amount;                           // of the sculpts, file units
};

static unsigned random_state = 7;
static double random_unit(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (double)(random_state >> 8) / (1 << 23) - 1;
}

static double worst_distance(const float *a, const float *b, size_t count)
{
    double worst = 0;
    for (size_t v = 0; v < count; v++) {
        double sum = 0;
        for (size_t r = 0; r < 3; r++) {
            double d = (double)a[v * 3 + r] - (double)b[v * 3 + r];
            sum += d * d;
        }
        worst = fmax(worst, sqrt(sum));
    }
    return worst;
}

enum { TURN_LIMIT_DEG = 15 };

// How many normals turn further than the limit.
static long count_turns(const float *a, const float *b, size_t count)
{
    long turns = 0;
    for (size_t v = 0; v < count; v++) {
        double sum = 0;
        for (size_t r = 0; r < 3; r++) {
            double d = (double)a[v * 3 + r] - (double)b[v * 3 + r];
            sum += d * d;
        }
        turns += 2 * asin(fmin(sqrt(sum) / 2, 1)) * 180 / M_PI > TURN_LIMIT_DEG;
    }
    return turns;
}

static float *copy_of(const float *from, size_t count)
{
    float *out = malloc(count * 3 * sizeof *out);
    memcpy(out, from, count * 3 * sizeof *out);
    return out;
}

static void at_the_base_pose_nothing_is_added(struct sculpt *s, enum model_skinning skinning)
{
    struct stand *t = &s->stand;
    size_t count = model_vertex_count(t->model);
    memcpy(t->pose.locals, t->model->base_pose, t->model->nodes_count * sizeof(struct trs));
    stand_evaluate(t, skinning, simd_best());
    float *with = copy_of(t->positions, count);
    t->without_correctives = 1;
    stand_evaluate(t, skinning, simd_best());
    t->without_correctives = 0;
    double off = worst_distance(with, t->positions, count) / sculpt_diagonal(t);
    printf("    1: %.2g", off);
    EXPECT(off <= 1e-5);
    free(with);
}

static void at_each_example_the_sculpt_stands(struct sculpt *s, enum model_skinning skinning,
                                              const struct sculpt_driver *drivers, size_t count)
{
    struct stand *t = &s->stand;
    double worst = 0;
    for (size_t d = 0, at = 0; d < count; d++)
        for (size_t e = 0; e < drivers[d].example_count; e++, at++) {
            sculpt_pose(t, &drivers[d].examples[e]);
            stand_evaluate(t, skinning, simd_best());
            worst = fmax(
                worst, worst_distance(t->positions, s->surfaces[at], model_vertex_count(t->model)) /
                           sculpt_diagonal(t));
        }
    printf("  2: %.2g", worst);
    EXPECT(worst <= 1e-5);
}

// Runs the stages by hand, with a field added where extras stand.
static void evaluate_with_field(struct stand *t, enum model_skinning skinning, const float *field)
{
    const struct model *m = t->model;
    struct surface_job job = {.model = m,
                              .map = &t->map,
                              .correct = &t->correct,
                              .driver_weights = t->driver_weights,
                              .pose = t->pose,
                              .skinning = skinning,
                              .level = simd_best(),
                              .out = t->blocks};
    arena_reset(&t->scratch);
    struct surface_frame f = surface_begin(&job, &t->scratch);
    surface_face(&f, 0, 1);
    surface_turn(&f, 0, 1);
    surface_skin(&f, 0, 1);
    surface_keep(&f, 0, 1);
    for (size_t v = 0; v < model_vertex_count(m); v++)
        for (size_t r = 0; r < 3; r++)
            t->blocks[m->vertex_lanes[v] / MODEL_LANES]
                .position[r][m->vertex_lanes[v] % MODEL_LANES] += field[v * 3 + r];
    surface_correct(&f, 0, 1);
    surface_settle(&f, 0, 1);
    surface_gather(m, t->blocks, t->positions, t->normals);
}

static void whatever_stands_between_keeps_its_shape(struct sculpt *s, enum model_skinning skinning,
                                                    const struct sculpt_example *e)
{
    struct stand *t = &s->stand;
    size_t count = model_vertex_count(t->model);
    float *field = malloc(count * 3 * sizeof *field);
    sculpt_pose(t, e);
    stand_evaluate(t, skinning, simd_best());
    double diagonal = sculpt_diagonal(t);
    for (size_t i = 0; i < count * 3; i++)
        field[i] = (float)(random_unit() * 0.05 * diagonal);
    float *want = copy_of(t->positions, count);
    for (size_t i = 0; i < count * 3; i++)
        want[i] += field[i];
    evaluate_with_field(t, skinning, field);
    double off = worst_distance(t->positions, want, count) / diagonal;
    printf("  3: %.2g", off);
    EXPECT(off <= 1e-5);
    free(field);
    free(want);
}

// Along a smooth path nothing pops: a step of two degrees moves the surface little further than
// plain skinning does. Normals follow m, which vanishes at a few places where skinning folds the
// surface onto itself; there, and only there, they may turn fast.
static void along_a_path_nothing_pops(struct sculpt *s, enum model_skinning skinning,
                                      const struct subject *who)
{
    enum { PATHS = 2, STEPS = 60 };
    struct stand *t = &s->stand;
    size_t count = model_vertex_count(t->model);
    double worst_step = 0, plain_step = 0;
    long turns = 0;
    for (int path = 0; path < PATHS; path++) {
        struct sculpt_example e = {.driver_joint = {who->left, who->right}};
        for (int i = 0; i < 6; i++)
            e.axis[i / 3][i % 3] = (float)random_unit();
        float *before = NULL, *normals = NULL, *plain = NULL;
        for (int step = 0; step <= STEPS; step++) {
            e.angle_rad[0] = e.angle_rad[1] = (float)(step * 2 * M_PI / 180);
            sculpt_pose(t, &e);
            t->without_correctives = 1;
            stand_evaluate(t, skinning, simd_best());
            if (plain) plain_step = fmax(plain_step, worst_distance(plain, t->positions, count));
            free(plain);
            plain = copy_of(t->positions, count);
            t->without_correctives = 0;
            stand_evaluate(t, skinning, simd_best());
            if (before) {
                worst_step = fmax(worst_step, worst_distance(before, t->positions, count));
                turns += count_turns(normals, t->normals, count);
            }
            free(before);
            free(normals);
            before = copy_of(t->positions, count);
            normals = copy_of(t->normals, count);
        }
        free(before);
        free(normals);
        free(plain);
    }
    double share = (double)turns / (double)(count * PATHS * STEPS);
    printf("  4: %.2g a step (plain skinning %.2g), %.2g of the normals turn > %d deg\n",
           worst_step / sculpt_diagonal(t), plain_step / sculpt_diagonal(t), share, TURN_LIMIT_DEG);
    // 0.05 of a weight in half a degree, of the largest sculpts.
    EXPECT(worst_step <= plain_step + 0.2 * 3 * (double)who->amount);
    EXPECT(share <= 1e-3);
}

static void identities(const struct subject *who, const char *skinning)
{
    enum model_skinning kind = strcmp(skinning, "dq") == 0 ? MODEL_DQ : MODEL_LBS;
    struct sculpt_joint left = {who->left, "rotation", NULL},
                        right = {who->right, "rotation", NULL};
    struct sculpt_example left_poses[] = {
        {"bent", {who->left}, {{0, 0, 1}}, {1.2f}, 3, who->amount, 0},
        {"deep", {who->left}, {{0, 0, 1}}, {1.7f}, 5, who->amount, 0},
        {"twisted", {who->left}, {{1, 0.5f, 0}}, {1.4f}, 8, who->amount, 0}};
    // Sculpted with the other one bent too: shared vertices must be solved together.
    struct sculpt_example right_poses[] = {
        {"both", {who->right, who->left}, {{0, 1, 0}, {0, 0, 1}}, {1.1f, 0.6f}, 11, who->amount, 0},
        {"alone", {who->right}, {{1, 0, 0}}, {1.0f}, 0, 0, 0}};
    struct sculpt_driver drivers[] = {{"left", "", &left, 1, left_poses, 3, NULL},
                                      {"right", "", &right, 1, right_poses, 2, NULL}};
    struct sculpt s;
    bool baked = sculpt_bake(&s, who->path, skinning, drivers, 2, NULL);
    EXPECT(baked);
    printf("  %s, %s:\n", who->name, skinning);
    if (baked) {
        at_the_base_pose_nothing_is_added(&s, kind);
        at_each_example_the_sculpt_stands(&s, kind, drivers, 2);
        whatever_stands_between_keeps_its_shape(&s, kind, &left_poses[1]);
        along_a_path_nothing_pops(&s, kind, who);
    }
    sculpt_close(&s);
}

static void the_identities_hold(const struct subject *who)
{
    identities(who, "lbs");
    identities(who, "dq");
}

int main(void)
{
    char arm[1024], body[1024];
    const char *data = testing_data();
    struct subject demo = {"demo character", "tests/assets/characters/mira.glb", "leftLowerArm",
                           "rightUpperLeg", 0.004f};
    the_identities_hold(&demo);
    if (data) {
        snprintf(arm, sizeof arm, "%s/oracle_arm/arm.glb", data);
        snprintf(body, sizeof body, "%s/psd/makehuman/mh_cmu.glb", data);
        struct subject others[] = {{"arm", arm, "lower", "upper", 0.01f},
                                   {"mh_cmu", body, "LeftForeArm", "RightUpLeg", 0.004f}};
        for (int i = 0; i < 2; i++)
            the_identities_hold(&others[i]);
    } else {
        puts("  no shared data (SINEW_TEST_DATA): the arm and mh_cmu are left out");
    }
    printf("%s the_identities_hold\n", testing_failures ? "FAIL" : "ok  ");
    TESTING_MAIN_END;
}
