// What the demo character's extras cost, all of them swinging, against the plain loop's skinning of
// its surface.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "server/character/surface/surface.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_model.h"
#include "tests/support/stand.h"
int testing_failures;

enum { ROUNDS = 400, POSES = 32 };

struct run {
    struct stand stand;
    struct plain_mesh plain;
    struct extras extras;
    struct xform *nodes[POSES];
    struct surface_frame frame;
    int step;
    double place_x;
};

static void run_plain(void *context)
{
    struct run *r = context;
    plain_mesh_run(&r->plain, r->frame.palette);
}

static void run_extras(void *context)
{
    struct run *r = context;
    r->step = (r->step + 1) % POSES;
    r->place_x += 0.02 * sin(2 * M_PI * r->step / POSES);
    (void)extras_advance(&r->extras,
                         &(struct extra_motion){.model = r->stand.model,
                                                .model_from_node = r->nodes[r->step],
                                                .dt_s = 1 / 60.0,
                                                .place = {r->place_x, 0, 0}},
                         true);
    CHECK(r->extras.moving);
    surface_extras(&r->frame, 0, 1);
}

// And what follows from them in a frame without correctives: whose normals turn.
static void run_with_normals(void *context)
{
    struct run *r = context;
    surface_skin(&r->frame, 0, 1);
    surface_keep(&r->frame, 0, 1);
    run_extras(context);
    surface_correct(&r->frame, 0, 1);
    surface_settle(&r->frame, 0, 1);
}

static void run_skin(void *context)
{
    struct run *r = context;
    surface_skin(&r->frame, 0, 1);
}

static void take_poses(struct run *r)
{
    const struct model *m = r->stand.model;
    for (int i = 0; i < POSES; i++) {
        r->nodes[i] = malloc(m->nodes_count * sizeof *r->nodes[i]);
        CHECK(r->nodes[i] != NULL);
        pose_rest(m, r->stand.pose);
        for (size_t n = 0; n < m->nodes_count; n++) {
            double half = 0.3 * sin(2 * M_PI * i / POSES + (double)n);
            struct quat *q = &r->stand.pose.locals[n].rotation;
            struct quat p = *q, t = {(float)sin(half), 0, 0, (float)cos(half)};
            *q = (struct quat){p.w * t.x + p.x * t.w, p.y * t.w + p.z * t.x, p.z * t.w - p.y * t.x,
                               p.w * t.w - p.x * t.x};
        }
        skeleton_model_from_nodes(m, r->stand.pose.locals, r->nodes[i]);
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "tests/assets/characters/mira.rig.json";
    static struct run r;
    if (!stand_open(&r.stand, path)) {
        bench_skip("extras", path);
        return 0;
    }
    const struct model *m = r.stand.model;
    take_poses(&r);
    r.plain = plain_mesh_from_model(m);
    r.extras = extras_take(m, aligned_alloc(64, 2 * extras_bytes(m)));
    CHECK(r.extras.states != NULL);
    (void)extras_advance(&r.extras,
                         &(struct extra_motion){.model = m, .model_from_node = r.nodes[0]}, true);
    (void)extras_advance(
        &r.extras,
        &(struct extra_motion){.model = m, .model_from_node = r.nodes[1], .dt_s = 1 / 60.0}, true);
    struct surface_job job = {.model = m,
                              .map = &r.stand.map,
                              .correct = &r.stand.correct,
                              .extras = &r.extras,
                              .pose = r.stand.pose,
                              .level = simd_best(),
                              .out = r.stand.blocks};
    r.frame = surface_begin(&job, &r.stand.scratch);
    run_skin(&r);
    struct bench_variant v[] = {{"plain loop", run_plain, &r, 0, 0, 0},
                                {"extras", run_extras, &r, 0, 0, 0},
                                {"skin", run_skin, &r, 0, 0, 0},
                                {"skin, extras, normals", run_with_normals, &r, 0, 0, 0}};
    bench_alternate(v, 4, ROUNDS);
    for (int i = 0; i < 4; i++) {
        char inputs[96];
        snprintf(inputs, sizeof inputs, "\"extras\":%zu,\"vertices\":%zu", m->extras_count,
                 model_vertex_count(m));
        bench_print("extras", &v[i], inputs, &v[0], 1);
    }
    plain_mesh_free(&r.plain);
    for (int i = 0; i < POSES; i++)
        free(r.nodes[i]);
    free(r.extras.states);
    stand_close(&r.stand);
    return 0;
}
