#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"

// Vertices grouped by the exact set of slots that move them, 16 to a block. Inside a group they
// stand in the order in which the triangles first use them, so that neighbours on the surface
// stay near in memory and on the wire.

struct lane_key {
    const uint16_t *slots;
    uint32_t slot_count, rank, vertex;
};

static int lane_order(const void *a, const void *b)
{
    const struct lane_key *x = a, *y = b;
    if (x->slot_count != y->slot_count) return x->slot_count < y->slot_count ? -1 : 1;
    for (uint32_t k = 0; k < x->slot_count; k++)
        if (x->slots[k] != y->slots[k]) return x->slots[k] < y->slots[k] ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return 0; // ranks are unique
}

static bool same_set(const struct lane_key *x, const struct lane_key *y)
{
    return x->slot_count == y->slot_count &&
           memcmp(x->slots, y->slots, x->slot_count * sizeof *x->slots) == 0;
}

static void rank_by_first_use(const struct model *m, uint32_t *rank)
{
    uint32_t next = 0;
    memset(rank, 0xFF, m->vertex_lanes_count * sizeof *rank);
    for (size_t i = 0; i < m->indices_count; i++)
        if (rank[m->indices[i]] == UINT32_MAX) rank[m->indices[i]] = next++;
    for (size_t v = 0; v < m->vertex_lanes_count; v++)
        if (rank[v] == UINT32_MAX) rank[v] = next++;
}

static struct lane_key *sorted_lanes(struct builder *b)
{
    size_t count = b->model.vertex_lanes_count;
    struct lane_key *keys = BUILDER_ARRAY(b, struct lane_key, count);
    uint32_t *rank = BUILDER_ARRAY(b, uint32_t, count);
    if (!keys || !rank) return NULL;
    rank_by_first_use(&b->model, rank);
    for (uint32_t v = 0; v < count; v++)
        keys[v] = (struct lane_key){b->influence_slots + b->influence_first[v],
                                    b->influence_first[v + 1] - b->influence_first[v], rank[v], v};
    qsort(keys, count, sizeof *keys, lane_order);
    return keys;
}

struct block_plan {
    size_t blocks, slots, weights;
};

// Calls nothing: counts the blocks that fill_blocks will make, in the same walk.
static struct block_plan plan_blocks(const struct lane_key *keys, size_t count)
{
    struct block_plan plan = {0};
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && same_set(&keys[first], &keys[end]);)
            end++;
        size_t blocks = (end - first + MODEL_LANES - 1) / MODEL_LANES;
        plan.blocks += blocks;
        plan.slots += keys[first].slot_count; // one list a group, shared by its blocks
        if (keys[first].slot_count > 1)
            plan.weights += blocks * keys[first].slot_count * MODEL_LANES;
    }
    return plan;
}

struct block_tables {
    struct model_block *blocks;
    uint16_t *slots;
    struct model_rest_block *rest;
    struct model_tangent_block *tangents;
    float *weights;
    uint32_t *vertex_lanes;
    uint32_t block, slot, weight; // filled so far
};

static const float *tangent_of(const struct builder *b, uint32_t vertex, uint32_t *part)
{
    while (vertex < b->parts[*part].vertex_first ||
           vertex >= b->parts[*part].vertex_first + b->parts[*part].vertex_count)
        *part = (*part + 1) % (uint32_t)b->model.parts_count;
    const struct scene_primitive *p = b->primitive_of_part[*part];
    return p->tangents ? p->tangents[vertex - b->parts[*part].vertex_first] : NULL;
}

static void fill_tangents(const struct builder *b, const struct lane_key *keys, uint32_t lanes,
                          struct model_tangent_block *out)
{
    uint32_t part = 0;
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
        uint32_t vertex = keys[lane < lanes ? lane : lanes - 1].vertex;
        const float *t = tangent_of(b, vertex, &part);
        for (int r = 0; r < 3; r++)
            out->direction[r][lane] = t ? t[r] : 0;
        out->sign[lane] = t ? t[3] : 1;
    }
}

// One block of `lanes` vertices that share keys[0]'s set; lanes past the end repeat the last.
static void fill_block(const struct builder *b, const struct lane_key *keys, uint32_t lanes,
                       uint32_t slot_first, struct block_tables *t)
{
    uint32_t influences = keys[0].slot_count;
    t->blocks[t->block] = (struct model_block){lanes, influences, slot_first, t->weight};
    struct model_rest_block *rest = &t->rest[t->block];
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
        uint32_t vertex = keys[lane < lanes ? lane : lanes - 1].vertex;
        for (size_t r = 0; r < 3; r++) {
            rest->position[r][lane] = b->positions[(size_t)vertex * 3 + r];
            rest->normal[r][lane] = b->normals[(size_t)vertex * 3 + r];
        }
        const float *w = b->influence_weights + b->influence_first[vertex];
        for (uint32_t k = 0; influences > 1 && k < influences; k++)
            t->weights[t->weight + k * MODEL_LANES + lane] = w[k];
        if (lane < lanes) t->vertex_lanes[vertex] = t->block * MODEL_LANES + lane;
    }
    if (t->tangents) fill_tangents(b, keys, lanes, &t->tangents[t->block]);
    if (influences > 1) t->weight += influences * MODEL_LANES;
    t->block++;
}

static void fill_blocks(const struct builder *b, const struct lane_key *keys, size_t count,
                        struct block_tables *t)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && same_set(&keys[first], &keys[end]);)
            end++;
        uint32_t slot_first = t->slot;
        memcpy(t->slots + t->slot, keys[first].slots, keys[first].slot_count * sizeof *t->slots);
        t->slot += keys[first].slot_count;
        for (size_t at = first; at < end; at += MODEL_LANES) {
            size_t left = end - at;
            fill_block(b, keys + at, left < MODEL_LANES ? (uint32_t)left : MODEL_LANES, slot_first,
                       t);
        }
    }
}

static bool any_tangents(const struct builder *b)
{
    for (size_t i = 0; i < b->model.parts_count; i++)
        if (b->primitive_of_part[i]->tangents) return true;
    return false;
}

enum err compile_blocks(struct builder *b)
{
    size_t count = b->model.vertex_lanes_count;
    struct lane_key *keys = sorted_lanes(b);
    if (!keys) return builder_no_memory(b);
    struct block_plan plan = plan_blocks(keys, count);
    if (plan.blocks > UINT32_MAX / MODEL_LANES || plan.weights > UINT32_MAX)
        return builder_no_memory(b);
    struct block_tables t = {
        .blocks = BUILDER_ARRAY(b, struct model_block, plan.blocks),
        .slots = BUILDER_ARRAY(b, uint16_t, plan.slots),
        .rest = BUILDER_ARRAY(b, struct model_rest_block, plan.blocks),
        .weights = BUILDER_ARRAY(b, float, plan.weights),
        .vertex_lanes = BUILDER_ARRAY(b, uint32_t, count),
    };
    if (any_tangents(b)) {
        t.tangents = BUILDER_ARRAY(b, struct model_tangent_block, plan.blocks);
        if (!t.tangents) return builder_no_memory(b);
        b->model.tangents_count = plan.blocks;
    }
    if (!t.blocks || !t.slots || !t.rest || !t.weights || !t.vertex_lanes)
        return builder_no_memory(b);
    fill_blocks(b, keys, count, &t);
    CHECK(t.block == plan.blocks && t.slot == plan.slots && t.weight == plan.weights);
    b->model.blocks = t.blocks;
    b->model.block_slots = t.slots;
    b->model.rest = t.rest;
    b->model.tangents = t.tangents;
    b->model.weights = t.weights;
    b->model.vertex_lanes = t.vertex_lanes;
    b->model.blocks_count = b->model.rest_count = plan.blocks;
    b->model.block_slots_count = plan.slots;
    b->model.weights_count = plan.weights;
    return ERR_OK;
}
