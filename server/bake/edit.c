#include "server/bake/edit.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/edit_own.h"
#include "server/model/container.h"
#include "server/model/model_file.h"

static enum err run_step(struct editing *e, struct edit *step)
{
    struct driver_plan *d = NULL;
    struct example_plan *x = NULL;
    if (step->kind == EDIT_NEW) return edit_example_new(e, step);
    if (step->example == EDIT_BASE) return edit_base_step(e, step);
    if (edit_is_root(step->example)) return edit_root_step(e, step);
    if (edit_is_correction(step->example)) return edit_correction_step(e, step);
    if (step->kind == EDIT_TAKE) return edit_example_take(e, step);
    if (step->example >= 0) x = edit_example_at(e, step->example, &d);
    if (!x) return fault_set(e->k.fault, ERR_NOT_FOUND, "no example #%d", step->example);
    if (step->kind == EDIT_MIRROR) return edit_example_mirror(e, step, d, x);
    edit_touch(e, d);
    if (step->kind == EDIT_REMOVE) {
        edit_example_remove(e, d, x);
        return ERR_OK;
    }
    return step->kind == EDIT_POSE ? edit_example_pose(e, step, x)
                                   : edit_example_sculpt(e, step, x);
}

// --- What has to be made anew -------------------------------------------------------------------

// Drivers that mirror one that has changed follow it.
static enum err follow_mirrors(struct editing *e)
{
    struct driver_bake *k = &e->k;
    bool any = false;
    for (uint32_t i = 0; i < k->driver_count; i++) {
        struct driver_plan *d = &k->drivers[i];
        const struct driver_plan *from = d->mirror_of ? edit_driver(e, d->mirror_of) : NULL;
        if (!from || from->stands) continue;
        d->stands = d->same = false;
        any = true;
    }
    enum err err = any ? driver_mirror_poses(k) : ERR_OK;
    for (uint32_t i = 0; any && i < k->driver_count; i++)
        for (uint32_t n = 0; n < k->drivers[i].example_count; n++) {
            struct driver_plan *d = &k->drivers[i];
            if (err != ERR_OK || !d->mirror_of || d->stands) continue;
            d->same = false;
            err = driver_delta_admit(k, d->examples[n].locals);
        }
    return err == ERR_OK && any ? driver_mirror_deltas(k) : err;
}

static void mark_set(const struct delta_set *set, uint8_t *mark)
{
    for (uint32_t i = 0; i < set->count; i++)
        mark[set->vertices[i]] = 1;
}

// Who shares vertices with a driver that has changed shows something else there.
static enum err mark_sharing(struct editing *e)
{
    struct driver_bake *k = &e->k;
    const struct model *old = k->edited;
    uint8_t *mark = POOL_ARRAY(&e->pool, uint8_t, model_vertex_count(old));
    if (!mark) return drivers_no_memory(k);
    for (uint32_t i = 0; i < k->driver_count; i++)
        for (uint32_t n = 0; !k->drivers[i].same && n < k->drivers[i].example_count; n++)
            mark_set(&k->drivers[i].examples[n].d, mark);
    for (size_t i = 0; i < old->example_deltas_count; i++)
        if (!k->drivers[old->examples[old->example_deltas[i].example].driver].same)
            mark[old->example_deltas[i].vertex] = 1;
    for (uint32_t i = 0; i < k->driver_count; i++)
        for (uint32_t n = 0; n < k->drivers[i].example_count; n++) {
            const struct delta_set *d = &k->drivers[i].examples[n].d;
            for (uint32_t v = 0; k->drivers[i].stands && v < d->count; v++)
                if (mark[d->vertices[v]]) k->drivers[i].same = false;
        }
    return ERR_OK;
}

static enum err solve(struct editing *e)
{
    static enum err (*const stages[])(struct driver_bake *) = {
        driver_solve_make, driver_share_make, driver_report_make, driver_pack_tables};
    // A new base surface leaves every example what it keeps, mirrored or not.
    enum err err = e->base_changed ? ERR_OK : follow_mirrors(e);
    if (err == ERR_OK) err = mark_sharing(e);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0] && err == ERR_OK; i++)
        err = stages[i](&e->k);
    return err;
}

// --- The result ---------------------------------------------------------------------------------

static enum err make_report(struct editing *e)
{
    cJSON *root = cJSON_CreateObject(), *all = NULL;
    cJSON *solved = cJSON_AddArrayToObject(root, "solved");
    cJSON *drivers = cJSON_AddArrayToObject(root, "drivers");
    cJSON *notes = cJSON_AddArrayToObject(root, "notes");
    if (e->k.driver_count > 0) all = cJSON_Parse(e->b.model.drivers_json);
    for (uint32_t i = 0; i < e->k.driver_count; i++) {
        if (!e->k.drivers[i].stands)
            (void)cJSON_AddItemToArray(solved, cJSON_CreateString(e->k.drivers[i].name));
        if (!e->k.drivers[i].same)
            (void)cJSON_AddItemToArray(drivers,
                                       cJSON_Duplicate(cJSON_GetArrayItem(all, (int)i), 1));
    }
    for (uint32_t i = 0; i < e->scene.notes.count; i++)
        (void)cJSON_AddItemToArray(notes, cJSON_CreateString(e->scene.notes.items[i].text));
    char *text = cJSON_PrintUnformatted(root);
    if (text) e->out->report = strdup(text);
    cJSON_free(text);
    cJSON_Delete(all);
    cJSON_Delete(root);
    return e->out->report ? ERR_OK : fault_set(e->k.fault, ERR_MEMORY, "no memory for the report");
}

static enum err write_model(struct editing *e)
{
    struct model_file *proof = NULL;
    struct model *m = &e->b.model;
    if (e->rig_changed) {
        char *text = cJSON_PrintUnformatted(e->rig.json);
        m->rig_json = text ? pool_copy_text(&e->scene.pool, text, strlen(text)) : NULL;
        m->rig_json_count = text ? strlen(text) + 1 : 0;
        cJSON_free(text);
        if (!m->rig_json) return builder_no_memory(&e->b);
    }
    size_t size = container_size(m);
    uint8_t *bytes = malloc(size);
    if (!bytes)
        return fault_set(e->k.fault, ERR_MEMORY, "no memory for a model of %zu bytes", size);
    container_write(m, bytes);
    enum err err = model_file_from_bytes(bytes, size, &proof, e->k.fault);
    model_file_unref(proof);
    if (err != ERR_OK) {
        free(bytes);
        return err;
    }
    e->out->bytes = bytes;
    e->out->size_bytes = size;
    return ERR_OK;
}

enum err edit_apply(const struct model *m, struct edit *steps, size_t step_count,
                    struct edit_result *out, struct fault *fault)
{
    struct editing e;
    struct driver_plan *d;
    *out = (struct edit_result){0};
    enum err err = edit_open(m, &e, fault);
    e.out = out;
    for (size_t i = 0; i < step_count && err == ERR_OK; i++)
        err = run_step(&e, &steps[i]);
    if (err == ERR_OK && e.k.driver_count > 0) err = solve(&e);
    if (err == ERR_OK) err = make_report(&e);
    if (err == ERR_OK) err = write_model(&e);
    bool shown = step_count > 0 && steps[0].example >= 0 && steps[0].kind != EDIT_NEW &&
                 steps[0].kind != EDIT_TAKE && steps[0].kind != EDIT_REMOVE;
    if (err == ERR_OK && shown) out->moved = edit_example_at(&e, steps[0].example, &d)->d.count;
    edit_close(&e);
    if (err != ERR_OK) edit_free(out);
    return err;
}

void edit_free(struct edit_result *r)
{
    free(r->bytes);
    free(r->report);
    *r = (struct edit_result){0};
}

enum err edit_surface(const struct model *m, int32_t example, float *positions, struct fault *fault)
{
    struct editing e;
    struct driver_plan *d;
    size_t count = model_vertex_count(m) * 3;
    enum err err = edit_open(m, &e, fault);
    if (err == ERR_OK && example == EDIT_BASE)
        memcpy(positions, e.b.positions, count * sizeof(float));
    if (err == ERR_OK && example != EDIT_BASE) {
        double *surface = POOL_ARRAY(&e.pool, double, count);
        const struct example_plan *x = example >= 0 ? edit_example_at(&e, example, &d) : NULL;
        if (!surface)
            err = drivers_no_memory(&e.k);
        else if (edit_is_correction(example))
            err = edit_correction_surface(&e, edit_correction_of(example), surface);
        else if (!x)
            err = fault_set(fault, ERR_NOT_FOUND, "no example #%d", example);
        else
            err = driver_delta_surface(&e.k, x, surface);
        for (size_t i = 0; err == ERR_OK && i < count; i++)
            positions[i] = (float)surface[i];
    }
    edit_close(&e);
    return err;
}
