#include "common/mesh_out.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/check.h"
#include "common/file.h"

enum { OBJ_LINE_BYTES = 160 }; // more than the longest line below

struct text {
    char *bytes;
    size_t used, capacity;
};

#define ADD(t, ...)                                                                                \
    ((t)->used += (size_t)snprintf((t)->bytes + (t)->used, (t)->capacity - (t)->used, __VA_ARGS__))

static void obj_vertices(const struct mesh_out *m, struct text *t)
{
    for (size_t v = 0; v < m->vertex_count; v++)
        ADD(t, "v %.9g %.9g %.9g\n", (double)m->positions[v * 3], (double)m->positions[v * 3 + 1],
            (double)m->positions[v * 3 + 2]);
    for (size_t v = 0; m->uvs && v < m->vertex_count; v++)
        ADD(t, "vt %.9g %.9g\n", (double)m->uvs[v * 2], 1 - (double)m->uvs[v * 2 + 1]);
    for (size_t v = 0; m->normals && v < m->vertex_count; v++)
        ADD(t, "vn %.9g %.9g %.9g\n", (double)m->normals[v * 3], (double)m->normals[v * 3 + 1],
            (double)m->normals[v * 3 + 2]);
}

static void obj_faces(const struct mesh_out *m, struct text *t)
{
    for (size_t i = 0; i + 2 < m->index_count; i += 3) {
        ADD(t, "f");
        for (size_t k = 0; k < 3; k++) {
            unsigned v = m->indices[i + k] + 1;
            if (m->uvs && m->normals)
                ADD(t, " %u/%u/%u", v, v, v);
            else if (m->normals)
                ADD(t, " %u//%u", v, v);
            else if (m->uvs)
                ADD(t, " %u/%u", v, v);
            else
                ADD(t, " %u", v);
        }
        ADD(t, "\n");
    }
}

enum err mesh_out_obj(const char *path, const struct mesh_out *mesh, struct fault *fault)
{
    size_t lines = mesh->vertex_count * 3 + mesh->index_count / 3 + 1;
    struct text t = {.bytes = malloc(lines * OBJ_LINE_BYTES), .capacity = lines * OBJ_LINE_BYTES};
    if (!t.bytes) return fault_set(fault, ERR_MEMORY, "no memory to write %s", path);
    obj_vertices(mesh, &t);
    obj_faces(mesh, &t);
    CHECK(t.used < t.capacity);
    enum err e = file_write_atomic(path, t.bytes, t.used, fault);
    free(t.bytes);
    return e;
}
