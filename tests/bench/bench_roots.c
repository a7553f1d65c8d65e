// What two roots cost on the demo character: pose, skin and correctives of a frame whose legs run
// and whose torso waves, against the same frame of one root.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/roots.h"
#include "server/model/lookup.h"
#include "tests/bench/bench.h"
#include "tests/support/stand.h"
int testing_failures;

enum { ROUNDS = 300, TIMES = 16 };

struct run {
    struct stand stand;
    struct arena arena;
    struct roots_pose roots; // with two
    bool with_correctives;
    uint32_t legs, torso; // clips
    int step;
};

static void sample(struct run *r, uint32_t clip, struct pose out)
{
    pose_rest(r->stand.model, out);
    clip_sample(r->stand.model, clip, 0.05 * r->step, (struct clip_cursor){0}, out);
}

static void run_frame(void *context)
{
    struct run *r = context;
    const struct model *m = r->stand.model;
    struct surface_job job = {.model = m,
                              .map = &r->stand.map,
                              .correct = r->with_correctives ? &r->stand.correct : NULL,
                              .driver_weights = r->stand.driver_weights,
                              .pose = r->stand.pose,
                              .level = simd_best(),
                              .out = r->stand.blocks};
    r->step = (r->step + 1) % TIMES;
    if (m->roots_count > 0) {
        sample(r, r->legs, r->roots.poses[0]);
        sample(r, r->torso, r->roots.poses[1]);
        roots_settle(m, &r->roots, r->stand.pose);
        job.roots = &r->roots;
    } else {
        sample(r, r->legs, r->stand.pose);
    }
    arena_reset(&r->stand.scratch);
    surface_run(&job, &r->stand.scratch);
}

static bool open_run(struct run *r, const char *path)
{
    struct fault fault;
    *r = (struct run){0};
    if (!stand_open(&r->stand, path)) return false;
    if (!arena_create(&r->arena, roots_pose_bytes(r->stand.model) + 64)) return false;
    r->roots = roots_pose_take(r->stand.model, &r->arena);
    return lookup_name(r->stand.model, LOOKUP_CLIP, "Run", "clip", &r->legs, &fault) == ERR_OK &&
           lookup_name(r->stand.model, LOOKUP_CLIP, "Wave", "clip", &r->torso, &fault) == ERR_OK;
}

// The demo's rig file without its roots.
static void write_single(const char *from, const char *to)
{
    char command[512];
    (void)snprintf(command, sizeof command,
                   "python3 -c \"import json,sys; r=json.load(open('%s')); r.pop('roots'); "
                   "json.dump(r,open('%s','w'))\"",
                   from, to);
    CHECK(system(command) == 0);
}

int main(void)
{
    static const char rig[] = "tests/assets/characters/mira.rig.json";
    static const char single[] = "tests/assets/characters/mira.single.rig.json";
    struct run two, one;
    write_single(rig, single);
    bool opened = open_run(&two, rig) && open_run(&one, single);
    (void)remove(single);
    if (!opened) {
        bench_skip("roots", "the demo character cannot be baked");
        return 1;
    }
    CHECK(two.stand.model->roots_count == 2 && one.stand.model->roots_count == 0);
    for (int k = 0; k < 2; k++) {
        two.with_correctives = one.with_correctives = k == 1;
        struct bench_variant v[2] = {{"one root", run_frame, &one, 0, 0, 0},
                                     {"two roots", run_frame, &two, 0, 0, 0}};
        bench_alternate(v, 2, ROUNDS);
        for (int i = 0; i < 2; i++)
            bench_print(k ? "roots, with correctives" : "roots", &v[i],
                        "\"model\": \"mira\", \"clips\": \"Run, Wave\"", &v[0], i > 0);
    }
    return 0;
}
