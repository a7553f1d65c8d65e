#include "tests/bench/bench_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/bake.h"
#include "tests/bench/bench.h"
#include "tests/testing.h"

struct model_file *bench_model_open(const char *bench, const char *path)
{
    char full[2048];
    const char *data = testing_data();
    snprintf(full, sizeof full, "%s%s%s", path[0] == '/' || !data ? "" : data,
             path[0] == '/' || !data ? "" : "/", path);
    FILE *f = fopen(full, "rb");
    if (!f) {
        bench_skip(bench, path);
        return NULL;
    }
    fclose(f);
    struct bake_result baked;
    struct fault fault = {0};
    struct model_file *file = NULL;
    if (bake_run(full, NULL, &baked, &fault) != ERR_OK) {
        bench_skip(bench, fault.line);
        return NULL;
    }
    if (model_file_from_bytes(baked.bytes, baked.size_bytes, &file, &fault) != ERR_OK)
        bench_skip(bench, fault.line);
    bake_free(&baked);
    return file;
}

// The heaviest four, renormalised.
static bool plain_influences(const struct model *m, uint32_t lane, struct plain_vertex *out)
{
    const struct model_block *b = &m->blocks[lane / MODEL_LANES];
    float w[MODEL_INFLUENCES_MAX] = {1}, sum = 0;
    for (uint32_t k = 0; k < b->influence_count && b->influence_count > 1; k++)
        w[k] = m->weights[b->weight_first + k * MODEL_LANES + lane % MODEL_LANES];
    for (uint32_t i = 0; i < 4 && i < b->influence_count; i++) {
        uint32_t heaviest = 0;
        for (uint32_t k = 1; k < b->influence_count; k++)
            if (w[k] > w[heaviest]) heaviest = k;
        out->slots[i] = m->block_slots[b->slot_first + heaviest];
        out->weights[i] = w[heaviest];
        sum += w[heaviest];
        w[heaviest] = -1;
        out->influence_count = i + 1;
    }
    for (uint32_t i = 0; i < out->influence_count; i++)
        out->weights[i] /= sum;
    return b->influence_count > 4;
}

struct plain_vertex *bench_plain_vertices(const struct model *m, size_t *dropped)
{
    size_t count = model_vertex_count(m);
    struct plain_vertex *vertices = calloc(count, sizeof *vertices);
    CHECK(vertices);
    *dropped = 0;
    for (size_t v = 0; v < count; v++) {
        uint32_t lane = m->vertex_lanes[v], place = lane % MODEL_LANES;
        const struct model_rest_block *rest = &m->rest[lane / MODEL_LANES];
        for (int r = 0; r < 3; r++) {
            vertices[v].position[r] = rest->position[r][place];
            vertices[v].normal[r] = rest->normal[r][place];
        }
        *dropped += plain_influences(m, lane, &vertices[v]);
    }
    return vertices;
}
