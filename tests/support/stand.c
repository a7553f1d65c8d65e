#include "tests/support/stand.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/bake.h"
#include "server/character/pose/driver.h"

bool stand_take(struct stand *s, struct model_file *file)
{
    const struct model *m = model_file_model(file);
    size_t vertices = model_vertex_count(m);
    *s = (struct stand){.file = file, .model = m};
    if (!arena_create(&s->arena, face_map_bytes(m) + correct_map_bytes(m) + pose_bytes(m) + 4096 +
                                     driver_weight_count(m) * sizeof(double) +
                                     m->blocks_count * sizeof *s->blocks))
        return false;
    face_map_build(m, &s->arena, &s->map);
    correct_map_build(m, NULL, &s->arena, &s->correct);
    s->driver_weights = ARENA_ARRAY(&s->arena, double, driver_weight_count(m));
    s->pose = pose_take(m, &s->arena);
    s->blocks = ARENA_ARRAY(&s->arena, struct surface_block, m->blocks_count);
    s->positions = malloc(vertices * 3 * sizeof(float));
    s->normals = malloc(vertices * 3 * sizeof(float));
    pose_rest(m, s->pose);
    return s->positions && s->normals &&
           arena_create(&s->scratch, surface_bytes(m, &s->map, &s->correct));
}

bool stand_open(struct stand *s, const char *path)
{
    struct fault fault = {0};
    struct model_file *file = NULL;
    size_t length = strlen(path);
    *s = (struct stand){0};
    if (length > 6 && strcmp(path + length - 6, ".sinew") == 0) {
        if (model_file_open(path, &file, &fault) == ERR_OK) return stand_take(s, file);
    } else {
        struct bake_result baked = {0};
        enum err e = bake_run(path, NULL, &baked, &fault);
        if (e == ERR_OK) e = model_file_from_bytes(baked.bytes, baked.size_bytes, &file, &fault);
        bake_free(&baked);
        if (e == ERR_OK) return stand_take(s, file);
    }
    printf("  %s: %s\n", path, fault.line);
    return false;
}

void stand_evaluate(struct stand *s, enum model_skinning skinning, enum simd_level level)
{
    struct surface_job job = {.model = s->model,
                              .map = &s->map,
                              .correct = &s->correct,
                              .driver_weights = s->without_correctives ? NULL : s->driver_weights,
                              .extras = s->extras,
                              .roots = s->roots,
                              .pose = s->pose,
                              .skinning = skinning,
                              .level = level,
                              .out = s->blocks};
    arena_reset(&s->scratch);
    surface_run(&job, &s->scratch);
    surface_gather(s->model, s->blocks, s->positions, s->normals);
}

void stand_close(struct stand *s)
{
    arena_destroy(&s->arena);
    arena_destroy(&s->scratch);
    free(s->positions);
    free(s->normals);
    model_file_unref(s->file);
    *s = (struct stand){0};
}
