#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"

// Parts are the primitives of the default scene's nodes, in output order; each vertex gets its
// influences as palette slots.

struct part_plan {
    uint32_t part_count;
    uint64_t vertex_count, influence_count, uv_count, color_count;
    bool whole_file; // the default scene shows no mesh, so every node counts
};

static bool node_shows_mesh(const struct builder *b, uint32_t source, bool whole_file)
{
    const struct scene_node *n = &b->scene->nodes[source];
    return n->mesh != SCENE_NONE && (whole_file || n->in_default_scene);
}

static bool primitive_is_skinned(const struct scene_node *n, const struct scene_primitive *p)
{
    return n->skin != SCENE_NONE && p->influences_per_vertex > 0;
}

static struct part_plan plan_parts(const struct builder *b, bool whole_file)
{
    struct part_plan plan = {.whole_file = whole_file};
    for (uint32_t i = 0; i < b->scene->node_count; i++) {
        if (!node_shows_mesh(b, i, whole_file)) continue;
        const struct scene_node *n = &b->scene->nodes[i];
        const struct scene_mesh *mesh = &b->scene->meshes[n->mesh];
        for (uint32_t k = 0; k < mesh->primitive_count; k++) {
            const struct scene_primitive *p = &mesh->primitives[k];
            if (p->vertex_count == 0) continue;
            plan.part_count++;
            plan.vertex_count += p->vertex_count;
            plan.uv_count += (uint64_t)p->vertex_count * p->uv_set_count;
            plan.color_count += (uint64_t)p->vertex_count * p->color_set_count;
            plan.influence_count += (uint64_t)p->vertex_count *
                                    (primitive_is_skinned(n, p) ? p->influences_per_vertex : 1);
        }
    }
    return plan;
}

static enum err choose_plan(struct builder *b, struct part_plan *plan)
{
    *plan = plan_parts(b, false);
    if (plan->vertex_count == 0) {
        *plan = plan_parts(b, true);
        if (plan->vertex_count > 0)
            scene_note(b->scene, NOTE_REPAIRED, 1,
                       "the default scene shows no mesh: all nodes of the file are taken");
    }
    if (plan->vertex_count == 0)
        return fault_set(b->fault, ERR_NOT_FOUND,
                         "/nodes: none shows a mesh with vertices: give a file that has a surface");
    if (plan->vertex_count > UINT32_MAX / 32 || plan->influence_count > UINT32_MAX / 2)
        return builder_no_memory(b);
    return ERR_OK;
}

// Slots, one for each distinct (node, inverse bind); found again by hashing.
struct slot_set {
    struct model_slot *slots;
    uint32_t count, capacity, mask;
    uint32_t *table; // slot + 1, 0 = free
};

static uint32_t slot_hash(const struct model_slot *s)
{
    const unsigned char *bytes = (const unsigned char *)s;
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < sizeof *s; i++)
        h = (h ^ bytes[i]) * 16777619u;
    return h ^ h >> 15;
}

static enum err slots_start(struct builder *b, struct slot_set *set, uint32_t capacity)
{
    uint32_t size = 16;
    while (size < capacity * 2)
        size *= 2;
    set->slots = BUILDER_ARRAY(b, struct model_slot, capacity);
    set->table = BUILDER_ARRAY(b, uint32_t, size);
    set->capacity = capacity;
    set->mask = size - 1;
    return set->slots && set->table ? ERR_OK : builder_no_memory(b);
}

static enum err slot_find(struct builder *b, struct slot_set *set, uint32_t node,
                          const struct xform *inverse_bind, uint16_t *out)
{
    struct model_slot want;
    memset(&want, 0, sizeof want);
    want.node = node;
    want.inverse_bind = mat34_from_xform(inverse_bind);
    for (uint32_t at = slot_hash(&want) & set->mask;; at = (at + 1) & set->mask) {
        if (set->table[at] == 0) {
            if (set->count > UINT16_MAX)
                return fault_set(b->fault, ERR_LIMIT,
                                 "more than 65536 joints with bind matrices of their own");
            CHECK(set->count < set->capacity);
            set->slots[set->count++] = want;
            set->table[at] = set->count;
        }
        // Bits are meant, not values. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
        if (memcmp(&set->slots[set->table[at] - 1], &want, sizeof want) == 0) {
            *out = (uint16_t)(set->table[at] - 1);
            return ERR_OK;
        }
    }
}

// Slots of a skin's joints, made when first used. A skin that several nodes use is one.
static enum err skin_slots(struct builder *b, struct slot_set *set, uint16_t **cache, int32_t skin)
{
    if (cache[skin]) return ERR_OK;
    const struct scene_skin *k = &b->scene->skins[skin];
    cache[skin] = BUILDER_ARRAY(b, uint16_t, k->joint_count);
    if (!cache[skin]) return builder_no_memory(b);
    for (uint32_t j = 0; j < k->joint_count; j++) {
        enum err e = slot_find(b, set, b->node_of_source[k->joints[j]], &k->inverse_binds[j],
                               &cache[skin][j]);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

struct vertex_weights {
    uint32_t count;
    uint16_t slots[SCENE_INFLUENCES_MAX];
    double weights[SCENE_INFLUENCES_MAX];
};

// Zero weights dropped, a joint that is listed twice counted once with both weights, ascending.
static void collect_weights(const struct scene_primitive *p, uint32_t vertex,
                            const uint16_t *slot_of_joint, struct vertex_weights *out)
{
    out->count = 0;
    for (uint32_t k = 0; k < p->influences_per_vertex; k++) {
        size_t at = (size_t)vertex * p->influences_per_vertex + k;
        if (!(p->weights[at] > 0)) continue;
        uint16_t slot = slot_of_joint[p->joints[at]];
        uint32_t place = 0;
        while (place < out->count && out->slots[place] < slot)
            place++;
        if (place < out->count && out->slots[place] == slot) {
            out->weights[place] += (double)p->weights[at];
            continue;
        }
        for (uint32_t i = out->count; i > place; i--) {
            out->slots[i] = out->slots[i - 1];
            out->weights[i] = out->weights[i - 1];
        }
        out->slots[place] = slot;
        out->weights[place] = (double)p->weights[at];
        out->count++;
    }
}

struct weight_repairs {
    uint32_t renormalised, unweighted;
};

static void normalise_weights(const struct scene_primitive *p, uint32_t vertex,
                              const uint16_t *slot_of_joint, struct vertex_weights *w,
                              struct weight_repairs *repairs)
{
    double sum = 0;
    for (uint32_t k = 0; k < w->count; k++)
        sum += w->weights[k];
    if (w->count == 0) { // nothing moves it: its first joint takes it along
        w->count = 1;
        w->slots[0] = slot_of_joint[p->joints[(size_t)vertex * p->influences_per_vertex]];
        w->weights[0] = 1;
        repairs->unweighted++;
        return;
    }
    repairs->renormalised += fabs(sum - 1) > 4e-3;
    for (uint32_t k = 0; k < w->count; k++)
        w->weights[k] /= sum;
}

static enum err add_skinned(struct builder *b, struct slot_set *set, uint16_t **cache, int32_t skin,
                            const struct scene_primitive *p, uint32_t vertex_first)
{
    enum err e = skin_slots(b, set, cache, skin);
    if (e != ERR_OK) return e;
    struct weight_repairs repairs = {0};
    uint32_t at = b->influence_first[vertex_first];
    for (uint32_t v = 0; v < p->vertex_count; v++) {
        struct vertex_weights w;
        collect_weights(p, v, cache[skin], &w);
        normalise_weights(p, v, cache[skin], &w, &repairs);
        for (uint32_t k = 0; k < w.count; k++, at++) {
            b->influence_slots[at] = w.slots[k];
            b->influence_weights[at] = (float)w.weights[k];
        }
        b->influence_first[vertex_first + v + 1] = at;
    }
    if (repairs.renormalised)
        scene_note(b->scene, NOTE_REPAIRED, repairs.renormalised,
                   "vertex whose weights do not sum to 1: renormalised");
    if (repairs.unweighted)
        scene_note(b->scene, NOTE_REPAIRED, repairs.unweighted,
                   "skinned vertex without any weight: bound to its first joint");
    return ERR_OK;
}

static enum err add_rigid(struct builder *b, struct slot_set *set, uint32_t node,
                          const struct scene_primitive *p, uint32_t vertex_first)
{
    struct xform identity = xform_identity();
    uint16_t slot = 0;
    enum err e = slot_find(b, set, node, &identity, &slot);
    if (e != ERR_OK) return e;
    uint32_t at = b->influence_first[vertex_first];
    for (uint32_t v = 0; v < p->vertex_count; v++, at++) {
        b->influence_slots[at] = slot;
        b->influence_weights[at] = 1;
        b->influence_first[vertex_first + v + 1] = at + 1;
    }
    return ERR_OK;
}

struct part_cursor {
    uint32_t part, vertex, uv, color;
    float *uvs, *colors;
    struct slot_set slots;
    uint16_t **skin_cache;
};

static void copy_attributes(struct part_cursor *c, const struct scene_primitive *p,
                            struct model_part *out)
{
    out->uv_set_count = p->uv_set_count;
    out->color_set_count = p->color_set_count;
    out->uv_first = c->uv;
    out->color_first = c->color;
    for (uint32_t k = 0; k < p->uv_set_count; k++, c->uv += p->vertex_count)
        memcpy(c->uvs + (size_t)c->uv * 2, p->uv[k], (size_t)p->vertex_count * 2 * sizeof(float));
    for (uint32_t k = 0; k < p->color_set_count; k++, c->color += p->vertex_count)
        memcpy(c->colors + (size_t)c->color * 4, p->colors[k],
               (size_t)p->vertex_count * 4 * sizeof(float));
}

static enum err add_part(struct builder *b, struct part_cursor *c, uint32_t source,
                         uint32_t primitive)
{
    const struct scene_node *n = &b->scene->nodes[source];
    const struct scene_primitive *p = &b->scene->meshes[n->mesh].primitives[primitive];
    bool skinned = primitive_is_skinned(n, p);
    struct model_part *out = &b->parts[c->part];
    *out = (struct model_part){
        .node = b->node_of_source[source],
        .mesh = (uint32_t)n->mesh,
        .primitive = primitive,
        .skin = skinned ? n->skin : MODEL_NONE,
        .material = p->material == SCENE_NONE ? MODEL_NONE : p->material,
        .topology = (uint32_t)p->topology,
        .flags = (skinned ? MODEL_PART_SKINNED : 0) | (p->normals ? MODEL_PART_HAS_NORMALS : 0) |
                 (p->tangents ? MODEL_PART_HAS_TANGENTS : 0),
        .vertex_first = c->vertex,
        .vertex_count = p->vertex_count,
    };
    if (n->skin != SCENE_NONE && !skinned)
        scene_note(b->scene, NOTE_REPAIRED, 1,
                   "primitive of a skinned node has no joints: it moves rigidly with its node");
    copy_attributes(c, p, out);
    memcpy(b->positions + (size_t)c->vertex * 3, p->positions,
           (size_t)p->vertex_count * sizeof(struct vec3));
    b->primitive_of_part[c->part++] = p;
    uint32_t first = c->vertex;
    c->vertex += p->vertex_count;
    return skinned ? add_skinned(b, &c->slots, c->skin_cache, n->skin, p, first)
                   : add_rigid(b, &c->slots, out->node, p, first);
}

static enum err take_tables(struct builder *b, const struct part_plan *plan, struct part_cursor *c)
{
    uint32_t slot_capacity = b->scene->node_count;
    for (uint32_t k = 0; k < b->scene->skin_count; k++)
        slot_capacity += b->scene->skins[k].joint_count;
    b->parts = BUILDER_ARRAY(b, struct model_part, plan->part_count);
    b->primitive_of_part = BUILDER_ARRAY(b, const struct scene_primitive *, plan->part_count);
    b->positions = BUILDER_ARRAY(b, float, plan->vertex_count * 3);
    b->influence_first = BUILDER_ARRAY(b, uint32_t, plan->vertex_count + 1);
    b->influence_slots = BUILDER_ARRAY(b, uint16_t, plan->influence_count);
    b->influence_weights = BUILDER_ARRAY(b, float, plan->influence_count);
    c->uvs = BUILDER_ARRAY(b, float, plan->uv_count * 2);
    c->colors = BUILDER_ARRAY(b, float, plan->color_count * 4);
    c->skin_cache = BUILDER_ARRAY(b, uint16_t *, b->scene->skin_count);
    if (!b->parts || !b->primitive_of_part || !b->positions || !b->influence_first ||
        !b->influence_slots || !b->influence_weights || !c->uvs || !c->colors || !c->skin_cache)
        return builder_no_memory(b);
    return slots_start(b, &c->slots, slot_capacity);
}

static void note_what_was_read(struct builder *b, const struct part_plan *plan)
{
    uint32_t rigid = 0;
    for (uint32_t i = 0; i < plan->part_count; i++)
        rigid += !(b->parts[i].flags & MODEL_PART_SKINNED);
    if (rigid == plan->part_count)
        scene_note(b->scene, NOTE_READ, 1,
                   "no skin: all %u parts are rigid and move with their nodes or morph", rigid);
    else if (rigid > 0)
        scene_note(b->scene, NOTE_READ, 1, "%u of %u parts are rigid and move with their nodes",
                   rigid, plan->part_count);
}

enum err compile_parts(struct builder *b)
{
    struct part_plan plan;
    struct part_cursor c = {0};
    enum err e = choose_plan(b, &plan);
    if (e == ERR_OK) e = take_tables(b, &plan, &c);
    for (uint32_t i = 0; i < b->scene->node_count && e == ERR_OK; i++) {
        if (!node_shows_mesh(b, i, plan.whole_file)) continue;
        const struct scene_mesh *mesh = &b->scene->meshes[b->scene->nodes[i].mesh];
        for (uint32_t k = 0; k < mesh->primitive_count && e == ERR_OK; k++)
            if (mesh->primitives[k].vertex_count > 0) e = add_part(b, &c, i, k);
    }
    if (e != ERR_OK) return e;
    note_what_was_read(b, &plan);
    b->model.parts = b->parts;
    b->model.parts_count = plan.part_count;
    b->model.slots = c.slots.slots;
    b->model.slots_count = c.slots.count;
    b->model.uvs = c.uvs;
    b->model.uvs_count = (size_t)plan.uv_count * 2;
    b->model.colors = c.colors;
    b->model.colors_count = (size_t)plan.color_count * 4;
    // Final sizes that later stages read.
    b->model.vertex_lanes_count = (size_t)plan.vertex_count;
    return ERR_OK;
}
