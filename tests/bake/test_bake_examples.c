// Examples end to end: every kernel and read, per-vertex drivers, mirrors, and rig files that are
// wrong.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "server/bake/bake.h"
#include "server/character/pose/driver.h"
#include "tests/support/sample.h"
#include "tests/support/sculpt.h"
#include "tests/testing.h"
int testing_failures;

static const char mira[] = "tests/assets/characters/mira.glb";

// The largest distance of what is evaluated at the example from what was sculpted there.
static double off_at(struct sculpt *s, const struct sculpt_example *e, const float *want)
{
    double worst = 0;
    sculpt_pose(&s->stand, e);
    stand_evaluate(&s->stand, MODEL_LBS, simd_best());
    for (size_t v = 0; v < model_vertex_count(s->stand.model); v++) {
        double d = 0;
        for (size_t r = 0; r < 3; r++)
            d += pow((double)s->stand.positions[v * 3 + r] - (double)want[v * 3 + r], 2);
        worst = fmax(worst, sqrt(d));
    }
    return worst / sculpt_diagonal(&s->stand);
}

static void reproduces(const char *settings, const struct sculpt_joint *joints, size_t joint_count)
{
    struct sculpt s;
    struct sculpt_example e[] = {{"a", {joints[0].name}, {{0, 0, 1}}, {0.6f}, 3, 0.004f, 0.25f},
                                 {"b", {joints[0].name}, {{0, 0.3f, 1}}, {1.2f}, 5, 0.004f, 0.25f},
                                 {"c", {joints[0].name}, {{0.4f, 1, 0}}, {0.8f}, 8, 0.004f, 0.25f}};
    struct sculpt_driver d = {"d", settings, joints, joint_count, e, 3, NULL};
    bool baked = sculpt_bake(&s, mira, "lbs", &d, 1, NULL);
    EXPECT(baked);
    for (int i = 0; baked && i < 3; i++) {
        double off = off_at(&s, &e[i], s.surfaces[i]);
        if (off > 1e-5) printf("  %s %s: off by %.2g\n", settings, joints[0].read, off);
        EXPECT(off <= 1e-5);
    }
    sculpt_close(&s);
}

static void every_kernel_and_read_reproduces_its_examples(void)
{
    static const char *const kernels[] = {"rotation",   "linear",       "gaussian",
                                          "thin_plate", "multiquadric", "inverse_multiquadric"};
    static const struct sculpt_joint reads[] = {{"leftLowerArm", "rotation", NULL},
                                                {"leftLowerArm", "swing", "\"axis\": [1, 0, 0]"},
                                                {"leftLowerArm", "twist", "\"axis\": [0, 0.1, 1]"},
                                                {"leftLowerArm", "transform", NULL}};
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        char settings[64];
        snprintf(settings, sizeof settings, "\"kernel\": \"%s\"", kernels[k]);
        for (size_t r = 0; r < sizeof reads / sizeof reads[0]; r++)
            reproduces(settings, &reads[r], 1);
    }
}

static void per_vertex_drivers_reproduce_their_examples(void)
{
    static const struct sculpt_joint joints[] = {{"leftLowerArm", "rotation", NULL},
                                                 {"leftUpperArm", "rotation", NULL}};
    struct sculpt s;
    struct sculpt_example e[] = {{"a",
                                  {"leftLowerArm", "leftUpperArm"},
                                  {{0, 0, 1}, {0, 1, 0}},
                                  {0.9f, 0.5f},
                                  3,
                                  0.004f,
                                  0.3f}};
    struct sculpt_driver d = {"d", "\"per_vertex\": true", joints, 2, e, 1, NULL};
    bool baked = sculpt_bake(&s, mira, "lbs", &d, 1, NULL);
    EXPECT(baked && s.stand.model->solves_count > 1);
    if (baked) EXPECT(off_at(&s, &e[0], s.surfaces[0]) <= 1e-5);
    sculpt_close(&s);
}

// A vertex whose own joints stand at rest in an example cannot show it: the base surface stands.
static void per_vertex_drivers_leave_the_base_surface_alone(void)
{
    static const struct sculpt_joint joints[] = {{"leftLowerArm", "rotation", NULL},
                                                 {"leftUpperArm", "rotation", NULL}};
    struct sculpt s;
    struct sculpt_example e[] = {{"a", {"leftLowerArm"}, {{0, 0, 1}}, {0.6f}, 3, 0.004f, 0.25f},
                                 {"b", {"leftLowerArm"}, {{0, 1, 0}}, {1.0f}, 5, 0.004f, 0.25f}};
    struct sculpt_driver d = {"d", "\"per_vertex\": true", joints, 2, e, 2, NULL};
    bool baked = sculpt_bake(&s, mira, "lbs", &d, 1, NULL);
    EXPECT(baked);
    if (!baked) return;
    const struct model *m = s.stand.model;
    size_t count = model_vertex_count(m) * 3;
    float *plain = malloc(count * sizeof *plain);
    double worst = 0;
    EXPECT(plain != NULL);
    memcpy(s.stand.pose.locals, m->base_pose, m->nodes_count * sizeof *m->base_pose);
    s.stand.without_correctives = 1;
    stand_evaluate(&s.stand, MODEL_LBS, SIMD_PLAIN);
    memcpy(plain, s.stand.positions, count * sizeof *plain);
    s.stand.without_correctives = 0;
    stand_evaluate(&s.stand, MODEL_LBS, SIMD_PLAIN);
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs((double)plain[i] - (double)s.stand.positions[i]));
    EXPECT(worst <= 1e-5 * sculpt_diagonal(&s.stand));
    free(plain);
    sculpt_close(&s);
}

// ---- mirrors

static size_t across(const float *rest, size_t count, size_t v)
{
    size_t best = 0;
    double least = 1e30;
    for (size_t u = 0; u < count; u++) {
        double x = (double)rest[u * 3] + (double)rest[v * 3];
        double y = (double)rest[u * 3 + 1] - (double)rest[v * 3 + 1];
        double z = (double)rest[u * 3 + 2] - (double)rest[v * 3 + 2];
        double d = x * x + y * y + z * z;
        if (d < least) {
            least = d;
            best = u;
        }
    }
    return best;
}

// Deltas of an example as it was sculpted, turned from base space into the world of the base pose.
static double (*deltas_of(struct stand *t, uint32_t example))[3]
{
    const struct model *m = t->model;
    double(*out)[3] = calloc(model_vertex_count(m), sizeof *out);
    struct xform *nodes = malloc(m->nodes_count * sizeof *nodes);
    struct skeleton_slot *palette =
        aligned_alloc(64, (m->slots_count * sizeof *palette + 63) & ~(size_t)63);
    EXPECT(out && nodes && palette);
    skeleton_model_from_nodes(m, m->base_pose, nodes);
    skeleton_palette(m, nodes, palette);
    for (size_t i = 0; i < m->example_deltas_count; i++) {
        const struct model_example_delta *d = &m->example_deltas[i];
        double l[3][3];
        if (d->example != example) continue;
        skin_linear_part(m, palette, m->vertex_lanes[d->vertex], l);
        for (int r = 0; r < 3; r++)
            out[d->vertex][r] = l[0][r] * (double)d->delta.x + l[1][r] * (double)d->delta.y +
                                l[2][r] * (double)d->delta.z;
    }
    free(nodes);
    free(palette);
    return out;
}

static void weights_at_example(struct stand *t, uint32_t example, double *weights)
{
    const struct model *m = t->model;
    EXPECT(driver_weights(m, m->example_poses + (size_t)example * m->nodes_count, weights));
}

static void mirrors(const char *path, const char *left)
{
    struct sculpt s;
    struct sculpt_joint joint = {left, "rotation", NULL};
    struct sculpt_example e[] = {{"a", {left}, {{0, 0.2f, 1}}, {0.8f}, 3, 0.006f, 0.15f},
                                 {"b", {left}, {{0.3f, 1, 0}}, {1.1f}, 5, 0.006f, 0.15f}};
    struct sculpt_driver drivers[] = {{"left", "", &joint, 1, e, 2, NULL},
                                      {"right", "", NULL, 0, NULL, 0, "left"}};
    bool baked = sculpt_bake(&s, path, "lbs", drivers, 2, NULL);
    EXPECT(baked && s.stand.model->examples_count == 4);
    const struct model *m = s.stand.model;
    size_t count = baked ? model_vertex_count(m) : 0, moved = 0;
    double worst = 0, weight = 0, w[2][16];
    if (baked) memcpy(s.stand.pose.locals, m->base_pose, m->nodes_count * sizeof *m->base_pose);
    if (baked) stand_evaluate(&s.stand, MODEL_LBS, SIMD_PLAIN);
    for (uint32_t i = 0; baked && i < 2; i++) {
        double(*one)[3] = deltas_of(&s.stand, i), (*other)[3] = deltas_of(&s.stand, 2 + i);
        weights_at_example(&s.stand, i, w[0]);
        weights_at_example(&s.stand, 2 + i, w[1]);
        for (int c = 0; c < 3; c++) // the left driver's three, then the right one's
            weight = fmax(weight, fabs(w[0][c] - w[1][3 + c]));
        for (size_t v = 0; v < count; v++) {
            if (one[v][0] == 0 && one[v][1] == 0 && one[v][2] == 0) continue;
            size_t u = across(s.stand.positions, count, v);
            worst =
                fmax(worst, sqrt(pow(one[v][0] + other[u][0], 2) + pow(one[v][1] - other[u][1], 2) +
                                 pow(one[v][2] - other[u][2], 2)));
            moved++;
        }
        free(one);
        free(other);
    }
    printf("  %zu vertices: weights to %.2g, deltas to %.2g of the diagonal\n", moved, weight,
           baked ? worst / sculpt_diagonal(&s.stand) : 0);
    EXPECT(moved > 50 && weight <= 1e-6 && worst <= 1e-6 * sculpt_diagonal(&s.stand));
    sculpt_close(&s);
}

static void a_left_pose_mirrors_to_the_right(void)
{
    char path[1024];
    mirrors(mira, "leftLowerArm");
    if (!testing_data()) return;
    snprintf(path, sizeof path, "%s/psd/makehuman/mh_cmu.glb", testing_data());
    mirrors(path, "LeftForeArm");
}

// ---- rig files that are wrong

static char folder[] = "/tmp/sinew_examples_XXXXXX";

static void put(const char *name, const void *bytes, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    EXPECT(file_write_atomic(path, bytes, size, NULL) == ERR_OK);
}

static enum err bake_text(const char *text, size_t size, struct fault *fault)
{
    char path[128];
    struct bake_result result = {0};
    put("rig.json", text, size);
    snprintf(path, sizeof path, "%s/rig.json", folder);
    enum err e = bake_run(path, NULL, &result, fault);
    EXPECT(e == ERR_OK || result.bytes == NULL);
    bake_free(&result);
    return e;
}

#define DRIVER(joints, examples)                                                                   \
    "{\"sinew_rig\": 1, \"source\": \"bar.gltf\", \"drivers\": [{\"name\": \"d\", \"joints\": "    \
    "[" joints "], \"examples\": [" examples "]}]}"
#define JOINT "{\"joint\": \"upper\"}"
#define EXAMPLE(surface)                                                                           \
    "{\"name\": \"e\", \"pose\": {\"joints\": {\"upper\": {\"rotation\": [0, 0, 0.6, 0.8]}}}, "    \
    "\"surface\": " surface "}"

static void wrong_rig_files_are_refused_in_one_line(void)
{
    static const struct {
        const char *text, *path;
    } cases[] = {
        {DRIVER("{\"joint\": \"upper\", \"colour\": 1}", EXAMPLE("{\"morph\": \"wide\"}")),
         "/drivers/0/joints/0/colour"},
        {DRIVER("{\"joint\": \"nobody\"}", EXAMPLE("{\"morph\": \"wide\"}")),
         "/drivers/0/joints/0/joint"},
        {DRIVER("{\"joint\": \"upper\", \"read\": \"swing\"}", EXAMPLE("{\"morph\": \"wide\"}")),
         "/drivers/0/joints/0/axis"},
        {DRIVER("{\"joint\": \"upper\", \"weight\": 0}", EXAMPLE("{\"morph\": \"wide\"}")),
         "/drivers/0/joints/0/weight"},
        {DRIVER(JOINT ", " JOINT, EXAMPLE("{\"morph\": \"wide\"}")), "/drivers/0/joints/1"},
        {DRIVER("", EXAMPLE("{\"morph\": \"wide\"}")), "/drivers/0/joints"},
        {DRIVER(JOINT, EXAMPLE("{\"morph\": \"nothing\"}")), "/drivers/0/examples/0/surface/morph"},
        {DRIVER(JOINT, EXAMPLE("{\"morph\": \"wide\", \"space\": \"pose\"}")),
         "/drivers/0/examples/0/surface/space"},
        {DRIVER(JOINT, EXAMPLE("{}")), "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"missing.f32\"}")),
         "/drivers/0/examples/0/surface/file"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"../outside.f32\"}")),
         "/drivers/0/examples/0/surface/file"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"short.f32\"}")), "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"odd.f32\"}")), "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"nan.f32\"}")), "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"short.f32\", \"space\": \"base\"}")),
         "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"few.obj\"}")), "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"nan.obj\"}")), "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"not.glb\"}")), "/drivers/0/examples/0/surface"},
        {DRIVER(JOINT, EXAMPLE("{\"file\": \"bar.txt\"}")), "/drivers/0/examples/0/surface"},
        {"{\"sinew_rig\": 1, \"source\": \"bar.gltf\", \"drivers\": [{\"name\": \"r\", "
         "\"mirror_of\": \"l\"}]}",
         "/drivers/0/mirror_of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fault fault = {0};
        enum err e = bake_text(cases[i].text, strlen(cases[i].text), &fault);
        bool named = e != ERR_OK && strstr(fault.line, cases[i].path) && !strchr(fault.line, '\n');
        if (!named) printf("  %s: \"%s\"\n", cases[i].path, fault.line);
        EXPECT(named);
    }
    struct fault fault = {0};
    const char *good = DRIVER(JOINT, EXAMPLE("{\"morph\": \"wide\"}"));
    EXPECT(bake_text(good, strlen(good), &fault) == ERR_OK);
}

static void a_hundred_megabytes_of_nesting_are_refused(void)
{
    size_t size = 100u << 20;
    char *text = malloc(size);
    struct fault fault = {0};
    EXPECT(text != NULL);
    memset(text, '[', size);
    EXPECT(bake_text(text, size, &fault) != ERR_OK);
    EXPECT(fault.line[0] != 0);
    memset(&fault, 0, sizeof fault);
    EXPECT(bake_text(text, 1u << 20, &fault) != ERR_OK); // small enough to be looked at
    EXPECT(fault.line[0] != 0);
    free(text);
}

static void make_folder(void)
{
    size_t size;
    char *text = sample_gltf(&size);
    float surface[24] = {0};
    static const char few[] = "v 0 0 0\nv 1 0 0\n", nan_obj[] = "v nan 0 0\n";
    EXPECT(mkdtemp(folder) != NULL);
    put("bar.gltf", text, size);
    put("bar.txt", text, size);
    put("not.glb", text, 16);
    put("short.f32", surface, 7 * 12);
    put("odd.f32", surface, 95);
    put("few.obj", few, sizeof few - 1);
    put("nan.obj", nan_obj, sizeof nan_obj - 1);
    surface[13] = NAN;
    put("nan.f32", surface, sizeof surface);
    free(text);
}

static void clear_folder(void)
{
    static const char *const names[] = {"bar.gltf", "bar.txt", "not.glb", "short.f32", "odd.f32",
                                        "few.obj",  "nan.obj", "nan.f32", "rig.json"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    EXPECT(rmdir(folder) == 0);
}

int main(void)
{
    make_folder();
    RUN(wrong_rig_files_are_refused_in_one_line);
    RUN(a_hundred_megabytes_of_nesting_are_refused);
    clear_folder();
    RUN(every_kernel_and_read_reproduces_its_examples);
    RUN(per_vertex_drivers_reproduce_their_examples);
    RUN(per_vertex_drivers_leave_the_base_surface_alone);
    RUN(a_left_pose_mirrors_to_the_right);
    TESTING_MAIN_END;
}
