// Morph channels and the normals that follow them, against the rule written down in double.
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "server/character/pose/pose.h"
#include "server/character/surface/face.h"
#include "server/character/surface/normals.h"
#include "tests/character/reference.h"
#include "tests/character/synthetic.h"
#include "tests/testing.h"
int testing_failures;

struct stage {
    struct synthetic s;
    struct arena arena;
    struct face_map map;
    struct pose pose;
};

static const struct model *stage_open_long(struct stage *t, uint32_t rings, uint32_t channels,
                                           uint32_t with_normals)
{
    synthetic_make(&(struct synthetic_settings){.seed = 31,
                                                .nodes = 8,
                                                .segments = 14,
                                                .rings = rings,
                                                .influences = 3,
                                                .channels = channels,
                                                .channels_with_normals = with_normals},
                   &t->s);
    const struct model *m = &t->s.model;
    if (!arena_create(&t->arena, (size_t)16 << 20)) abort();
    size_t before = t->arena.used_bytes;
    face_map_build(m, &t->arena, &t->map);
    EXPECT(t->arena.used_bytes - before <= face_map_bytes(m));
    t->pose = pose_take(m, &t->arena);
    pose_rest(m, t->pose);
    return m;
}

static const struct model *stage_open(struct stage *t, uint32_t channels, uint32_t with_normals)
{
    return stage_open_long(t, 26, channels, with_normals);
}

static void stage_close(struct stage *t)
{
    arena_destroy(&t->arena);
    synthetic_free(&t->s);
}

static struct face stage_run_on(struct stage *t, enum simd_level level)
{
    size_t before = t->arena.used_bytes;
    struct face f = face_begin(&t->s.model, &t->map, t->pose.weights, &t->arena);
    f.level = level;
    EXPECT(t->arena.used_bytes - before <= face_bytes(&t->map));
    face_move(&f, 0, t->map.turns.row_count);
    face_turn_normals(&f, 0, t->map.turns.group_count);
    return f;
}

static struct face stage_run(struct stage *t)
{
    return stage_run_on(t, simd_best());
}

static void vertex_of(const struct face *f, size_t vertex, double x[3], double n[3])
{
    uint32_t lane = f->model->vertex_lanes[vertex];
    const struct model_rest_block *b = face_block(f, lane / MODEL_LANES);
    for (int r = 0; r < 3; r++) {
        x[r] = (double)b->position[r][lane % MODEL_LANES];
        n[r] = (double)b->normal[r][lane % MODEL_LANES];
    }
}

static void compare_with_the_rule(uint32_t channels, uint32_t with_normals, const float *weights)
{
    struct stage t;
    const struct model *m = stage_open(&t, channels, with_normals);
    size_t count = model_vertex_count(m);
    memcpy(t.pose.weights, weights, channels * sizeof *weights);
    struct face f = stage_run(&t);
    double(*x)[3] = calloc(count, sizeof *x), (*n)[3] = calloc(count, sizeof *n);
    reference_face(&t.s, t.pose, x, n);
    double worst_x = 0, worst_n = 0;
    for (size_t v = 0; v < count; v++) {
        double got_x[3], got_n[3];
        vertex_of(&f, v, got_x, got_n);
        for (int r = 0; r < 3; r++) {
            worst_x = fmax(worst_x, fabs(got_x[r] - x[v][r]));
            worst_n = fmax(worst_n, fabs(got_n[r] - n[v][r]));
        }
    }
    printf("    position %.2g of the diagonal, normal %.2g\n", worst_x / synthetic_diagonal(&t.s),
           worst_n);
    EXPECT(worst_x <= 1e-7 * synthetic_diagonal(&t.s));
    EXPECT(worst_n <= 2e-5); // the reference turns from the unrounded surface
    free(x);
    free(n);
    stage_close(&t);
}

static void normals_turn_with_the_surface(void)
{
    compare_with_the_rule(4, 0, (const float[]){0.5f, -0.3f, 1, 0.7f});
}

static void normal_deltas_of_the_file_rule_where_given(void)
{
    compare_with_the_rule(3, 3, (const float[]){0.5f, 1, -0.2f});
}

static void both_kinds_mix(void)
{
    compare_with_the_rule(4, 2, (const float[]){0.5f, 0.4f, 1, 0.6f});
}

// Where little moves, places are kept only where turns look; what lies elsewhere in memory from
// before must not show.
static void a_small_part_that_moves_looks_no_further_than_it_must(void)
{
    struct stage t;
    struct model_channel few[6];
    stage_open_long(&t, 160, 6, 2);
    struct model *m = &t.s.model;
    memcpy(few, m->channels, sizeof few);
    for (int c = 0; c < 6; c++) {
        few[c].block_first += few[c].block_count / 2;
        few[c].normal_first += few[c].has_normals ? few[c].block_count / 2 : 0;
        few[c].block_count = 3;
    }
    m->channels = few;
    for (int c = 2; c < 6; c++) {
        memset(t.pose.weights, 0, 6 * sizeof *t.pose.weights);
        t.pose.weights[c] = 0.7f;
        if (c == 5) t.pose.weights[0] = 0.4f; // and one that brings normals
        size_t skipped = 0, mark = arena_mark(&t.arena);
        memset(t.arena.base + mark, 0xFF, face_bytes(&t.map));
        struct face f = stage_run(&t);
        struct face all = face_begin(m, &t.map, t.pose.weights, &t.arena);
        all.level = simd_best();
        for (size_t row = 0; row < t.map.turns.row_count; row++)
            skipped += !all.looked_at[row];
        memset(all.looked_at, 1, t.map.turns.row_count);
        face_move(&all, 0, t.map.turns.row_count);
        face_turn_normals(&all, 0, t.map.turns.group_count);
        for (size_t i = 0; i < m->blocks_count; i++)
            EXPECT(memcmp(face_block(&f, i), face_block(&all, i), sizeof m->rest[0]) == 0);
        printf("    %zu of %zu rows not looked at\n", skipped, t.map.turns.row_count);
        EXPECT(skipped > 0);
        arena_rewind(&t.arena, mark);
    }
    stage_close(&t);
}

// Whole, and in ragged parts of rows and of groups.
static void kernels_and_parts_give_the_same_bits(void)
{
    struct stage t;
    const struct model *m = stage_open(&t, 4, 2);
    for (int c = 0; c < 4; c++)
        t.pose.weights[c] = 0.4f + 0.1f * (float)c;
    struct face want = stage_run_on(&t, SIMD_PLAIN);
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        struct face f = stage_run_on(&t, (enum simd_level)level);
        struct face parts = face_begin(m, &t.map, t.pose.weights, &t.arena);
        size_t groups = t.map.turns.group_count, third = groups / 3;
        parts.level = (enum simd_level)level;
        size_t rows = t.map.turns.row_count;
        face_move(&parts, rows / 3, rows - rows / 3);
        face_move(&parts, 0, rows / 3);
        face_turn_normals(&parts, 2 * third, groups - 2 * third);
        face_turn_normals(&parts, 0, third);
        face_turn_normals(&parts, third, third);
        for (size_t i = 0; i < m->blocks_count; i++) {
            EXPECT(memcmp(face_block(&want, i), face_block(&f, i), sizeof m->rest[0]) == 0);
            EXPECT(memcmp(face_block(&want, i), face_block(&parts, i), sizeof m->rest[0]) == 0);
        }
    }
    stage_close(&t);
}

static void weight_zero_leaves_every_block_to_the_model(void)
{
    struct stage t;
    const struct model *m = stage_open(&t, 3, 1);
    struct face f = stage_run(&t);
    for (size_t i = 0; i < m->blocks_count; i++)
        EXPECT(face_block(&f, i) == &m->rest[i]);
    stage_close(&t);
}

static bool lane_same(const struct model *m, const struct face *f, size_t vertex)
{
    uint32_t lane = m->vertex_lanes[vertex], place = lane % MODEL_LANES;
    const struct model_rest_block *a = face_block(f, lane / MODEL_LANES);
    const struct model_rest_block *b = &m->rest[lane / MODEL_LANES];
    for (int r = 0; r < 3; r++)
        if (memcmp(&a->position[r][place], &b->position[r][place], sizeof(float)) != 0 ||
            memcmp(&a->normal[r][place], &b->normal[r][place], sizeof(float)) != 0)
            return false;
    return true;
}

static void what_nothing_touches_keeps_its_bits(void)
{
    struct stage t;
    const struct model *m = stage_open(&t, 6, 0);
    t.pose.weights[1] = 0.8f;
    struct face f = stage_run(&t);
    size_t kept = 0, count = model_vertex_count(m);
    for (size_t v = 0; v < count; v++) {
        // Channel 1 is a bump around ring 6; rings from 14 on are out of its reach.
        bool far = v / 15 >= 14;
        if (far) EXPECT(lane_same(m, &f, v));
        kept += lane_same(m, &f, v);
    }
    EXPECT(kept > count / 3 && kept < count);
    stage_close(&t);
}

static void twins_of_a_seam_stay_equal(void)
{
    struct stage t;
    const struct model *m = stage_open(&t, 4, 2);
    for (int c = 0; c < 4; c++)
        t.pose.weights[c] = 0.3f + 0.1f * (float)c;
    struct face f = stage_run(&t);
    size_t twins = 0;
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        if (m->weld[v] == v) continue;
        double a[6], b[6];
        vertex_of(&f, v, a, a + 3);
        vertex_of(&f, m->weld[v], b, b + 3);
        EXPECT(memcmp(a, b, sizeof a) == 0);
        twins++;
    }
    EXPECT(twins == 26);
    stage_close(&t);
}

static void lanes_past_the_last_repeat_it(void)
{
    struct stage t;
    const struct model *m = stage_open(&t, 4, 2);
    for (int c = 0; c < 4; c++)
        t.pose.weights[c] = 0.5f;
    struct face f = stage_run(&t);
    for (size_t i = 0; i < m->blocks_count; i++) {
        const struct model_rest_block *b = face_block(&f, i);
        uint32_t last = m->blocks[i].lane_count - 1;
        for (uint32_t p = last; p < MODEL_LANES; p++)
            for (int r = 0; r < 3; r++) {
                EXPECT(b->position[r][p] == b->position[r][last]);
                EXPECT(b->normal[r][p] == b->normal[r][last]);
            }
    }
    stage_close(&t);
}

static void a_cube_corner_weighs_its_faces_alike(void)
{
    // The corner of a cube: one face in two triangles, two in one each. Angle weights make the
    // diagonal all the same, (1,1,1)/sqrt(3), where area weights would lean.
    const float p[] = {0, 0, 0, -1, 0, 0, -1, -1, 0, 0, -1, 0, 0, 0, -1, -1, 0, -1, 0, -1, -1};
    const uint32_t indices[] = {0, 1, 2, 0, 2, 3, 0, 3, 4, 0, 4, 1};
    uint32_t weld[7], first[8] = {0}, corners[12], at = 0;
    for (uint32_t v = 0; v < 7; v++) {
        weld[v] = v;
        for (uint32_t i = 0; i < 12; i++)
            if (indices[i] == v) corners[at++] = i;
        first[v + 1] = at;
    }
    float n[21];
    normals_make(&(struct normals_mesh){7, p, weld, first, corners, indices}, n);
    for (int r = 0; r < 3; r++)
        EXPECT_NEAR(n[r], 0.57735026918962576, 1e-7);
    EXPECT(n[18] == 0 && n[19] == 0 && n[20] == 0); // no triangle there
}

static void a_half_turn_is_finite_and_reversing(void)
{
    for (int i = 0; i < 3; i++) {
        float from[3] = {0.2f, 0.1f, 0.05f}, to[3];
        from[i] = 1;
        for (int r = 0; r < 3; r++)
            to[r] = -2 * from[r];
        float n[3] = {from[0], from[1], from[2]};
        normals_turn(from, to, n);
        for (int r = 0; r < 3; r++)
            EXPECT_NEAR(n[r], -from[r], 1e-6);
    }
}

int main(void)
{
    RUN(normals_turn_with_the_surface);
    RUN(normal_deltas_of_the_file_rule_where_given);
    RUN(both_kinds_mix);
    RUN(a_small_part_that_moves_looks_no_further_than_it_must);
    RUN(kernels_and_parts_give_the_same_bits);
    RUN(weight_zero_leaves_every_block_to_the_model);
    RUN(what_nothing_touches_keeps_its_bits);
    RUN(twins_of_a_seam_stay_equal);
    RUN(lanes_past_the_last_repeat_it);
    RUN(a_cube_corner_weighs_its_faces_alike);
    RUN(a_half_turn_is_finite_and_reversing);
    TESTING_MAIN_END;
}
