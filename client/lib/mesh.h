#pragma once
#include <stddef.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"
#include "proto/surface_message.h"

// An unpacked SURFACE: what never changes while a character moves. Shared by the actors that show
// it, counted by references (all under the client's lock).
struct mesh_lod {
    uint32_t vertex_count, index_count, part_count;
    uint32_t *indices;
    struct sinew_part *parts;
    uint16_t *predictors;
    uint32_t *sources; // source vertex of each vertex
    float *uvs;        // or NULL
    uint8_t *colors;   // or NULL
};
struct mesh {
    uint32_t references;
    uint32_t id; // of this client, from 1
    uint32_t model, version;
    uint64_t hash; // of the content; 0: the server gave none
    uint32_t lod_count;
    float unit_m, box_min[3], box_max[3];
    struct mesh_lod lods[SURFACE_LODS_MAX];
    size_t size_bytes;
};

// `room_bytes`: what the mesh may take at most (ERR_LIMIT before anything is allocated).
// ERR_MALFORMED: contents that cannot be. The caller holds one reference.
MUST_CHECK enum err mesh_create(const uint8_t *payload, size_t size_bytes, size_t room_bytes,
                                struct mesh **out);
// What it is, without unpacking: false when it cannot be read.
_Bool mesh_peek(const uint8_t *payload, size_t size_bytes, uint32_t *model, uint32_t *version,
                uint64_t *hash);
void mesh_ref(struct mesh *mesh);
// True when that was the last reference and the mesh is freed. NULL is fine.
_Bool mesh_unref(struct mesh *mesh);
