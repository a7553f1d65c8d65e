#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/json_guard.h"
#include "server/bake/rig.h"
#include "server/bake/roots.h"
#include "server/model/lookup.h"

static enum err bad(const struct roots *r, const char *key, const char *what)
{
    return fault_set(r->b->fault, ERR_MALFORMED, "%s%s: %s", r->path, key, what);
}

static enum err find_node(const struct roots *r, const char *key, const char *name, uint32_t *out)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s%s", r->path, key);
    return lookup_name(&r->b->model, LOOKUP_NODE, name, path, out, r->b->fault);
}

static void by_subtree(const struct roots *r, const int8_t *owner_at, int8_t *owner)
{
    const struct model *m = &r->b->model;
    for (size_t i = 0; i < m->nodes_count; i++) {
        int32_t parent = m->nodes[i].parent;
        owner[i] = owner_at[i] >= 0 ? owner_at[i] : parent == MODEL_NONE ? -1 : owner[parent];
    }
}

// A joint listed in a table counts with all below it, down to the next that any table lists.
static enum err read_joint_tables(struct roots *r, double *factor, int8_t *owner_at)
{
    const cJSON *json = r->json->child;
    for (uint32_t k = 0; k < r->count; k++, json = json->next) {
        const cJSON *joints = rig_get(rig_get(json, "weights"), "joints");
        for (const cJSON *j = joints ? joints->child : NULL; j; j = j->next) {
            uint32_t node = 0;
            (void)snprintf(r->path, sizeof r->path, "/roots/%u", k);
            char key[80];
            (void)snprintf(key, sizeof key, "/weights/joints/%.50s", j->string);
            enum err e = find_node(r, key, j->string, &node);
            if (e != ERR_OK) return e;
            if (!(j->valuedouble >= 0 && j->valuedouble <= 1))
                return bad(r, key, "must be a number from 0 to 1");
            if (owner_at[node] >= 0) return bad(r, key, "a table lists this joint already");
            owner_at[node] = (int8_t)k;
            factor[node] = j->valuedouble;
        }
    }
    return ERR_OK;
}

static void share_by_joints(struct roots *r, const double *factor_at, const int8_t *owner_at,
                            const int8_t *owner)
{
    const struct builder *b = r->b;
    size_t vertices = model_vertex_count(&b->model);
    for (size_t v = 0; v < vertices; v++)
        for (uint32_t i = b->influence_first[v]; i < b->influence_first[v + 1]; i++) {
            int32_t at = (int32_t)b->model.slots[b->influence_slots[i]].node;
            if (owner[at] < 0 || !r->by_joints[owner[at]]) continue;
            int8_t root = owner[at];
            while (owner_at[at] < 0)
                at = b->model.nodes[at].parent;
            r->share[(size_t)root * vertices + v] += b->influence_weights[i] * (float)factor_at[at];
        }
}

static enum err share_by_color(struct roots *r, uint32_t root, double set)
{
    const struct model *m = &r->b->model;
    float *share = r->share + root * model_vertex_count(m);
    bool any = false;
    for (size_t p = 0; p < m->parts_count; p++) {
        const struct model_part *part = &m->parts[p];
        if (!(set < part->color_set_count)) continue;
        const float *color =
            m->colors + ((size_t)part->color_first + (size_t)set * part->vertex_count) * 4;
        for (uint32_t v = 0; v < part->vertex_count; v++)
            share[part->vertex_first + v] = fmaxf(0, color[4 * (size_t)v]);
        any = true;
    }
    return any ? ERR_OK : bad(r, "/weights/color", "no primitive has this set of vertex colours");
}

static enum err read_pairs(struct roots *r, uint32_t root, const cJSON *list, const char *file)
{
    size_t vertices = model_vertex_count(&r->b->model);
    float *share = r->share + root * vertices;
    uint8_t *seen = BUILDER_ARRAY(r->b, uint8_t, vertices);
    char key[160];
    size_t index = 0;
    if (!seen) return builder_no_memory(r->b);
    if (!cJSON_IsArray(list)) return bad(r, "/weights/file", "must hold a list of [vertex, share]");
    for (const cJSON *pair = list->child; pair; pair = pair->next, index++) {
        const cJSON *vertex = pair->child, *value = vertex ? vertex->next : NULL;
        (void)snprintf(key, sizeof key, "/weights/file: %.60s: /%zu", file, index);
        if (!cJSON_IsArray(pair) || !cJSON_IsNumber(vertex) || !cJSON_IsNumber(value) ||
            value->next)
            return bad(r, key, "must be [vertex, share]");
        if (!(vertex->valuedouble >= 0) || vertex->valuedouble != floor(vertex->valuedouble) ||
            !(vertex->valuedouble < (double)vertices))
            return bad(r, key, "there is no such vertex");
        if (!(value->valuedouble >= 0 && value->valuedouble <= 1e6))
            return bad(r, key, "a share must be a number that is not negative");
        size_t v = (size_t)vertex->valuedouble;
        if (seen[v]) return bad(r, key, "this vertex stands in the table twice");
        seen[v] = 1;
        share[v] = (float)value->valuedouble;
    }
    return ERR_OK;
}

static enum err share_by_file(struct roots *r, uint32_t root, const char *file)
{
    enum { BYTES_MAX = 64 << 20 };
    char path[4096];
    uint8_t *bytes;
    size_t size;
    cJSON *json = NULL;
    struct fault inner = {0};
    struct json_limits limits = json_limits_for(BYTES_MAX);
    enum err e = file_beside(r->b->settings->rig->path, file, path, sizeof path);
    if (e == ERR_OK) e = file_read(path, BYTES_MAX, &bytes, &size, &inner);
    if (e != ERR_OK) return bad(r, "/weights/file", inner.line[0] ? inner.line : "cannot be used");
    e = json_parse((const char *)bytes, size, &limits, &json, &inner);
    if (e != ERR_OK)
        e = bad(r, "/weights/file", inner.line);
    else
        e = read_pairs(r, root, json, file);
    cJSON_Delete(json);
    free(bytes);
    return e;
}

static enum err read_root(struct roots *r, uint32_t index, const cJSON *json)
{
    const cJSON *weights = rig_get(json, "weights"), *joint = rig_get(json, "joint");
    const cJSON *file = rig_get(weights, "file"), *color = rig_get(weights, "color");
    const cJSON *border = rig_get(json, "border_m"), *limit = rig_get(json, "turn_limit");
    const cJSON *sensors = rig_get(json, "sensors");
    struct model_root *out = &r->out[index];
    const char *name = rig_get(json, "name")->valuestring;
    enum err e = ERR_OK;
    (void)snprintf(r->path, sizeof r->path, "/roots/%u", index);
    for (uint32_t k = 0; k < index; k++)
        if (strcmp(model_text(&r->b->model, r->out[k].name), name) == 0)
            return bad(r, "/name", "two roots have this name");
    if ((rig_get(weights, "joints") != NULL) + (file != NULL) + (color != NULL) != 1)
        return bad(r, "/weights", "give one of joints, file and color");
    if (border && !(border->valuedouble >= 0 && border->valuedouble < 1e6))
        return bad(r, "/border_m", "must be a length in metres that is not negative");
    if (limit && !(limit->valuedouble >= 0 && limit->valuedouble <= 3.15))
        return bad(r, "/turn_limit", "must be an angle from 0 to pi, in radians");
    r->by_joints[index] = rig_get(weights, "joints") != NULL;
    r->borders[index] = border ? border->valuedouble / r->unit_m : 0;
    *out = (struct model_root){.name = builder_text(r->b, name),
                               .ride = MODEL_NONE,
                               .border = (float)r->borders[index],
                               .turn_limit = limit ? (float)limit->valuedouble : 4,
                               .sensed = cJSON_IsTrue(sensors) ? 1 : 0};
    if (joint) e = find_node(r, "/joint", joint->valuestring, &out->node);
    if (e == ERR_OK && file) e = share_by_file(r, index, file->valuestring);
    if (e == ERR_OK && color) e = share_by_color(r, index, color->valuedouble);
    return e;
}

// Riding: each names another by now known; whoever follows the names must come to an end.
static enum err read_rides(struct roots *r)
{
    const struct model *m = &r->b->model;
    const cJSON *json = r->json->child;
    for (uint32_t k = 0; k < r->count; k++, json = json->next) {
        const cJSON *ride = rig_get(json, "ride");
        struct model_root *root = &r->out[k];
        (void)snprintf(r->path, sizeof r->path, "/roots/%u", k);
        if (!ride) continue;
        for (uint32_t other = 0; other < r->count; other++)
            if (strcmp(model_text(m, r->out[other].name), ride->valuestring) == 0)
                root->ride = (int32_t)other;
        if (root->ride == MODEL_NONE) return bad(r, "/ride", "there is no root of this name");
        int32_t parent = m->nodes[root->node].parent;
        root->ride_node = parent == MODEL_NONE ? root->node : (uint32_t)parent;
    }
    for (uint32_t k = 0; k < r->count; k++) {
        uint32_t steps = 0;
        (void)snprintf(r->path, sizeof r->path, "/roots/%u", k);
        for (int32_t at = (int32_t)k; at != MODEL_NONE; at = r->out[at].ride)
            if (steps++ > r->count)
                return bad(r, "/ride", "the roots ride on each other in a circle");
    }
    return ERR_OK;
}

// To whom a node belongs: by the tables' joints, else by where each root's motion is placed.
static void settle_nodes(struct roots *r, int8_t *owner_at, int8_t *owner)
{
    const cJSON *json = r->json->child;
    for (uint32_t k = 0; k < r->count; k++, json = json->next) {
        if (rig_get(json, "joint") && owner_at[r->out[k].node] < 0)
            owner_at[r->out[k].node] = (int8_t)k;
        for (size_t i = 0; !rig_get(json, "joint") && i < r->b->model.nodes_count; i++)
            if (owner_at[i] == (int8_t)k) {
                r->out[k].node = (uint32_t)i;
                break;
            }
    }
    by_subtree(r, owner_at, owner);
    for (size_t i = 0; i < r->b->model.nodes_count; i++)
        r->of_node[i] = (uint8_t)(owner[i] < 0 ? 0 : owner[i]);
}

// Topmost joint above the node, or it itself; MODEL_NONE above all joints.
static int32_t tree_of(const struct model *m, uint32_t node)
{
    int32_t top = MODEL_NONE;
    for (int32_t at = (int32_t)node; at != MODEL_NONE; at = m->nodes[at].parent)
        if (m->nodes[at].flags & MODEL_NODE_JOINT) top = at;
    return top;
}

// A root has the trees of the joints that it names, and those that no root names. Only where
// somebody lacks a tree is there a table of it.
static enum err find_lacks(struct roots *r, const int8_t *owner_at)
{
    const struct model *m = &r->b->model;
    uint32_t *namers = BUILDER_ARRAY(r->b, uint32_t, m->nodes_count); // [top] a bit a root
    uint32_t all = 0, everyone = (UINT32_C(1) << r->count) - 1;
    bool any = false;
    if (!namers) return builder_no_memory(r->b);
    for (uint32_t i = 0; i < m->nodes_count; i++) {
        int32_t tree = tree_of(m, i);
        if (owner_at[i] < 0 || tree == MODEL_NONE) continue;
        namers[tree] |= UINT32_C(1) << owner_at[i];
        all |= UINT32_C(1) << owner_at[i];
    }
    everyone &= all; // a root that names no joint has them all
    r->lacks = BUILDER_ARRAY(r->b, uint8_t, r->count * m->nodes_count);
    if (!r->lacks) return builder_no_memory(r->b);
    for (uint32_t i = 0; i < m->nodes_count; i++) {
        int32_t tree = tree_of(m, i);
        if (tree == MODEL_NONE || !namers[tree]) continue;
        uint32_t lacking = everyone & ~namers[tree];
        any = any || lacking;
        for (uint32_t k = 0; k < r->count; k++)
            r->lacks[k * m->nodes_count + i] = lacking >> k & 1;
    }
    if (!any) r->lacks = NULL;
    return ERR_OK;
}

enum err roots_read(struct roots *r)
{
    const struct model *m = &r->b->model;
    double *factor = BUILDER_ARRAY(r->b, double, m->nodes_count);
    int8_t *owner_at = BUILDER_ARRAY(r->b, int8_t, m->nodes_count);
    int8_t *owner = BUILDER_ARRAY(r->b, int8_t, m->nodes_count);
    const cJSON *json = r->json->child;
    enum err e = ERR_OK;
    if (!factor || !owner_at || !owner) return builder_no_memory(r->b);
    memset(owner_at, -1, m->nodes_count);
    for (uint32_t k = 0; k < r->count && e == ERR_OK; k++, json = json->next)
        e = read_root(r, k, json);
    if (e == ERR_OK) e = read_joint_tables(r, factor, owner_at);
    if (e != ERR_OK) return e;
    by_subtree(r, owner_at, owner);
    share_by_joints(r, factor, owner_at, owner);
    settle_nodes(r, owner_at, owner);
    e = read_rides(r);
    return e == ERR_OK ? find_lacks(r, owner_at) : e;
}
