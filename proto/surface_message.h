#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/wire.h"

// SURFACE: what never changes while a character moves: topology, UVs, which source vertex each
// streamed vertex is, details (LODs), the codec's predictors. Once per character and version.
//
// Payload: header (56 bytes), lod rows (16 each), sections. A section is a 16-byte head and its
// packed bytes, padded to 4. Unknown kinds are skipped.
//
// Stream order: detail 0 holds every source vertex exactly once, in an order of the server's
// choice; a coarser detail is a list of detail-0 vertices.

enum {
    SURFACE_LODS_MAX = 4,
    SURFACE_PARTS_MAX = 4096,
    SURFACE_SECTIONS_MAX = 64,
    SURFACE_VERTICES_MAX = 1 << 20,
    SURFACE_INDICES_MAX = 6 << 20,
    SURFACE_UV_SETS_MAX = 4
};

enum surface_section_kind { // unpacked form; all little-endian
    SURFACE_PARTS = 1,      // a detail: struct surface_part per part
    SURFACE_INDICES = 2,    // a detail: u32 per index, stream vertices of that detail
    SURFACE_VERTICES = 3,   // detail 0: u32 source vertex per vertex; others: detail-0 vertex
    SURFACE_PREDICTORS = 4, // a detail: 8 x u16 per vertex (surface/codec.h)
    SURFACE_UVS = 5,        // detail 0, a set: 2 x f32 per vertex
    SURFACE_COLORS = 6      // detail 0, a set: 4 x u8 RGBA per vertex
};
enum surface_section_encoding {
    SURFACE_RAW = 0,
    SURFACE_ZSTD = 1,      // one zstd frame of the unpacked bytes
    SURFACE_DELTA_ZSTD = 2 // words (surface_message.c, README): delta, zigzag, byte planes, zstd
};

enum surface_topology { SURFACE_TRIANGLES, SURFACE_LINES, SURFACE_POINTS };
struct surface_part {               // 40 bytes on the wire: these fields in order, each u32
    uint32_t node, mesh, primitive; // glTF indices, for dumps and picking
    uint32_t material;              // into APPEARANCE; UINT32_MAX: none
    uint32_t topology;
    uint32_t source_first, source_count; // its range of source vertices (same in every detail)
    uint32_t index_first, index_count;   // its range of the detail's INDICES
    uint32_t flags;                      // 0
};
_Static_assert(sizeof(struct surface_part) == 40, "wire layout");

struct surface_lod {
    uint32_t vertex_count, index_count, part_count;
    float error; // how far it strays from detail 0, the model's unit
};

struct surface_section {
    uint8_t kind, lod, set, encoding;
    uint32_t element_count; // parts, indices, vertices
    uint32_t unpacked_bytes, packed_bytes;
    const uint8_t *packed; // borrowed
};

struct surface_message {
    uint32_t model, version;
    uint32_t flags;
    uint32_t lod_count, section_count;
    float unit_m;                 // metres of the model's unit
    float box_min[3], box_max[3]; // rest surface, model space
    uint64_t hash;                // of the content: a client may keep it on disk
    struct surface_lod lods[SURFACE_LODS_MAX];
    struct surface_section sections[SURFACE_SECTIONS_MAX];
};

// What the encoder is given; arrays borrowed. NULL arrays leave their section out.
struct surface_message_lod {
    uint32_t vertex_count, index_count, part_count;
    float error;
    const struct surface_part *parts;
    const uint32_t *indices, *vertices;
    const uint16_t *predictors; // 4 per vertex
};
struct surface_message_source {
    uint32_t model, version;
    float unit_m, box_min[3], box_max[3];
    uint64_t hash;
    uint32_t lod_count;
    struct surface_message_lod lods[SURFACE_LODS_MAX];
    uint32_t uv_set_count, color_set_count;
    const float *uvs[SURFACE_UV_SETS_MAX];      // detail 0 stream order, 2 per vertex
    const uint8_t *colors[SURFACE_UV_SETS_MAX]; // 4 per vertex
};
// Payload size at most; the payload itself, without envelope, into `out`. Allocates zstd state and
// scratch: at load, not in a frame. ERR_LIMIT past the limits above, ERR_MEMORY.
size_t surface_message_bound(const struct surface_message_source *source);
MUST_CHECK enum err surface_message_encode(const struct surface_message_source *source,
                                           uint8_t *out, size_t capacity_bytes, size_t *size_bytes);

// *out untouched on error. Every section that is known has consistent counts and sizes; contents
// are checked by surface_message_unpack.
MUST_CHECK enum err surface_message_decode(const uint8_t *payload, size_t size_bytes,
                                           struct surface_message *out);

// NULL when the message has no such section.
const struct surface_section *surface_message_find(const struct surface_message *m,
                                                   enum surface_section_kind kind, uint32_t lod,
                                                   uint32_t set);

// Unpacks into section->unpacked_bytes of the caller's memory (4-byte aligned) and checks the
// values against the message (indices in range, parts inside their ranges, predictors legal,
// floats finite): afterwards they can be trusted. ERR_MALFORMED otherwise (`out` is then
// undefined). Allocates a zstd context for the call.
MUST_CHECK enum err surface_message_unpack(const struct surface_message *m,
                                           const struct surface_section *section, void *out);
