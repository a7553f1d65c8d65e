#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"

// Morph targets: a channel a node and target, its deltas blocked like the surface; channels of
// equal name in different meshes are one shape.

struct node_parts { // the parts of one morphing node, consecutive in the parts table
    uint32_t first, count;
    const struct scene_node *node;
    const struct scene_mesh *mesh;
};

// A dense copy of one channel's deltas, by lane; only touched blocks are ever looked at.
struct lane_deltas {
    float (*position)[3], (*normal)[3];
    uint8_t *block_touched;
    bool has_normals;
};

static uint32_t list_morphing_nodes(const struct builder *b, struct node_parts *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->model.parts_count;) {
        uint32_t first = i, node = b->parts[i].node;
        while (i < b->model.parts_count && b->parts[i].node == node)
            i++;
        const struct scene_node *n = &b->scene->nodes[b->model.nodes[node].source];
        const struct scene_mesh *mesh = &b->scene->meshes[n->mesh];
        if (mesh->target_count == 0) continue;
        if (out) out[count] = (struct node_parts){first, i - first, n, mesh};
        count++;
    }
    return count;
}

static bool is_zero(const struct vec3 *v)
{
    return v->x == 0 && v->y == 0 && v->z == 0;
}

static void spread_target(const struct builder *b, const struct model_part *part,
                          const struct scene_target *t, struct lane_deltas *d)
{
    static const struct vec3 none = {0, 0, 0};
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t vertex = part->vertex_first + (t->vertices ? t->vertices[i] : i);
        const struct vec3 *p = t->positions ? &t->positions[i] : &none;
        const struct vec3 *n = d->has_normals && t->normals ? &t->normals[i] : &none;
        if (is_zero(p) && is_zero(n)) continue;
        uint32_t lane = b->model.vertex_lanes[vertex];
        memcpy(d->position[lane], p, sizeof *p);
        memcpy(d->normal[lane], n, sizeof *n);
        d->block_touched[lane / MODEL_LANES] = 1;
    }
}

// Normal deltas count only when every part that the target moves has them; else the normals
// follow the surface.
static bool target_has_normals(const struct builder *b, const struct node_parts *np, uint32_t t)
{
    bool any = false;
    for (uint32_t i = 0; i < np->count; i++) {
        const struct scene_target *target = &b->primitive_of_part[np->first + i]->targets[t];
        if (target->normals) any = true;
        if (target->positions && target->count > 0 && !target->normals) return false;
    }
    return any;
}

static void spread_channel(const struct builder *b, const struct node_parts *np, uint32_t t,
                           struct lane_deltas *d)
{
    d->has_normals = target_has_normals(b, np, t);
    for (uint32_t i = 0; i < np->count; i++)
        spread_target(b, &b->parts[np->first + i], &b->primitive_of_part[np->first + i]->targets[t],
                      d);
}

static void clear_block(struct lane_deltas *d, size_t block)
{
    memset(d->position[block * MODEL_LANES], 0, sizeof(float[MODEL_LANES][3]));
    memset(d->normal[block * MODEL_LANES], 0, sizeof(float[MODEL_LANES][3]));
    d->block_touched[block] = 0;
}

struct morph_tables {
    struct model_morph_block *blocks;
    struct model_morph_normal_block *normals;
    uint64_t block_count, normal_count;
};

// With tables given, writes the channel's touched blocks; always counts and clears them.
static void take_channel(const struct builder *b, struct lane_deltas *d, struct morph_tables *t,
                         struct model_channel *channel)
{
    channel->block_first = (uint32_t)t->block_count;
    channel->normal_first = (uint32_t)t->normal_count;
    channel->has_normals = d->has_normals;
    for (size_t block = 0; block < b->model.blocks_count; block++) {
        if (!d->block_touched[block]) continue;
        for (size_t lane = 0; t->blocks && lane < MODEL_LANES; lane++)
            for (size_t r = 0; r < 3; r++) {
                size_t at = block * MODEL_LANES + lane;
                t->blocks[t->block_count].position[r][lane] = d->position[at][r];
                if (d->has_normals) t->normals[t->normal_count].normal[r][lane] = d->normal[at][r];
            }
        if (t->blocks) t->blocks[t->block_count].block = (uint32_t)block;
        t->block_count++;
        t->normal_count += d->has_normals;
        clear_block(d, block);
    }
    channel->block_count = (uint32_t)t->block_count - channel->block_first;
}

static void walk_channels(const struct builder *b, const struct node_parts *nodes,
                          uint32_t node_count, struct lane_deltas *d, struct morph_tables *t,
                          struct model_channel *channels)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < node_count; i++)
        for (uint32_t k = 0; k < nodes[i].mesh->target_count; k++) {
            spread_channel(b, &nodes[i], k, d);
            take_channel(b, d, t, &channels[at++]);
        }
}

static enum err make_morph_blocks(struct builder *b, const struct node_parts *nodes,
                                  uint32_t node_count, struct model_channel *channels)
{
    size_t lanes = b->model.blocks_count * MODEL_LANES;
    struct lane_deltas d = {
        .position = pool_take(&b->scene->pool, lanes, sizeof(float[3])),
        .normal = pool_take(&b->scene->pool, lanes, sizeof(float[3])),
        .block_touched = BUILDER_ARRAY(b, uint8_t, b->model.blocks_count),
    };
    if (!d.position || !d.normal || !d.block_touched) return builder_no_memory(b);
    struct morph_tables t = {0};
    walk_channels(b, nodes, node_count, &d, &t, channels); // to count
    if (t.block_count > UINT32_MAX / 2) return builder_no_memory(b);
    size_t block_count = (size_t)t.block_count, normal_count = (size_t)t.normal_count;
    t = (struct morph_tables){.blocks = BUILDER_ARRAY(b, struct model_morph_block, block_count),
                              .normals =
                                  BUILDER_ARRAY(b, struct model_morph_normal_block, normal_count)};
    if (!t.blocks || !t.normals) return builder_no_memory(b);
    walk_channels(b, nodes, node_count, &d, &t, channels);
    CHECK(t.block_count == block_count && t.normal_count == normal_count);
    b->model.morph_blocks = t.blocks;
    b->model.morph_blocks_count = block_count;
    b->model.morph_normal_blocks = t.normals;
    b->model.morph_normal_blocks_count = normal_count;
    return ERR_OK;
}

// Names of all targets by mesh, so that equal ones of different meshes become one shape; two of
// one mesh stay apart, and so do unnamed ones. One entry a target of a mesh, not of a node.
struct shape_name {
    const char *name;
    uint32_t mesh, target, shape;
};

static int shape_name_order(const void *a, const void *b)
{
    const struct shape_name *x = a, *y = b;
    int by_name = strcmp(x->name, y->name);
    if (by_name) return by_name;
    if (x->mesh != y->mesh) return x->mesh < y->mesh ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

static int shape_place_order(const void *a, const void *b)
{
    const struct shape_name *x = a, *y = b;
    if (x->mesh != y->mesh) return x->mesh < y->mesh ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

// Sets `shape` of each entry to the entry that leads its shape: the first of its name, or itself
// for unnamed targets and for the second namesake of one mesh.
static void group_names(struct shape_name *names, uint32_t count)
{
    qsort(names, count, sizeof *names, shape_name_order);
    for (uint32_t i = 0, leader = 0; i < count; i++) {
        bool joins = i > 0 && names[i].name[0] && strcmp(names[i].name, names[i - 1].name) == 0;
        if (!joins) leader = i;
        bool twice = joins && names[i].mesh == names[i - 1].mesh;
        names[i].shape = twice ? i : leader;
    }
}

static enum err make_shapes(struct builder *b, const struct node_parts *nodes, uint32_t node_count,
                            struct model_channel *channels)
{
    uint32_t total = 0, at = 0, shape_count = 0;
    uint32_t *first_of_mesh = BUILDER_ARRAY(b, uint32_t, b->scene->mesh_count);
    for (uint32_t k = 0; first_of_mesh && k < b->scene->mesh_count; k++) {
        first_of_mesh[k] = total;
        total += b->scene->meshes[k].target_count;
    }
    struct shape_name *names = BUILDER_ARRAY(b, struct shape_name, total);
    uint32_t *shape_of_leader = BUILDER_ARRAY(b, uint32_t, total);
    struct model_shape *shapes = BUILDER_ARRAY(b, struct model_shape, total);
    if (!first_of_mesh || !names || !shape_of_leader || !shapes) return builder_no_memory(b);
    for (uint32_t k = 0; k < b->scene->mesh_count; k++)
        for (uint32_t t = 0; t < b->scene->meshes[k].target_count; t++, at++)
            names[at] = (struct shape_name){b->scene->meshes[k].target_names[t], k, t, 0};
    group_names(names, total);
    qsort(names, total, sizeof *names, shape_place_order);
    memset(shape_of_leader, 0xFF, total * sizeof *shape_of_leader);
    for (uint32_t i = 0, c = 0; i < node_count; i++)
        for (uint32_t t = 0; t < nodes[i].mesh->target_count; t++, c++) {
            uint32_t mesh = (uint32_t)nodes[i].node->mesh;
            const struct shape_name *name = &names[first_of_mesh[mesh] + t];
            uint32_t *shape = &shape_of_leader[name->shape];
            if (*shape == UINT32_MAX) {
                *shape = shape_count;
                shapes[shape_count++].name = builder_text(b, name->name);
            }
            channels[c].shape = *shape;
            shapes[*shape].channel_count++;
        }
    b->model.shapes = shapes;
    b->model.shapes_count = shape_count;
    return ERR_OK;
}

static uint32_t count_channels(const struct node_parts *nodes, uint32_t node_count)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < node_count; i++)
        count += nodes[i].mesh->target_count;
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

enum err compile_shapes(struct builder *b)
{
    uint32_t node_count = list_morphing_nodes(b, NULL);
    struct node_parts *nodes = BUILDER_ARRAY(b, struct node_parts, node_count);
    if (!nodes) return builder_no_memory(b);
    list_morphing_nodes(b, nodes);
    uint32_t channel_count = count_channels(nodes, node_count);
    struct model_channel *channels = BUILDER_ARRAY(b, struct model_channel, channel_count);
    if (!channels) return builder_no_memory(b);
    for (uint32_t i = 0, c = 0; i < node_count; i++)
        for (uint32_t t = 0; t < nodes[i].mesh->target_count; t++, c++) {
            const struct node_parts *np = &nodes[i];
            channels[c].node = b->parts[np->first].node;
            channels[c].target = t;
            channels[c].default_weight =
                t < np->node->weight_count ? np->node->weights[t] : np->mesh->weights[t];
        }
    b->model.channels = channels;
    b->model.channels_count = channel_count;
    if (channel_count == 0) return ERR_OK;
    enum err e = make_shapes(b, nodes, node_count, channels);
    if (e == ERR_OK) e = make_morph_blocks(b, nodes, node_count, channels);
    return e;
}
