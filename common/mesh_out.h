#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// Writers of mesh files that other tools read. Blocking; each file is written whole or not at
// all. Positions are x y z floats, right-handed, +Y up, in the caller's unit. Everything is
// borrowed for the call.
struct mesh_out {
    size_t vertex_count, index_count; // three indices a triangle
    const float *positions;
    const float *normals; // or NULL
    const float *uvs;     // u v a vertex, v down as in glTF, or NULL
    const uint32_t *indices;
};

MUST_CHECK enum err mesh_out_obj(const char *path, const struct mesh_out *mesh,
                                 struct fault *fault);

// A surface that moves: the same vertices at several times.
enum mesh_out_topology { MESH_OUT_TRIANGLES, MESH_OUT_LINES, MESH_OUT_POINTS };
struct mesh_out_part {
    enum mesh_out_topology topology;
    uint32_t vertex_first, vertex_count; // a range of the vertices
    const uint32_t *indices;             // into all vertices, each inside that range
    uint32_t index_count;                // 0: the vertices in order
    uint32_t material;                   // into materials; >= material_count: none
};
enum mesh_out_alpha { MESH_OUT_OPAQUE, MESH_OUT_MASK, MESH_OUT_BLEND };
struct mesh_out_material { // as in glTF 2.0
    const char *name;      // UTF-8
    float base_color[4], emissive[3], metallic, roughness, alpha_cutoff;
    enum mesh_out_alpha alpha;
    _Bool double_sided;
};
struct mesh_out_clip {
    const char *name, *generator;
    uint32_t vertex_count;
    uint32_t frame_count;          // at least 1
    const float *const *positions; // frame_count arrays
    const float *const *normals;   // the same, or NULL
    const float *times_s;          // frame_count, rising, the first one 0
    const float *uvs;              // or NULL
    const struct mesh_out_part *parts;
    uint32_t part_count; // at least 1
    const struct mesh_out_material *materials;
    uint32_t material_count;
};

// GLB: the first frame as the mesh, every other one as a morph target, and an animation that goes
// from one to the next (linear between them). Primitives are the parts. ERR_LIMIT past 4 GiB.
MUST_CHECK enum err mesh_out_glb(const char *path, const struct mesh_out_clip *clip,
                                 struct fault *fault);

// PC2 point cache of the positions at a constant rate, to go with an OBJ of the same vertices.
MUST_CHECK enum err mesh_out_pc2(const char *path, uint32_t vertex_count, uint32_t frame_count,
                                 const float *const *positions, struct fault *fault);
