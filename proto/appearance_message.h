#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/session_messages.h"
#include "proto/wire.h"

// APPEARANCE: material values and texture hashes of one actor, after its SURFACE and on change.
// TEXTURE: a stretch of one texture file, sent on WANT, with low priority. Colours are linear,
// factors as in glTF 2.0 (metallic-roughness).

enum appearance_use { // the textures of a material, in wire order
    APPEARANCE_BASE_COLOR,
    APPEARANCE_METALLIC_ROUGHNESS,
    APPEARANCE_NORMAL,
    APPEARANCE_OCCLUSION,
    APPEARANCE_EMISSIVE,
    APPEARANCE_USE_COUNT
};
enum appearance_alpha { APPEARANCE_OPAQUE, APPEARANCE_MASK, APPEARANCE_BLEND };
enum appearance_wrap { APPEARANCE_REPEAT, APPEARANCE_CLAMP, APPEARANCE_MIRROR };
enum appearance_flags { APPEARANCE_DOUBLE_SIDED = 1, APPEARANCE_UNLIT = 2 };
enum appearance_mime {
    APPEARANCE_PNG = 1,
    APPEARANCE_JPEG = 2,
    APPEARANCE_WEBP = 3,
    APPEARANCE_KTX2 = 4,
    APPEARANCE_SHARES = 5 // no picture: a root's table, one byte a source vertex, 255 is all of it
};

struct appearance_texture {
    uint8_t hash[SESSION_HASH_BYTES]; // first 16 bytes of the file's SHA-256; all zero: none
    uint32_t size_bytes;
    uint8_t uv_set, wrap_s, wrap_t;          // enum appearance_wrap
    uint8_t filter;                          // 0 linear, 1 nearest
    float offset[2], scale[2], rotation_rad; // KHR_texture_transform
    float strength;                          // normal scale, occlusion strength; else 1
};
struct appearance_material {
    char name[SESSION_NAME_MAX];
    uint8_t alpha, flags;
    float base_color[4], emissive[3], metallic, roughness, alpha_cutoff;
    struct appearance_texture textures[APPEARANCE_USE_COUNT];
};
enum { APPEARANCE_MATERIALS_MAX = 512 };
struct appearance_message {
    uint32_t actor, version; // version rises with every change
    uint32_t material_count;
    uint32_t materials_bytes;        // packed rows, borrowed
    const uint8_t *materials_packed; // read by appearance_message_material
};

// Writes a payload WITHOUT envelope (it may need pieces: messages_piece).
MUST_CHECK enum err appearance_message_encode(struct wire_writer *w, uint32_t actor,
                                              uint32_t version,
                                              const struct appearance_material *materials,
                                              uint32_t material_count);
// Checks every row. appearance_message_material then cannot fail for index < material_count, but
// walks the rows: O(index).
MUST_CHECK enum err appearance_message_decode(const uint8_t *payload, size_t size_bytes,
                                              struct appearance_message *out);
void appearance_message_material(const struct appearance_message *m, uint32_t index,
                                 struct appearance_material *out);

enum { APPEARANCE_TEXTURE_BYTES_MAX = 64 << 20, APPEARANCE_CHUNK_BYTES_MAX = 61440 - 32 };
struct appearance_chunk {
    uint8_t hash[SESSION_HASH_BYTES];
    uint32_t total_bytes, first_byte; // of the file
    uint8_t mime;                     // enum appearance_mime
    uint32_t size_bytes;
    const uint8_t *bytes; // borrowed
};
MUST_CHECK enum err appearance_encode_chunk(struct wire_writer *w,
                                            const struct appearance_chunk *in);
MUST_CHECK enum err appearance_decode_chunk(const uint8_t *payload, size_t size_bytes,
                                            struct appearance_chunk *out);
