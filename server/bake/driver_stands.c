#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/drivers.h"

// Drivers of a model that is edited, as its tables have them.

enum err driver_stands_examples(struct driver_bake *k, struct driver_plan *d, uint32_t index)
{
    const struct model *m = k->edited;
    if (index >= m->drivers_count)
        return fault_set(k->fault, ERR_MALFORMED,
                         "the model's rig file lists more drivers than were baked: bake it anew");
    const struct model_driver *from = &m->drivers[index];
    d->stands = d->same = true;
    d->example_count = from->example_count;
    d->examples = DRIVERS_ARRAY(k, struct example_plan, from->example_count);
    if (!d->examples) return drivers_no_memory(k);
    size_t at = 0;
    for (uint32_t i = 0; i < from->example_count; i++) {
        const struct model_example *x = &m->examples[from->example_first + i];
        struct example_plan *e = &d->examples[i];
        uint32_t number = from->example_first + i;
        e->name = model_text(m, x->name);
        e->center = x->center;
        e->gain = (double)x->gain;
        e->residual = (double)x->residual;
        (void)snprintf(e->path, sizeof e->path, "%s/examples/%u", d->path, i);
        e->locals = DRIVERS_ARRAY(k, struct trs, m->nodes_count);
        if (!e->locals) return drivers_no_memory(k);
        memcpy(e->locals, m->example_poses + number * m->nodes_count,
               m->nodes_count * sizeof *e->locals);
        while (at < m->example_deltas_count && m->example_deltas[at].example < number)
            at++;
        size_t end = at;
        while (end < m->example_deltas_count && m->example_deltas[end].example == number)
            end++;
        e->d.count = (uint32_t)(end - at);
        e->d.vertices = DRIVERS_ARRAY(k, uint32_t, e->d.count);
        e->d.deltas = pool_take(k->pool, e->d.count, sizeof *e->d.deltas);
        if (!e->d.vertices || !e->d.deltas) return drivers_no_memory(k);
        for (uint32_t n = 0; n < e->d.count; n++, at++) {
            const struct vec3 *delta = &m->example_deltas[at].delta;
            e->d.vertices[n] = m->example_deltas[at].vertex;
            e->d.deltas[n][0] = (double)delta->x;
            e->d.deltas[n][1] = (double)delta->y;
            e->d.deltas[n][2] = (double)delta->z;
        }
    }
    return ERR_OK;
}

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

// What sampling found when it was solved: the weights are the same.
static void take_report(const struct driver_bake *k, uint32_t driver, uint32_t solve,
                        struct solve_plan *s)
{
    const cJSON *d = cJSON_GetArrayItem(k->edited_report, (int)driver);
    const cJSON *r = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(d, "solves"), (int)solve);
    s->condition = number_of(r, "condition");
    s->loo_error = number_of(r, "leave_one_out");
    s->weight_low = number_of(r, "weight_min");
    s->weight_high = number_of(r, "weight_max");
    s->weight_sum = number_of(r, "weight_sum_max");
    s->slope_per_degree = number_of(r, "steepest_per_degree");
}

static uint64_t mask_of(const struct driver_plan *d, const struct solve_plan *s)
{
    uint64_t mask = 0;
    for (uint32_t j = 0; j < d->joint_count; j++)
        for (uint32_t i = 0; i < s->joint_count; i++)
            if (d->joints[j].node == s->joints[i].node && d->joints[j].read == s->joints[i].read)
                mask |= (uint64_t)1 << j;
    return mask;
}

static enum err load_solve(struct driver_bake *k, struct driver_plan *d,
                           const struct model_solve *from, struct solve_plan *s)
{
    const struct model *m = k->edited;
    size_t vertices = model_vertex_count(m);
    uint8_t *mine = NULL;
    s->joint_count = from->joint_count;
    s->joints = DRIVERS_ARRAY(k, struct model_driver_joint, from->joint_count);
    if (!s->joints) return drivers_no_memory(k);
    memcpy(s->joints, m->driver_joints + from->joint_first, from->joint_count * sizeof *s->joints);
    enum err e = driver_solve_start(k, d, s, from->center_count);
    if (e != ERR_OK) return e;
    memcpy(s->centers, m->driver_centers + from->center_first,
           (size_t)from->center_count * from->joint_count * MODEL_CENTER_DOUBLES *
               sizeof *s->centers);
    memcpy(s->matrix, m->driver_matrix + from->matrix_first,
           (size_t)from->center_count * from->center_count * sizeof *s->matrix);
    s->radius = from->radius;
    if (d->per_vertex) {
        uint64_t mask = mask_of(d, s);
        mine = DRIVERS_ARRAY(k, uint8_t, vertices);
        if (!mine) return drivers_no_memory(k);
        for (uint32_t v = 0; v < vertices; v++)
            mine[v] = driver_solve_joints_of(k, d, v) == mask;
    }
    return driver_solve_gather(k, s, mine);
}

enum err driver_stands_solves(struct driver_bake *k, struct driver_plan *d, uint32_t index)
{
    const struct model_driver *from = &k->edited->drivers[index];
    // Of those that stand at one place the first has the center.
    for (uint32_t i = 0; i < d->example_count; i++)
        for (uint32_t n = 0; n < i; n++)
            if (d->examples[n].center == d->examples[i].center) d->examples[i].merged = true;
    d->solves = DRIVERS_ARRAY(k, struct solve_plan, from->solve_count);
    if (!d->solves) return drivers_no_memory(k);
    for (uint32_t i = 0; i < from->solve_count; i++) {
        enum err e = load_solve(k, d, &k->edited->solves[from->solve_first + i], &d->solves[i]);
        if (e != ERR_OK) return e;
        take_report(k, index, i, &d->solves[i]);
        d->solve_count++;
    }
    return ERR_OK;
}
