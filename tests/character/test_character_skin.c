// A whole frame of a surface: any number of parts and threads, L of single vertices, tangents.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/surface/surface.h"
#include "tests/character/reference.h"
#include "tests/character/skin_rig.h"
#include "tests/testing.h"
int testing_failures;

// Identical bits whatever the number of parts, with and without an active face.
static void any_number_of_workers_gives_the_same_bits(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){.seed = 5,
                                                   .nodes = 20,
                                                   .segments = 31,
                                                   .rings = 47,
                                                   .influences = 4,
                                                   .channels = 5,
                                                   .channels_with_normals = 2});
    struct face_map map;
    face_map_build(&b.s.model, &b.arena, &map);
    skin_rig_pose(&b, 5, 1);
    size_t bytes = b.s.model.blocks_count * sizeof *b.out;
    struct surface_block *one = aligned_alloc(64, bytes);
    for (int faces = 0; faces < 3; faces++)
        for (int dq = 0; dq < 2; dq++) {
            for (int c = 0; c < 5; c++)
                b.pose.weights[c] = faces == 1 && c < 2 ? 0.5f : faces == 2 ? 0.3f : 0;
            struct surface_job job = {.model = &b.s.model,
                                      .map = &map,
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
    skin_rig_close(&b);
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
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){.seed = 15,
                                                   .nodes = 20,
                                                   .segments = 31,
                                                   .rings = 47,
                                                   .influences = 4,
                                                   .channels = 5,
                                                   .channels_with_normals = 2});
    struct face_map map;
    face_map_build(&b.s.model, &b.arena, &map);
    skin_rig_pose(&b, 5, 1);
    for (int c = 0; c < 5; c++)
        b.pose.weights[c] = 0.4f;
    size_t bytes = b.s.model.blocks_count * sizeof *b.out;
    struct surface_block *one = aligned_alloc(64, bytes);
    struct surface_job job = {
        .model = &b.s.model, .map = &map, .pose = b.pose, .level = simd_best(), .out = one};
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
    skin_rig_close(&b);
}

static void linear_part_is_what_moves_a_direction(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){.seed = 6,
                                                   .nodes = 15,
                                                   .segments = 10,
                                                   .rings = 12,
                                                   .influences = 4,
                                                   .root_scale = 100});
    struct face_map map;
    face_map_build(&b.s.model, &b.arena, &map);
    skin_rig_pose(&b, 8, 1);
    for (int dq = 0; dq < 2; dq++) {
        enum model_skinning skinning = dq ? MODEL_DQ : MODEL_LBS;
        struct surface_job job = {
            .model = &b.s.model, .map = &map, .pose = b.pose, .skinning = skinning};
        size_t mark = arena_mark(&b.arena);
        struct surface_frame f = surface_begin(&job, &b.arena);
        reference_skin(&b.s, b.pose, skinning, (const double(*)[3])b.x, (const double(*)[3])b.n,
                       b.want_x, b.want_n);
        double(*moved)[3] = skin_rig_points(&b);
        double(*from)[3] = skin_rig_points(&b);
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
    skin_rig_close(&b);
}

static void tangents_leave_unit_and_square_to_normals(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){.seed = 7,
                                                   .nodes = 15,
                                                   .segments = 12,
                                                   .rings = 14,
                                                   .influences = 3,
                                                   .mirrored = true,
                                                   .tangents = true});
    struct face_map map;
    face_map_build(&b.s.model, &b.arena, &map);
    struct surface_tangent_block *tangents =
        ARENA_ARRAY(&b.arena, struct surface_tangent_block, b.s.model.blocks_count);
    for (int dq = 0; dq < 2; dq++) {
        struct surface_job job = {.model = &b.s.model,
                                  .map = &map,
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
    skin_rig_close(&b);
}

static void a_pose_left_and_taken_again_gives_the_same_bits(void)
{
    struct skin_rig b;
    skin_rig_open(&b, &(struct synthetic_settings){
                          .seed = 8, .nodes = 10, .segments = 12, .rings = 14, .influences = 4});
    size_t bytes = b.s.model.blocks_count * sizeof *b.out;
    struct surface_block *start = aligned_alloc(64, bytes);
    for (int dq = 0; dq < 2; dq++) {
        for (int degrees = 0; degrees <= 350; degrees += 10) {
            double half = degrees * 3.14159265358979323846 / 360;
            b.pose.locals[3].rotation = (struct quat){0, (float)sin(half), 0, (float)cos(half)};
            skin_rig_run(&b, dq ? MODEL_DQ : MODEL_LBS, simd_best());
            if (degrees == 0) memcpy(start, b.out, bytes);
        }
        b.pose.locals[3].rotation = (struct quat){0, 0, 0, 1};
        skin_rig_run(&b, dq ? MODEL_DQ : MODEL_LBS, simd_best());
        EXPECT(memcmp(start, b.out, bytes) == 0);
    }
    free(start);
    skin_rig_close(&b);
}

int main(void)
{
    RUN(any_number_of_workers_gives_the_same_bits);
    RUN(real_threads_share_one_frame);
    RUN(linear_part_is_what_moves_a_direction);
    RUN(tangents_leave_unit_and_square_to_normals);
    RUN(a_pose_left_and_taken_again_gives_the_same_bits);
    TESTING_MAIN_END;
}
