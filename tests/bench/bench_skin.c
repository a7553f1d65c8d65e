// Skinning, positions and normals: each kernel of this machine against the plain loop.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/arena.h"
#include "common/check.h"
#include "common/simd.h"
#include "server/character/pose/clip.h"
#include "server/character/surface/skin.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_model.h"
#include "tests/character/synthetic.h"

enum { ROUNDS = 400 };

struct scene {
    const struct model *model;
    size_t vertex_count;
    struct plain_mesh plain;
    struct surface_block *out;
    struct skeleton_slot *palette;
    struct skeleton_dual_slot *dual_palette;
};
struct kernel_run {
    struct scene *scene;
    enum simd_level level;
    enum model_skinning skinning;
};

static void run_plain(void *context)
{
    struct scene *s = context;
    plain_mesh_run(&s->plain, s->palette);
}

static void run_kernel(void *context)
{
    struct kernel_run *k = context;
    skin_run(&(struct skin_job){.model = k->scene->model,
                                .level = k->level,
                                .skinning = k->skinning,
                                .palette = k->scene->palette,
                                .dual_palette = k->scene->dual_palette,
                                .block_count = k->scene->model->blocks_count,
                                .rest = k->scene->model->rest,
                                .out = k->scene->out});
}

// A pose that is no identity: the first clip in its middle, or turned joints.
static void take_pose(struct scene *s, struct arena *a)
{
    const struct model *m = s->model;
    struct pose pose = pose_take(m, a);
    struct synthetic_random random = {1};
    pose_rest(m, pose);
    if (m->clips_count > 0)
        clip_sample(m, 0, (double)m->clips[0].duration_s / 2, (struct clip_cursor){0}, pose);
    for (size_t i = 1; i < m->nodes_count && m->clips_count == 0; i++)
        pose.locals[i].rotation = synthetic_rotation(&random, 0.5);
    struct xform *model_from_node = ARENA_ARRAY(a, struct xform, m->nodes_count);
    skeleton_model_from_nodes(m, pose.locals, model_from_node);
    s->palette = ARENA_ARRAY(a, struct skeleton_slot, m->slots_count);
    s->dual_palette = ARENA_ARRAY(a, struct skeleton_dual_slot, m->slots_count);
    skeleton_palette(m, model_from_node, s->palette);
    skeleton_dual_palette(m, model_from_node, s->dual_palette);
}

// Kernel and loop must have computed the same surface, or the figure means nothing.
static double largest_difference(struct scene *s)
{
    double worst = 0;
    for (size_t v = 0; v < s->vertex_count; v++) {
        uint32_t lane = s->model->vertex_lanes[v], place = lane % MODEL_LANES;
        const struct surface_block *b = &s->out[lane / MODEL_LANES];
        for (size_t r = 0; r < 3; r++)
            worst =
                fmax(worst, fabs((double)(b->position[r][place] - s->plain.positions[3 * v + r])));
    }
    return worst;
}

static void bench_model(const char *label, const struct model *m)
{
    struct arena arena;
    struct scene s = {.model = m, .vertex_count = model_vertex_count(m)};
    size_t bytes = ((size_t)4 << 20) + m->blocks_count * sizeof(struct surface_block) +
                   m->nodes_count * 256 + m->slots_count * 256 + s.vertex_count * 6 * sizeof(float);
    CHECK(arena_create(&arena, bytes));
    s.plain = plain_mesh_from_model(m);
    s.out = ARENA_ARRAY(&arena, struct surface_block, m->blocks_count);
    take_pose(&s, &arena);

    struct kernel_run runs[2 * SIMD_LEVEL_COUNT];
    struct bench_variant variants[1 + 2 * SIMD_LEVEL_COUNT] = {
        {"plain loop", run_plain, &s, 0, 0, 0}};
    static const char *const names[2][SIMD_LEVEL_COUNT] = {
        {"plain", "neon", "avx2", "avx512"}, {"dq plain", "dq neon", "dq avx2", "dq avx512"}};
    size_t count = 1;
    for (int dq = 0; dq < 2; dq++)
        for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            runs[count - 1] =
                (struct kernel_run){&s, (enum simd_level)level, dq ? MODEL_DQ : MODEL_LBS};
            variants[count] =
                (struct bench_variant){names[dq][level], run_kernel, &runs[count - 1], 0, 0, 0};
            count++;
        }
    bench_alternate(variants, count, ROUNDS);

    run_plain(&s);
    double used = (double)s.vertex_count / (double)(m->blocks_count * MODEL_LANES);
    char inputs[512];
    for (size_t i = 0; i < count; i++) {
        bool linear = i > 0 && runs[i - 1].skinning == MODEL_LBS;
        if (linear) run_kernel(variants[i].context);
        snprintf(
            inputs, sizeof inputs,
            "\"model\":\"%s\",\"vertices\":%zu,\"slots\":%zu,\"blocks\":%zu,\"lanes_used\":%.3f,"
            "\"mvert_s\":%.1f,\"difference\":%.2g",
            label, s.vertex_count, m->slots_count, m->blocks_count, used,
            (double)s.vertex_count * 1e3 / variants[i].median_ns,
            linear ? largest_difference(&s) : 0);
        bench_print("skin", &variants[i], inputs, &variants[0], 0);
    }
    plain_mesh_free(&s.plain);
    arena_destroy(&arena);
}

static void bench_synthetic(const char *label, struct synthetic_settings set)
{
    struct synthetic s;
    synthetic_make(&set, &s);
    bench_model(label, &s.model);
    synthetic_free(&s);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"psd/makehuman/mh_cmu.glb", "vrm/Godette_vrm_v4.vrm"};
    int count = argc > 1 ? argc - 1 : 2;
    for (int i = 0; i < count; i++) {
        const char *path = argc > 1 ? argv[i + 1] : usual[i];
        struct model_file *file = bench_model_open("skin", path);
        if (!file) continue;
        const char *slash = path;
        for (const char *c = path; *c; c++)
            if (*c == '/') slash = c + 1;
        bench_model(slash, model_file_model(file));
        model_file_unref(file);
    }
    bench_synthetic("all-4 10k/64j", (struct synthetic_settings){.seed = 1,
                                                                 .nodes = 64,
                                                                 .segments = 99,
                                                                 .rings = 100,
                                                                 .influences = 4,
                                                                 .all_influences = true});
    bench_synthetic("all-4 50k/100j", (struct synthetic_settings){.seed = 2,
                                                                  .nodes = 100,
                                                                  .segments = 249,
                                                                  .rings = 200,
                                                                  .influences = 4,
                                                                  .all_influences = true});
    return 0;
}
