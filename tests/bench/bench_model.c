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

struct plain_mesh plain_mesh_from_model(const struct model *m)
{
    size_t count = model_vertex_count(m), at = 0;
    struct plain_mesh p = {
        .vertex_count = count,
        .vertices = calloc(count, sizeof *p.vertices),
        .influences = calloc(count * MODEL_INFLUENCES_MAX, sizeof *p.influences),
        .positions = calloc(count * 3, sizeof(float)),
        .normals = calloc(count * 3, sizeof(float)),
    };
    CHECK(p.vertices && p.influences && p.positions && p.normals);
    for (size_t v = 0; v < count; v++) {
        uint32_t lane = m->vertex_lanes[v], place = lane % MODEL_LANES;
        const struct model_rest_block *rest = &m->rest[lane / MODEL_LANES];
        const struct model_block *b = &m->blocks[lane / MODEL_LANES];
        struct plain_vertex *out = &p.vertices[v];
        for (int r = 0; r < 3; r++) {
            out->position[r] = rest->position[r][place];
            out->normal[r] = rest->normal[r][place];
        }
        out->influence_first = (uint32_t)at;
        for (uint32_t k = 0; k < b->influence_count; k++) {
            float w =
                b->influence_count == 1 ? 1 : m->weights[b->weight_first + k * MODEL_LANES + place];
            p.influences[at++] = (struct plain_influence){w, m->block_slots[b->slot_first + k]};
        }
        out->influence_count = b->influence_count;
    }
    return p;
}

void plain_mesh_free(struct plain_mesh *p)
{
    free(p->vertices);
    free(p->influences);
    free(p->positions);
    free(p->normals);
}

void plain_mesh_run(const struct plain_mesh *p, const struct skeleton_slot *palette)
{
    plain_loop(p->vertex_count, palette, p->vertices, p->influences, p->positions, p->normals);
}
