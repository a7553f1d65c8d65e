// Extras: the jiggle between skinning and correctives.
#include <math.h>
#include <string.h>

#include "server/character/surface/extras/extra.h"
#include "server/model/lookup.h"
#include "tests/support/sculpt.h"
#include "tests/testing.h"
int testing_failures;

static const char mira[] = "tests/assets/characters/mira.glb";
static struct sculpt s;
static struct xform *nodes;
static _Alignas(64) unsigned char states[1024];

static bool bake(const char *extras, char *line)
{
    static const struct sculpt_joint left = {"leftLowerArm", "rotation", NULL};
    static const struct sculpt_example bent[] = {
        {"bent", {"leftLowerArm"}, {{0, 0, 1}}, {1.2f}, 3, 0.004f, 0}};
    static const struct sculpt_driver driver = {"left", "", &left, 1, bent, 1, NULL};
    return sculpt_bake_with(&s, mira, "lbs", &driver, 1, extras, line);
}

// A swing of the arm that stops: radians at t.
static double angle_at(double t)
{
    return t < 0.8 ? 0.6 * (1 - cos(t * 2 * M_PI / 0.8)) : 0;
}

static void set_pose(double t)
{
    struct sculpt_example e = {.driver_joint = {"leftLowerArm", "leftUpperArm"},
                               .axis = {{0, 0, 1}, {0, 1, 0.2f}}};
    e.angle_rad[0] = (float)angle_at(t);
    e.angle_rad[1] = (float)(0.5 * angle_at(t));
    sculpt_pose(&s.stand, &e);
    skeleton_model_from_nodes(s.stand.model, s.stand.pose.locals, nodes);
}

static void advance(struct extras *x, double t, double dt)
{
    set_pose(t);
    extras_advance(x, &(struct extra_motion){s.stand.model, nodes, dt});
}

static float *evaluated(bool correctives, const struct extras *x)
{
    size_t bytes = model_vertex_count(s.stand.model) * 3 * sizeof(float);
    float *copy = malloc(bytes);
    EXPECT(copy != NULL);
    s.stand.without_correctives = !correctives;
    s.stand.extras = x;
    stand_evaluate(&s.stand, MODEL_LBS, simd_best());
    memcpy(copy, s.stand.positions, bytes);
    return copy;
}

static void correctives_are_what_they_are_whatever_jiggles(void)
{
    struct extras x = extras_take(s.stand.model, states);
    double worst = 0, swing = 0;
    for (int frame = 0; frame < 120; frame++) {
        advance(&x, frame / 60.0, 1 / 60.0);
        float *both = evaluated(true, &x), *jiggle = evaluated(false, &x);
        float *corrected = evaluated(true, NULL), *plain = evaluated(false, NULL);
        for (size_t i = 0; i < model_vertex_count(s.stand.model) * 3; i++) {
            double with = (double)both[i] - (double)jiggle[i];
            worst = fmax(worst, fabs(with - ((double)corrected[i] - (double)plain[i])));
            swing = fmax(swing, fabs((double)jiggle[i] - (double)plain[i]));
        }
        free(both);
        free(jiggle);
        free(corrected);
        free(plain);
    }
    printf("  swings %.3g, identity 3 to %.2g of the diagonal\n", swing,
           worst / sculpt_diagonal(&s.stand));
    EXPECT(swing > 1e-3);
    EXPECT(worst <= 1e-5 * sculpt_diagonal(&s.stand));
}

static void it_comes_to_rest_exactly(void)
{
    struct extras x = extras_take(s.stand.model, states);
    int frame = 0;
    for (; frame < 60; frame++)
        advance(&x, frame / 60.0, 1 / 60.0);
    EXPECT(x.moving);
    for (; frame < 600 && x.moving; frame++)
        advance(&x, frame / 60.0, 1 / 60.0);
    EXPECT(!x.moving);
    float *still = evaluated(true, &x), *plain = evaluated(true, NULL);
    EXPECT(memcmp(still, plain, model_vertex_count(s.stand.model) * 12) == 0);
    free(still);
    free(plain);
}

// At equal times, whatever the frame rate: the tip of the swing, against 120 Hz.
static void frame_rates_swing_alike(void)
{
    static const int rates[] = {20, 30, 60, 120};
    float *want = NULL;
    size_t count = model_vertex_count(s.stand.model) * 3;
    for (int i = 3; i >= 0; i--) {
        struct extras x = extras_take(s.stand.model, states);
        double worst = 0, swing = 0;
        for (int frame = 0; frame <= rates[i] / 2; frame++)
            advance(&x, frame / (double)rates[i], 1.0 / rates[i]);
        float *got = evaluated(false, &x), *plain = evaluated(false, NULL);
        for (size_t k = 0; want && k < count; k++)
            worst = fmax(worst, fabs((double)got[k] - (double)want[k]));
        for (size_t k = 0; k < count; k++)
            swing = fmax(swing, fabs((double)got[k] - (double)plain[k]));
        printf("  %d Hz: displaced %.4g, off by %.2g\n", rates[i], swing, worst);
        EXPECT(worst <= 0.15 * swing);
        free(plain);
        if (want)
            free(got);
        else
            want = got;
    }
    free(want);
}

static void what_it_does_not_reach_keeps_its_bits(void)
{
    struct extras x = extras_take(s.stand.model, states);
    for (int frame = 0; frame < 30; frame++)
        advance(&x, frame / 60.0, 1 / 60.0);
    float *moved = evaluated(false, &x), *plain = evaluated(false, NULL);
    size_t same = 0, count = model_vertex_count(s.stand.model);
    for (size_t v = 0; v < count; v++)
        same += memcmp(moved + v * 3, plain + v * 3, 12) == 0;
    EXPECT(same > count / 2 && same < count);
    free(moved);
    free(plain);
}

static void faults_name_their_path(void)
{
    static const struct {
        const char *extras, *line;
    } cases[] = {
        {"\"extras\": [{\"type\": \"jiggle\"}], ", "/extras/0/joint"},
        {"\"extras\": [{\"type\": \"jiggle\", \"joint\": \"hips\", \"wobble\": 1}], ",
         "/extras/0/wobble"},
        {"\"extras\": [{\"type\": \"jiggle\", \"joint\": \"nobody\"}], ", "/extras/0/joint"},
        {"\"extras\": [{\"type\": \"wind\"}], ", "/extras/0/type"},
        {"\"extras\": [{\"type\": \"jiggle\", \"joint\": \"hips\", \"radius_m\": -1}], ",
         "/extras/0/radius_m"},
        {"\"extras\": [{\"type\": \"jiggle\", \"joint\": \"hips\", \"vertices\": [-1]}], ",
         "/extras/0/vertices"},
    };
    char line[384];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT(!bake(cases[i].extras, line));
        EXPECT(strstr(line, cases[i].line) != NULL);
        sculpt_close(&s);
    }
    bool baked = bake("\"extras\": [{\"type\": \"muscle\", \"from\": \"leftUpperArm\", \"to\": "
                      "\"leftLowerArm\"}], ",
                      line);
    EXPECT(baked && s.stand.model->extras_count == 0);
    if (!baked) printf("  %s\n", line);
    sculpt_close(&s);
}

int main(void)
{
    bool baked = bake("\"extras\": [{\"type\": \"jiggle\", \"name\": \"arm\", \"joint\": "
                      "\"leftLowerArm\", \"radius_m\": 0.25, \"frequency_hz\": 3, "
                      "\"damping_ratio\": 0.2, \"amount\": 1}], ",
                      NULL);
    EXPECT(baked && s.stand.model->extras_count == 1);
    nodes = malloc((baked ? s.stand.model->nodes_count : 1) * sizeof *nodes);
    if (!baked || !nodes) return 1;
    EXPECT(extras_bytes(s.stand.model) <= sizeof states);
    RUN(correctives_are_what_they_are_whatever_jiggles);
    RUN(it_comes_to_rest_exactly);
    RUN(frame_rates_swing_alike);
    RUN(what_it_does_not_reach_keeps_its_bits);
    free(nodes);
    sculpt_close(&s);
    RUN(faults_name_their_path);
    TESTING_MAIN_END;
}
