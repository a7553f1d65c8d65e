// Kernels against the method's formulas in double on random rigs, and against each other. Also
// cross-compiled for NEON: see CMakeLists.txt.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/character/reference.h"
#include "tests/character/skin_rig.h"
#include "tests/testing.h"
int testing_failures;

static double box_diagonal(const double (*x)[3], size_t count)
{
    double sum = 0;
    for (int r = 0; r < 3; r++) {
        double low = x[0][r], high = x[0][r];
        for (size_t v = 0; v < count; v++) {
            low = fmin(low, x[v][r]);
            high = fmax(high, x[v][r]);
        }
        sum += (high - low) * (high - low);
    }
    return sqrt(sum);
}

struct error {
    double position, normal; // position over the box diagonal
};

static struct error rig_error(const struct skin_rig *b)
{
    struct error e = {0, 0};
    double diagonal = box_diagonal((const double(*)[3])b->want_x, b->vertices);
    for (size_t v = 0; v < b->vertices; v++)
        for (int r = 0; r < 3; r++) {
            double p = fabs((double)b->positions[3 * v + (size_t)r] - b->want_x[v][r]) / diagonal;
            double n = fabs((double)b->normals[3 * v + (size_t)r] - b->want_n[v][r]);
            if (!(p <= e.position)) e.position = p;
            if (!(n <= e.normal)) e.normal = n;
        }
    return e;
}

static void compare_with_direct_formula(struct skin_rig *b, enum model_skinning skinning,
                                        const char *what)
{
    reference_skin(&b->s, b->pose, skinning, (const double(*)[3])b->x, (const double(*)[3])b->n,
                   b->want_x, b->want_n);
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        skin_rig_run(b, skinning, (enum simd_level)level);
        struct error e = rig_error(b);
        printf("    %s %s %s: position %.2g, normal %.2g\n", what,
               skinning == MODEL_DQ ? "dq" : "lbs", simd_name((enum simd_level)level), e.position,
               e.normal);
        EXPECT(e.position <= 1e-6);
        EXPECT(e.normal <= 1e-4); // near-cancelling blends lose digits of direction in float
    }
}

static void random_rigs_agree_with_the_direct_formula(void)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct synthetic_settings set = {.seed = seed,
                                         .nodes = 12 + (uint32_t)seed * 5,
                                         .segments = 20,
                                         .rings = 30,
                                         .influences = seed == 6 ? 16 : (uint32_t)seed,
                                         .root_scale = seed % 2 ? 1 : 100,
                                         .mirrored = seed % 3 == 0};
        struct skin_rig b;
        skin_rig_open(&b, &set);
        skin_rig_pose(&b, seed, 1.2);
        char what[64];
        snprintf(what, sizeof what, "rig %d scale %g%s", (int)seed, (double)set.root_scale,
                 set.mirrored ? " mirrored" : "");
        compare_with_direct_formula(&b, MODEL_LBS, what);
        compare_with_direct_formula(&b, MODEL_DQ, what);
        skin_rig_close(&b);
    }
}

static void one_axis_scaled_keeps_normals_square(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){
                          .seed = 9, .nodes = 9, .segments = 16, .rings = 20, .influences = 3});
    b.pose.locals[0].scale = (struct vec3){1, 1, 2};
    b.pose.locals[4].scale = (struct vec3){1, 2, 1};
    compare_with_direct_formula(&b, MODEL_LBS, "scale 1 1 2");
    compare_with_direct_formula(&b, MODEL_DQ, "scale 1 1 2");
    skin_rig_close(&b);
}

static void zero_scale_gives_finite_unit_normals(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){
                          .seed = 10, .nodes = 9, .segments = 16, .rings = 20, .influences = 4});
    const struct vec3 scales[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {-1, 0, 1}};
    for (size_t i = 0; i < 4; i++)
        for (int dq = 0; dq < 2; dq++)
            for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
                if (!simd_has((enum simd_level)level)) continue;
                b.pose.locals[2].scale = b.pose.locals[5].scale = scales[i];
                skin_rig_run(&b, dq ? MODEL_DQ : MODEL_LBS, (enum simd_level)level);
                int bad = 0;
                for (size_t v = 0; v < b.vertices; v++) {
                    const float *p = b.positions + 3 * v, *n = b.normals + 3 * v;
                    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
                    bad += !isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]) ||
                           !(fabsf(length - 1) < 1e-4f);
                }
                EXPECT(bad == 0);
            }
    skin_rig_close(&b);
}

// With an axis scaled to nothing det L is rounding noise: its sign must not turn normals over.
static void flattened_joints_do_not_flicker(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){
                          .seed = 12, .nodes = 9, .segments = 16, .rings = 20, .influences = 4});
    for (size_t i = 0; i < 9; i++) // the root flattens all that hangs on it
        b.pose.locals[i].scale = i == 0 ? (struct vec3){1, 1, 0} : (struct vec3){1, 1, 1};
    float *normals = malloc(b.vertices * 3 * sizeof(float));
    for (int dq = 0; dq < 2; dq++)
        for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            skin_rig_run(&b, dq ? MODEL_DQ : MODEL_LBS, (enum simd_level)level);
            if (level == SIMD_PLAIN) memcpy(normals, b.normals, b.vertices * 3 * sizeof(float));
            double worst = 0;
            for (size_t i = 0; i < b.vertices * 3; i++)
                worst = fmax(worst, fabs((double)(b.normals[i] - normals[i])));
            EXPECT(worst < 1e-3);
        }
    free(normals);
    skin_rig_close(&b);
}

static void every_kernel_agrees_with_the_plain_one(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){.seed = 3,
                                                   .nodes = 60,
                                                   .segments = 60,
                                                   .rings = 80,
                                                   .influences = 8,
                                                   .root_scale = 100});
    skin_rig_pose(&b, 77, 2);
    size_t floats = b.vertices * 3;
    float *positions = malloc(floats * sizeof(float)), *normals = malloc(floats * sizeof(float));
    double diagonal = synthetic_diagonal(&b.s);
    for (int dq = 0; dq < 2; dq++) {
        skin_rig_run(&b, dq ? MODEL_DQ : MODEL_LBS, SIMD_PLAIN);
        memcpy(positions, b.positions, floats * sizeof(float));
        memcpy(normals, b.normals, floats * sizeof(float));
        for (int level = 1; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            skin_rig_run(&b, dq ? MODEL_DQ : MODEL_LBS, (enum simd_level)level);
            double position = 0, normal = 0;
            for (size_t i = 0; i < floats; i++) {
                position = fmax(position, fabs((double)(b.positions[i] - positions[i])));
                normal = fmax(normal, fabs((double)(b.normals[i] - normals[i])));
            }
            printf("    %s %s - plain: position %.2g of the diagonal, normal %.2g\n",
                   dq ? "dq" : "lbs", simd_name((enum simd_level)level), position / diagonal,
                   normal);
            EXPECT(position <= 1e-5 * diagonal);
            EXPECT(normal <= 1e-4);
        }
    }
    free(positions);
    free(normals);
    skin_rig_close(&b);
}

int main(void)
{
    RUN(random_rigs_agree_with_the_direct_formula);
    RUN(one_axis_scaled_keeps_normals_square);
    RUN(zero_scale_gives_finite_unit_normals);
    RUN(flattened_joints_do_not_flicker);
    RUN(every_kernel_agrees_with_the_plain_one);
    TESTING_MAIN_END;
}
