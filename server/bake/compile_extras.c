#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/bake/extras.h"
#include "server/bake/rig.h"
#include "server/model/lookup.h"

// The rig file's extras, in its order.

enum err extras_bad(const struct extras_reader *r, const char *key, const char *what)
{
    return fault_set(r->b->fault, ERR_MALFORMED, "%s/%s: %s", r->path, key, what);
}

double extras_number(const cJSON *json, const char *key, double otherwise)
{
    const cJSON *v = rig_get(json, key);
    return v ? v->valuedouble : otherwise;
}

double extras_length(const struct extras_reader *r, const cJSON *json, const char *key,
                     double otherwise_m)
{
    return extras_number(json, key, otherwise_m) / r->unit_m;
}

enum err extras_node(const struct extras_reader *r, const cJSON *json, const char *key,
                     uint32_t *node)
{
    const cJSON *name = rig_get(json, key);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", r->path, key);
    return lookup_name(&r->b->model, LOOKUP_NODE, name->valuestring, path, node, r->b->fault);
}

enum err extras_read_colliders(struct extras_reader *r, const cJSON *json, struct model_soft *soft)
{
    soft->collider_first = (uint32_t)r->b->model.extra_colliders_count;
    if (!rig_get(json, "colliders")) return ERR_OK;
    enum err e = springs_read_colliders(r->b, json, r->path, 1 / r->unit_m,
                                        r->colliders + soft->collider_first,
                                        MODEL_EXTRA_COLLIDERS_MAX, &soft->collider_count);
    r->b->model.extra_colliders_count += soft->collider_count;
    return e;
}

static enum err read_extra(struct extras_reader *r, const cJSON *json,
                           struct model_extra_block *blocks)
{
    static const struct {
        const char *type;
        enum err (*read)(struct extras_reader *, const cJSON *, struct model_extra_block *);
    } kinds[] = {[MODEL_EXTRA_JIGGLE] = {"jiggle", extras_read_jiggle},
                 [MODEL_EXTRA_MUSCLE] = {"muscle", extras_read_muscle},
                 [MODEL_EXTRA_CLOTH] = {"cloth", extras_read_cloth},
                 [MODEL_EXTRA_PLUGIN] = {"plugin", extras_read_plugin}};
    const cJSON *name = rig_get(json, "name");
    uint32_t kind = 0;
    while (strcmp(kinds[kind].type, rig_get(json, "type")->valuestring) != 0)
        kind++;
    *r->extra = (struct model_extra){
        .kind = kind,
        .name = builder_text(r->b, cJSON_IsString(name) ? name->valuestring : ""),
        .radius = 1,
        .frequency_hz = 1,
        .amount = 1};
    memset(r->share, 0, model_vertex_count(&r->b->model) * sizeof *r->share);
    return kinds[kind].read(r, json, blocks);
}

static enum err make_room(struct extras_reader *r, size_t wanted, struct model_extra **extras,
                          struct model_extra_block **blocks)
{
    struct builder *b = r->b;
    struct model *m = &b->model;
    struct xform *nodes = BUILDER_ARRAY(b, struct xform, m->nodes_count);
    *extras = BUILDER_ARRAY(b, struct model_extra, wanted);
    *blocks = BUILDER_ARRAY(b, struct model_extra_block, wanted * m->blocks_count);
    r->share = BUILDER_ARRAY(b, float, model_vertex_count(m));
    r->softs = BUILDER_ARRAY(b, struct model_soft, wanted);
    r->muscles = BUILDER_ARRAY(b, struct model_muscle, wanted);
    r->fibres = BUILDER_ARRAY(b, struct model_fibre, wanted);
    r->plugins = BUILDER_ARRAY(b, struct model_plugin, wanted);
    r->colliders =
        BUILDER_ARRAY(b, struct model_spring_collider, wanted * MODEL_EXTRA_COLLIDERS_MAX);
    if (!nodes || !*extras || !*blocks || !r->share || !r->softs || !r->muscles || !r->fibres ||
        !r->plugins || !r->colliders)
        return builder_no_memory(b);
    r->nodes = nodes;
    m->extras = *extras;
    m->extra_blocks = *blocks;
    m->softs = r->softs;
    m->muscles = r->muscles;
    m->fibres = r->fibres;
    m->plugins = r->plugins;
    m->extra_colliders = r->colliders;
    return builder_places(b, m->base_pose, nodes, &r->place);
}

enum err compile_extras(struct builder *b, double unit_m)
{
    const cJSON *list = b->settings->rig ? rig_get(b->settings->rig->json, "extras") : NULL;
    int wanted = cJSON_GetArraySize(list), index = 0;
    struct extras_reader r = {.b = b, .unit_m = unit_m};
    struct model_extra *extras;
    struct model_extra_block *blocks;
    if (wanted == 0) return ERR_OK;
    if (wanted > MODEL_EXTRAS_MAX)
        return fault_set(b->fault, ERR_LIMIT, "/extras: more than %d", MODEL_EXTRAS_MAX);
    enum err e = make_room(&r, (size_t)wanted, &extras, &blocks);
    for (const cJSON *x = list->child; x && e == ERR_OK; x = x->next, index++) {
        (void)snprintf(r.path, sizeof r.path, "/extras/%d", index);
        r.extra = &extras[index];
        e = read_extra(&r, x, blocks);
        b->model.extras_count++;
    }
    b->model.particles = r.particles;
    b->model.links = r.links;
    b->model.holds = r.holds;
    return e;
}
