#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/file.h"
#include "common/json_guard.h"
#include "server/bake/builder.h"
#include "server/bake/geodesic.h"
#include "server/bake/rig.h"
#include "server/character/pose/skeleton.h"
#include "server/model/lookup.h"

// Several roots (method C), from the rig file, or as the source has them: joints that hang under
// different topmost joints. Tables give every vertex each root's share; they are folded into one
// list of influences a vertex, each with the root whose pose it takes.
struct roots {
    struct builder *b;
    const cJSON *json; // the rig file's list, or NULL
    uint32_t count;
    struct model_root *out;
    uint8_t *of_node;                // [node]
    float *share;                    // [root][vertex]
    uint8_t *by_joints;              // [root] no table by vertex: by joints
    double borders[MODEL_ROOTS_MAX]; // file units
    double (*place)[3];              // [vertex] rest pose, file units
    double unit_m;
    char path[96];
};

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

// ---- the source's own ---------------------------------------------------------------------

static bool has_joint_above(const struct model *m, uint32_t node)
{
    for (int32_t up = m->nodes[node].parent; up != MODEL_NONE; up = m->nodes[up].parent)
        if (m->nodes[up].flags & MODEL_NODE_JOINT) return true;
    return false;
}

static uint32_t count_tops(const struct model *m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->nodes_count; i++)
        count += (m->nodes[i].flags & MODEL_NODE_JOINT) != 0 && !has_joint_above(m, i);
    return count;
}

static void take_tops(struct roots *r)
{
    const struct model *m = &r->b->model;
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->nodes_count; i++) {
        int32_t parent = m->nodes[i].parent;
        r->of_node[i] = parent == MODEL_NONE ? 0 : r->of_node[parent];
        if ((m->nodes[i].flags & MODEL_NODE_JOINT) == 0 || has_joint_above(m, i)) continue;
        r->of_node[i] = (uint8_t)count;
        r->out[count++] =
            (struct model_root){.name = m->nodes[i].name, .node = i, .ride = MODEL_NONE};
    }
}

// ---- tables of the rig file ---------------------------------------------------------------

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
                               .turn_limit = limit ? (float)limit->valuedouble : 4};
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

// ---- softening, normalising, folding ------------------------------------------------------

static enum err soften(struct roots *r)
{
    const struct model *m = &r->b->model;
    struct geodesic g;
    double widest = 0;
    for (uint32_t k = 0; k < r->count; k++)
        widest = fmax(widest, r->borders[k]);
    if (!(widest > 0)) return ERR_OK;
    enum err e = geodesic_open(r->b, r->place, &g);
    for (uint32_t k = 0; k < r->count && e == ERR_OK; k++)
        if (r->borders[k] > 0)
            e = geodesic_soften(&g, r->borders[k] / 2, r->share, r->count, k,
                                model_vertex_count(m));
    return e;
}

static enum err normalise(struct roots *r)
{
    size_t vertices = model_vertex_count(&r->b->model);
    uint32_t repaired = 0, lost = 0;
    bool all_by_joints = true;
    for (uint32_t k = 0; k < r->count; k++)
        all_by_joints = all_by_joints && r->by_joints[k];
    for (size_t v = 0; v < vertices; v++) {
        double sum = 0;
        for (uint32_t k = 0; k < r->count; k++)
            sum += (double)r->share[k * vertices + v];
        if (!(sum > 0)) {
            if (!all_by_joints)
                return fault_set(r->b->fault, ERR_MALFORMED,
                                 "/roots: vertex %zu has no share in any root's weights", v);
            r->share[v] = 1;
            lost++;
            continue;
        }
        repaired += fabs(sum - 1) > 1e-4;
        for (uint32_t k = 0; k < r->count; k++)
            r->share[k * vertices + v] = (float)((double)r->share[k * vertices + v] / sum);
    }
    if (repaired)
        scene_note(r->b->scene, NOTE_REPAIRED, repaired,
                   "vertex whose root shares do not sum to 1: normalised");
    if (lost)
        scene_note(r->b->scene, NOTE_REPAIRED, lost,
                   "vertex that no root's joints move: it goes with the first root");
    return ERR_OK;
}

struct folded {
    uint16_t slot;
    double weight;
};

static int by_weight(const void *a, const void *b)
{
    const struct folded *x = a, *y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? 1 : -1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static int by_slot(const void *a, const void *b)
{
    const struct folded *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static const double NOTHING = 1e-7; // a weight that moves nothing by as much as a float can say

// Keeps the largest; the share that went is what the vertex may be off by, of its pose's spread.
static uint32_t prune(struct folded *list, uint32_t count, double *dropped)
{
    double sum = 0, all = 0;
    uint32_t kept = 0;
    qsort(list, count, sizeof *list, by_weight);
    for (uint32_t i = 0; i < count; i++)
        all += list[i].weight;
    while (kept < count && kept < MODEL_INFLUENCES_MAX && list[kept].weight > NOTHING)
        sum += list[kept++].weight;
    *dropped = fmax(*dropped, all - sum);
    for (uint32_t i = 0; i < kept; i++)
        list[i].weight /= sum;
    qsort(list, kept, sizeof *list, by_slot);
    return kept;
}

static enum err fold(struct roots *r)
{
    struct builder *b = r->b;
    size_t vertices = model_vertex_count(&b->model), slot_count = b->model.slots_count;
    size_t influences = b->influence_first[vertices];
    if (slot_count * r->count > UINT16_MAX)
        return fault_set(b->fault, ERR_LIMIT, "/roots: more than 65535 joints over all roots");
    struct model_slot *slots = BUILDER_ARRAY(b, struct model_slot, slot_count * r->count);
    uint32_t *first = BUILDER_ARRAY(b, uint32_t, vertices + 1);
    uint16_t *list_slots = BUILDER_ARRAY(b, uint16_t, influences * r->count);
    float *list_weights = BUILDER_ARRAY(b, float, influences * r->count);
    struct folded list[SCENE_INFLUENCES_MAX * MODEL_ROOTS_MAX];
    double dropped = 0;
    if (!slots || !first || !list_slots || !list_weights) return builder_no_memory(b);
    for (size_t i = 0; i < slot_count * r->count; i++) {
        slots[i] = b->model.slots[i % slot_count];
        slots[i].root = (uint32_t)(i / slot_count);
    }
    uint32_t at = 0;
    for (size_t v = 0; v < vertices; v++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < r->count; k++) {
            double share = (double)r->share[k * vertices + v];
            for (uint32_t i = b->influence_first[v]; share > 0 && i < b->influence_first[v + 1];
                 i++)
                list[count++] = (struct folded){(uint16_t)(k * slot_count + b->influence_slots[i]),
                                                share * (double)b->influence_weights[i]};
        }
        count = prune(list, count, &dropped);
        for (uint32_t i = 0; i < count; i++, at++) {
            list_slots[at] = list[i].slot;
            list_weights[at] = (float)list[i].weight;
        }
        first[v + 1] = at;
    }
    b->influence_first = first;
    b->influence_slots = list_slots;
    b->influence_weights = list_weights;
    b->model.slots = slots;
    b->model.slots_count = slot_count * r->count;
    if (dropped > 1e-6)
        scene_note(b->scene, NOTE_REPAIRED, 1,
                   "root weights: up to %.2g of a vertex's weight was pruned", dropped);
    return ERR_OK;
}

// -------------------------------------------------------------------------------------------

static enum err make_room(struct roots *r)
{
    struct model *m = &r->b->model;
    r->out = BUILDER_ARRAY(r->b, struct model_root, r->count);
    r->of_node = BUILDER_ARRAY(r->b, uint8_t, m->nodes_count);
    r->by_joints = BUILDER_ARRAY(r->b, uint8_t, r->count);
    if (r->json) r->share = BUILDER_ARRAY(r->b, float, model_vertex_count(m) * r->count);
    if (!r->out || !r->of_node || !r->by_joints || (r->json && !r->share))
        return builder_no_memory(r->b);
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

static enum err read_rig(struct roots *r)
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
    if (e == ERR_OK) e = soften(r);
    if (e == ERR_OK) e = normalise(r);
    return e == ERR_OK ? fold(r) : e;
}

// The surface in the rest pose, to measure along; its height says the unit where nothing else does.
static enum err measure(struct roots *r)
{
    struct builder *b = r->b;
    const struct model *m = &b->model;
    const struct rig *rig = b->settings->rig;
    struct xform *nodes = BUILDER_ARRAY(b, struct xform, m->nodes_count);
    struct trs *locals = BUILDER_ARRAY(b, struct trs, m->nodes_count);
    double low = HUGE_VAL, high = -HUGE_VAL;
    if (!nodes || !locals) return builder_no_memory(b);
    for (size_t i = 0; i < m->nodes_count; i++)
        locals[i] = m->nodes[i].rest;
    enum err e = builder_places(b, locals, nodes, &r->place);
    if (e != ERR_OK) return e;
    for (size_t v = 0; v < model_vertex_count(m); v++) {
        low = fmin(low, r->place[v][1]);
        high = fmax(high, r->place[v][1]);
    }
    r->unit_m = rig && rig->unit_m > 0 ? (double)rig->unit_m
                                       : (double)builder_guess_unit((float)(high - low));
    return ERR_OK;
}

enum err compile_roots(struct builder *b)
{
    const struct rig *rig = b->settings->rig;
    const cJSON *json = rig ? rig_get(rig->json, "roots") : NULL;
    struct roots r = {.b = b, .json = json};
    int listed = cJSON_GetArraySize(json);
    if (listed > MODEL_ROOTS_MAX)
        return fault_set(b->fault, ERR_MALFORMED, "/roots: there may be %d of them at most",
                         MODEL_ROOTS_MAX);
    if (json && listed < 2) {
        scene_note(b->scene, NOTE_READ, 1, "roots: one alone is plain skinning");
        return ERR_OK;
    }
    r.count = json ? (uint32_t)listed : count_tops(&b->model);
    if (r.count < 2) return ERR_OK;
    if (r.count > MODEL_ROOTS_MAX) {
        scene_note(b->scene, NOTE_READ, 1,
                   "%u topmost joints: more than %d are not taken for roots of their own", r.count,
                   MODEL_ROOTS_MAX);
        return ERR_OK;
    }
    enum err e = make_room(&r);
    if (e == ERR_OK && json) e = measure(&r);
    if (e != ERR_OK) return e;
    if (json) {
        e = read_rig(&r);
    } else {
        struct model_slot *slots = BUILDER_ARRAY(b, struct model_slot, b->model.slots_count);
        if (!slots) return builder_no_memory(b);
        take_tops(&r);
        for (size_t i = 0; i < b->model.slots_count; i++) {
            slots[i] = b->model.slots[i];
            slots[i].root = r.of_node[slots[i].node];
        }
        b->model.slots = slots;
    }
    if (e != ERR_OK) return e;
    b->model.roots = r.out;
    b->model.roots_count = r.count;
    b->model.node_roots = r.of_node;
    b->model.node_roots_count = b->model.nodes_count;
    b->model.root_weights = r.share;
    b->model.root_weights_count = r.share ? r.count * model_vertex_count(&b->model) : 0;
    scene_note(b->scene, NOTE_READ, 1, "roots: %u", r.count);
    return ERR_OK;
}
