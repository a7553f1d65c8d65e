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
static _Alignas(64) unsigned char states[2048];

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
    (void)extras_advance(
        x, &(struct extra_motion){.model = s.stand.model, .model_from_node = nodes, .dt_s = dt},
        true);
}

static float *evaluated(bool correctives, struct extras *x)
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
    for (int frame = 0; frame < 600; frame++) { // 30 s: the arm swings and rests by turns
        advance(&x, fmod(frame / 20.0, 2), 1 / 20.0);
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

// At equal times, whatever the frame rate: the swing at half a second, against 144 Hz.
static void frame_rates_swing_alike(void)
{
    enum { RATES = 6 };
    static const int rates[RATES] = {20, 30, 60, 90, 120, 144};
    float *want = NULL;
    double amplitude = 0;
    size_t count = model_vertex_count(s.stand.model) * 3;
    for (int i = RATES - 1; i >= 0; i--) {
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
        amplitude = fmax(amplitude, swing);
        EXPECT(worst <= 0.011 * amplitude);
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

// ---- through the scene

static double displaced(struct extras *x)
{
    float *got = evaluated(false, x), *plain = evaluated(false, NULL);
    double worst = 0;
    for (size_t k = 0; k < model_vertex_count(s.stand.model) * 3; k++)
        worst = fmax(worst, fabs((double)got[k] - (double)plain[k]));
    free(got);
    free(plain);
    return worst;
}

static void carry(struct extras *x, double place_x, double yaw_rad, double dt)
{
    (void)extras_advance(x,
                         &(struct extra_motion){.model = s.stand.model,
                                                .model_from_node = nodes,
                                                .dt_s = dt,
                                                .place = {place_x, 0, -place_x},
                                                .yaw_rad = yaw_rad},
                         true);
}

// A start at walking pace, at the origin and 1 km away; then ten minutes of it, and a stop.
static void it_feels_the_way_through_the_scene(void)
{
    double swing[2] = {0}, later = 0, last = 0;
    set_pose(2);
    for (int far = 0; far < 2; far++) {
        struct extras x = extras_take(s.stand.model, states);
        double from = far * 1000.0;
        int tick = 0;
        for (; tick < 12; tick++)
            carry(&x, from + tick * 1.4 / 60, 0, 1 / 60.0);
        swing[far] = displaced(&x);
        for (; tick < 36000; tick++) {
            carry(&x, from + tick * 1.4 / 60, 0, 1 / 60.0);
            if (tick > 600 && tick % 600 == 0) later = fmax(later, displaced(&x));
        }
        for (int rest = 0; rest < 600; rest++)
            carry(&x, from + (tick - 1) * 1.4 / 60, 0, 1 / 60.0);
        last = fmax(last, displaced(&x));
        EXPECT(!x.moving);
    }
    printf("  start %.3g, 1 km away %.3g; ten minutes at one pace %.2g; after the stop %.2g\n",
           swing[0], swing[1], later, last);
    EXPECT(swing[0] > 1e-3 && fabs(swing[0] - swing[1]) <= 1e-6);
    EXPECT(later <= 1e-4 && last == 0);
}

static void cuts_do_not_kick(void)
{
    struct extras x = extras_take(s.stand.model, states);
    double worst = 0;
    set_pose(2);
    carry(&x, 5, 0, 1 / 60.0);
    EXPECT(displaced(&x) == 0); // the first frame
    for (int tick = 0; tick < 60; tick++) {
        carry(&x, tick < 20 ? 5 : 15, 0, 1 / 60.0); // ten metres at once
        worst = fmax(worst, displaced(&x));
    }
    carry(&x, 18, 0, 3); // nobody looked for 3 s
    worst = fmax(worst, displaced(&x));
    carry(&x, 18, 0, 1 / 60.0);
    printf("  after cuts %.2g\n", fmax(worst, displaced(&x)));
    EXPECT(fmax(worst, displaced(&x)) == 0);
}

// Without input the swing only dies.
static void energy_never_grows(void)
{
    struct extras x = extras_take(s.stand.model, states);
    double before = HUGE_VAL;
    for (int frame = 0; frame < 48; frame++)
        advance(&x, frame / 60.0, 1 / 60.0);
    for (int window = 0; window < 6; window++) {
        double most = 0;
        for (int tick = 0; tick < 40; tick++) {
            advance(&x, 1, 1 / 60.0);
            most = fmax(most, displaced(&x));
        }
        EXPECT(most <= before);
        before = most;
    }
    EXPECT(before < 1e-3);
}

// ---- muscles

static double volume(const float *p)
{
    const struct model *m = s.stand.model;
    double sum = 0;
    for (size_t i = 0; i + 2 < m->indices_count; i += 3) {
        const float *a = p + 3 * (size_t)m->indices[i], *b = p + 3 * (size_t)m->indices[i + 1];
        const float *c = p + 3 * (size_t)m->indices[i + 2];
        double x = (double)(b[1]) * (double)c[2] - (double)b[2] * (double)c[1];
        double y = (double)b[2] * (double)c[0] - (double)b[0] * (double)c[2];
        double z = (double)b[0] * (double)c[1] - (double)b[1] * (double)c[0];
        sum += ((double)a[0] * x + (double)a[1] * y + (double)a[2] * z) / 6;
    }
    return sum;
}

// What the muscle has hold of: half the flow of the distance from its fibre through the surface.
static double held_volume(const float *p)
{
    const struct model *m = s.stand.model;
    const struct model_extra *e = &m->extras[0];
    const struct xform *from = &nodes[e->node], *to = &nodes[m->muscles[0].to];
    float *share = calloc(m->blocks_count * MODEL_LANES, sizeof *share);
    double sum = 0, f[3], length = 0;
    EXPECT(share != NULL);
    for (uint32_t i = 0; i < e->block_count; i++)
        memcpy(share + (size_t)m->extra_blocks[e->block_first + i].block * MODEL_LANES,
               m->extra_blocks[e->block_first + i].share, MODEL_LANES * sizeof *share);
    for (int r = 0; r < 3; r++) {
        f[r] = to->col[3][r] - from->col[3][r];
        length += f[r] * f[r];
    }
    for (size_t i = 0; i + 2 < m->indices_count; i += 3) {
        double x[3][3], d[3], along = 0, held = 0;
        for (size_t k = 0; k < 3; k++) {
            held += (double)share[m->vertex_lanes[m->indices[i + k]]] / 3;
            for (size_t r = 0; r < 3; r++)
                x[k][r] = (double)p[3 * (size_t)m->indices[i + k] + r] - from->col[3][r];
        }
        for (int r = 0; r < 3; r++) {
            d[r] = (x[0][r] + x[1][r] + x[2][r]) / 3;
            along += d[r] * f[r] / length;
        }
        for (int r = 0; r < 3; r++) {
            int a = (r + 1) % 3, b = (r + 2) % 3;
            double area = ((x[1][a] - x[0][a]) * (x[2][b] - x[0][b]) -
                           (x[1][b] - x[0][b]) * (x[2][a] - x[0][a])) /
                          2;
            sum += held * (d[r] - along * f[r]) * area / 2;
        }
    }
    free(share);
    return sum;
}

static void a_muscle_keeps_its_volume(void)
{
    struct extras x;
    double worst = 0, most = 0, straight = 0, held = 0;
    for (int step = 0; step <= 12; step++) {
        struct sculpt_example e = {.driver_joint = {"LeftForeArm"}, .axis = {{0, 0, 1}}};
        e.angle_rad[0] = 0.2f * (float)step;
        sculpt_pose(&s.stand, &e);
        skeleton_model_from_nodes(s.stand.model, s.stand.pose.locals, nodes);
        x = extras_take(s.stand.model, states);
        carry(&x, 0, 0, 1 / 60.0);
        float *got = evaluated(false, &x), *plain = evaluated(false, NULL);
        worst = fmax(worst, fabs(volume(got) - volume(plain)));
        if (step == 0) held = held_volume(plain);
        if (step == 0) straight = displaced(&x);
        most = fmax(most, displaced(&x));
        free(got);
        free(plain);
    }
    printf("  moves up to %.3g, straight %.2g; volume %.3g, changes by %.2g of it\n", most,
           straight, held, worst / held);
    EXPECT(most > 2e-3 && straight == 0);
    EXPECT(held > 1e-4 && worst <= 0.05 * held);
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
        {"\"extras\": [{\"type\": \"jiggle\", \"joint\": \"hips\", \"vertices\": {\"color\": "
         "7}}], ",
         "/extras/0/vertices/color"},
        {"\"extras\": [{\"type\": \"muscle\", \"from\": \"leftLowerArm\", \"to\": "
         "\"leftUpperArm\"}], ",
         "/extras/0/to"},
        {"\"extras\": [{\"type\": \"muscle\", \"from\": \"leftUpperArm\", \"to\": "
         "\"leftLowerArm\", \"bulge\": 2}], ",
         "/extras/0/bulge"},
    };
    char line[384];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        EXPECT(!bake(cases[i].extras, line));
        EXPECT(strstr(line, cases[i].line) != NULL);
        sculpt_close(&s);
    }
    bool baked = bake("\"extras\": [{\"type\": \"jiggle\", \"joint\": \"hips\", \"vertices\": "
                      "{\"color\": 1}}], ",
                      line);
    EXPECT(baked && s.stand.model->extras_count == 1);
    if (!baked) printf("  %s\n", line);
    sculpt_close(&s);
}

#define JIGGLE                                                                                     \
    "{\"type\": \"jiggle\", \"name\": \"arm\", \"joint\": \"leftLowerArm\", \"radius_m\": 0.25, "  \
    "\"frequency_hz\": 3, \"damping_ratio\": 0.2, \"amount\": 1}"
#define MUSCLE                                                                                     \
    "{\"type\": \"muscle\", \"name\": \"biceps\", \"from\": \"leftUpperArm\", \"to\": "            \
    "\"leftLowerArm\", \"volume_l\": 0.18}"

static bool open_with(const char *extras, size_t count)
{
    bool baked = bake(extras, NULL);
    EXPECT(baked && s.stand.model->extras_count == count);
    nodes = malloc((baked ? s.stand.model->nodes_count : 1) * sizeof *nodes);
    EXPECT(!baked || 2 * extras_bytes(s.stand.model) <= sizeof states);
    return baked && nodes;
}

static void close_it(void)
{
    free(nodes);
    sculpt_close(&s);
}

static void jiggle_swings(void)
{
    if (!open_with("\"extras\": [" JIGGLE "], ", 1)) return;
    correctives_are_what_they_are_whatever_jiggles();
    it_comes_to_rest_exactly();
    frame_rates_swing_alike();
    what_it_does_not_reach_keeps_its_bits();
    it_feels_the_way_through_the_scene();
    cuts_do_not_kick();
    energy_never_grows();
    close_it();
}

static void muscles_swell(void)
{
    if (!open_with("\"extras\": [" MUSCLE "], ", 1)) return;
    correctives_are_what_they_are_whatever_jiggles();
    it_comes_to_rest_exactly();
    frame_rates_swing_alike();
    what_it_does_not_reach_keeps_its_bits();
    cuts_do_not_kick();
    close_it();
}

// On a body whose skin is closed there; Mira's ends under her sleeves.
static void a_muscle_of_mh_cmu(void)
{
    static const struct sculpt_joint left = {"LeftForeArm", "rotation", NULL};
    static const struct sculpt_example bent[] = {
        {"bent", {"LeftForeArm"}, {{0, 0, 1}}, {1.2f}, 3, 0.004f, 0.1f}};
    static const struct sculpt_driver driver = {"left", "", &left, 1, bent, 1, NULL};
    char path[1024];
    if (!testing_data()) return;
    snprintf(path, sizeof path, "%s/psd/makehuman/mh_cmu.glb", testing_data());
    bool baked = sculpt_bake_with(&s, path, "lbs", &driver, 1,
                                  "\"extras\": [{\"type\": \"muscle\", \"from\": \"LeftArm\", "
                                  "\"to\": \"LeftForeArm\"}], ",
                                  NULL);
    EXPECT(baked);
    nodes = malloc((baked ? s.stand.model->nodes_count : 1) * sizeof *nodes);
    if (baked && nodes) a_muscle_keeps_its_volume();
    close_it();
}

static void all_together_in_any_order(void)
{
    static const char *const orders[] = {"\"extras\": [" JIGGLE ", " MUSCLE "], ",
                                         "\"extras\": [" MUSCLE ", " JIGGLE "], "};
    for (int i = 0; i < 2; i++) {
        if (!open_with(orders[i], 2)) return;
        correctives_are_what_they_are_whatever_jiggles();
        it_comes_to_rest_exactly();
        close_it();
    }
}

int main(void)
{
    RUN(jiggle_swings);
    RUN(muscles_swell);
    RUN(a_muscle_of_mh_cmu);
    RUN(all_together_in_any_order);
    RUN(faults_name_their_path);
    TESTING_MAIN_END;
}
