#include "server/bake/edit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/json_guard.h"
#include "server/bake/edit_own.h"
#include "server/bake/rig_schema.h"
#include "server/character/input/pose_json.h"
#include "server/model/container.h"
#include "server/model/model_file.h"

enum { EDIT_BYTES_MAX = 2000 << 20, RIG_TEXT_MAX = 16 << 20 };

// --- Opening ------------------------------------------------------------------------------------

static enum err copy_text(struct editing *e, const struct model *m)
{
    struct builder *b = &e->b;
    b->text_capacity = m->text_count + 4096;
    b->text = BUILDER_ARRAY(b, char, b->text_capacity);
    if (!b->text) return builder_no_memory(b);
    memcpy(b->text, m->text, m->text_count);
    b->model.text = b->text;
    return ERR_OK;
}

// Positions and influences by vertex, from the blocks.
static enum err gather_vertices(struct editing *e, const struct model *m)
{
    struct builder *b = &e->b;
    size_t vertices = model_vertex_count(m), influences = 0;
    for (size_t v = 0; v < vertices; v++)
        influences += m->blocks[m->vertex_lanes[v] / MODEL_LANES].influence_count;
    b->positions = BUILDER_ARRAY(b, float, vertices * 3);
    b->influence_first = BUILDER_ARRAY(b, uint32_t, vertices + 1);
    b->influence_slots = BUILDER_ARRAY(b, uint16_t, influences);
    b->influence_weights = BUILDER_ARRAY(b, float, influences);
    if (!b->positions || !b->influence_first || !b->influence_slots || !b->influence_weights)
        return builder_no_memory(b);
    uint32_t at = 0;
    for (size_t v = 0; v < vertices; v++) {
        uint32_t lane = m->vertex_lanes[v], place = lane % MODEL_LANES;
        const struct model_block *block = &m->blocks[lane / MODEL_LANES];
        for (size_t r = 0; r < 3; r++)
            b->positions[v * 3 + r] = m->rest[lane / MODEL_LANES].position[r][place];
        b->influence_first[v] = at;
        for (uint32_t i = 0; i < block->influence_count; i++, at++) {
            b->influence_slots[at] = m->block_slots[block->slot_first + i];
            b->influence_weights[at] =
                block->influence_count == 1
                    ? 1
                    : m->weights[block->weight_first + i * MODEL_LANES + place];
        }
    }
    b->influence_first[vertices] = at;
    return ERR_OK;
}

static enum err read_rig(struct editing *e, const struct model *m, struct fault *fault)
{
    struct json_limits limits = json_limits_for(RIG_TEXT_MAX);
    e->rig.skinning = (enum model_skinning)m->info->skinning;
    if (m->rig_json_count > 1) {
        enum err err = json_parse(m->rig_json, strnlen(m->rig_json, m->rig_json_count), &limits,
                                  &e->rig.json, fault);
        if (err == ERR_OK) err = rig_schema_check(e->rig.json, fault); // the model may be anyone's
        if (err != ERR_OK) return err;
    }
    if (m->drivers_json_count > 1)
        return json_parse(m->drivers_json, strnlen(m->drivers_json, m->drivers_json_count), &limits,
                          &e->report, fault);
    return ERR_OK;
}

static enum err start_drivers(struct editing *e, const struct model *m)
{
    struct driver_bake *k = &e->k;
    size_t lanes = m->blocks_count * MODEL_LANES, vertices = model_vertex_count(m);
    k->diagonal = driver_box_diagonal(e->b.positions, vertices);
    k->vertex_of_lane = DRIVERS_ARRAY(k, uint32_t, lanes);
    k->dual_vertex = DRIVERS_ARRAY(k, uint8_t, vertices);
    if (!k->vertex_of_lane || !k->dual_vertex) return drivers_no_memory(k);
    memset(k->vertex_of_lane, 0xFF, lanes * sizeof *k->vertex_of_lane);
    for (uint32_t v = 0; v < vertices; v++) {
        uint32_t lane = m->vertex_lanes[v];
        k->vertex_of_lane[lane] = v;
        k->dual_vertex[v] =
            m->dual_lanes_count ? m->dual_lanes[lane / MODEL_LANES] >> lane % MODEL_LANES & 1 : 0;
    }
    if (m->drivers_count == 0) return ERR_OK;
    enum err err = driver_plan_read(k);
    if (err == ERR_OK && k->driver_count != m->drivers_count)
        err = fault_set(k->fault, ERR_MALFORMED,
                        "the model's rig file lists %u drivers and %zu were baked: bake it anew",
                        k->driver_count, m->drivers_count);
    return err == ERR_OK ? driver_mirror_poses(k) : err; // joints of those that mirror another
}

enum err edit_open(const struct model *m, struct editing *e, struct fault *fault)
{
    static const struct compile_settings settings = {.source_name = ""};
    *e = (struct editing){.b = {.settings = &settings, .fault = fault, .place = "/drivers"}};
    pool_init(&e->scene.pool, EDIT_BYTES_MAX);
    pool_init(&e->pool, EDIT_BYTES_MAX);
    e->b.scene = &e->scene;
    e->b.model = *m;
    e->k = (struct driver_bake){
        .b = &e->b, .rig = &e->rig, .pool = &e->pool, .fault = fault, .edited = m};
    enum err err = copy_text(e, m);
    if (err == ERR_OK) err = gather_vertices(e, m);
    if (err == ERR_OK) err = read_rig(e, m, fault);
    e->k.edited_report = e->report;
    return err == ERR_OK ? start_drivers(e, m) : err;
}

void edit_close(struct editing *e)
{
    cJSON_Delete(e->report);
    rig_free(&e->rig);
    scene_free(&e->scene);
    pool_free(&e->pool);
}

// --- Examples -----------------------------------------------------------------------------------

static struct example_plan *example_at(struct editing *e, int32_t index, struct driver_plan **d)
{
    uint32_t left = (uint32_t)index;
    for (uint32_t i = 0; i < e->k.driver_count; i++) {
        if (left < e->k.drivers[i].example_count) {
            *d = &e->k.drivers[i];
            return &e->k.drivers[i].examples[left];
        }
        left -= e->k.drivers[i].example_count;
    }
    return NULL;
}

static cJSON *describe_joint(const struct editing *e, const struct driver_plan *d, uint32_t j)
{
    static const char *const reads[] = {"rotation", "swing", "twist", "translation", "transform"};
    const struct model_driver_joint *joint = &d->joints[j];
    char name[16];
    cJSON *out = cJSON_CreateObject();
    (void)snprintf(name, sizeof name, "#%u", e->b.model.nodes[joint->node].source);
    (void)cJSON_AddStringToObject(out, "joint", name);
    (void)cJSON_AddStringToObject(out, "read", reads[joint->read]);
    (void)cJSON_AddNumberToObject(out, "weight", joint->weight);
    if (joint->read == MODEL_READ_SWING || joint->read == MODEL_READ_TWIST)
        (void)cJSON_AddItemToObject(out, "axis", cJSON_CreateDoubleArray(joint->axis, 3));
    if (!d->per_unit_auto[j] &&
        (joint->read == MODEL_READ_TRANSLATION || joint->read == MODEL_READ_TRANSFORM))
        (void)cJSON_AddNumberToObject(out, "per_m", joint->per_unit);
    return out;
}

// A driver that mirrored another has its own examples from now on: the rig file says its joints.
static void detach(struct editing *e, struct driver_plan *d)
{
    static const char *const kernels[] = {"rotation",   "linear",       "gaussian",
                                          "thin_plate", "multiquadric", "inverse_multiquadric"};
    static const char *const modes[] = {"raw", "clamp", "normalise"};
    cJSON *list = cJSON_GetObjectItemCaseSensitive(e->rig.json, "drivers");
    cJSON *json = cJSON_GetArrayItem(list, (int)(d - e->k.drivers)), *joints;
    CHECK(json && d->mirror_of);
    cJSON_DeleteItemFromObjectCaseSensitive(json, "mirror_of");
    joints = cJSON_AddArrayToObject(json, "joints");
    for (uint32_t j = 0; j < d->joint_count; j++)
        (void)cJSON_AddItemToArray(joints, describe_joint(e, d, j));
    (void)cJSON_AddStringToObject(json, "kernel", kernels[d->kernel]);
    (void)cJSON_AddStringToObject(json, "weights", modes[d->weights]);
    (void)cJSON_AddBoolToObject(json, "per_vertex", d->per_vertex);
    if (!d->radius_auto) (void)cJSON_AddNumberToObject(json, "radius", d->radius);
    if (d->ridge >= 0) (void)cJSON_AddNumberToObject(json, "ridge", d->ridge);
    d->mirror_of = NULL;
    e->rig_changed = true;
}

static void touch(struct editing *e, struct driver_plan *d)
{
    d->stands = d->same = false;
    if (d->mirror_of) detach(e, d);
}

static struct driver_plan *driver_called(struct editing *e, const char *name)
{
    for (uint32_t i = 0; i < e->k.driver_count; i++)
        if (strcmp(e->k.drivers[i].name, name) == 0) return &e->k.drivers[i];
    return NULL;
}

static struct example_plan *example_called(struct driver_plan *d, const char *name)
{
    for (uint32_t i = 0; i < d->example_count; i++)
        if (strcmp(d->examples[i].name, name) == 0) return &d->examples[i];
    return NULL;
}

static enum err add_example(struct editing *e, struct driver_plan *d, const char *name,
                            struct example_plan **out)
{
    enum { EXAMPLES_MAX = 512 };
    struct driver_bake *k = &e->k;
    struct example_plan *grown = DRIVERS_ARRAY(k, struct example_plan, d->example_count + 1);
    if (d->example_count >= EXAMPLES_MAX)
        return fault_set(k->fault, ERR_LIMIT, "the driver \"%.60s\" has %d examples already",
                         d->name, EXAMPLES_MAX);
    if (!grown) return drivers_no_memory(k);
    if (d->example_count) memcpy(grown, d->examples, d->example_count * sizeof *grown);
    d->examples = grown;
    struct example_plan *x = &grown[d->example_count++];
    x->name = pool_copy_text(&e->pool, name, strlen(name));
    (void)snprintf(x->path, sizeof x->path, "%s/examples/%u", d->path, d->example_count - 1);
    if (!x->name) return drivers_no_memory(k);
    *out = x;
    return ERR_OK;
}

static enum err read_pose(struct editing *e, const cJSON *json, struct trs **out)
{
    const struct model *m = &e->b.model;
    struct arena arena;
    struct trs *locals = POOL_ARRAY(&e->pool, struct trs, m->nodes_count);
    if (!locals || !arena_create(&arena, 2 * pose_bytes(m) + 4096)) return drivers_no_memory(&e->k);
    struct pose pose = pose_take(m, &arena);
    pose_rest(m, pose);
    enum err err = pose_json_apply(m, json, "/pose", pose, &arena, e->k.fault);
    memcpy(locals, pose.locals, m->nodes_count * sizeof *locals);
    arena_destroy(&arena);
    *out = locals;
    return err;
}

enum err edit_measure(struct editing *e, const struct edit *step, const double *before,
                      const double *after)
{
    const struct model_info *info = e->b.model.info;
    double height = (double)info->box_max[1] - (double)info->box_min[1], largest = 0;
    size_t worst = 0;
    for (size_t v = 0; v < model_vertex_count(&e->b.model); v++) {
        double sum = 0;
        for (size_t r = 0; r < 3; r++)
            sum += (after[v * 3 + r] - before[v * 3 + r]) * (after[v * 3 + r] - before[v * 3 + r]);
        if (!(sqrt(sum) > largest)) continue;
        largest = sqrt(sum);
        worst = v;
    }
    e->out->largest_move = fmax(e->out->largest_move, largest);
    if (step->force || !(largest > height)) return ERR_OK;
    return fault_set(e->k.fault, ERR_DENIED,
                     "vertex %zu would move by %.4g, more than the body's height of %.4g: is the "
                     "unit right? force=1 takes it all the same",
                     worst, largest, height);
}

enum err edit_wanted(struct editing *e, const struct edit *step, const double *before,
                     double *after)
{
    size_t vertices = model_vertex_count(&e->b.model);
    const struct example_plan place = {.path = ""};
    if (step->kind == EDIT_SURFACE)
        return driver_surface_parse(&e->k, &place, (enum driver_surface_format)step->format,
                                    step->bytes, step->size_bytes, after);
    memcpy(after, before, vertices * 3 * sizeof *after);
    for (size_t i = 0; i < step->delta_count; i++) {
        const struct edit_delta *d = &step->deltas[i];
        if (d->vertex >= vertices || (i > 0 && d->vertex <= step->deltas[i - 1].vertex))
            return fault_set(e->k.fault, ERR_MALFORMED,
                             "delta %zu is of vertex %u: they must ascend and be below %zu", i,
                             d->vertex, vertices);
        for (size_t r = 0; r < 3; r++) {
            if (!isfinite(d->delta[r]))
                return fault_set(e->k.fault, ERR_MALFORMED, "delta %zu is not finite", i);
            after[(size_t)d->vertex * 3 + r] += (double)d->delta[r];
        }
    }
    return ERR_OK;
}

static enum err sculpt(struct editing *e, struct edit *step, struct example_plan *x)
{
    size_t vertices = model_vertex_count(&e->b.model);
    double *before = POOL_ARRAY(&e->pool, double, vertices * 3);
    double *after = POOL_ARRAY(&e->pool, double, vertices * 3);
    if (!before || !after) return drivers_no_memory(&e->k);
    enum err err = driver_delta_surface(&e->k, x, before);
    if (err == ERR_OK) err = edit_wanted(e, step, before, after);
    if (err == ERR_OK) err = edit_measure(e, step, before, after);
    return err == ERR_OK ? driver_delta_sculpt(&e->k, x, after, before) : err;
}

static enum err change_pose(struct editing *e, const struct edit *step, struct example_plan *x)
{
    size_t vertices = model_vertex_count(&e->b.model);
    double *surface = POOL_ARRAY(&e->pool, double, vertices * 3);
    struct trs *locals = NULL;
    if (!surface) return drivers_no_memory(&e->k);
    enum err err = read_pose(e, step->pose, &locals);
    if (err == ERR_OK) err = driver_delta_surface(&e->k, x, surface);
    if (err == ERR_OK) err = driver_delta_admit(&e->k, locals);
    if (err != ERR_OK) return err;
    x->locals = locals;
    return step->keep_surface ? driver_delta_sculpt(&e->k, x, surface, NULL) : ERR_OK;
}

static enum err new_example(struct editing *e, const struct edit *step)
{
    struct driver_plan *d = driver_called(e, step->driver);
    struct example_plan *x = NULL;
    struct trs *locals = NULL;
    if (!d)
        return fault_set(e->k.fault, ERR_NOT_FOUND, "no driver is called \"%.60s\"", step->driver);
    if (example_called(d, step->name))
        return fault_set(e->k.fault, ERR_AMBIGUOUS,
                         "an example of \"%.60s\" is called \"%.60s\" already", d->name,
                         step->name);
    enum err err = read_pose(e, step->pose, &locals);
    if (err == ERR_OK) err = driver_delta_admit(&e->k, locals);
    if (err == ERR_OK) err = add_example(e, d, step->name, &x);
    if (err != ERR_OK) return err;
    CHECK(x);
    touch(e, d);
    x->locals = locals;
    return ERR_OK;
}

static enum err find_across(struct editing *e, const struct driver_plan *d, const char *name,
                            struct driver_plan **out)
{
    if (name && name[0]) {
        *out = driver_called(e, name);
        if (*out && *out != d) return ERR_OK;
        return fault_set(e->k.fault, ERR_NOT_FOUND, "no other driver is called \"%.60s\"", name);
    }
    for (uint32_t i = 0; i < e->k.driver_count; i++) {
        bool is = false;
        if (&e->k.drivers[i] == d) continue;
        enum err err = driver_mirror_is_across(&e->k, d, &e->k.drivers[i], &is);
        if (err != ERR_OK) return err;
        *out = &e->k.drivers[i];
        if (is) return ERR_OK;
    }
    return fault_set(e->k.fault, ERR_NOT_FOUND,
                     "no driver reads the joints across from those of \"%.60s\": name one",
                     d->name);
}

static enum err mirror(struct editing *e, const struct edit *step, struct driver_plan *d,
                       struct example_plan *x)
{
    struct driver_plan *to = NULL;
    enum err err = find_across(e, d, step->driver, &to);
    if (err != ERR_OK) return err;
    CHECK(to);
    if (to->mirror_of && strcmp(to->mirror_of, d->name) == 0) return ERR_OK; // it follows anyway
    (void)snprintf(e->out->mirror_driver, sizeof e->out->mirror_driver, "%s", to->name);
    struct example_plan *there = example_called(to, x->name);
    if (!there) err = add_example(e, to, x->name, &there);
    if (err != ERR_OK) return err;
    touch(e, to);
    return driver_mirror_example(&e->k, x, there);
}

static enum err take_example(struct editing *e, const struct edit *step)
{
    const struct model *m = step->from;
    const struct model_example *from = &m->examples[step->from_example];
    const char *driver = model_text(m, m->drivers[from->driver].name);
    const char *name = model_text(m, from->name);
    struct driver_plan *d = driver_called(e, driver);
    if (!d) return fault_set(e->k.fault, ERR_NOT_FOUND, "no driver is called \"%.60s\"", driver);
    struct example_plan *x = example_called(d, name);
    enum err err = x ? ERR_OK : add_example(e, d, name, &x);
    size_t at = 0, nodes = m->nodes_count;
    if (err != ERR_OK) return err;
    touch(e, d);
    while (at < m->example_deltas_count &&
           m->example_deltas[at].example < (uint32_t)step->from_example)
        at++;
    size_t end = at;
    while (end < m->example_deltas_count &&
           m->example_deltas[end].example == (uint32_t)step->from_example)
        end++;
    struct delta_set set = {.count = (uint32_t)(end - at),
                            .vertices = POOL_ARRAY(&e->pool, uint32_t, end - at),
                            .deltas = pool_take(&e->pool, end - at, sizeof *set.deltas)};
    struct trs *locals = POOL_ARRAY(&e->pool, struct trs, nodes);
    if (!set.vertices || !set.deltas || !locals) return drivers_no_memory(&e->k);
    for (uint32_t i = 0; i < set.count; i++, at++) {
        set.vertices[i] = m->example_deltas[at].vertex;
        set.deltas[i][0] = (double)m->example_deltas[at].delta.x;
        set.deltas[i][1] = (double)m->example_deltas[at].delta.y;
        set.deltas[i][2] = (double)m->example_deltas[at].delta.z;
    }
    memcpy(locals, m->example_poses + (size_t)step->from_example * nodes, nodes * sizeof *locals);
    err = driver_delta_admit(&e->k, locals);
    x->locals = locals;
    x->d = set;
    return err;
}

static enum err run_step(struct editing *e, struct edit *step)
{
    struct driver_plan *d = NULL;
    struct example_plan *x = NULL;
    if (step->kind == EDIT_NEW) return new_example(e, step);
    if (step->example == EDIT_BASE) return edit_base_step(e, step);
    if (step->kind == EDIT_TAKE) return take_example(e, step);
    if (step->example >= 0) x = example_at(e, step->example, &d);
    if (!x) return fault_set(e->k.fault, ERR_NOT_FOUND, "no example #%d", step->example);
    if (step->kind == EDIT_MIRROR) return mirror(e, step, d, x);
    touch(e, d);
    return step->kind == EDIT_POSE ? change_pose(e, step, x) : sculpt(e, step, x);
}

// --- What has to be made anew -------------------------------------------------------------------

// Drivers that mirror one that has changed follow it.
static enum err follow_mirrors(struct editing *e)
{
    struct driver_bake *k = &e->k;
    bool any = false;
    for (uint32_t i = 0; i < k->driver_count; i++) {
        struct driver_plan *d = &k->drivers[i];
        const struct driver_plan *from = d->mirror_of ? driver_called(e, d->mirror_of) : NULL;
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
    if (err == ERR_OK && step_count > 0 && steps[0].example != EDIT_BASE &&
        steps[0].kind != EDIT_NEW && steps[0].kind != EDIT_TAKE)
        out->moved = example_at(&e, steps[0].example, &d)->d.count;
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
        const struct example_plan *x = example_at(&e, example, &d);
        if (!surface)
            err = drivers_no_memory(&e.k);
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
