#pragma once
#include "server/model/model.h"
#include "server/model/model_file.h"
#include "tests/bench/plain_loop.h"

// Real models for the benches: baked in memory from the test data.

// `path` as given, or below the test data folder. NULL with a skip line when it is not there.
struct model_file *bench_model_open(const char *bench, const char *path);

// The plain loop's input, from the model's blocks.
struct plain_mesh {
    size_t vertex_count;
    struct plain_vertex *vertices;
    struct plain_influence *influences;
    float *positions, *normals; // 3 * vertex_count, written by the loop
};
struct plain_mesh plain_mesh_from_model(const struct model *m);
void plain_mesh_free(struct plain_mesh *p);
void plain_mesh_run(const struct plain_mesh *p, const struct skeleton_slot *palette);
