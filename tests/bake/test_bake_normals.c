// Normals of corrected surfaces against the method's rule in double: the skinned normal turned by
// the shortest turn from m(K) to m(Z).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/surface/normals.h"
#include "tests/support/sculpt.h"
#include "tests/testing.h"
int testing_failures;

static struct sculpt s;

static void normal_at(const float *normals, size_t v, double out[3])
{
    double n = 0;
    for (size_t r = 0; r < 3; r++) {
        out[r] = (double)normals[v * 3 + r];
        n += out[r] * out[r];
    }
    for (size_t r = 0; r < 3; r++)
        out[r] = n > 0 ? out[r] / sqrt(n) : 0;
}

static double angle_deg(const double a[3], const double b[3])
{
    double d = 0, dot = 0;
    for (int r = 0; r < 3; r++) {
        d += (a[r] - b[r]) * (a[r] - b[r]);
        dot += a[r] * b[r];
    }
    return (dot > 0 ? 2 * asin(fmin(1, sqrt(d) / 2)) : acos(fmax(-1, dot))) * 180 / M_PI;
}

static void smooth_normals(const float *positions, float *out)
{
    const struct model *m = s.stand.model;
    normals_make(&(struct normals_mesh){.vertex_count = model_vertex_count(m),
                                        .positions = positions,
                                        .weld = m->weld,
                                        .corner_first = m->corner_first,
                                        .corners = m->corners,
                                        .indices = m->indices},
                 out);
}

// The shortest turn that carries unit a to unit b, applied to v.
static void turn(const double a[3], const double b[3], double v[3])
{
    double axis[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                      a[0] * b[1] - a[1] * b[0]};
    double c = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    double along = (axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]) / (1 + c);
    double x[3] = {axis[1] * v[2] - axis[2] * v[1], axis[2] * v[0] - axis[0] * v[2],
                   axis[0] * v[1] - axis[1] * v[0]};
    for (int r = 0; r < 3; r++)
        v[r] = c * v[r] + x[r] + along * axis[r];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static float *copy_of(const float *from)
{
    size_t bytes = model_vertex_count(s.stand.model) * 3 * sizeof *from;
    float *out = malloc(bytes);
    EXPECT(out != NULL);
    memcpy(out, from, bytes);
    return out;
}

static void check(const struct sculpt_example *pose, enum simd_level level)
{
    struct stand *t = &s.stand;
    size_t count = model_vertex_count(t->model), turned = 0, close = 0;
    double *off = malloc(count * sizeof *off), worst_close = 0;
    sculpt_pose(t, pose);
    t->without_correctives = 1;
    stand_evaluate(t, MODEL_LBS, level);
    float *k = copy_of(t->positions), *k_normals = copy_of(t->normals);
    t->without_correctives = 0;
    stand_evaluate(t, MODEL_LBS, level);
    float *mk = copy_of(k), *mz = copy_of(k);
    smooth_normals(k, mk);
    smooth_normals(t->positions, mz);
    for (size_t v = 0; v < count; v++) {
        double from[3], to[3], want[3], got[3], skinned[3];
        normal_at(mk, v, from);
        normal_at(mz, v, to);
        normal_at(k_normals, v, skinned);
        normal_at(t->normals, v, got);
        if (memcmp(mk + v * 3, mz + v * 3, 12) == 0) continue;
        if (from[0] == 0 && from[1] == 0 && from[2] == 0) continue;
        memcpy(want, skinned, sizeof want);
        turn(from, to, want);
        off[turned++] = angle_deg(got, want);
        if (angle_deg(skinned, from) > 0.3) continue;
        close++;
        worst_close = fmax(worst_close, angle_deg(got, to));
    }
    EXPECT(turned > 100);
    if (turned > 0) {
        qsort(off, turned, sizeof *off, by_value);
        printf("  %s, %s: %zu normals, median %.2g deg, worst %.2g; %zu smooth, within %.2g\n",
               pose->name, simd_name(level), turned, off[turned / 2], off[turned - 1], close,
               worst_close);
        EXPECT(off[turned / 2] <= 0.2 && off[turned - 1] <= 1);
        EXPECT(worst_close <= 1.3);
    }
    free(off);
    free(k);
    free(k_normals);
    free(mk);
    free(mz);
}

static void normals_follow_the_rule(const char *path, const char *elbow)
{
    struct sculpt_joint joint = {elbow, "rotation", NULL};
    struct sculpt_example e[] = {{"bent", {elbow}, {{0, 0, 1}}, {1.2f}, 3, 0.006f, 0.2f},
                                 {"deep", {elbow}, {{0, 1, 0}}, {1.5f}, 5, 0.006f, 0.2f}};
    struct sculpt_driver d = {"elbow", "", &joint, 1, e, 2, NULL};
    bool baked = sculpt_bake(&s, path, "lbs", &d, 1, NULL);
    EXPECT(baked);
    for (int level = 0; baked && level < SIMD_LEVEL_COUNT; level++)
        for (int i = 0; i < 2 && simd_has((enum simd_level)level); i++)
            check(&e[i], (enum simd_level)level);
    sculpt_close(&s);
}

static void all_kernels_give_the_same_bits(void)
{
    struct sculpt_joint joint = {"leftLowerArm", "rotation", NULL};
    struct sculpt_example e[] = {{"bent", {"leftLowerArm"}, {{0, 0, 1}}, {1.2f}, 3, 0.006f, 0}};
    struct sculpt_driver d = {"elbow", "", &joint, 1, e, 1, NULL};
    bool baked = sculpt_bake(&s, "tests/assets/characters/mira.glb", "lbs", &d, 1, NULL);
    EXPECT(baked);
    if (!baked) return;
    struct stand *t = &s.stand;
    const struct model *m = t->model;
    size_t bytes = m->blocks_count * sizeof(struct surface_block);
    struct surface_block *skinned = aligned_alloc(64, bytes), *want = aligned_alloc(64, bytes);
    EXPECT(skinned && want);
    sculpt_pose(t, &e[0]);
    t->without_correctives = 1;
    stand_evaluate(t, MODEL_LBS, SIMD_PLAIN);
    memcpy(skinned, t->blocks, bytes);
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        struct surface_job job = {.model = m,
                                  .map = &t->map,
                                  .correct = &t->correct,
                                  .driver_weights = t->driver_weights,
                                  .pose = t->pose,
                                  .level = (enum simd_level)level,
                                  .out = t->blocks};
        arena_reset(&t->scratch);
        struct surface_frame f = surface_begin(&job, &t->scratch);
        memcpy(t->blocks, skinned, bytes); // skinning kernels may differ in the last bit
        surface_keep(&f, 0, 1);
        surface_correct(&f, 0, 1);
        surface_settle(&f, 0, 1);
        if (level == SIMD_PLAIN) memcpy(want, t->blocks, bytes);
        EXPECT(memcmp(want, t->blocks, bytes) == 0);
    }
    free(skinned);
    free(want);
    sculpt_close(&s);
}

static void normals_of_the_demo_follow_the_rule(void)
{
    normals_follow_the_rule("tests/assets/characters/mira.glb", "leftLowerArm");
}

static void normals_of_mh_cmu_follow_the_rule(void)
{
    char path[1024];
    if (!testing_data()) return;
    snprintf(path, sizeof path, "%s/psd/makehuman/mh_cmu.glb", testing_data());
    normals_follow_the_rule(path, "LeftForeArm");
}

int main(void)
{
    RUN(normals_of_the_demo_follow_the_rule);
    RUN(normals_of_mh_cmu_follow_the_rule);
    RUN(all_kernels_give_the_same_bits);
    TESTING_MAIN_END;
}
