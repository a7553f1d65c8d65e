// Skinning against the method's formulas in double, on random rigs; every kernel of this machine.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/simd.h"
#include "server/character/pose/clip.h"
#include "server/character/surface/surface.h"
#include "tests/character/reference.h"
#include "tests/character/synthetic.h"
#include "tests/testing.h"
int testing_failures;

struct bench { // a rig, a pose and room to skin it
    struct synthetic s;
    struct arena arena;
    struct face_map map;
    struct pose pose;
    size_t vertices;
    double (*x)[3], (*n)[3], (*want_x)[3], (*want_n)[3];
    struct surface_block *out;
    float *positions, *normals;
};

static double (*take_points(struct bench *b))[3]
{
    return arena_take(&b->arena, b->vertices * sizeof(double[3]));
}

static void bench_open(struct bench *b, const struct synthetic_settings *settings)
{
    memset(b, 0, sizeof *b);
    synthetic_make(settings, &b->s);
    const struct model *m = &b->s.model;
    b->vertices = model_vertex_count(m);
    if (!arena_create(&b->arena, (size_t)64 << 20)) abort();
    face_map_build(m, &b->arena, &b->map);
    b->pose = pose_take(m, &b->arena);
    pose_rest(m, b->pose);
    b->x = take_points(b);
    b->n = take_points(b);
    b->want_x = take_points(b);
    b->want_n = take_points(b);
    b->out = ARENA_ARRAY(&b->arena, struct surface_block, m->blocks_count);
    b->positions = ARENA_ARRAY(&b->arena, float, b->vertices * 3);
    b->normals = ARENA_ARRAY(&b->arena, float, b->vertices * 3);
    for (size_t v = 0; v < b->vertices; v++)
        for (int r = 0; r < 3; r++) {
            b->x[v][r] = (double)b->s.vertices[v].position[r];
            b->n[v][r] = (double)b->s.vertices[v].normal[r];
        }
}

static void bench_close(struct bench *b)
{
    arena_destroy(&b->arena);
    synthetic_free(&b->s);
}

static void bench_skin(struct bench *b, enum model_skinning skinning, enum simd_level level)
{
    struct surface_job job = {.model = &b->s.model,
                              .map = &b->map,
                              .pose = b->pose,
                              .skinning = skinning,
                              .level = level,
                              .out = b->out};
    surface_run(&job, &b->arena);
    surface_gather(&b->s.model, b->out, b->positions, b->normals);
}

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

static struct error bench_error(const struct bench *b)
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

static void compare_with_direct_formula(struct bench *b, enum model_skinning skinning,
                                        const char *what)
{
    reference_skin(&b->s, b->pose, skinning, (const double(*)[3])b->x, (const double(*)[3])b->n,
                   b->want_x, b->want_n);
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        bench_skin(b, skinning, (enum simd_level)level);
        struct error e = bench_error(b);
        printf("    %s %s %s: position %.2g, normal %.2g\n", what,
               skinning == MODEL_DQ ? "dq" : "lbs", simd_name((enum simd_level)level), e.position,
               e.normal);
        EXPECT(e.position <= 1e-6);
        EXPECT(e.normal <= 1e-4); // near-cancelling blends lose digits of direction in float
    }
}

static void random_pose(struct bench *b, uint64_t seed, double angle)
{
    struct synthetic_random r = {seed};
    const struct model *m = &b->s.model;
    for (size_t i = 0; i < m->nodes_count; i++)
        b->pose.locals[i].rotation = synthetic_rotation(&r, angle);
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
        struct bench b;
        bench_open(&b, &set);
        random_pose(&b, seed, 1.2);
        char what[64];
        snprintf(what, sizeof what, "rig %d scale %g%s", (int)seed, (double)set.root_scale,
                 set.mirrored ? " mirrored" : "");
        compare_with_direct_formula(&b, MODEL_LBS, what);
        compare_with_direct_formula(&b, MODEL_DQ, what);
        bench_close(&b);
    }
}

static void one_axis_scaled_keeps_normals_square(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){
                       .seed = 9, .nodes = 9, .segments = 16, .rings = 20, .influences = 3});
    b.pose.locals[0].scale = (struct vec3){1, 1, 2};
    b.pose.locals[4].scale = (struct vec3){1, 2, 1};
    compare_with_direct_formula(&b, MODEL_LBS, "scale 1 1 2");
    compare_with_direct_formula(&b, MODEL_DQ, "scale 1 1 2");
    bench_close(&b);
}

static void zero_scale_gives_finite_unit_normals(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){
                       .seed = 10, .nodes = 9, .segments = 16, .rings = 20, .influences = 4});
    const struct vec3 scales[] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {-1, 0, 1}};
    for (size_t i = 0; i < 4; i++)
        for (int dq = 0; dq < 2; dq++)
            for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
                if (!simd_has((enum simd_level)level)) continue;
                b.pose.locals[2].scale = b.pose.locals[5].scale = scales[i];
                bench_skin(&b, dq ? MODEL_DQ : MODEL_LBS, (enum simd_level)level);
                int bad = 0;
                for (size_t v = 0; v < b.vertices; v++) {
                    const float *p = b.positions + 3 * v, *n = b.normals + 3 * v;
                    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
                    bad += !isfinite(p[0]) || !isfinite(p[1]) || !isfinite(p[2]) ||
                           !(fabsf(length - 1) < 1e-4f);
                }
                EXPECT(bad == 0);
            }
    bench_close(&b);
}

// With an axis scaled to nothing det L is rounding noise: its sign must not turn normals over.
static void flattened_joints_do_not_flicker(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){
                       .seed = 12, .nodes = 9, .segments = 16, .rings = 20, .influences = 4});
    for (size_t i = 0; i < 9; i++) // the root flattens all that hangs on it
        b.pose.locals[i].scale = i == 0 ? (struct vec3){1, 1, 0} : (struct vec3){1, 1, 1};
    float *normals = malloc(b.vertices * 3 * sizeof(float));
    for (int dq = 0; dq < 2; dq++)
        for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            bench_skin(&b, dq ? MODEL_DQ : MODEL_LBS, (enum simd_level)level);
            if (level == SIMD_PLAIN) memcpy(normals, b.normals, b.vertices * 3 * sizeof(float));
            double worst = 0;
            for (size_t i = 0; i < b.vertices * 3; i++)
                worst = fmax(worst, fabs((double)(b.normals[i] - normals[i])));
            EXPECT(worst < 1e-3);
        }
    free(normals);
    bench_close(&b);
}

static void every_kernel_agrees_with_the_plain_one(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){.seed = 3,
                                                .nodes = 60,
                                                .segments = 60,
                                                .rings = 80,
                                                .influences = 8,
                                                .root_scale = 100});
    random_pose(&b, 77, 2);
    size_t floats = b.vertices * 3;
    float *positions = malloc(floats * sizeof(float)), *normals = malloc(floats * sizeof(float));
    double diagonal = synthetic_diagonal(&b.s);
    for (int dq = 0; dq < 2; dq++) {
        bench_skin(&b, dq ? MODEL_DQ : MODEL_LBS, SIMD_PLAIN);
        memcpy(positions, b.positions, floats * sizeof(float));
        memcpy(normals, b.normals, floats * sizeof(float));
        for (int level = 1; level < SIMD_LEVEL_COUNT; level++) {
            if (!simd_has((enum simd_level)level)) continue;
            bench_skin(&b, dq ? MODEL_DQ : MODEL_LBS, (enum simd_level)level);
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
    bench_close(&b);
}

// Identical bits whatever the number of parts, with and without an active face.
static void any_number_of_workers_gives_the_same_bits(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){.seed = 5,
                                                .nodes = 20,
                                                .segments = 31,
                                                .rings = 47,
                                                .influences = 4,
                                                .channels = 5,
                                                .channels_with_normals = 2});
    random_pose(&b, 5, 1);
    size_t bytes = b.s.model.blocks_count * sizeof *b.out;
    struct surface_block *one = aligned_alloc(64, bytes);
    for (int faces = 0; faces < 3; faces++)
        for (int dq = 0; dq < 2; dq++) {
            for (int c = 0; c < 5; c++)
                b.pose.weights[c] = faces == 1 && c < 2 ? 0.5f : faces == 2 ? 0.3f : 0;
            struct surface_job job = {.model = &b.s.model,
                                      .map = &b.map,
                                      .pose = b.pose,
                                      .skinning = dq ? MODEL_DQ : MODEL_LBS,
                                      .level = simd_best(),
                                      .out = one};
            surface_run(&job, &b.arena);
            job.out = b.out;
            for (size_t parts = 2; parts < 130; parts = parts * 2 + 1) {
                memset(b.out, 0xff, bytes);
                size_t mark = arena_mark(&b.arena);
                struct surface_frame f = surface_begin(&job, &b.arena);
                for (size_t i = parts; i-- > 0;) // order must not matter either
                    surface_face(&f, i, parts);
                for (size_t i = parts; i-- > 0;)
                    surface_turn(&f, i, parts);
                for (size_t i = parts; i-- > 0;)
                    surface_skin(&f, i, parts);
                arena_rewind(&b.arena, mark);
                EXPECT(memcmp(one, b.out, bytes) == 0);
            }
        }
    free(one);
    bench_close(&b);
}

enum { THREADS = 4 };

struct worker {
    const struct surface_frame *frame;
    pthread_barrier_t *stage_done;
    size_t index;
};

static void *worker_run(void *context)
{
    struct worker *w = context;
    surface_face(w->frame, w->index, THREADS);
    pthread_barrier_wait(w->stage_done);
    surface_turn(w->frame, w->index, THREADS);
    pthread_barrier_wait(w->stage_done);
    surface_skin(w->frame, w->index, THREADS);
    return NULL;
}

// For ThreadSanitizer as much as for the bits.
static void real_threads_share_one_frame(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){.seed = 15,
                                                .nodes = 20,
                                                .segments = 31,
                                                .rings = 47,
                                                .influences = 4,
                                                .channels = 5,
                                                .channels_with_normals = 2});
    random_pose(&b, 5, 1);
    for (int c = 0; c < 5; c++)
        b.pose.weights[c] = 0.4f;
    size_t bytes = b.s.model.blocks_count * sizeof *b.out;
    struct surface_block *one = aligned_alloc(64, bytes);
    struct surface_job job = {
        .model = &b.s.model, .map = &b.map, .pose = b.pose, .level = simd_best(), .out = one};
    surface_run(&job, &b.arena);
    job.out = b.out;
    struct surface_frame f = surface_begin(&job, &b.arena);
    pthread_barrier_t stage_done;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    pthread_barrier_init(&stage_done, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&f, &stage_done, i};
        EXPECT(pthread_create(&threads[i], NULL, worker_run, &workers[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&stage_done);
    EXPECT(memcmp(one, b.out, bytes) == 0);
    free(one);
    bench_close(&b);
}

static void linear_part_is_what_moves_a_direction(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){.seed = 6,
                                                .nodes = 15,
                                                .segments = 10,
                                                .rings = 12,
                                                .influences = 4,
                                                .root_scale = 100});
    random_pose(&b, 8, 1);
    for (int dq = 0; dq < 2; dq++) {
        enum model_skinning skinning = dq ? MODEL_DQ : MODEL_LBS;
        struct surface_job job = {
            .model = &b.s.model, .map = &b.map, .pose = b.pose, .skinning = skinning};
        size_t mark = arena_mark(&b.arena);
        struct surface_frame f = surface_begin(&job, &b.arena);
        reference_skin(&b.s, b.pose, skinning, (const double(*)[3])b.x, (const double(*)[3])b.n,
                       b.want_x, b.want_n);
        double(*moved)[3] = take_points(&b);
        double(*from)[3] = take_points(&b);
        const double step[3] = {0.01, -0.02, 0.03};
        for (size_t v = 0; v < b.vertices; v++)
            for (int r = 0; r < 3; r++)
                from[v][r] = b.x[v][r] + step[r];
        reference_skin(&b.s, b.pose, skinning, (const double(*)[3])from, (const double(*)[3])b.n,
                       moved, b.want_n);
        double worst = 0;
        for (size_t v = 0; v < b.vertices; v++) {
            double l[3][3];
            if (dq)
                skin_dual_linear_part(&b.s.model, f.dual_palette, b.s.model.vertex_lanes[v], l);
            else
                skin_linear_part(&b.s.model, f.palette, b.s.model.vertex_lanes[v], l);
            for (int r = 0; r < 3; r++) {
                double by = l[0][r] * step[0] + l[1][r] * step[1] + l[2][r] * step[2];
                worst = fmax(worst, fabs(moved[v][r] - b.want_x[v][r] - by));
            }
        }
        EXPECT(worst < 1e-7);
        arena_rewind(&b.arena, mark);
    }
    bench_close(&b);
}

static void tangents_leave_unit_and_square_to_normals(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){.seed = 7,
                                                .nodes = 15,
                                                .segments = 12,
                                                .rings = 14,
                                                .influences = 3,
                                                .mirrored = true,
                                                .tangents = true});
    struct surface_tangent_block *tangents =
        ARENA_ARRAY(&b.arena, struct surface_tangent_block, b.s.model.blocks_count);
    for (int dq = 0; dq < 2; dq++) {
        struct surface_job job = {.model = &b.s.model,
                                  .map = &b.map,
                                  .pose = b.pose,
                                  .skinning = dq ? MODEL_DQ : MODEL_LBS,
                                  .level = simd_best(),
                                  .out = b.out,
                                  .tangents_out = tangents};
        surface_run(&job, &b.arena);
        double along = 0, length = 0;
        for (size_t i = 0; i < b.s.model.blocks_count; i++)
            for (int p = 0; p < MODEL_LANES; p++) {
                double dot = 0, tt = 0;
                for (int r = 0; r < 3; r++) {
                    double t = (double)tangents[i].direction[r][p];
                    dot += t * (double)b.out[i].normal[r][p];
                    tt += t * t;
                }
                along = fmax(along, fabs(dot));
                length = fmax(length, fabs(tt - 1));
                EXPECT(tangents[i].sign[p] == -1); // the root mirrors
            }
        EXPECT(along < 1e-5 && length < 1e-5);
    }
    bench_close(&b);
}

static void a_pose_left_and_taken_again_gives_the_same_bits(void)
{
    struct bench b;
    bench_open(&b, &(struct synthetic_settings){
                       .seed = 8, .nodes = 10, .segments = 12, .rings = 14, .influences = 4});
    size_t bytes = b.s.model.blocks_count * sizeof *b.out;
    struct surface_block *start = aligned_alloc(64, bytes);
    for (int dq = 0; dq < 2; dq++) {
        for (int degrees = 0; degrees <= 350; degrees += 10) {
            double half = degrees * 3.14159265358979323846 / 360;
            b.pose.locals[3].rotation = (struct quat){0, (float)sin(half), 0, (float)cos(half)};
            bench_skin(&b, dq ? MODEL_DQ : MODEL_LBS, simd_best());
            if (degrees == 0) memcpy(start, b.out, bytes);
        }
        b.pose.locals[3].rotation = (struct quat){0, 0, 0, 1};
        bench_skin(&b, dq ? MODEL_DQ : MODEL_LBS, simd_best());
        EXPECT(memcmp(start, b.out, bytes) == 0);
    }
    free(start);
    bench_close(&b);
}

int main(void)
{
    RUN(random_rigs_agree_with_the_direct_formula);
    RUN(one_axis_scaled_keeps_normals_square);
    RUN(zero_scale_gives_finite_unit_normals);
    RUN(flattened_joints_do_not_flicker);
    RUN(every_kernel_agrees_with_the_plain_one);
    RUN(any_number_of_workers_gives_the_same_bits);
    RUN(real_threads_share_one_frame);
    RUN(linear_part_is_what_moves_a_direction);
    RUN(tangents_leave_unit_and_square_to_normals);
    RUN(a_pose_left_and_taken_again_gives_the_same_bits);
    TESTING_MAIN_END;
}
