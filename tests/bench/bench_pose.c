// Pose: 67 joints, three clips sampled and blended, local to model, palette; as a share of the
// plain skinning loop over 16,000 vertices, and the face's morphs and normals beside it.
#include <stdio.h>
#include <stdlib.h>

#include "common/arena.h"
#include "common/check.h"
#include "server/character/pose/blend.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/skeleton.h"
#include "server/character/surface/face.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_model.h"
#include "tests/character/synthetic.h"

enum { ROUNDS = 400, CLIPS = 3 };

struct scene {
    const struct model *model;
    struct arena arena;
    struct pose poses[CLIPS], blended;
    struct clip_cursor cursors[CLIPS];
    struct xform *model_from_node;
    struct skeleton_slot *palette;
    struct skeleton_dual_slot *dual_palette;
    double time_s;
    size_t vertex_count;
    struct plain_mesh plain;
    struct face_map map;
};

static void run_plain(void *context)
{
    struct scene *s = context;
    plain_mesh_run(&s->plain, s->palette);
}

static void sample_and_blend(struct scene *s)
{
    struct blend_layer layers[CLIPS];
    for (uint32_t i = 0; i < CLIPS; i++) {
        pose_rest(s->model, s->poses[i]);
        double time_s = clip_time(&s->model->clips[i], s->time_s + 0.21 * i);
        clip_sample(s->model, i, time_s, s->cursors[i], s->poses[i]);
        layers[i] = (struct blend_layer){.pose = s->poses[i], .weight = 1 + (float)i};
    }
    blend_layers(s->model, layers, CLIPS, s->blended);
    s->time_s += 1.0 / 60;
}

static void run_pose(void *context)
{
    struct scene *s = context;
    sample_and_blend(s);
    skeleton_model_from_nodes(s->model, s->blended.locals, s->model_from_node);
    skeleton_palette(s->model, s->model_from_node, s->palette);
}

static void run_sample(void *context)
{
    sample_and_blend(context);
}

static void run_pose_dual(void *context)
{
    struct scene *s = context;
    sample_and_blend(s);
    skeleton_model_from_nodes(s->model, s->blended.locals, s->model_from_node);
    skeleton_dual_palette(s->model, s->model_from_node, s->dual_palette);
}

static void scene_open(struct scene *s, const struct model *m)
{
    *s = (struct scene){.model = m, .vertex_count = model_vertex_count(m)};
    CHECK(arena_create(&s->arena, ((size_t)64 << 20)));
    for (uint32_t i = 0; i < CLIPS; i++) {
        s->poses[i] = pose_take(m, &s->arena);
        s->cursors[i] = clip_cursor_take(m, i, &s->arena);
    }
    s->blended = pose_take(m, &s->arena);
    s->model_from_node = ARENA_ARRAY(&s->arena, struct xform, m->nodes_count);
    s->palette = ARENA_ARRAY(&s->arena, struct skeleton_slot, m->slots_count);
    s->dual_palette = ARENA_ARRAY(&s->arena, struct skeleton_dual_slot, m->slots_count);
    s->plain = plain_mesh_from_model(m);
    face_map_build(m, &s->arena, &s->map);
    run_pose(s);
}

static void scene_close(struct scene *s)
{
    plain_mesh_free(&s->plain);
    arena_destroy(&s->arena);
}

static void bench_pose(const char *keys, bool smooth)
{
    struct synthetic model;
    struct scene s;
    synthetic_make(&(struct synthetic_settings){.seed = 67,
                                                .nodes = 67,
                                                .segments = 124,
                                                .rings = 128,
                                                .influences = 4,
                                                .clips = 4,
                                                .keys = 60,
                                                .smooth = smooth},
                   &model);
    // The clips a game plays are linear ones; the synthetic model's kinds alternate.
    struct model m = model.model;
    struct model_clip linear[CLIPS] = {m.clips[0], m.clips[3], m.clips[0]};
    m.clips = linear;
    m.clips_count = CLIPS;
    scene_open(&s, &m);
    struct bench_variant variants[] = {
        {"plain loop", run_plain, &s, 0, 0, 0},
        {"pose", run_pose, &s, 0, 0, 0},
        {"pose, sampling and blending only", run_sample, &s, 0, 0, 0},
        {"pose, dual palette", run_pose_dual, &s, 0, 0, 0}};
    bench_alternate(variants, 4, ROUNDS);
    char inputs[128];
    snprintf(inputs, sizeof inputs, "\"joints\":67,\"clips\":3,\"keys\":\"%s\",\"vertices\":%zu",
             keys, s.vertex_count);
    for (int i = 0; i < 4; i++)
        bench_print("pose", &variants[i], inputs, &variants[0], 1);
    scene_close(&s);
    synthetic_free(&model);
}

struct face_run {
    struct scene *scene;
    bool turn;
};

static void run_face(void *context)
{
    struct face_run *r = context;
    struct scene *s = r->scene;
    size_t mark = arena_mark(&s->arena);
    struct face f = face_begin(s->model, &s->map, s->blended.weights, &s->arena);
    f.level = simd_best();
    face_move(&f, 0, s->map.turns.row_count);
    if (r->turn) face_turn_normals(&f, 0, s->map.turns.group_count);
    arena_rewind(&s->arena, mark);
}

static void bench_face(void)
{
    struct synthetic model;
    struct scene s;
    synthetic_make(&(struct synthetic_settings){.seed = 68,
                                                .nodes = 67,
                                                .segments = 124,
                                                .rings = 128,
                                                .influences = 4,
                                                .clips = 3,
                                                .keys = 2,
                                                .channels = 20},
                   &model);
    scene_open(&s, &model.model);
    for (int c = 0; c < 20; c++)
        s.blended.weights[c] = c % 4 == 0 ? 0.5f : 0;
    struct face_run move = {&s, false}, turn = {&s, true};
    struct bench_variant variants[] = {
        {"plain loop", run_plain, &s, 0, 0, 0},
        {"face, positions", run_face, &move, 0, 0, 0},
        {"face, positions and turned normals", run_face, &turn, 0, 0, 0}};
    bench_alternate(variants, 3, ROUNDS / 4);
    char inputs[128];
    snprintf(inputs, sizeof inputs, "\"channels\":20,\"active\":5,\"vertices\":%zu,\"rows\":%zu",
             s.vertex_count, s.map.turns.row_count);
    for (int i = 0; i < 3; i++)
        bench_print("face", &variants[i], inputs, &variants[0], 1);
    scene_close(&s);
    synthetic_free(&model);
}

int main(void)
{
    bench_pose("recorded motion", true);
    bench_pose("wild", false);
    bench_face();
    return 0;
}
