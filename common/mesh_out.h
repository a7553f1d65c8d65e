#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// Writers of mesh files that other tools read. Blocking; each file is written whole or not at
// all. Positions are x y z floats, right-handed, +Y up, in the caller's unit.
struct mesh_out {
    size_t vertex_count, index_count; // three indices a triangle
    const float *positions;
    const float *normals; // or NULL
    const float *uvs;     // u v a vertex, v down as in glTF, or NULL
    const uint32_t *indices;
};

MUST_CHECK enum err mesh_out_obj(const char *path, const struct mesh_out *mesh,
                                 struct fault *fault);
