#pragma once
#include <cjson/cJSON.h>

#include "server/bake/builder.h"

// Several roots while they are baked (method C): tables give every vertex each root's share; they
// are folded into one list of influences a vertex, each with the root whose pose it takes.
struct roots {
    struct builder *b;
    const cJSON *json; // the rig file's list, or NULL
    uint32_t count;
    struct model_root *out;
    uint8_t *of_node;                     // [node]
    float *share;                         // [root][vertex]
    uint8_t *by_joints;                   // [root] no table by vertex: by joints
    uint8_t *lacks;                       // [root][node] a tree of other roots; NULL: all have all
    uint16_t ride_slots[MODEL_ROOTS_MAX]; // [root] for vertices whose joints it lacks
    double borders[MODEL_ROOTS_MAX];      // file units
    double (*place)[3];                   // [vertex] rest pose, file units
    double unit_m;
    char path[96];
};

// The rig file's roots: names, joints, riding; tables into `share`, by joints, file or colour;
// whose every node is, and which trees a root lacks. Faults name the JSON path.
MUST_CHECK enum err roots_read(struct roots *r);
// Borders softened over the surface, shares normalised (repairs are noted).
MUST_CHECK enum err roots_soften(struct roots *r);
// The tables into influences: slots of every root, and their weights times the share.
MUST_CHECK enum err roots_fold(struct roots *r);

static inline bool roots_has(const struct roots *r, uint32_t root, uint32_t node)
{
    return !r->lacks || !r->lacks[root * r->b->model.nodes_count + node];
}
