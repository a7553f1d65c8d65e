// Correctives: deltas laid on the surface against the scalar scatter loop, pose drivers, and a
// frame with correctives against the frame without.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/surface/codec.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/driver.h"
#include "tests/bench/bench.h"
#include "tests/support/sculpt.h"
#include "tests/support/stand.h"
int testing_failures;

enum { ROUNDS = 300, DRIVERS = 10, EXAMPLES = 5, DRIVER_JOINTS = 20, DRIVER_CENTERS = 65 };

static const char *data_file(const char *name)
{
    static char path[1024];
    const char *folder = getenv("SINEW_TEST_DATA");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/data", name);
    return path;
}

// ---- a character with correctives around ten joints

static const char *const joints[DRIVERS] = {
    "LeftForeArm", "RightForeArm", "LeftArm",    "RightArm", "LeftLeg",
    "RightLeg",    "LeftUpLeg",    "RightUpLeg", "LeftHand", "RightHand"};

static bool sculpt_character(struct sculpt *s, double radius)
{
    struct sculpt_driver drivers[DRIVERS];
    struct sculpt_joint reads[DRIVERS];
    struct sculpt_example examples[DRIVERS][EXAMPLES];
    memset(examples, 0, sizeof examples);
    for (unsigned i = 0; i < DRIVERS; i++) {
        reads[i] = (struct sculpt_joint){joints[i], "rotation", NULL};
        for (unsigned e = 0; e < EXAMPLES; e++) {
            struct sculpt_example *x = &examples[i][e];
            static const char *const names[] = {"a", "b", "c", "d", "e"};
            x->name = names[e];
            x->driver_joint[0] = joints[i];
            x->axis[0][e % 3] = 1;
            x->angle_rad[0] = 0.5f + 0.2f * (float)e;
            x->seed = 3 + 7 * i + e;
            x->amount = 0.006f;
            x->radius = (float)radius;
        }
        drivers[i] =
            (struct sculpt_driver){joints[i], "", &reads[i], 1, examples[i], EXAMPLES, NULL};
    }
    return sculpt_bake(s, data_file("psd/makehuman/mh_cmu.glb"), "lbs", drivers, DRIVERS, NULL);
}

static void bend(struct stand *t, double share)
{
    pose_rest(t->model, t->pose);
    for (int i = 0; i < DRIVERS; i++) {
        struct sculpt_example e = {.driver_joint = {joints[i]}, .axis = {{1, 0.6f, 0.3f}}};
        struct trs keep;
        e.angle_rad[0] = (float)(share * (0.5 + 0.05 * i));
        uint32_t node = 0;
        while (strcmp(model_text(t->model, t->model->nodes[node].name), joints[i]) != 0)
            node++;
        struct pose pose = t->pose;
        struct trs *locals = malloc(t->model->nodes_count * sizeof *locals);
        CHECK(locals != NULL);
        memcpy(locals, pose.locals, t->model->nodes_count * sizeof *locals);
        sculpt_pose(t, &e);
        keep = pose.locals[node];
        memcpy(pose.locals, locals, t->model->nodes_count * sizeof *locals);
        pose.locals[node] = keep;
        free(locals);
    }
}

// ---- deltas

struct scatter_delta {
    uint32_t vertex;
    float delta[3];
};
struct deltas {
    struct stand *stand;
    struct surface_frame frame;
    struct arena scratch;
    const float *weights;
    size_t active;
    struct scatter_delta *list; // [correction] one after another
    size_t *first;
    uint32_t *weight;
    float *positions;
};

static void take_deltas(struct deltas *d, struct stand *t)
{
    const struct model *m = t->model;
    uint32_t *vertex_of = malloc(m->blocks_count * MODEL_LANES * sizeof *vertex_of);
    size_t total = 0;
    CHECK(vertex_of != NULL);
    memset(vertex_of, 0xFF, m->blocks_count * MODEL_LANES * sizeof *vertex_of);
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        vertex_of[m->vertex_lanes[v]] = v;
    for (size_t i = 0; i < m->corrections_count; i++)
        total += m->corrections[i].block_count * MODEL_LANES;
    d->list = malloc(total * sizeof *d->list);
    d->first = malloc((m->corrections_count + 1) * sizeof *d->first);
    d->weight = malloc(m->corrections_count * sizeof *d->weight);
    d->positions = calloc(model_vertex_count(m) * 3, sizeof *d->positions);
    CHECK(d->list && d->first && d->weight && d->positions);
    total = 0;
    for (size_t i = 0; i < m->corrections_count; i++) {
        const struct model_correction *c = &m->corrections[i];
        d->first[i] = total;
        d->weight[i] = m->solves[c->solve].weight_first + c->center;
        for (uint32_t k = 0; k < c->block_count; k++)
            for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
                struct scatter_delta x = {0};
                uint32_t block = c->packed ? m->packed_blocks[c->block_first + k].block
                                           : m->correction_blocks[c->block_first + k].block;
                x.vertex = vertex_of[block * MODEL_LANES + lane];
                for (int r = 0; r < 3; r++)
                    x.delta[r] =
                        c->packed
                            ? m->packed_blocks[c->block_first + k].scale *
                                  (float)m->packed_blocks[c->block_first + k].position[r][lane]
                            : m->correction_blocks[c->block_first + k].position[r][lane];
                if (x.vertex == UINT32_MAX ||
                    (x.delta[0] == 0 && x.delta[1] == 0 && x.delta[2] == 0))
                    continue;
                d->list[total++] = x;
            }
    }
    d->first[m->corrections_count] = total;
    free(vertex_of);
    for (size_t i = 0; i < m->corrections_count; i++)
        if (d->weights[d->weight[i]] != 0) d->active += d->first[i + 1] - d->first[i];
}

static void run_scatter(void *context)
{
    struct deltas *d = context;
    for (size_t i = 0; i < d->stand->model->corrections_count; i++) {
        float w = d->weights[d->weight[i]];
        if (w == 0) continue;
        for (size_t k = d->first[i]; k < d->first[i + 1]; k++) {
            const struct scatter_delta *x = &d->list[k];
            float *p = d->positions + 3 * (size_t)x->vertex;
            p[0] += w * x->delta[0];
            p[1] += w * x->delta[1];
            p[2] += w * x->delta[2];
        }
    }
}

// The rest of a frame's work on them: out of base space by Lv, onto the surface.
static void run_scatter_and_lay(void *context)
{
    struct deltas *d = context;
    const struct model *m = d->stand->model;
    run_scatter(context);
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        float *p = d->positions + 3 * v, l[3][3] = {{0}};
        if (p[0] == 0 && p[1] == 0 && p[2] == 0) continue;
        uint32_t lane = m->vertex_lanes[v];
        const struct model_block *b = &m->blocks[lane / MODEL_LANES];
        for (uint32_t k = 0; k < b->influence_count; k++) {
            float w = b->influence_count == 1
                          ? 1
                          : m->weights[b->weight_first + k * MODEL_LANES + lane % MODEL_LANES];
            for (int i = 0; i < 9; i++)
                l[i / 3][i % 3] +=
                    w * d->frame.palette[m->block_slots[b->slot_first + k]].col[i / 3][i % 3];
        }
        for (size_t r = 0; r < 3; r++)
            d->stand->positions[3 * v + r] += l[0][r] * p[0] + l[1][r] * p[1] + l[2][r] * p[2];
        p[0] = p[1] = p[2] = 0;
    }
}

static void run_lay(void *context)
{
    struct deltas *d = context;
    correct_lay(&d->frame.correct, 0, d->stand->correct.turns.row_count);
}

static void run_turn(void *context)
{
    struct deltas *d = context;
    surface_settle(&d->frame, 0, 1);
}

static void begin_frame(struct deltas *d, struct stand *t, enum simd_level level)
{
    struct surface_job job = {.model = t->model,
                              .map = &t->map,
                              .correct = &t->correct,
                              .driver_weights = t->driver_weights,
                              .pose = t->pose,
                              .level = level,
                              .out = t->blocks};
    CHECK(arena_create(&d->scratch, surface_bytes(t->model, &t->map, &t->correct)));
    d->stand = t;
    d->frame = surface_begin(&job, &d->scratch);
    surface_face(&d->frame, 0, 1);
    surface_turn(&d->frame, 0, 1);
    surface_skin(&d->frame, 0, 1);
    surface_keep(&d->frame, 0, 1);
    surface_correct(&d->frame, 0, 1);
    d->weights = d->frame.correct.weights;
}

static void bench_deltas(struct sculpt *s)
{
    struct deltas scatter = {0}, kernels[SIMD_LEVEL_COUNT];
    struct bench_variant v[2 + SIMD_LEVEL_COUNT] = {
        {"scatter, then laid", run_scatter_and_lay, &scatter, 0, 0, 0},
        {"scatter only", run_scatter, &scatter, 0, 0, 0}};
    size_t count = 2;
    char inputs[256];
    bend(&s->stand, 1);
    begin_frame(&scatter, &s->stand, SIMD_PLAIN);
    take_deltas(&scatter, &s->stand);
    for (int level = 0; level < SIMD_LEVEL_COUNT; level++) {
        if (!simd_has((enum simd_level)level)) continue;
        memset(&kernels[level], 0, sizeof kernels[level]);
        begin_frame(&kernels[level], &s->stand, (enum simd_level)level);
        v[count++] = (struct bench_variant){
            simd_name((enum simd_level)level), run_lay, &kernels[level], 0, 0, 0};
    }
    bench_alternate(v, count, ROUNDS);
    for (size_t i = 0; i < count; i++) {
        snprintf(inputs, sizeof inputs,
                 "\"active_deltas\":%zu,\"packed_blocks\":%zu,"
                 "\"float_blocks\":%zu,\"ns_a_delta\":%.2f",
                 scatter.active, s->stand.model->packed_blocks_count,
                 s->stand.model->correction_blocks_count, v[i].median_ns / (double)scatter.active);
        bench_print("correct", &v[i], inputs, &v[0], 0);
    }
    size_t turning = 0;
    for (size_t row = 0; row < s->stand.correct.turns.row_count; row++)
        turning +=
            s->stand.correct.turns.turn_first[row + 1] - s->stand.correct.turns.turn_first[row];
    for (size_t i = 2; i < count; i++)
        v[i].run = run_turn;
    bench_alternate(v + 2, count - 2, ROUNDS);
    for (size_t i = 2; i < count; i++) {
        snprintf(inputs, sizeof inputs, "\"vertices_that_may_turn\":%zu,\"ns_a_vertex\":%.1f",
                 turning, v[i].median_ns / (double)turning);
        bench_print("correct, normals", &v[i], inputs, &v[2], 0);
    }
}

// ---- drivers

struct drivers {
    struct model model;
    struct trs locals[DRIVER_JOINTS];
    double weights[DRIVER_CENTERS];
};

static void run_drivers(void *context)
{
    struct drivers *d = context;
    CHECK(driver_weights(&d->model, d->locals, d->weights));
}

static double noise(void)
{
    static uint32_t state = 9;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1;
}

static void bench_drivers(void)
{
    static struct model_driver driver = {.solver = MODEL_SOLVER};
    static struct model_solve solve = {
        .joint_count = DRIVER_JOINTS, .center_count = DRIVER_CENTERS, .radius = 3};
    static struct model_driver_joint joint[DRIVER_JOINTS];
    static double centers[DRIVER_CENTERS * DRIVER_JOINTS * MODEL_CENTER_DOUBLES];
    static double matrix[DRIVER_CENTERS * DRIVER_CENTERS];
    static struct drivers d;
    for (uint32_t j = 0; j < DRIVER_JOINTS; j++) {
        joint[j] = (struct model_driver_joint){.node = j, .weight = 1, .per_unit = 1};
        d.locals[j] = (struct trs){.rotation = {(float)noise(), (float)noise(), (float)noise(), 1}};
    }
    for (size_t i = 0; i < sizeof matrix / sizeof *matrix; i++)
        matrix[i] = noise();
    for (size_t i = 0; i < sizeof centers / sizeof *centers; i++)
        centers[i] = noise() / 2;
    d.model = (struct model){.drivers = &driver,
                             .drivers_count = 1,
                             .solves = &solve,
                             .solves_count = 1,
                             .driver_joints = joint,
                             .driver_joints_count = DRIVER_JOINTS,
                             .driver_centers = centers,
                             .driver_matrix = matrix};
    struct bench_variant v = {"64 examples, 20 joints", run_drivers, &d, 0, 0, 0};
    bench_alternate(&v, 1, 4 * ROUNDS);
    bench_print("drivers", &v, "\"aim_us\":50", &v, 0);
}

// ---- the frame

struct frame_run {
    struct stand *stand;
    bool correct, encode;
    int step;
    struct surface_row *rows, *current;
    struct surface_grid grid;
    uint16_t *predictors;
    struct surface_packer *packer;
    uint8_t *out;
    struct trs *poses; // [step][node]
};
enum { STEPS = 32 };

static void run_frame(void *context)
{
    struct frame_run *f = context;
    struct stand *t = f->stand;
    const struct model *m = t->model;
    f->step = (f->step + 1) % STEPS;
    memcpy(t->pose.locals, f->poses + (size_t)f->step * m->nodes_count,
           m->nodes_count * sizeof *f->poses);
    struct surface_job job = {.model = m,
                              .map = &t->map,
                              .correct = f->correct ? &t->correct : NULL,
                              .driver_weights = t->driver_weights,
                              .pose = t->pose,
                              .level = simd_best(),
                              .out = t->blocks};
    surface_run(&job, &t->scratch);
    if (!f->encode) return;
    struct surface_quantise_job quantise = {.level = job.level,
                                            .blocks = t->blocks[0].position[0],
                                            .block_count = m->blocks_count,
                                            .grid = f->grid,
                                            .rows = f->rows};
    (void)surface_quantise(&quantise);
    struct surface_row *before = f->current + (f->step % 2 ? model_vertex_count(m) : 0);
    struct surface_row *now = f->current + (f->step % 2 ? 0 : model_vertex_count(m));
    struct surface_encode_job encode = {.level = job.level,
                                        .lane_rows = f->rows,
                                        .lanes = m->vertex_lanes,
                                        .vertex_count = model_vertex_count(m),
                                        .predictors = f->predictors,
                                        .anchor = before,
                                        .current = now,
                                        .out = f->out,
                                        .capacity_bytes =
                                            surface_encode_bound(model_vertex_count(m))};
    surface_encode(&encode, f->packer);
}

static void *take(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    CHECK(p != NULL);
    memset(p, 0, bytes);
    return p;
}

static void bench_frame(struct sculpt *s, const char *label)
{
    struct stand *t = &s->stand;
    const struct model *m = t->model;
    size_t count = model_vertex_count(m);
    const float low[3] = {-3, -3, -3}, high[3] = {3, 3, 3};
    struct frame_run shared = {.stand = t,
                               .rows = take(m->blocks_count * MODEL_LANES * sizeof *shared.rows),
                               .current = take(2 * count * sizeof *shared.current),
                               .grid = surface_grid_fit(low, high, SURFACE_BITS_DEFAULT, 0.25f),
                               .predictors = take(count * 8 * sizeof(uint16_t)),
                               .out = take(surface_encode_bound(count)),
                               .poses = take(STEPS * m->nodes_count * sizeof *shared.poses)};
    CHECK(surface_packer_create(count, &shared.packer) == ERR_OK);
    CHECK(surface_predictors_make(m->indices, m->indices_count, m->weld, count,
                                  shared.predictors) == ERR_OK);
    for (int i = 0; i < STEPS; i++) { // there and back, every joint bent at once
        bend(t, 0.6 + 0.4 * sin(2 * M_PI * i / STEPS));
        memcpy(shared.poses + (size_t)i * m->nodes_count, t->pose.locals,
               m->nodes_count * sizeof *shared.poses);
    }
    struct frame_run runs[4];
    for (int i = 0; i < 4; i++) {
        runs[i] = shared;
        runs[i].correct = i & 1;
        runs[i].encode = i >= 2;
    }
    struct bench_variant v[] = {{"surface without", run_frame, &runs[0], 0, 0, 0},
                                {"surface with correctives", run_frame, &runs[1], 0, 0, 0},
                                {"encoded without", run_frame, &runs[2], 0, 0, 0},
                                {"encoded with correctives", run_frame, &runs[3], 0, 0, 0}};
    bench_alternate(v, 4, ROUNDS);
    char inputs[128];
    for (int i = 0; i < 4; i++) {
        snprintf(inputs, sizeof inputs, "\"character\":\"%s\",\"vertices\":%zu,\"share\":%.2f",
                 label, count, v[i].median_ns / v[i & 2].median_ns);
        bench_print("frame", &v[i], inputs, &v[i & 2], 1);
    }
    surface_packer_destroy(shared.packer);
    free(shared.rows);
    free(shared.current);
    free(shared.predictors);
    free(shared.out);
    free(shared.poses);
}

int main(void)
{
    struct sculpt s;
    bench_drivers();
    if (sculpt_character(&s, 0.14)) {
        bench_deltas(&s);
        bench_frame(&s, "mh_cmu, ten joints");
    } else {
        bench_skip("correct", "psd/makehuman/mh_cmu.glb is not there");
    }
    sculpt_close(&s);
    return 0;
}
