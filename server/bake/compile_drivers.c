#include <cjson/cJSON.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/drivers.h"

// Method A, making: the rig file's drivers to the model's tables.

enum { DRIVERS_BYTES_MAX = 2000 << 20 };

enum err drivers_no_memory(struct driver_bake *k)
{
    return fault_set(k->fault, ERR_LIMIT,
                     "/drivers: the examples need more than %zu MiB: use fewer of them",
                     k->pool->cap_bytes >> 20);
}

double driver_box_diagonal(const float *positions, size_t vertex_count)
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    double sum = 0;
    for (size_t i = 0; i < vertex_count * 3; i++) {
        low[i % 3] = fmin(low[i % 3], (double)positions[i]);
        high[i % 3] = fmax(high[i % 3], (double)positions[i]);
    }
    for (int r = 0; r < 3; r++)
        sum += (high[r] - low[r]) * (high[r] - low[r]);
    return sum > 0 ? sqrt(sum) : 1;
}

static enum err start(struct driver_bake *k)
{
    const struct model *m = &k->b->model;
    size_t lanes = m->blocks_count * MODEL_LANES;
    k->diagonal = driver_box_diagonal(k->b->positions, model_vertex_count(m));
    k->vertex_of_lane = DRIVERS_ARRAY(k, uint32_t, lanes);
    k->dual_vertex = DRIVERS_ARRAY(k, uint8_t, model_vertex_count(m));
    if (!k->vertex_of_lane || !k->dual_vertex) return drivers_no_memory(k);
    memset(k->vertex_of_lane, 0xFF, lanes * sizeof *k->vertex_of_lane);
    for (uint32_t v = 0; v < model_vertex_count(m); v++)
        k->vertex_of_lane[m->vertex_lanes[v]] = v;
    return ERR_OK;
}

enum err compile_drivers(struct builder *b)
{
    static enum err (*const stages[])(struct driver_bake *) = {
        start,
        driver_plan_read,
        driver_mirror_poses,
        driver_delta_make,
        driver_mirror_deltas,
        driver_solve_make,
        driver_share_make,
        driver_report_make, // before packing: what may be packed depends on the sampled weights
        driver_pack_tables,
    };
    const struct rig *rig = b->settings->rig;
    if (!rig || cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(rig->json, "drivers")) == 0)
        return ERR_OK;
    struct pool pool;
    pool_init(&pool, DRIVERS_BYTES_MAX);
    struct driver_bake k = {.b = b, .rig = rig, .pool = &pool, .fault = b->fault};
    // What the examples become in the model is bounded by their own limits, not by the source.
    pool_raise_cap(&b->scene->pool, DRIVERS_BYTES_MAX);
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0] && e == ERR_OK; i++)
        e = stages[i](&k);
    pool_free(&pool);
    return e;
}
