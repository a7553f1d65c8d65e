#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/bake/geodesic.h"
#include "server/bake/roots.h"
#include "server/character/pose/skeleton.h"

static enum err soften_borders(struct roots *r)
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

enum err roots_soften(struct roots *r)
{
    enum err e = soften_borders(r);
    return e == ERR_OK ? normalise(r) : e;
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

// The slots with which roots carry what has none of their joints: the root's own joint's, made
// where no skin lists it.
static enum err add_ride_slots(struct roots *r)
{
    struct model *m = &r->b->model;
    size_t count = m->slots_count;
    struct trs *locals = BUILDER_ARRAY(r->b, struct trs, m->nodes_count);
    struct xform *nodes = BUILDER_ARRAY(r->b, struct xform, m->nodes_count);
    struct model_slot *slots = BUILDER_ARRAY(r->b, struct model_slot, count + r->count);
    if (!locals || !nodes || !slots) return builder_no_memory(r->b);
    for (size_t i = 0; i < m->nodes_count; i++)
        locals[i] = m->nodes[i].rest;
    skeleton_model_from_nodes(m, locals, nodes);
    memcpy(slots, m->slots, count * sizeof *slots);
    for (uint32_t k = 0; k < r->count; k++) {
        uint32_t node = r->out[k].node;
        struct xform inverse = xform_identity();
        size_t at = 0;
        while (at < count && slots[at].node != node)
            at++;
        if (at == count) {
            (void)xform_invert(&nodes[node], &inverse);
            slots[count++] =
                (struct model_slot){.node = node, .inverse_bind = mat34_from_xform(&inverse)};
        }
        r->ride_slots[k] = (uint16_t)at;
    }
    m->slots = slots;
    m->slots_count = count;
    return ERR_OK;
}

// One root's influences on a vertex: those of the joints it has, which share its weight.
static uint32_t list_root(const struct roots *r, size_t v, uint32_t root, struct folded *list)
{
    const struct builder *b = r->b;
    const struct model *m = &b->model;
    double share = (double)r->share[root * model_vertex_count(m) + v], all = 0, own = 0;
    uint32_t count = 0;
    if (!(share > 0)) return 0;
    for (uint32_t i = b->influence_first[v]; i < b->influence_first[v + 1]; i++) {
        double w = (double)b->influence_weights[i];
        all += w;
        if (!roots_has(r, root, m->slots[b->influence_slots[i]].node)) continue;
        own += w;
        list[count++] =
            (struct folded){(uint16_t)(root * m->slots_count + b->influence_slots[i]), share * w};
    }
    if (!(own > 0)) {
        list[0] = (struct folded){(uint16_t)(root * m->slots_count + r->ride_slots[root]), share};
        return 1;
    }
    for (uint32_t i = 0; i < count && own < all; i++)
        list[i].weight *= all / own;
    return count;
}

enum err roots_fold(struct roots *r)
{
    struct builder *b = r->b;
    if (r->lacks && add_ride_slots(r) != ERR_OK) return ERR_MEMORY;
    size_t vertices = model_vertex_count(&b->model), slot_count = b->model.slots_count;
    size_t influences = b->influence_first[vertices] + (r->lacks ? vertices : 0);
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
        slots[i].root = (uint16_t)(i / slot_count);
        if (i >= slot_count && !roots_has(r, 0, slots[i].node)) slots[i].flags = MODEL_SLOT_APART;
    }
    uint32_t at = 0;
    for (size_t v = 0; v < vertices; v++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < r->count; k++)
            count += list_root(r, v, k, list + count);
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
