#include "client/lib/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"

_Static_assert(sizeof(struct sinew_part) == sizeof(struct surface_part), "same fields in order");

static size_t lod_bytes(const struct surface_lod *l)
{
    size_t vertex = 16 /* predictors */ + 4 /* source */ + 8 /* uv */ + 4 /* color */;
    return (size_t)l->vertex_count * vertex + (size_t)l->index_count * 4 +
           (size_t)l->part_count * sizeof(struct sinew_part);
}

// One section into memory of its own. `count`: how many elements the detail says there are.
static enum err unpack(const struct surface_message *m, enum surface_section_kind kind,
                       uint32_t lod, uint32_t count, void **out)
{
    *out = NULL;
    const struct surface_section *s = surface_message_find(m, kind, lod, 0);
    if (!s) return ERR_NOT_FOUND;
    if (s->element_count != count) return ERR_MALFORMED;
    *out = malloc((size_t)s->unpacked_bytes + 4);
    if (!*out) return ERR_MEMORY;
    return surface_message_unpack(m, s, *out);
}

static enum err required(enum err e, uint32_t count)
{
    return e == ERR_NOT_FOUND ? (count == 0 ? ERR_OK : ERR_MALFORMED) : e;
}

static enum err identity(uint32_t count, uint32_t **out)
{
    *out = malloc((size_t)count * 4 + 4);
    if (!*out) return ERR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        (*out)[i] = i;
    return ERR_OK;
}

static enum err unpack_lod(const struct surface_message *m, uint32_t k, struct mesh_lod *l)
{
    *l = (struct mesh_lod){.vertex_count = m->lods[k].vertex_count,
                           .index_count = m->lods[k].index_count,
                           .part_count = m->lods[k].part_count};
    void *p;
    enum err e = required(unpack(m, SURFACE_PARTS, k, l->part_count, &p), l->part_count);
    l->parts = p;
    if (e) return e;
    e = required(unpack(m, SURFACE_INDICES, k, l->index_count, &p), l->index_count);
    l->indices = p;
    if (e) return e;
    e = required(unpack(m, SURFACE_PREDICTORS, k, l->vertex_count, &p), l->vertex_count);
    l->predictors = p;
    if (e) return e;
    e = unpack(m, SURFACE_VERTICES, k, l->vertex_count, &p);
    l->sources = p;
    if (e == ERR_NOT_FOUND && k == 0) e = identity(l->vertex_count, &l->sources);
    if (e == ERR_NOT_FOUND) e = ERR_MALFORMED;
    for (uint32_t i = 0; e == ERR_OK && i < l->vertex_count; i++)
        if (l->sources[i] >= m->lods[0].vertex_count) e = ERR_MALFORMED;
    return e;
}

static enum err unpack_attributes(const struct surface_message *m, struct mesh_lod *l)
{
    void *p;
    enum err e = unpack(m, SURFACE_UVS, 0, l->vertex_count, &p);
    l->uvs = p;
    if (e && e != ERR_NOT_FOUND) return e;
    e = unpack(m, SURFACE_COLORS, 0, l->vertex_count, &p);
    l->colors = p;
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

// A coarser detail lists detail-0 vertices: its UVs, colours and sources are theirs.
static enum err gather_attributes(const struct mesh_lod *full, struct mesh_lod *l)
{
    size_t count = l->vertex_count;
    if (full->uvs && !(l->uvs = malloc(count * 8 + 4))) return ERR_MEMORY;
    if (full->colors && !(l->colors = malloc(count * 4 + 4))) return ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        uint32_t from = l->sources[i];
        if (full->uvs) memcpy(l->uvs + i * 2, full->uvs + (size_t)from * 2, 8);
        if (full->colors) memcpy(l->colors + i * 4, full->colors + (size_t)from * 4, 4);
        l->sources[i] = full->sources[from];
    }
    return ERR_OK;
}

static void mesh_free(struct mesh *mesh)
{
    for (uint32_t k = 0; k < SURFACE_LODS_MAX; k++) {
        struct mesh_lod *l = &mesh->lods[k];
        free(l->indices);
        free(l->parts);
        free(l->predictors);
        free(l->sources);
        free(l->uvs);
        free(l->colors);
    }
    free(mesh);
}

enum err mesh_create(const uint8_t *payload, size_t size_bytes, size_t room_bytes,
                     struct mesh **out)
{
    struct surface_message *m = malloc(sizeof *m);
    struct mesh *mesh = calloc(1, sizeof *mesh);
    enum err e = m && mesh ? surface_message_decode(payload, size_bytes, m) : ERR_MEMORY;
    if (e == ERR_OK) {
        *mesh = (struct mesh){.references = 1,
                              .model = m->model,
                              .version = m->version,
                              .hash = m->hash,
                              .lod_count = m->lod_count,
                              .unit_m = m->unit_m,
                              .size_bytes = sizeof *mesh};
        memcpy(mesh->box_min, m->box_min, sizeof mesh->box_min);
        memcpy(mesh->box_max, m->box_max, sizeof mesh->box_max);
        for (uint32_t k = 0; k < m->lod_count; k++)
            mesh->size_bytes += lod_bytes(&m->lods[k]);
        if (mesh->size_bytes > room_bytes) e = ERR_LIMIT;
    }
    for (uint32_t k = 0; e == ERR_OK && k < m->lod_count; k++) {
        e = unpack_lod(m, k, &mesh->lods[k]);
        if (e == ERR_OK && k == 0) e = unpack_attributes(m, &mesh->lods[0]);
        if (e == ERR_OK && k > 0) e = gather_attributes(&mesh->lods[0], &mesh->lods[k]);
    }
    free(m);
    if (e == ERR_OK)
        *out = mesh;
    else if (mesh)
        mesh_free(mesh);
    return e;
}

_Bool mesh_peek(const uint8_t *payload, size_t size_bytes, uint32_t *model, uint32_t *version,
                uint64_t *hash)
{
    enum { HASH_AT = 48 }; // proto/README.md, SURFACE
    struct wire_reader r = wire_read(payload, size_bytes);
    *model = wire_u32(&r);
    *version = wire_u32(&r);
    (void)wire_bytes(&r, HASH_AT - 8);
    *hash = wire_u64(&r);
    return !r.failed;
}

void mesh_ref(struct mesh *mesh)
{
    mesh->references++;
}

_Bool mesh_unref(struct mesh *mesh)
{
    if (!mesh) return 0;
    CHECK(mesh->references > 0);
    if (--mesh->references > 0) return 0;
    mesh_free(mesh);
    return 1;
}
