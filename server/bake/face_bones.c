#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/bake/builder.h"
#include "server/bake/geodesic.h"
#include "server/bake/rig.h"
#include "server/character/pose/skeleton.h"
#include "server/model/lookup.h"

// Bones that the rig file adds to a face: a node under a parent, and a share of the vertices
// around it. At rest such a bone carries its vertices as its parent's joint would, so the rest
// pose stays as it was.

struct created {
    uint32_t node, parent;
    double at[3], radius;
};

enum { CREATED_MAX = 256 };
static const double NOTHING = 1e-6; // a weight that is left out

static enum err check(struct builder *b, const cJSON *bone, const char *path, struct created *c)
{
    const cJSON *create = rig_get(bone, "create"), *at = rig_get(create, "at")->child;
    const char *name = rig_get(bone, "joint")->valuestring;
    const struct model *m = &b->model;
    char where[160];
    (void)snprintf(where, sizeof where, "%s/create/parent", path);
    for (size_t i = 0; i < m->nodes_count; i++)
        if (strcmp(model_text(m, m->nodes[i].name), name) == 0)
            return fault_set(b->fault, ERR_MALFORMED,
                             "%s/joint: there is a joint or node \"%.60s\": leave create out, or "
                             "give another name",
                             path, name);
    for (int r = 0; r < 3; r++, at = at->next)
        c->at[r] = at->valuedouble;
    c->radius = rig_get(create, "radius")->valuedouble;
    return lookup_name(m, LOOKUP_NODE, rig_get(create, "parent")->valuestring, where, &c->parent,
                       b->fault);
}

// Model space, rest pose.
static struct xform rest_of(const struct model *m, uint32_t node)
{
    struct xform local = m->nodes[node].flags & MODEL_NODE_SHEARED
                             ? xform_from_mat34(&m->nodes[node].rest_local)
                             : xform_from_trs(&m->nodes[node].rest);
    if (m->nodes[node].parent == MODEL_NONE) return local;
    struct xform up = rest_of(m, (uint32_t)m->nodes[node].parent);
    return xform_mul(&up, &local);
}

static enum err add_node(struct builder *b, const char *name, struct created *c)
{
    struct model *m = &b->model;
    struct model_node *nodes = BUILDER_ARRAY(b, struct model_node, m->nodes_count + 1);
    struct xform up = rest_of(m, c->parent), back, local = xform_identity();
    double place[3];
    if (!nodes) return builder_no_memory(b);
    if (!xform_invert(&up, &back))
        return fault_set(b->fault, ERR_MALFORMED,
                         "/face/bones: the parent of \"%.60s\" has a scale of zero", name);
    xform_point(&back, c->at, place);
    memcpy(nodes, m->nodes, m->nodes_count * sizeof *nodes);
    struct model_node *n = &nodes[m->nodes_count];
    *n = (struct model_node){
        .parent = (int32_t)c->parent,
        .source = (uint32_t)m->nodes_count, // past the file's own
        .name = builder_text(b, name),
        .flags = (nodes[c->parent].flags & (MODEL_NODE_JOINT | MODEL_NODE_IN_SCENE)),
        .rest = {.translation = {(float)place[0], (float)place[1], (float)place[2]},
                 .rotation = {0, 0, 0, 1},
                 .scale = {1, 1, 1}}};
    local = xform_from_trs(&n->rest);
    n->rest_local = mat34_from_xform(&local);
    c->node = (uint32_t)m->nodes_count;
    m->nodes = nodes;
    m->nodes_count++;
    return ERR_OK;
}

static double distance_to(const struct created *c, const double place[3])
{
    double square = 0;
    for (int r = 0; r < 3; r++)
        square += (place[r] - c->at[r]) * (place[r] - c->at[r]);
    return sqrt(square);
}

// The part of a vertex that the bone takes: whole at its place, none at its radius, no edge. What
// lies near but is far along the surface, the other lip or lid, counts as farther.
static double share_at(const struct created *c, const double place[3], double along)
{
    const double straight = 0.6; // a way along a surface that bends is so much longer at most
    double d = fmax(distance_to(c, place), straight * along) / c->radius;
    double inside = fmax(0, 1 - d * d);
    return inside * inside * (3 - 2 * inside);
}

// The slot of a created bone for a vertex that `like` carries most: the same matrix at rest.
struct new_slot {
    uint32_t bone;
    uint16_t like, slot;
};
struct work {
    const struct created *bones;
    uint32_t bone_count;
    struct model_slot *slots;
    size_t slot_count, slot_capacity;
    struct new_slot *made;
    uint32_t made_count;
    struct xform *rest; // [node]
    double (*place)[3];
    double *along; // [bone][vertex] from the bone along the surface
};

// Surfaces that hang together, by their lowest vertex.
static uint32_t root_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

// Along each surface from where it comes nearest to the bone.
static enum err measure_along(struct builder *b, struct work *w)
{
    const struct model *m = &b->model;
    size_t vertices = model_vertex_count(m);
    struct geodesic g;
    uint32_t *up = BUILDER_ARRAY(b, uint32_t, vertices);
    uint32_t *seeds = BUILDER_ARRAY(b, uint32_t, vertices);
    double *start = BUILDER_ARRAY(b, double, vertices);
    w->along = BUILDER_ARRAY(b, double, vertices * w->bone_count);
    if (!up || !seeds || !start || !w->along) return builder_no_memory(b);
    enum err e = geodesic_open(b, w->place, &g);
    if (e != ERR_OK) return e;
    for (uint32_t v = 0; v < vertices; v++)
        up[v] = v;
    for (uint32_t v = 0; v < vertices; v++)
        for (uint32_t i = g.edge_first[v]; i < g.edge_first[v + 1]; i++)
            up[root_of(up, v)] = root_of(up, g.edges[i]);
    for (uint32_t n = 0; n < w->bone_count; n++) {
        size_t count = 0;
        for (uint32_t v = 0; v < vertices; v++)
            start[v] = HUGE_VAL;
        for (uint32_t v = 0; v < vertices; v++) {
            uint32_t surface = root_of(up, m->weld[v]);
            double d = m->weld[v] == v ? distance_to(&w->bones[n], w->place[v]) : HUGE_VAL;
            if (!(d < start[surface])) continue;
            start[surface] = d;
            seeds[surface] = v;
        }
        for (uint32_t v = 0; v < vertices; v++)
            if (start[v] < HUGE_VAL) {
                start[count] = start[v];
                seeds[count++] = seeds[v];
            }
        geodesic_measure(&g, seeds, start, count, 2 * w->bones[n].radius,
                         w->along + (size_t)n * vertices);
    }
    return ERR_OK;
}

static bool slot_for(struct work *w, uint32_t bone, uint16_t like, uint16_t *out)
{
    for (uint32_t i = 0; i < w->made_count; i++)
        if (w->made[i].bone == bone && w->made[i].like == like) {
            *out = w->made[i].slot;
            return true;
        }
    if (w->slot_count == w->slot_capacity || w->slot_count > UINT16_MAX) return false;
    const struct model_slot *from = &w->slots[like];
    struct xform bind = xform_from_mat34(&from->inverse_bind), back;
    struct xform whole = xform_mul(&w->rest[from->node], &bind);
    if (!xform_invert(&w->rest[w->bones[bone].node], &back)) return false;
    whole = xform_mul(&back, &whole);
    w->slots[w->slot_count] =
        (struct model_slot){.node = w->bones[bone].node, .inverse_bind = mat34_from_xform(&whole)};
    w->made[w->made_count++] = (struct new_slot){bone, like, (uint16_t)w->slot_count};
    *out = (uint16_t)w->slot_count++;
    return true;
}

// Influences of one vertex with what the bones take; -1: no room for slots.
static int spread(struct builder *b, struct work *w, uint32_t v, uint16_t *slots, float *weights)
{
    double taken = 0, kept = 1, shares[CREATED_MAX];
    uint16_t most = 0;
    float weight = -1;
    int count = 0;
    // Each takes its share of what those before it in the list have left or taken: a jaw after the
    // skull, a lip's corner after the jaw.
    for (uint32_t i = 0; i < w->bone_count; i++) {
        size_t at = (size_t)i * model_vertex_count(&b->model) + b->model.weld[v];
        shares[i] = share_at(&w->bones[i], w->place[v], w->along[at]);
        for (uint32_t n = 0; n < i; n++)
            shares[n] *= 1 - shares[i];
        kept *= 1 - shares[i];
        taken = fmax(taken, shares[i]);
    }
    for (uint32_t i = b->influence_first[v]; i < b->influence_first[v + 1]; i++) {
        if (b->influence_weights[i] > weight) {
            weight = b->influence_weights[i];
            most = b->influence_slots[i];
        }
        float left =
            taken > 0 ? (float)(kept * (double)b->influence_weights[i]) : b->influence_weights[i];
        if (!((double)left > (taken > 0 ? NOTHING : 0))) continue;
        slots[count] = b->influence_slots[i];
        weights[count++] = left;
    }
    for (uint32_t i = 0; i < w->bone_count; i++) {
        if (!(shares[i] > NOTHING)) continue;
        if (!slot_for(w, i, most, &slots[count])) return -1;
        weights[count++] = (float)shares[i];
    }
    float sum = 0;
    for (int i = 0; i < count; i++) {
        sum += weights[i];
        for (int n = i; n > 0 && slots[n - 1] > slots[n]; n--) { // slots ascend
            uint16_t slot = slots[n];
            float share = weights[n];
            slots[n] = slots[n - 1];
            weights[n] = weights[n - 1];
            slots[n - 1] = slot;
            weights[n - 1] = share;
        }
    }
    for (int i = 0; taken > 0 && i < count; i++)
        weights[i] /= sum;
    return count;
}

static enum err take_shares(struct builder *b, struct work *w)
{
    struct model *m = &b->model;
    size_t vertices = model_vertex_count(m), total = 0;
    size_t most = b->influence_first[vertices] + vertices * 4;
    uint32_t *first = BUILDER_ARRAY(b, uint32_t, vertices + 1);
    uint16_t *slots = BUILDER_ARRAY(b, uint16_t, most + CREATED_MAX + MODEL_INFLUENCES_MAX);
    float *weights = BUILDER_ARRAY(b, float, most + CREATED_MAX + MODEL_INFLUENCES_MAX);
    if (!first || !slots || !weights) return builder_no_memory(b);
    for (uint32_t v = 0; v < vertices; v++) {
        int count = spread(b, w, v, slots + total, weights + total);
        if (count < 0 || count > MODEL_INFLUENCES_MAX || total + (size_t)count > most)
            return fault_set(b->fault, ERR_LIMIT,
                             "/face/bones: too many created bones share vertices: use smaller "
                             "radii");
        total += (size_t)count;
        first[v + 1] = (uint32_t)total;
    }
    b->influence_first = first;
    b->influence_slots = slots;
    b->influence_weights = weights;
    m->slots = w->slots;
    m->slots_count = w->slot_count;
    return ERR_OK;
}

static enum err weigh(struct builder *b, const struct created *bones, uint32_t count)
{
    struct model *m = &b->model;
    struct work w = {.bones = bones, .bone_count = count, .slot_count = m->slots_count};
    struct trs *locals = BUILDER_ARRAY(b, struct trs, m->nodes_count);
    w.slot_capacity = m->slots_count * (1 + (size_t)count);
    w.slots = BUILDER_ARRAY(b, struct model_slot, w.slot_capacity);
    w.made = BUILDER_ARRAY(b, struct new_slot, w.slot_capacity);
    w.rest = BUILDER_ARRAY(b, struct xform, m->nodes_count);
    if (!locals || !w.slots || !w.made || !w.rest) return builder_no_memory(b);
    memcpy(w.slots, m->slots, m->slots_count * sizeof *w.slots);
    for (size_t i = 0; i < m->nodes_count; i++)
        locals[i] = m->nodes[i].rest;
    enum err e = builder_places(b, locals, w.rest, &w.place);
    if (e == ERR_OK) e = measure_along(b, &w);
    return e == ERR_OK ? take_shares(b, &w) : e;
}

enum err compile_face_bones(struct builder *b)
{
    const cJSON *face = b->settings->rig ? rig_get(b->settings->rig->json, "face") : NULL;
    const cJSON *bones = rig_get(face, "bones");
    struct created *list = BUILDER_ARRAY(b, struct created, CREATED_MAX);
    uint32_t count = 0;
    int index = 0;
    if (!list) return builder_no_memory(b);
    for (const cJSON *v = bones ? bones->child : NULL; v; v = v->next, index++) {
        char path[64];
        if (!rig_get(v, "create")) continue;
        (void)snprintf(path, sizeof path, "/face/bones/%d", index);
        if (count == CREATED_MAX)
            return fault_set(b->fault, ERR_LIMIT, "%s: more than %d created bones", path,
                             (int)CREATED_MAX);
        enum err e = check(b, v, path, &list[count]);
        if (e == ERR_OK) e = add_node(b, rig_get(v, "joint")->valuestring, &list[count++]);
        if (e != ERR_OK) return e;
    }
    return count ? weigh(b, list, count) : ERR_OK;
}
