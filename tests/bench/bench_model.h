#pragma once
#include <stdbool.h>

#include "server/model/model.h"
#include "server/model/model_file.h"
#include "tests/bench/plain_loop.h"

// Real models for the benches: baked in memory from the test data.

// `path` as given, or below the test data folder. NULL with a skip line when it is not there.
struct model_file *bench_model_open(const char *bench, const char *path);

// The plain loop's input, from the model's blocks. Influences past four are dropped (and the
// line says how many vertices had them). malloc'd.
struct plain_vertex *bench_plain_vertices(const struct model *m, size_t *dropped);
