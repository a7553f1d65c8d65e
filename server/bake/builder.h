#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/bake/compile.h"
#include "server/bake/scene.h"
#include "server/model/model.h"

struct cJSON;

// What the stages of compile_scene share. Each stage fills some tables of `model` from the scene
// and from what earlier stages left here, all in scene->pool. Private to compile_*.c.
struct builder {
    struct scene *scene;
    const struct compile_settings *settings;
    struct fault *fault;
    const char *place;  // what the running stage reads, for lines of faults
    struct model model; // tables filled so far

    char *text; // grows
    size_t text_capacity;

    uint32_t *node_of_source; // [scene node] -> model node

    struct model_part *parts;                         // model.parts, still writable
    const struct scene_primitive **primitive_of_part; // [part]
    // Influences of every vertex, CSR: slots ascending, weights > 0 with sum 1.
    uint32_t *influence_first; // [vertex + 1]
    uint16_t *influence_slots;
    float *influence_weights;
    float *positions, *normals; // x y z, source order, base space
    uint32_t *corner_counts;    // [vertex] scratch of topology_is_crowded
};

enum err builder_no_memory(struct builder *b); // records "the model needs more memory ..."
uint32_t builder_text(struct builder *b, const char *text); // offset; 0 for "" or out of memory
// More triangles around one vertex than any surface needs. What orders or simplifies triangles
// looks at all of them for each: such a list is left as it is.
bool topology_is_crowded(struct builder *b, const uint32_t *indices, size_t index_count,
                         size_t vertex_count);
// Takes apart vertices of one place that a morph target moves apart: lips that touch at rest are
// two surfaces. `weld` [vertex] names the lowest vertex of each place. False: out of memory.
bool topology_split_welds(struct builder *b, uint32_t *weld);
#define BUILDER_ARRAY(b, type, count) POOL_ARRAY(&(b)->scene->pool, type, count)

MUST_CHECK enum err compile_nodes(struct builder *b);      // nodes, bones
MUST_CHECK enum err compile_parts(struct builder *b);      // parts, slots, influences, attributes
MUST_CHECK enum err compile_topology(struct builder *b);   // indices, weld, corners, normals
MUST_CHECK enum err compile_roots(struct builder *b);      // roots; influences folded over them
MUST_CHECK enum err compile_blocks(struct builder *b);     // blocks, rest, weights, lanes, tangents
MUST_CHECK enum err compile_shapes(struct builder *b);     // shapes, channels, morph blocks
MUST_CHECK enum err compile_clips(struct builder *b);      // clips, tracks
MUST_CHECK enum err compile_base_pose(struct builder *b);  // base_pose
MUST_CHECK enum err compile_drivers(struct builder *b);    // drivers ... drivers_json
MUST_CHECK enum err compile_appearance(struct builder *b); // materials, textures, images
MUST_CHECK enum err compile_face_bones(struct builder *b); // created bones; after compile_parts
MUST_CHECK enum err compile_face(struct builder *b);       // parameters ... look_at
MUST_CHECK enum err compile_details(struct builder *b);    // coarser details; after compile_clips
MUST_CHECK enum err compile_extras(struct builder *b, double unit_m);   // extras; by compile_info
MUST_CHECK enum err compile_springs(struct builder *b, double unit_m);  // springs; by compile_info
MUST_CHECK enum err compile_controls(struct builder *b, double unit_m); // moves; by compile_info
// The `colliders` of an object of the rig file, VRM's schema in metres; *count of at most `most`.
MUST_CHECK enum err springs_read_colliders(struct builder *b, const struct cJSON *owner,
                                           const char *path, double units_a_m,
                                           struct model_spring_collider *to, uint32_t most,
                                           uint32_t *count);
// Where a pose (locals, [node]) has each vertex, file units, and its nodes (model from node).
MUST_CHECK enum err builder_places(struct builder *b, const struct trs *locals, struct xform *nodes,
                                   double (**place)[3]);
float builder_guess_unit(float height); // metres a file unit, of a body so high
// The box of the rest pose into `info`.
MUST_CHECK enum err compile_measure_box(struct builder *b, struct model_info *info);
MUST_CHECK enum err compile_info(struct builder *b); // info, box, unit, notes, authoring
