#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/edit_own.h"
#include "server/character/input/pose_json.h"

// The steps of an edit that change one example.

struct example_plan *edit_example_at(struct editing *e, int32_t index, struct driver_plan **d)
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

void edit_touch(struct editing *e, struct driver_plan *d)
{
    d->stands = d->same = false;
    if (d->mirror_of) detach(e, d);
}

struct driver_plan *edit_driver(struct editing *e, const char *name)
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

enum err edit_example_sculpt(struct editing *e, struct edit *step, struct example_plan *x)
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

enum err edit_example_pose(struct editing *e, const struct edit *step, struct example_plan *x)
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

enum err edit_example_new(struct editing *e, const struct edit *step)
{
    struct driver_plan *d = edit_driver(e, step->driver);
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
    edit_touch(e, d);
    x->locals = locals;
    return ERR_OK;
}

static enum err find_across(struct editing *e, const struct driver_plan *d, const char *name,
                            struct driver_plan **out)
{
    if (name && name[0]) {
        *out = edit_driver(e, name);
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

enum err edit_example_mirror(struct editing *e, const struct edit *step, struct driver_plan *d,
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
    edit_touch(e, to);
    return driver_mirror_example(&e->k, x, there);
}

enum err edit_example_take(struct editing *e, const struct edit *step)
{
    const struct model *m = step->from;
    const struct model_example *from = &m->examples[step->from_example];
    const char *driver = model_text(m, m->drivers[from->driver].name);
    const char *name = model_text(m, from->name);
    struct driver_plan *d = edit_driver(e, driver);
    if (!d) return fault_set(e->k.fault, ERR_NOT_FOUND, "no driver is called \"%.60s\"", driver);
    struct example_plan *x = example_called(d, name);
    enum err err = x ? ERR_OK : add_example(e, d, name, &x);
    size_t at = 0, nodes = m->nodes_count;
    if (err != ERR_OK) return err;
    edit_touch(e, d);
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

// Drivers that mirror one without examples have none either.
void edit_example_remove(struct editing *e, struct driver_plan *d, struct example_plan *x)
{
    size_t at = (size_t)(x - d->examples);
    memmove(x, x + 1, (d->example_count - at - 1) * sizeof *x);
    d->example_count--;
    for (size_t i = at; i < d->example_count; i++)
        (void)snprintf(d->examples[i].path, sizeof d->examples[i].path, "%s/examples/%zu", d->path,
                       i);
    for (uint32_t i = 0; i < e->k.driver_count && d->example_count == 0; i++) {
        struct driver_plan *follower = &e->k.drivers[i];
        if (!follower->mirror_of || strcmp(follower->mirror_of, d->name) != 0) continue;
        edit_touch(e, follower);
        follower->example_count = 0;
    }
}
