// Load: a 30,000-vertex model with clips and morph channels from its .sinew file, checked, and
// what a character needs beside it.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/arena.h"
#include "common/check.h"
#include "common/file.h"
#include "server/character/surface/face.h"
#include "server/model/container.h"
#include "server/model/model_file.h"
#include "tests/bench/bench.h"
#include "tests/character/synthetic.h"

enum { ROUNDS = 40 };

struct scene {
    const char *path;
    struct arena arena;
};

static void run_open(void *context)
{
    const struct scene *s = context;
    struct model_file *file;
    struct fault fault = {0};
    if (model_file_open(s->path, &file, &fault) != ERR_OK) {
        fprintf(stderr, "%s\n", fault.line);
        exit(1);
    }
    model_file_unref(file);
}

static void run_open_and_map(void *context)
{
    struct scene *s = context;
    struct model_file *file;
    struct face_map map;
    CHECK(model_file_open(s->path, &file, NULL) == ERR_OK);
    size_t mark = arena_mark(&s->arena);
    face_map_build(model_file_model(file), &s->arena, &map);
    arena_rewind(&s->arena, mark);
    model_file_unref(file);
}

// What no load can beat: the bytes through memory once.
static void run_read(void *context)
{
    const struct scene *s = context;
    uint8_t *bytes;
    size_t size_bytes;
    CHECK(file_read(s->path, (size_t)1 << 30, &bytes, &size_bytes, NULL) == ERR_OK);
    free(bytes);
}

int main(void)
{
    struct synthetic model;
    synthetic_make(&(struct synthetic_settings){.seed = 30,
                                                .nodes = 70,
                                                .segments = 199,
                                                .rings = 150,
                                                .influences = 4,
                                                .tangents = true,
                                                .channels = 52,
                                                .clips = 6,
                                                .keys = 90,
                                                .smooth = true},
                   &model);
    size_t size_bytes = container_size(&model.model);
    uint8_t *bytes = aligned_alloc(CONTAINER_ALIGNMENT, (size_bytes + 63) & ~(size_t)63);
    CHECK(bytes);
    container_write(&model.model, bytes);
    char path[] = "/tmp/sinew_bench_load_XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK(write(fd, bytes, size_bytes) == (ssize_t)size_bytes);
    close(fd);

    struct scene s = {.path = path};
    CHECK(arena_create(&s.arena, face_map_bytes(&model.model) + 64));
    struct bench_variant variants[] = {{"read the file", run_read, &s, 0, 0, 0},
                                       {"open and check", run_open, &s, 0, 0, 0},
                                       {"open, check, face map", run_open_and_map, &s, 0, 0, 0}};
    bench_alternate(variants, 3, ROUNDS);
    char inputs[160];
    snprintf(inputs, sizeof inputs,
             "\"vertices\":%zu,\"channels\":52,\"clips\":6,\"bytes\":%zu,\"aim_us\":5000",
             model_vertex_count(&model.model), size_bytes);
    for (int i = 0; i < 3; i++)
        bench_print("load", &variants[i], inputs, &variants[0], 1);
    unlink(path);
    free(bytes);
    arena_destroy(&s.arena);
    synthetic_free(&model);
    return 0;
}
