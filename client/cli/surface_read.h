#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// Positions out of a surface file, vertices in the file's order: .f32, .obj, .glb (its meshes'
// primitives in order, as the server hands them out). For showing what has changed; whether a file
// fits a model is the server's to say.
enum surface_kind { SURFACE_NONE, SURFACE_F32, SURFACE_OBJ, SURFACE_GLB, SURFACE_SHARES };
enum surface_kind surface_kind_of(const char *path); // by its ending
// *out is malloc'd: 3 floats a vertex; of SURFACE_SHARES (a root's weights) one. `bytes` must have
// a NUL behind its end.
MUST_CHECK enum err surface_read(enum surface_kind kind, const uint8_t *bytes, size_t size_bytes,
                                 float **out, size_t *vertices, struct fault *fault);
