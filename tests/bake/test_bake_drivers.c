// Pose drivers: weights against scipy and against the method, duplicates, sharing, mirrors, faults.
#include <cjson/cJSON.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "server/character/pose/driver.h"
#include "server/model/lookup.h"
#include "tests/bake/rbf_values.h"
#include "tests/support/sample.h"
#include "tests/support/sculpt.h"
#include "tests/testing.h"
int testing_failures;

static char source[] = "/tmp/sinew_drivers_XXXXXX"; // the sample bar
static const float Z[3] = {0, 0, 1};

static struct sculpt_example turn_of(const char *name, float deg, unsigned seed)
{
    struct sculpt_example e = {
        .name = name, .driver_joint = {"upper"}, .seed = seed, .amount = 0.05f};
    memcpy(e.axis[0], Z, sizeof Z);
    e.angle_rad[0] = (float)((double)deg * M_PI / 180);
    return e;
}

static bool bake(struct sculpt *s, const char *settings, const struct sculpt_joint *joint,
                 const struct sculpt_example *examples, size_t count, char *line)
{
    struct sculpt_driver d = {"d", settings, joint, 1, examples, count, NULL};
    return sculpt_bake(s, source, "lbs", &d, 1, line);
}

static struct trs *upper(struct sculpt *s)
{
    uint32_t node;
    EXPECT(lookup_name(s->stand.model, LOOKUP_NODE, "upper", "test", &node, NULL) == ERR_OK);
    return &s->stand.pose.locals[node];
}

static void set_turn(struct sculpt *s, double deg)
{
    struct sculpt_example e = turn_of("", (float)deg, 0);
    sculpt_pose(&s->stand, &e);
}

static void weights_at(struct sculpt *s, double out[16])
{
    EXPECT(driver_weight_count(s->stand.model) <= 16);
    EXPECT(driver_weights(s->stand.model, s->stand.pose.locals, out));
}

static const struct sculpt_joint by_rotation = {"upper", "rotation", NULL};

// ---- against scipy

static void check_hinge(const char *kernel, const double want[][4])
{
    char settings[96];
    struct sculpt s;
    struct sculpt_example e[] = {turn_of("a", 25, 3), turn_of("b", 60, 4), turn_of("c", 100, 5)};
    snprintf(settings, sizeof settings, "\"kernel\": \"%s\", \"radius\": %g, \"ridge\": 0", kernel,
             RBF_RADIUS);
    bool baked = bake(&s, settings, &by_rotation, e, 3, NULL);
    EXPECT(baked);
    for (size_t q = 0; baked && q < sizeof rbf_hinge_queries / sizeof rbf_hinge_queries[0]; q++) {
        double w[16];
        set_turn(&s, rbf_hinge_queries[q][0]);
        weights_at(&s, w);
        double size = 1; // poses are float32: far outside, weights of 5 differ by more
        for (int c = 0; c < 4; c++)
            size = fmax(size, fabs(want[q][c]));
        for (int c = 0; c < 4; c++)
            EXPECT_NEAR(w[c], want[q][c], 1e-6 * size);
    }
    sculpt_close(&s);
}

static void one_hinge_agrees_with_scipy(void)
{
    check_hinge("linear", rbf_hinge_linear);
    check_hinge("gaussian", rbf_hinge_gaussian);
    check_hinge("thin_plate", rbf_hinge_thin_plate);
    check_hinge("multiquadric", rbf_hinge_multiquadric);
    check_hinge("inverse_multiquadric", rbf_hinge_inverse_multiquadric);
}

// Centers that slide are given to the kernels directly: the solver's own matrix and the frame's
// own evaluation.
static void check_places(enum model_kernel kernel, const double want[][4])
{
    struct model_driver_joint joint = {.read = MODEL_READ_TRANSLATION, .weight = 1, .per_unit = 1};
    struct driver_sample center[4] = {0}, query = {0};
    double phi[16], k[4];
    for (int c = 0; c < 4; c++)
        memcpy(center[c].translation, rbf_places[c], sizeof rbf_places[c]);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            phi[a * 4 + b] = driver_kernel(
                kernel, driver_distance(&joint, kernel, &center[a], &center[b]), RBF_RADIUS);
    for (size_t q = 0; q < sizeof rbf_place_queries / sizeof rbf_place_queries[0]; q++) {
        memcpy(query.translation, rbf_place_queries[q], sizeof rbf_place_queries[q]);
        for (int c = 0; c < 4; c++)
            k[c] = driver_kernel(kernel, driver_distance(&joint, kernel, &query, &center[c]),
                                 RBF_RADIUS);
        for (int c = 0; c < 4; c++) { // weights solve Phi w = k
            double sum = 0;
            for (int i = 0; i < 4; i++)
                sum += phi[c * 4 + i] * want[q][i];
            EXPECT_NEAR(sum, k[c], 1e-6);
        }
    }
}

static void translations_agree_with_scipy(void)
{
    check_places(MODEL_KERNEL_LINEAR, rbf_place_linear);
    check_places(MODEL_KERNEL_GAUSSIAN, rbf_place_gaussian);
    check_places(MODEL_KERNEL_THIN_PLATE, rbf_place_thin_plate);
    check_places(MODEL_KERNEL_MULTIQUADRIC, rbf_place_multiquadric);
    check_places(MODEL_KERNEL_INVERSE_MULTIQUADRIC, rbf_place_inverse_multiquadric);
}

// ---- the method's own kernel

static void every_center_is_one_hot(void)
{
    struct sculpt s;
    struct sculpt_example e[] = {turn_of("a", 30, 3), turn_of("b", 60, 4), turn_of("c", 90, 5),
                                 turn_of("d", 120, 6)};
    EXPECT(bake(&s, "", &by_rotation, e, 4, NULL));
    for (int i = 0; i < 5; i++) {
        double w[16];
        set_turn(&s, 30 * i);
        weights_at(&s, w);
        for (int c = 0; c < 5; c++)
            EXPECT_NEAR(w[c], c == i, 1e-6);
    }
    sculpt_close(&s);
}

static void a_quaternion_and_its_negative_give_equal_bits(void)
{
    static const char *const reads[][2] = {{"rotation", NULL},
                                           {"swing", "\"axis\": [0, 1, 0]"},
                                           {"twist", "\"axis\": [0, 0, 1]"},
                                           {"transform", NULL}};
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        struct sculpt s;
        struct sculpt_joint joint = {"upper", reads[i][0], reads[i][1]};
        struct sculpt_example e[] = {turn_of("a", 40, 3), turn_of("b", 80, 4)};
        EXPECT(bake(&s, "", &joint, e, 2, NULL));
        for (int deg = -180; deg <= 360; deg += 7) {
            double w[16], negative[16];
            set_turn(&s, deg);
            weights_at(&s, w);
            struct quat *q = &upper(&s)->rotation;
            *q = (struct quat){-q->x, -q->y, -q->z, -q->w};
            weights_at(&s, negative);
            EXPECT(memcmp(w, negative, 3 * sizeof w[0]) == 0);
            *q = (struct quat){3 * q->x, 3 * q->y, 3 * q->z, 3 * q->w}; // of any length
            weights_at(&s, negative);
            for (int c = 0; c < 3; c++)
                EXPECT_NEAR(negative[c], w[c], 1e-6);
        }
        sculpt_close(&s);
    }
}

static unsigned random_state = 5;
static float random_unit(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (float)(random_state >> 8) / (1 << 23) - 1;
}

static void every_rotation_gives_finite_weights(void)
{
    static const char *const reads[][2] = {
        {"rotation", NULL}, {"swing", "\"axis\": [0, 1, 0]"}, {"twist", "\"axis\": [0, 1, 0]"}};
    static const struct quat corners[] = {{1, 0, 0, 0},
                                          {0, 1, 0, 0},
                                          {0, 0, 1, 0},
                                          {0, 0, 0, 1},
                                          {0, 0, 0, 0},
                                          {1e-30f, 0, 0, 0},
                                          {0.7071f, 0, 0.7071f, 0}};
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        struct sculpt s;
        struct sculpt_joint joint = {"upper", reads[i][0], reads[i][1]};
        struct sculpt_example e[] = {turn_of("a", 40, 3), turn_of("b", 180, 4)};
        if (i == 2) e[0].axis[0][1] = e[1].axis[0][1] = 1; // there must be some twist to read
        EXPECT(bake(&s, "", &joint, e, 2, NULL));
        for (int n = 0; n < 2000; n++) {
            double w[16];
            upper(&s)->rotation =
                n < 7 ? corners[n]
                      : (struct quat){random_unit(), random_unit(), random_unit(), random_unit()};
            weights_at(&s, w);
            for (int c = 0; c < 3; c++)
                EXPECT(isfinite(w[c]) && fabs(w[c]) < 10);
        }
        sculpt_close(&s);
    }
}

static void a_pose_that_is_not_finite_changes_nothing(void)
{
    struct sculpt s;
    struct sculpt_example e[] = {turn_of("a", 40, 3)};
    EXPECT(bake(&s, "", &by_rotation, e, 1, NULL));
    double w[16] = {7, 8};
    upper(&s)->rotation.x = NAN;
    EXPECT(!driver_weights(s.stand.model, s.stand.pose.locals, w));
    EXPECT(w[0] == 7 && w[1] == 8);
    upper(&s)->rotation.x = INFINITY;
    EXPECT(!driver_weights(s.stand.model, s.stand.pose.locals, w));
    sculpt_close(&s);
}

static void weights_change_slowly_between_examples(void)
{
    struct sculpt s;
    struct sculpt_example e[] = {turn_of("a", 20, 3), turn_of("b", 40, 4), turn_of("c", 60, 5),
                                 turn_of("d", 80, 6)};
    EXPECT(bake(&s, "", &by_rotation, e, 4, NULL));
    double before[16], w[16], steepest = 0;
    for (int path = 0; path < 20; path++) {
        struct sculpt_example at = {.driver_joint = {"upper"}};
        for (int r = 0; r < 3; r++)
            at.axis[0][r] = random_unit();
        for (int step = -360; step <= 360; step++) {
            at.angle_rad[0] = (float)(step * 0.5 * M_PI / 180);
            sculpt_pose(&s.stand, &at);
            weights_at(&s, w);
            for (int c = 0; step > -360 && c < 5; c++)
                steepest = fmax(steepest, fabs(w[c] - before[c]));
            memcpy(before, w, sizeof w);
        }
    }
    printf("  steepest %.3g in half a degree\n", steepest);
    EXPECT(steepest <= 0.05);
    sculpt_close(&s);
}

// Vertices that two joints share, those turned against each other up to half a turn about each
// axis: every sculpt is reproduced, and what takes it into base space never explodes.
static void a_sculpt_across_a_twisted_joint_comes_back(void)
{
    double worst = 0, gain = 0, largest = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int deg = 5; deg <= 180; deg += 5) {
            struct sculpt s;
            struct sculpt_example e = turn_of("a", (float)deg, 3);
            e.amount = 0.01f;
            memset(e.axis[0], 0, sizeof e.axis[0]);
            e.axis[0][axis] = 1;
            EXPECT(bake(&s, "", &by_rotation, &e, 1, NULL));
            const struct model *m = s.stand.model;
            sculpt_pose(&s.stand, &e);
            stand_evaluate(&s.stand, MODEL_LBS, simd_best());
            for (size_t i = 0; i < model_vertex_count(m) * 3; i++) {
                double off = (double)s.stand.positions[i] - (double)s.surfaces[0][i];
                if (!(fabs(off) <= worst)) worst = fabs(off);
            }
            gain = fmax(gain, (double)m->examples[0].gain);
            for (size_t i = 0; i < m->correction_limits_count; i++)
                largest = fmax(largest, (double)m->correction_limits[i]);
            sculpt_close(&s);
        }
    printf("  off by %.2g, gain %.3g, deltas up to %.3g\n", worst, gain, largest);
    EXPECT(worst <= 1e-5 && gain > 0 && gain <= 4.001 && largest <= 4.001 * 0.02);
}

// ---- duplicates

// The demo's joints turned by Euler angles in every order, the middle axis through its +-90 degrees
// where angles of the others jump: rotations are read, so weights do not.
static struct quat about(int axis, double deg)
{
    double half = deg * M_PI / 360;
    float v[3] = {0, 0, 0};
    v[axis] = (float)sin(half);
    return (struct quat){v[0], v[1], v[2], (float)cos(half)};
}

static struct quat after(struct quat a, struct quat b)
{
    return (struct quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                         a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                         a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                         a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

static void euler_angles_through_90_degrees_do_not_pop(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct stand t;
    double steepest = 0;
    size_t joints = 0;
    bool open = stand_open(&t, "tests/assets/characters/mira.rig.json");
    EXPECT(open);
    if (!open) return;
    size_t count = driver_weight_count(t.model);
    double *before = malloc(count * sizeof *before), *now = malloc(count * sizeof *now);
    EXPECT(before && now);
    for (size_t j = 0; before && now && j < t.model->driver_joints_count; j++, joints++)
        for (int o = 0; o < 6; o++)
            for (int tilt = -60; tilt <= 60; tilt += 60)
                for (int i = 0; i <= 480; i++) { // half a degree a step
                    pose_rest(t.model, t.pose);
                    struct quat *q = &t.pose.locals[t.model->driver_joints[j].node].rotation;
                    struct quat turn =
                        after(about(orders[o][0], tilt),
                              after(about(orders[o][1], i / 2.0 - 120), about(orders[o][2], 20)));
                    *q = after(*q, turn);
                    EXPECT(driver_weights(t.model, t.pose.locals, now));
                    for (size_t k = 0; i > 0 && k < count; k++)
                        steepest = fmax(steepest, fabs(now[k] - before[k]));
                    memcpy(before, now, count * sizeof *now);
                }
    printf("  %zu joints, steepest %.3g in half a degree\n", joints, steepest);
    EXPECT(joints > 0 && steepest <= 0.05);
    free(before);
    free(now);
    stand_close(&t);
}

static void equal_examples_merge_and_others_are_refused(void)
{
    struct sculpt s;
    char line[384];
    struct sculpt_example same[] = {turn_of("a", 40, 3), turn_of("b", 40, 3)};
    EXPECT(bake(&s, "", &by_rotation, same, 2, line));
    EXPECT(s.stand.model->examples_count == 2 && s.stand.model->solves[0].center_count == 2);
    EXPECT(s.stand.model->examples[0].center == s.stand.model->examples[1].center);
    sculpt_close(&s);
    struct sculpt_example other[] = {turn_of("a", 40, 3), turn_of("b", 40, 4)};
    EXPECT(!bake(&s, "", &by_rotation, other, 2, line));
    EXPECT(strstr(line, "\"a\"") && strstr(line, "\"b\""));
    sculpt_close(&s);
}

static void an_unedited_example_stores_no_deltas(void)
{
    struct sculpt s;
    struct sculpt_example e[] = {turn_of("a", 40, 0), turn_of("b", 80, 3)};
    EXPECT(bake(&s, "", &by_rotation, e, 2, NULL));
    for (size_t i = 0; i < s.stand.model->example_deltas_count; i++)
        EXPECT(s.stand.model->example_deltas[i].example == 1);
    EXPECT(s.stand.model->corrections_count == 1);
    sculpt_close(&s);
}

// ---- bounded

static void far_from_the_examples_the_correction_stays_bounded(void)
{
    struct sculpt s;
    struct sculpt_example e[] = {turn_of("a", 20, 3), turn_of("b", 22, 9), turn_of("c", 24, 4)};
    EXPECT(bake(&s, "\"kernel\": \"thin_plate\", \"radius\": 0.2", &by_rotation, e, 3, NULL));
    for (int deg = 0; deg < 360; deg += 3) {
        set_turn(&s, deg);
        s.stand.without_correctives = 1;
        stand_evaluate(&s.stand, MODEL_LBS, SIMD_PLAIN);
        float plain[24];
        memcpy(plain, s.stand.positions, sizeof plain);
        s.stand.without_correctives = 0;
        stand_evaluate(&s.stand, MODEL_LBS, SIMD_PLAIN);
        for (size_t v = 0; v < 8; v++) {
            double sum = 0;
            for (size_t r = 0; r < 3; r++) {
                double d = (double)s.stand.positions[v * 3 + r] - (double)plain[v * 3 + r];
                sum += d * d;
            }
            // Twice the largest delta in base space; Lv turns it and never makes it longer.
            double limit = (double)s.stand.model->correction_limits[s.stand.model->vertex_lanes[v]];
            EXPECT(sqrt(sum) <= 2 * limit + 1e-6);
        }
    }
    sculpt_close(&s);
}

// ---- the same weights for ever

static void the_solver_gives_the_golden_bits(void)
{
    // Half way between two examples; whoever changes them raises MODEL_SOLVER.
    static const uint64_t golden[] = {0xbfc075857a810f44, 0x3fe375202713bb5e, 0x3fe3752025bd11e6,
                                      0xbfc075858eba6434};
    struct sculpt s;
    struct sculpt_example e[] = {turn_of("a", 35, 3), turn_of("b", 70, 4), turn_of("c", 105, 5)};
    EXPECT(bake(&s, "", &by_rotation, e, 3, NULL));
    double w[16];
    set_turn(&s, 52.5);
    weights_at(&s, w);
    EXPECT(s.stand.model->drivers[0].solver == 1);
    for (int c = 0; c < 4; c++) {
        uint64_t bits;
        memcpy(&bits, &w[c], 8);
        if (bits != golden[c]) printf("  weight %d is 0x%llx\n", c, (unsigned long long)bits);
        EXPECT(bits == golden[c]);
    }
    sculpt_close(&s);
}

int main(void)
{
    size_t size;
    char *text = sample_gltf(&size);
    int fd = mkstemp(source);
    EXPECT(fd >= 0 && close(fd) == 0);
    EXPECT(file_write_atomic(source, text, size, NULL) == ERR_OK);
    free(text);
    RUN(one_hinge_agrees_with_scipy);
    RUN(translations_agree_with_scipy);
    RUN(every_center_is_one_hot);
    RUN(a_quaternion_and_its_negative_give_equal_bits);
    RUN(every_rotation_gives_finite_weights);
    RUN(a_pose_that_is_not_finite_changes_nothing);
    RUN(weights_change_slowly_between_examples);
    RUN(euler_angles_through_90_degrees_do_not_pop);
    RUN(a_sculpt_across_a_twisted_joint_comes_back);
    RUN(equal_examples_merge_and_others_are_refused);
    RUN(an_unedited_example_stores_no_deltas);
    RUN(far_from_the_examples_the_correction_stays_bounded);
    RUN(the_solver_gives_the_golden_bits);
    unlink(source);
    TESTING_MAIN_END;
}
