#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/edit_own.h"

// A root's weight table (method C): every vertex's share in that root. The other roots keep their
// proportions in what is left. Blocks that no changed vertex lies in keep their bits; vertices stay
// in their lanes, so that everything numbered by lanes stands.

static const double NOTHING = 1e-7; // as roots_fold: moves nothing by as much as a float can say

struct retable {
    struct editing *e;
    const struct model *old;
    uint32_t root;
    size_t vertices, bases; // bases: slots of one root
    const float *before;    // [root][vertex]
    float *after;           // [root][vertex]
};

// Slots as roots_fold lays them: every root's after the other, none apart.
static enum err check_slots(const struct retable *t)
{
    const struct model *m = t->old;
    bool fine = m->root_weights_count > 0 && m->slots_count % m->roots_count == 0;
    for (size_t i = 0; i < m->slots_count && fine; i++)
        fine = m->slots[i].root == i / t->bases && m->slots[i].flags == 0 &&
               m->slots[i].node == m->slots[i % t->bases].node;
    if (fine) return ERR_OK;
    return fault_set(t->e->k.fault, ERR_UNSUPPORTED,
                     "the roots of this model are trees of their own: they have no tables to edit");
}

static enum err read_shares(struct retable *t, const struct edit *step)
{
    struct fault *fault = t->e->k.fault;
    float *row = t->after + t->root * t->vertices;
    if (step->kind == EDIT_TAKE) {
        const struct model *from = step->from;
        memcpy(row, from->root_weights + edit_root_of(step->from_example) * t->vertices,
               t->vertices * sizeof *row);
        return ERR_OK;
    }
    if (step->size_bytes != t->vertices * sizeof *row)
        return fault_set(fault, ERR_MALFORMED,
                         "a root's weights are one float32 a vertex: %zu bytes, not %zu",
                         t->vertices * sizeof *row, step->size_bytes);
    memcpy(row, step->bytes, step->size_bytes);
    for (size_t v = 0; v < t->vertices; v++)
        if (!(row[v] >= 0 && row[v] <= 1))
            return fault_set(fault, ERR_MALFORMED, "vertex %zu: a share lies between 0 and 1", v);
    return ERR_OK;
}

// The two sides of a seam must go the same way, or the surface opens there.
static enum err join_sides(struct retable *t, bool force)
{
    const struct model *m = t->old;
    float *row = t->after + t->root * t->vertices;
    for (uint32_t v = 0; v < m->weld_count; v++) {
        if (fabsf(row[v] - row[m->weld[v]]) > 1e-6F && !force)
            return fault_set(t->e->k.fault, ERR_MALFORMED,
                             "vertices %u and %u are the two sides of a seam and need the same "
                             "share (force=1 gives both the first one's)",
                             m->weld[v], v);
        row[v] = row[m->weld[v]];
    }
    return ERR_OK;
}

// The others share what is left as they did before; where they had nothing, the first of them has.
static void share_rest(struct retable *t)
{
    uint32_t roots = (uint32_t)t->old->roots_count, heir = t->root == 0 ? 1 : 0;
    for (size_t v = 0; v < t->vertices; v++) {
        double mine = (double)t->after[t->root * t->vertices + v], others = 0;
        if (t->after[t->root * t->vertices + v] == t->before[t->root * t->vertices + v]) continue;
        for (uint32_t r = 0; r < roots; r++)
            if (r != t->root) others += (double)t->before[r * t->vertices + v];
        for (uint32_t r = 0; r < roots; r++) {
            double had =
                others > 0 ? (double)t->before[r * t->vertices + v] / others : (double)(r == heir);
            if (r != t->root) t->after[r * t->vertices + v] = (float)(had * (1 - mine));
        }
    }
}

static bool block_changes(const struct retable *t, size_t block)
{
    for (uint32_t lane = 0; lane < t->old->blocks[block].lane_count; lane++) {
        uint32_t v = t->e->k.vertex_of_lane[block * MODEL_LANES + lane];
        for (size_t r = 0; r < t->old->roots_count; r++)
            if (t->after[r * t->vertices + v] != t->before[r * t->vertices + v]) return true;
    }
    return false;
}

// What a joint weighs, whichever root poses it: [lane] for one base slot.
static void base_weights(const struct retable *t, const struct model_block *b, size_t base,
                         double out[MODEL_LANES])
{
    const struct model *m = t->old;
    memset(out, 0, MODEL_LANES * sizeof *out);
    for (uint32_t k = 0; k < b->influence_count; k++)
        for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
            if (m->block_slots[b->slot_first + k] % t->bases == base)
                out[lane] += b->influence_count == 1
                                 ? 1
                                 : (double)m->weights[b->weight_first + k * MODEL_LANES + lane];
}

struct folded_block {
    uint32_t count;
    uint16_t slots[MODEL_INFLUENCES_MAX * MODEL_ROOTS_MAX];
    double weights[MODEL_INFLUENCES_MAX * MODEL_ROOTS_MAX][MODEL_LANES];
};

// Slots ascend, as everywhere: roots one after the other, base slots in the block's order.
static void fold_block(const struct retable *t, size_t block, struct folded_block *out)
{
    const struct model *m = t->old;
    const struct model_block *b = &m->blocks[block];
    out->count = 0;
    for (size_t r = 0; r < m->roots_count; r++)
        for (size_t base = 0; base < t->bases; base++) {
            double w[MODEL_LANES], largest = 0;
            bool listed = false;
            for (uint32_t k = 0; k < b->influence_count; k++)
                listed = listed || m->block_slots[b->slot_first + k] % t->bases == base;
            if (!listed) continue;
            base_weights(t, b, base, w);
            for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
                uint32_t from = lane < b->lane_count ? lane : b->lane_count - 1;
                uint32_t v = t->e->k.vertex_of_lane[block * MODEL_LANES + from];
                out->weights[out->count][lane] = w[from] * (double)t->after[r * t->vertices + v];
                largest = fmax(largest, out->weights[out->count][lane]);
            }
            if (largest > NOTHING) out->slots[out->count++] = (uint16_t)(r * t->bases + base);
        }
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
        double sum = 0;
        for (uint32_t k = 0; k < out->count; k++)
            sum += out->weights[k][lane];
        for (uint32_t k = 0; k < out->count; k++)
            out->weights[k][lane] /= sum;
    }
}

struct tables { // influences of all blocks, filled one block after the other
    struct model_block *blocks;
    uint16_t *slots;
    float *weights;
    size_t slot, weight;
};

static void keep_block(const struct retable *t, size_t block, struct tables *out)
{
    const struct model_block *b = &t->old->blocks[block];
    size_t floats = b->influence_count > 1 ? (size_t)b->influence_count * MODEL_LANES : 0;
    memcpy(out->slots + out->slot, t->old->block_slots + b->slot_first,
           b->influence_count * sizeof *out->slots);
    if (floats)
        memcpy(out->weights + out->weight, t->old->weights + b->weight_first,
               floats * sizeof *out->weights);
}

static enum err put_block(const struct retable *t, size_t block, struct folded_block *scratch,
                          struct tables *out)
{
    const struct model_block *b = &t->old->blocks[block];
    uint32_t count = b->influence_count;
    if (block_changes(t, block)) {
        fold_block(t, block, scratch);
        count = scratch->count;
        if (count > MODEL_INFLUENCES_MAX)
            return fault_set(t->e->k.fault, ERR_LIMIT,
                             "vertex %u would follow %u joints of all roots, more than %d",
                             t->e->k.vertex_of_lane[block * MODEL_LANES], count,
                             MODEL_INFLUENCES_MAX);
        memcpy(out->slots + out->slot, scratch->slots, count * sizeof *out->slots);
        for (uint32_t k = 0; count > 1 && k < count; k++)
            for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
                out->weights[out->weight + k * MODEL_LANES + lane] =
                    (float)scratch->weights[k][lane];
    } else {
        keep_block(t, block, out);
    }
    out->blocks[block] = (struct model_block){b->lane_count, count, (uint32_t)out->slot,
                                              count > 1 ? (uint32_t)out->weight : 0};
    out->slot += count;
    out->weight += count > 1 ? (size_t)count * MODEL_LANES : 0;
    return ERR_OK;
}

static enum err write_blocks(struct retable *t)
{
    struct builder *b = &t->e->b;
    struct model *m = &b->model;
    size_t blocks = m->blocks_count, most = 0;
    for (size_t i = 0; i < blocks; i++)
        most += (size_t)t->old->blocks[i].influence_count * t->old->roots_count;
    struct tables out = {.blocks = BUILDER_ARRAY(b, struct model_block, blocks),
                         .slots = BUILDER_ARRAY(b, uint16_t, most),
                         .weights = BUILDER_ARRAY(b, float, most *MODEL_LANES)};
    struct folded_block *scratch = POOL_ARRAY(&t->e->pool, struct folded_block, 1);
    if (!out.blocks || !out.slots || !out.weights || !scratch) return builder_no_memory(b);
    enum err err = ERR_OK;
    for (size_t i = 0; i < blocks && err == ERR_OK; i++)
        err = put_block(t, i, scratch, &out);
    if (err != ERR_OK) return err;
    CHECK(out.slot <= most && out.weight <= most * MODEL_LANES);
    m->blocks = out.blocks;
    m->block_slots = out.slots;
    m->block_slots_count = out.slot;
    m->weights = out.weights;
    m->weights_count = out.weight;
    m->root_weights = t->after;
    return ERR_OK;
}

enum err edit_root_step(struct editing *e, const struct edit *step)
{
    const struct model *m = e->k.edited;
    struct retable t = {.e = e,
                        .old = m,
                        .root = edit_root_of(step->example),
                        .vertices = model_vertex_count(m),
                        .before = m->root_weights};
    if (t.root >= m->roots_count)
        return fault_set(e->k.fault, ERR_NOT_FOUND, "no root #%u", t.root);
    if (step->kind != EDIT_SURFACE && step->kind != EDIT_TAKE)
        return fault_set(e->k.fault, ERR_USAGE,
                         "a root's weights have no pose, no deltas and no "
                         "mirror image");
    if (step->kind == EDIT_SURFACE && step->format != EDIT_F32)
        return fault_set(e->k.fault, ERR_UNSUPPORTED, "a root's weights are float32");
    t.bases = m->slots_count / m->roots_count;
    t.after = BUILDER_ARRAY(&e->b, float, m->root_weights_count);
    if (!t.after) return builder_no_memory(&e->b);
    enum err err = check_slots(&t);
    if (err != ERR_OK) return err;
    memcpy(t.after, t.before, m->root_weights_count * sizeof *t.after);
    err = read_shares(&t, step);
    if (err == ERR_OK) err = join_sides(&t, step->force);
    if (err != ERR_OK) return err;
    share_rest(&t);
    const float *was = t.before + t.root * t.vertices, *is = t.after + t.root * t.vertices;
    for (size_t v = 0; v < t.vertices; v++) {
        e->out->moved += was[v] != is[v];
        e->out->largest_move = fmax(e->out->largest_move, fabs((double)is[v] - (double)was[v]));
    }
    return write_blocks(&t);
}
