// Clips, blending, hierarchy, polar decomposition and palettes.
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "server/character/pose/blend.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/polar.h"
#include "server/character/pose/skeleton.h"
#include "tests/character/reference.h"
#include "tests/character/synthetic.h"
#include "tests/testing.h"
int testing_failures;

struct rig {
    struct synthetic s;
    struct arena arena;
};

static const struct model *rig_open(struct rig *r, const struct synthetic_settings *set)
{
    synthetic_make(set, &r->s);
    if (!arena_create(&r->arena, (size_t)4 << 20)) abort();
    return &r->s.model;
}

static void rig_close(struct rig *r)
{
    arena_destroy(&r->arena);
    synthetic_free(&r->s);
}

static const struct model *usual_rig(struct rig *r)
{
    return rig_open(r, &(struct synthetic_settings){.seed = 21,
                                                    .nodes = 20,
                                                    .segments = 4,
                                                    .rings = 4,
                                                    .influences = 2,
                                                    .channels = 3,
                                                    .clips = 3,
                                                    .keys = 40});
}

static bool same_pose(const struct model *m, struct pose a, struct pose b)
{
    return memcmp(a.locals, b.locals, m->nodes_count * sizeof *a.locals) == 0 &&
           memcmp(a.weights, b.weights, m->channels_count * sizeof *a.weights) == 0;
}

// glTF's definitions in double, with libm; the track's value at `time`.
static void reference_track(const struct model *m, const struct model_track *t, double time,
                            double out[4])
{
    static const int widths[] = {3, 4, 3, 1};
    const float *times = m->track_times + t->time_first;
    const float *values = m->track_values + t->value_first;
    int width = widths[t->path], stride = t->interpolation == MODEL_CUBIC ? 3 * width : width;
    int middle = t->interpolation == MODEL_CUBIC ? width : 0;
    uint32_t key = 0;
    while (key + 1 < t->key_count && (double)times[key + 1] <= time)
        key++;
    const float *a = values + key * (uint32_t)stride, *b = a + stride;
    bool inside = time > (double)times[key] && key + 1 < t->key_count;
    double dt = inside ? (double)times[key + 1] - (double)times[key] : 1;
    double s = inside ? (time - (double)times[key]) / dt : 0, ss = s * s, sss = ss * s;
    double from[4] = {0}, to[4] = {0};
    for (int i = 0; i < width; i++) {
        from[i] = out[i] = (double)a[middle + i];
        if (!inside || t->interpolation == MODEL_STEP) continue;
        to[i] = (double)b[middle + i];
        out[i] = from[i] + s * (to[i] - from[i]);
        if (t->interpolation == MODEL_CUBIC)
            out[i] = (2 * sss - 3 * ss + 1) * from[i] +
                     (sss - 2 * ss + s) * dt * (double)a[2 * width + i] +
                     (3 * ss - 2 * sss) * to[i] + (sss - ss) * dt * (double)b[i];
    }
    if (t->path != MODEL_ROTATION) return;
    if (inside && t->interpolation == MODEL_LINEAR) reference_slerp(from, to, s, out);
    double n = sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3]);
    for (int i = 0; i < 4; i++)
        out[i] /= n;
}

static void pose_value(const struct model_track *t, struct pose p, double out[4])
{
    const struct trs *l = &p.locals[t->path == MODEL_WEIGHTS ? 0 : t->target];
    const float *v = t->path == MODEL_TRANSLATION ? &l->translation.x
                     : t->path == MODEL_ROTATION  ? &l->rotation.x
                     : t->path == MODEL_SCALE     ? &l->scale.x
                                                  : &p.weights[t->target];
    int width = t->path == MODEL_ROTATION ? 4 : t->path == MODEL_WEIGHTS ? 1 : 3;
    for (int i = 0; i < width; i++)
        out[i] = (double)v[i];
    for (int i = width; i < 4; i++)
        out[i] = 0;
}

static double same_turn(struct quat a, struct quat b) // 1 when they are one rotation
{
    return fabs((double)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w));
}

static void clips_agree_with_the_double_reference(void)
{
    struct rig r;
    const struct model *m = usual_rig(&r);
    struct pose p = pose_take(m, &r.arena);
    struct synthetic_random random = {5};
    double worst = 0;
    for (uint32_t clip = 0; clip < 3; clip++)
        for (int i = 0; i < 300; i++) {
            double time = synthetic_between(&random, -0.5, 2);
            if (i < 40) time = (double)m->track_times[i]; // on the keys themselves
            pose_rest(m, p);
            clip_sample(m, clip, time, (struct clip_cursor){0}, p);
            for (uint32_t k = 0; k < m->clips[clip].track_count; k++) {
                const struct model_track *t = &m->tracks[m->clips[clip].track_first + k];
                double want[4] = {0}, got[4];
                reference_track(m, t, time, want);
                pose_value(t, p, got);
                for (int e = 0; e < 4; e++)
                    worst = fmax(worst, fabs(got[e] - want[e]));
            }
        }
    printf("    largest difference %.2g\n", worst);
    EXPECT(worst < 1.5e-7);
    rig_close(&r);
}

static void slerp_holds_over_the_whole_arc(void)
{
    struct synthetic_random random = {6};
    double worst = 0;
    for (int i = 0; i < 20000; i++) {
        struct quat qa = synthetic_rotation(&random, 6.3), qb = synthetic_rotation(&random, 6.3);
        if (i % 3 == 0) qb = (struct quat){qa.x + 1e-4f, qa.y, qa.z, qa.w}; // close together
        if (i % 3 == 1) qb = (struct quat){-qa.y, qa.x, -qa.w, qa.z};       // square: 180 degrees
        qb = quat_normalise(qb);
        if (i % 2) qb = (struct quat){-qb.x, -qb.y, -qb.z, -qb.w};
        struct model_node node = {.parent = MODEL_NONE};
        float times[2] = {0, 1}, values[8] = {qa.x, qa.y, qa.z, qa.w, qb.x, qb.y, qb.z, qb.w};
        struct model_track track = {MODEL_ROTATION, MODEL_LINEAR, 0, 2, 0, 0};
        struct model_clip clip = {.duration_s = 1, .track_count = 1};
        struct model m = {.nodes = &node,
                          .nodes_count = 1,
                          .clips = &clip,
                          .clips_count = 1,
                          .tracks = &track,
                          .tracks_count = 1,
                          .track_times = times,
                          .track_times_count = 2,
                          .track_values = values,
                          .track_values_count = 8};
        struct trs local = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
        double t = synthetic_between(&random, 0, 1), want[4], got[4];
        clip_sample(&m, 0, t, (struct clip_cursor){0}, (struct pose){&local, NULL});
        reference_track(&m, &track, t, want);
        pose_value(&track, (struct pose){&local, NULL}, got);
        double dot = 0; // at 180 degrees either way round is the shortest: the side may differ
        for (int e = 0; e < 4; e++)
            dot += got[e] * want[e];
        if (i % 3 != 1) worst = fmax(worst, 1 - dot);
        EXPECT(fabs(got[0] * got[0] + got[1] * got[1] + got[2] * got[2] + got[3] * got[3] - 1) <
               4e-7);
    }
    EXPECT(worst < 4e-7);
}

static void the_cursor_never_changes_a_bit(void)
{
    struct rig r;
    const struct model *m = usual_rig(&r);
    struct pose a = pose_take(m, &r.arena), b = pose_take(m, &r.arena);
    struct synthetic_random random = {7};
    for (uint32_t clip = 0; clip < 3; clip++) {
        struct clip_cursor cursor = clip_cursor_take(m, clip, &r.arena);
        for (int i = 0; i < 400; i++) {
            double time = i < 200 ? i * 0.01 : synthetic_between(&random, -1, 3);
            if (i % 50 == 49) // garbage is as good as any
                for (uint32_t k = 0; k < m->clips[clip].track_count; k++)
                    cursor.keys[k] = (uint32_t)synthetic_bits(&random);
            pose_rest(m, a);
            pose_rest(m, b);
            clip_sample(m, clip, time, cursor, a);
            clip_sample(m, clip, time, (struct clip_cursor){0}, b);
            EXPECT(same_pose(m, a, b));
        }
    }
    rig_close(&r);
}

static void times_outside_the_keys_hold_the_ends(void)
{
    struct rig r;
    const struct model *m = usual_rig(&r);
    struct pose a = pose_take(m, &r.arena), b = pose_take(m, &r.arena);
    for (uint32_t clip = 0; clip < 3; clip++) {
        double first = (double)m->track_times[0], last = (double)m->clips[clip].duration_s;
        const double pairs[2][2] = {{first, -1e9}, {last, 1e9}};
        for (int i = 0; i < 2; i++) {
            pose_rest(m, a);
            pose_rest(m, b);
            clip_sample(m, clip, pairs[i][0], (struct clip_cursor){0}, a);
            clip_sample(m, clip, pairs[i][1], (struct clip_cursor){0}, b);
            EXPECT(same_pose(m, a, b));
        }
    }
    rig_close(&r);
}

static void one_key_holds_for_ever(void)
{
    struct rig r;
    const struct model *m = rig_open(&r, &(struct synthetic_settings){.seed = 4,
                                                                      .nodes = 3,
                                                                      .segments = 3,
                                                                      .rings = 2,
                                                                      .influences = 1,
                                                                      .clips = 3,
                                                                      .keys = 1});
    struct pose a = pose_take(m, &r.arena), b = pose_take(m, &r.arena);
    for (uint32_t clip = 0; clip < 3; clip++)
        for (double time = -1; time < 2; time += 0.1) {
            pose_rest(m, a);
            pose_rest(m, b);
            clip_sample(m, clip, time, (struct clip_cursor){0}, a);
            clip_sample(m, clip, 0.1, (struct clip_cursor){0}, b);
            EXPECT(same_pose(m, a, b));
        }
    rig_close(&r);
}

static void only_what_a_clip_animates_is_written(void)
{
    struct rig r;
    struct synthetic_settings set = {.seed = 4,
                                     .nodes = 9,
                                     .segments = 3,
                                     .rings = 2,
                                     .influences = 1,
                                     .channels = 1,
                                     .clips = 1,
                                     .keys = 5};
    const struct model *m = rig_open(&r, &set);
    struct pose p = pose_take(m, &r.arena);
    memset(p.locals, 0x41, m->nodes_count * sizeof *p.locals);
    struct trs untouched;
    memset(&untouched, 0x41, sizeof untouched);
    clip_sample(m, 0, 0.2, (struct clip_cursor){0}, p);
    EXPECT(memcmp(&p.locals[1].translation, &untouched.translation, sizeof(struct vec3)) == 0);
    EXPECT(memcmp(&p.locals[1].scale, &untouched.scale, sizeof(struct vec3)) == 0);
    EXPECT(memcmp(&p.locals[1].rotation, &untouched.rotation, sizeof(struct quat)) != 0);
    rig_close(&r);
}

static void looping_wraps_and_others_clamp(void)
{
    struct model_clip clip = {.duration_s = 2, .loop = 1};
    EXPECT_NEAR(clip_time(&clip, 5), 1, 0);
    EXPECT_NEAR(clip_time(&clip, -0.5), 1.5, 0);
    clip.loop = 0;
    EXPECT_NEAR(clip_time(&clip, 5), 2, 0);
    EXPECT_NEAR(clip_time(&clip, -0.5), 0, 0);
    clip = (struct model_clip){.duration_s = 0, .loop = 1};
    EXPECT_NEAR(clip_time(&clip, 3), 0, 0);
}

static void blending_one_layer_or_equal_layers_keeps_bits(void)
{
    struct rig r;
    const struct model *m = usual_rig(&r);
    struct pose a = pose_take(m, &r.arena), out = pose_take(m, &r.arena);
    pose_rest(m, a);
    clip_sample(m, 0, 0.77, (struct clip_cursor){0}, a);
    struct blend_layer layers[3] = {
        {.pose = a, .weight = 0.25f}, {.pose = a, .weight = 0.75f}, {.pose = a, .weight = 0}};
    blend_layers(m, layers, 3, out);
    EXPECT(memcmp(a.locals, out.locals, m->nodes_count * sizeof *a.locals) == 0);
    blend_layers(m, layers, 1, out);
    EXPECT(same_pose(m, a, out));
    pose_rest(m, a);
    blend_layers(m, layers, 0, out);
    EXPECT(same_pose(m, a, out));
    rig_close(&r);
}

static void blending_is_a_weighted_mean_on_the_near_side(void)
{
    struct rig r;
    const struct model *m = usual_rig(&r);
    struct pose a = pose_take(m, &r.arena), b = pose_take(m, &r.arena), c = pose_take(m, &r.arena),
                out = pose_take(m, &r.arena), other = pose_take(m, &r.arena);
    struct pose poses[3] = {a, b, c};
    struct blend_layer layers[3];
    static const float weights[3] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        pose_rest(m, poses[i]);
        clip_sample(m, (uint32_t)i, 0.3 + 0.2 * i, (struct clip_cursor){0}, poses[i]);
        layers[i] = (struct blend_layer){.pose = poses[i], .weight = weights[i]};
    }
    blend_layers(m, layers, 3, out);
    for (size_t n = 0; n < m->nodes_count; n++) {
        EXPECT_NEAR(out.locals[n].translation.x,
                    (a.locals[n].translation.x + 2 * b.locals[n].translation.x +
                     5 * c.locals[n].translation.x) /
                        8,
                    1e-6);
        a.locals[n].rotation = (struct quat){-a.locals[n].rotation.x, -a.locals[n].rotation.y,
                                             -a.locals[n].rotation.z, -a.locals[n].rotation.w};
    }
    blend_layers(m, layers, 3, other); // a's rotations as -q: the same rotations
    EXPECT(same_pose(m, out, other));
    EXPECT_NEAR(out.weights[1], (a.weights[1] + 2 * b.weights[1] + 5 * c.weights[1]) / 8, 1e-6);
    rig_close(&r);
}

static void a_mask_leaves_a_layer_out_and_fading_all_out_ends_in_rest(void)
{
    struct rig r;
    const struct model *m = usual_rig(&r);
    struct pose a = pose_take(m, &r.arena), b = pose_take(m, &r.arena),
                rest = pose_take(m, &r.arena), out = pose_take(m, &r.arena);
    pose_rest(m, rest);
    pose_rest(m, a);
    pose_rest(m, b);
    clip_sample(m, 0, 0.4, (struct clip_cursor){0}, a);
    clip_sample(m, 1, 0.9, (struct clip_cursor){0}, b);
    float mask[20] = {0};
    mask[3] = 1;
    struct blend_layer layers[2] = {{.pose = a, .weight = 1},
                                    {.pose = b, .weight = 1, .node_mask = mask}};
    blend_layers(m, layers, 2, out);
    EXPECT(memcmp(&out.locals[2], &a.locals[2], sizeof out.locals[2]) == 0);
    EXPECT(memcmp(&out.locals[3], &a.locals[3], sizeof out.locals[3]) != 0);
    layers[0].weight = 1e-7f; // nearly gone: nearly rest, no jump
    blend_layers(m, layers, 1, out);
    for (size_t n = 0; n < m->nodes_count; n++)
        EXPECT_NEAR(same_turn(out.locals[n].rotation, rest.locals[n].rotation), 1, 1e-6);
    rig_close(&r);
}

static void adding_a_difference_and_taking_it_back_returns(void)
{
    struct rig r;
    const struct model *m = usual_rig(&r);
    struct pose a = pose_take(m, &r.arena), rest = pose_take(m, &r.arena),
                out = pose_take(m, &r.arena);
    pose_rest(m, rest);
    pose_rest(m, a);
    pose_rest(m, out);
    clip_sample(m, 0, 0.4, (struct clip_cursor){0}, a);
    struct blend_addition addition = {.pose = a, .reference = rest, .weight = 1};
    blend_add(m, &addition, out); // rest + (a - rest) = a
    for (size_t n = 0; n < m->nodes_count; n++) {
        EXPECT_NEAR(out.locals[n].translation.x, a.locals[n].translation.x, 1e-6);
        EXPECT_NEAR(out.locals[n].scale.y, a.locals[n].scale.y, 1e-6);
        EXPECT_NEAR(same_turn(out.locals[n].rotation, a.locals[n].rotation), 1, 1e-6);
    }
    EXPECT_NEAR(out.weights[2], a.weights[2], 1e-6);
    pose_copy(m, a, out);
    addition.weight = 0;
    blend_add(m, &addition, out);
    EXPECT(same_pose(m, a, out));
    rig_close(&r);
}

static void a_sheared_node_keeps_its_matrix_until_it_moves(void)
{
    struct rig r;
    struct model m = *usual_rig(&r);
    struct model_node nodes[20];
    memcpy(nodes, m.nodes, sizeof nodes);
    nodes[2].flags |= MODEL_NODE_SHEARED;
    nodes[2].rest_local.col[1][0] += 0.5f;
    m.nodes = nodes;
    struct pose p = pose_take(&m, &r.arena);
    struct xform g[20];
    pose_rest(&m, p);
    skeleton_model_from_nodes(&m, p.locals, g);
    struct xform local = xform_from_mat34(&nodes[2].rest_local);
    struct xform want = xform_mul(&g[nodes[2].parent], &local);
    EXPECT(memcmp(&g[2], &want, sizeof want) == 0);
    p.locals[2].translation.x += 1;
    skeleton_model_from_nodes(&m, p.locals, g);
    local = xform_from_trs(&p.locals[2]);
    want = xform_mul(&g[nodes[2].parent], &local);
    EXPECT(memcmp(&g[2], &want, sizeof want) == 0);
    rig_close(&r);
}

static void rebuild(const double q[4], const double h[6], double out[3][3])
{
    struct trs unit = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};
    struct xform r = xform_from_trs(&unit), s;
    double x = q[0], y = q[1], z = q[2], w = q[3];
    r = (struct xform){{{1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)},
                        {2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)},
                        {2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)},
                        {0, 0, 0}}};
    s = (struct xform){{{h[0], h[3], h[4]}, {h[3], h[1], h[5]}, {h[4], h[5], h[2]}, {0, 0, 0}}};
    r = xform_mul(&r, &s);
    memcpy(out, r.col, sizeof(double[3][3]));
}

static void polar_gives_its_matrix_back(void)
{
    struct synthetic_random random = {11};
    double worst = 0;
    for (int i = 0; i < 20000; i++) {
        struct xform m = {{{0}}};
        double size = 0;
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                m.col[c][k] = synthetic_between(&random, -1, 1) * (i % 5 == 0 && c == 1 ? 1e-7 : 1);
        if (i % 7 == 0) memset(m.col[2], 0, sizeof m.col[2]); // an axis gone
        if (i % 11 == 0) memcpy(m.col[1], m.col[0], sizeof m.col[1]);
        if (i % 13 == 0) memset(m.col[0], 0, sizeof m.col[0]);
        if (i == 1001) memset(&m, 0, sizeof m);
        if (i % 17 == 0)
            for (int c = 0; c < 3; c++)
                for (int k = 0; k < 3; k++)
                    m.col[c][k] *= 1e-9; // tiny units
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                size = fmax(size, fabs(m.col[c][k]));
        double q[4], h[6], again[3][3];
        polar_decompose(&m, q, h);
        EXPECT_NEAR(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1, 1e-12);
        rebuild(q, h, again);
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                worst = fmax(worst, fabs(again[c][k] - m.col[c][k]) / (size + 1e-300));
    }
    printf("    largest difference %.2g of the largest element\n", worst);
    EXPECT(worst < 1e-9);
}

static void polar_of_a_scaled_rotation_is_that_rotation(void)
{
    struct synthetic_random random = {12};
    for (int i = 0; i < 1000; i++) {
        struct trs t = {{0, 0, 0}, synthetic_rotation(&random, 3.1), {100, 100, 100}};
        struct xform m = xform_from_trs(&t);
        double q[4], h[6];
        polar_decompose(&m, q, h);
        double dot = q[0] * (double)t.rotation.x + q[1] * (double)t.rotation.y +
                     q[2] * (double)t.rotation.z + q[3] * (double)t.rotation.w;
        EXPECT_NEAR(fabs(dot), 1, 1e-6);
        EXPECT_NEAR(h[0], 100, 1e-9);
        EXPECT_NEAR(h[3], 0, 1e-9);
    }
    // A mirror: the rotation stays proper, the stretch turns negative.
    struct trs t = {{0, 0, 0}, {0, 0, 0, 1}, {-2, 3, 4}};
    struct xform m = xform_from_trs(&t);
    double q[4], h[6], again[3][3];
    polar_decompose(&m, q, h);
    EXPECT(h[0] < 0 && h[1] < 0 && h[2] < 0);
    rebuild(q, h, again);
    EXPECT_NEAR(again[0][0], -2, 1e-12);
    EXPECT_NEAR(again[1][1], 3, 1e-12);
}

int main(void)
{
    RUN(clips_agree_with_the_double_reference);
    RUN(slerp_holds_over_the_whole_arc);
    RUN(the_cursor_never_changes_a_bit);
    RUN(times_outside_the_keys_hold_the_ends);
    RUN(one_key_holds_for_ever);
    RUN(only_what_a_clip_animates_is_written);
    RUN(looping_wraps_and_others_clamp);
    RUN(blending_one_layer_or_equal_layers_keeps_bits);
    RUN(blending_is_a_weighted_mean_on_the_near_side);
    RUN(a_mask_leaves_a_layer_out_and_fading_all_out_ends_in_rest);
    RUN(adding_a_difference_and_taking_it_back_returns);
    RUN(a_sheared_node_keeps_its_matrix_until_it_moves);
    RUN(polar_gives_its_matrix_back);
    RUN(polar_of_a_scaled_rotation_is_that_rotation);
    TESTING_MAIN_END;
}
