#include <math.h>

#include "server/bake/builder.h"
#include "server/bake/partners.h"
#include "server/bake/rig.h"
#include "server/bake/roots.h"

// Several roots (method C), from the rig file, or as the source has them: joints that hang under
// different topmost joints.

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
        e = roots_read(&r);
        if (e == ERR_OK) e = roots_soften(&r);
        if (e == ERR_OK) e = roots_fold(&r);
    } else {
        struct model_slot *slots = BUILDER_ARRAY(b, struct model_slot, b->model.slots_count);
        if (!slots) return builder_no_memory(b);
        take_tops(&r);
        for (size_t i = 0; i < b->model.slots_count; i++) {
            slots[i] = b->model.slots[i];
            slots[i].root = r.of_node[slots[i].node];
            if (slots[i].root != 0) slots[i].flags = MODEL_SLOT_APART;
        }
        b->model.slots = slots;
    }
    if (e != ERR_OK) return e;
    e = mirror_partners(b, &b->model.mirror_nodes);
    if (e != ERR_OK) return e;
    b->model.mirror_nodes_count = b->model.nodes_count;
    b->model.roots = r.out;
    b->model.roots_count = r.count;
    b->model.node_roots = r.of_node;
    b->model.node_roots_count = b->model.nodes_count;
    b->model.root_weights = r.share;
    b->model.root_weights_count = r.share ? r.count * model_vertex_count(&b->model) : 0;
    scene_note(b->scene, NOTE_READ, 1, "roots: %u", r.count);
    return ERR_OK;
}
