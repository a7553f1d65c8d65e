#include "common/mesh_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// Header of 32 bytes: "POINTCACHE2" and a NUL, version 1, points, first frame, rate in frames,
// samples; then the positions.
enum err mesh_out_pc2(const char *path, uint32_t vertex_count, uint32_t frame_count,
                      const float *const *positions, struct fault *fault)
{
    enum { HEADER_BYTES = 32 };
    size_t frame_bytes = (size_t)vertex_count * 3 * sizeof(float);
    size_t total = HEADER_BYTES + frame_bytes * frame_count;
    uint8_t *file = malloc(total);
    if (!file) return fault_set(fault, ERR_MEMORY, "no memory to write %s", path);
    const float first = 0, rate = 1;
    const uint32_t version = 1;
    memcpy(file, "POINTCACHE2", 12);
    memcpy(file + 12, &version, 4); // little-endian, as every machine this is built for
    memcpy(file + 16, &vertex_count, 4);
    memcpy(file + 20, &first, 4);
    memcpy(file + 24, &rate, 4);
    memcpy(file + 28, &frame_count, 4);
    for (size_t f = 0; f < frame_count; f++)
        memcpy(file + HEADER_BYTES + f * frame_bytes, positions[f], frame_bytes);
    enum err e = file_write_atomic(path, file, total, fault);
    free(file);
    return e;
}
