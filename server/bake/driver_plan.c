#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/drivers.h"
#include "server/bake/rig.h"
#include "server/character/input/pose_json.h"
#include "server/model/lookup.h"

// The rig file's drivers with every name looked up. The schema has checked kinds and words.

enum { DRIVERS_MAX = 1024, DRIVER_EXAMPLES_MAX = 512 };

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *v = rig_get(object, key);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static uint32_t word_index(const char *word, const char *const *words, uint32_t otherwise)
{
    for (uint32_t i = 0; word && words[i]; i++)
        if (strcmp(word, words[i]) == 0) return i;
    return otherwise;
}

static enum err read_axis(struct driver_bake *k, const cJSON *json, const char *where,
                          struct model_driver_joint *out)
{
    bool needed = out->read == MODEL_READ_SWING || out->read == MODEL_READ_TWIST;
    const cJSON *axis = rig_get(json, "axis");
    if (!axis)
        return needed ? fault_set(k->fault, ERR_MALFORMED,
                                  "%s/axis: swing and twist need the axis, in the joint's frame",
                                  where)
                      : ERR_OK;
    double length = 0;
    const cJSON *n = axis->child;
    for (int r = 0; r < 3; r++, n = n->next) {
        out->axis[r] = n->valuedouble;
        length += n->valuedouble * n->valuedouble;
    }
    if (!(length > 1e-12))
        return fault_set(k->fault, ERR_MALFORMED, "%s/axis: has no direction", where);
    for (int r = 0; r < 3; r++)
        out->axis[r] /= sqrt(length);
    return ERR_OK;
}

static enum err read_joint(struct driver_bake *k, const struct driver_plan *d, uint32_t index,
                           const cJSON *json)
{
    static const char *const reads[] = {"rotation",    "swing",     "twist",
                                        "translation", "transform", NULL};
    struct model_driver_joint *j = &d->joints[index];
    const cJSON *weight = rig_get(json, "weight"), *per_m = rig_get(json, "per_m");
    char where[128];
    (void)snprintf(where, sizeof where, "%s/joints/%u", d->path, index);
    j->read = word_index(text_of(json, "read"), reads, MODEL_READ_ROTATION);
    j->weight = weight ? weight->valuedouble : 1;
    j->per_unit = cJSON_IsNumber(per_m) ? per_m->valuedouble : 1 / k->diagonal;
    d->per_unit_auto[index] = !cJSON_IsNumber(per_m) && (j->read == MODEL_READ_TRANSLATION ||
                                                         j->read == MODEL_READ_TRANSFORM);
    if (!(j->weight > 0))
        return fault_set(k->fault, ERR_MALFORMED, "%s/weight: must be above 0", where);
    enum err e = read_axis(k, json, where, j);
    (void)snprintf(where, sizeof where, "%s/joints/%u/joint", d->path, index);
    if (e == ERR_OK)
        e = lookup_name(&k->b->model, LOOKUP_NODE, text_of(json, "joint"), where, &j->node,
                        k->fault);
    for (uint32_t i = 0; e == ERR_OK && i < index; i++)
        if (d->joints[i].node == j->node && d->joints[i].read == j->read)
            e = fault_set(k->fault, ERR_MALFORMED, "%s: the joint is listed twice", where);
    return e;
}

static enum err read_joints(struct driver_bake *k, struct driver_plan *d, const cJSON *list)
{
    int count = cJSON_GetArraySize(list);
    if (count < 1 || count > MODEL_DRIVER_JOINTS_MAX)
        return fault_set(k->fault, ERR_MALFORMED, "%s/joints: needs 1 to %d joints", d->path,
                         MODEL_DRIVER_JOINTS_MAX);
    d->joints = DRIVERS_ARRAY(k, struct model_driver_joint, count);
    d->per_unit_auto = DRIVERS_ARRAY(k, bool, count);
    if (!d->joints || !d->per_unit_auto) return drivers_no_memory(k);
    for (const cJSON *j = list->child; j; j = j->next) {
        enum err e = read_joint(k, d, d->joint_count, j);
        if (e != ERR_OK) return e;
        d->joint_count++;
    }
    return ERR_OK;
}

static enum err read_pose(struct driver_bake *k, struct example_plan *e, const cJSON *json)
{
    const struct model *m = &k->b->model;
    char where[128];
    struct arena arena;
    (void)snprintf(where, sizeof where, "%s/pose", e->path);
    e->locals = DRIVERS_ARRAY(k, struct trs, m->nodes_count);
    if (!e->locals || !arena_create(&arena, 2 * pose_bytes(m) + 4096)) return drivers_no_memory(k);
    struct pose pose = pose_take(m, &arena);
    pose_rest(m, pose);
    enum err err = pose_json_apply(m, json, where, pose, &arena, k->fault);
    memcpy(e->locals, pose.locals, m->nodes_count * sizeof *e->locals);
    arena_destroy(&arena);
    return err;
}

static enum err read_example(struct driver_bake *k, struct driver_plan *d, uint32_t index,
                             const cJSON *json)
{
    struct example_plan *e = &d->examples[index];
    e->name = text_of(json, "name");
    e->surface = rig_get(json, "surface");
    (void)snprintf(e->path, sizeof e->path, "%s/examples/%u", d->path, index);
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(d->examples[i].name, e->name) == 0)
            return fault_set(k->fault, ERR_MALFORMED,
                             "%s/name: another example of \"%.40s\" is called \"%.40s\"", e->path,
                             d->name, e->name);
    if (!text_of(e->surface, "file") == !text_of(e->surface, "morph"))
        return fault_set(k->fault, ERR_MALFORMED, "%s/surface: needs either file or morph",
                         e->path);
    return read_pose(k, e, rig_get(json, "pose"));
}

static enum err read_examples(struct driver_bake *k, struct driver_plan *d, const cJSON *list)
{
    int count = cJSON_GetArraySize(list);
    if (count > DRIVER_EXAMPLES_MAX)
        return fault_set(k->fault, ERR_LIMIT, "%s/examples: more than %d", d->path,
                         DRIVER_EXAMPLES_MAX);
    d->examples = DRIVERS_ARRAY(k, struct example_plan, count);
    if (!d->examples) return drivers_no_memory(k);
    for (const cJSON *e = list ? list->child : NULL; e; e = e->next) {
        enum err err = read_example(k, d, d->example_count, e);
        if (err != ERR_OK) return err;
        d->example_count++;
    }
    return ERR_OK;
}

static enum err read_settings(struct driver_bake *k, struct driver_plan *d, const cJSON *json)
{
    static const char *const kernels[] = {"rotation",   "linear",       "gaussian",
                                          "thin_plate", "multiquadric", "inverse_multiquadric",
                                          NULL};
    static const char *const modes[] = {"raw", "clamp", "normalise", NULL};
    const cJSON *radius = rig_get(json, "radius"), *ridge = rig_get(json, "ridge");
    d->kernel = (enum model_kernel)word_index(text_of(json, "kernel"), kernels, 0);
    d->weights = (enum model_weights)word_index(text_of(json, "weights"), modes, 0);
    d->radius_auto = !cJSON_IsNumber(radius);
    d->radius = d->radius_auto ? 1 : radius->valuedouble;
    d->ridge = cJSON_IsNumber(ridge) ? ridge->valuedouble : -1;
    d->per_vertex = cJSON_IsTrue(rig_get(json, "per_vertex"));
    if (cJSON_IsNumber(ridge) && !(d->ridge >= 0))
        return fault_set(k->fault, ERR_MALFORMED, "%s/ridge: must not be negative", d->path);
    return ERR_OK;
}

static enum err read_driver(struct driver_bake *k, struct driver_plan *d, const cJSON *json)
{
    uint32_t index = (uint32_t)(d - k->drivers);
    d->name = text_of(json, "name");
    d->mirror_of = text_of(json, "mirror_of");
    for (struct driver_plan *other = k->drivers; other < d; other++)
        if (strcmp(other->name, d->name) == 0)
            return fault_set(k->fault, ERR_MALFORMED, "%s/name: another driver is called \"%.60s\"",
                             d->path, d->name);
    if (d->mirror_of) {
        if (rig_get(json, "joints") || rig_get(json, "examples"))
            return fault_set(
                k->fault, ERR_MALFORMED,
                "%s/mirror_of: a mirrored driver has no joints and examples of its own", d->path);
        // driver_mirror_poses fills the rest
        return k->edited ? driver_stands_examples(k, d, index) : ERR_OK;
    }
    enum err e = read_settings(k, d, json);
    if (e == ERR_OK) e = read_joints(k, d, rig_get(json, "joints"));
    if (e == ERR_OK)
        e = k->edited ? driver_stands_examples(k, d, index)
                      : read_examples(k, d, rig_get(json, "examples"));
    return e;
}

enum err driver_plan_read(struct driver_bake *k)
{
    const cJSON *list = rig_get(k->rig->json, "drivers");
    int count = cJSON_GetArraySize(list);
    if (count > DRIVERS_MAX)
        return fault_set(k->fault, ERR_LIMIT, "/drivers: more than %d", DRIVERS_MAX);
    k->drivers = DRIVERS_ARRAY(k, struct driver_plan, count);
    if (!k->drivers) return drivers_no_memory(k);
    for (const cJSON *d = list ? list->child : NULL; d; d = d->next) {
        struct driver_plan *plan = &k->drivers[k->driver_count];
        (void)snprintf(plan->path, sizeof plan->path, "/drivers/%u", k->driver_count);
        enum err e = read_driver(k, plan, d);
        if (e != ERR_OK) return e;
        k->driver_count++;
    }
    return ERR_OK;
}
