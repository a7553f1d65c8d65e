#include "proto/appearance_message.h"

#include <string.h>

#include "common/check.h"
#include "proto/messages.h"

static void put_texture(struct wire_writer *w, const struct appearance_texture *t)
{
    wire_put_bytes(w, t->hash, sizeof t->hash);
    wire_put_u32(w, t->size_bytes);
    wire_put_u8(w, t->uv_set);
    wire_put_u8(w, t->wrap_s);
    wire_put_u8(w, t->wrap_t);
    wire_put_u8(w, t->filter);
    wire_put_floats(w, t->offset, 2);
    wire_put_floats(w, t->scale, 2);
    wire_put_f32(w, t->rotation_rad);
    wire_put_f32(w, t->strength);
}

static bool get_texture(struct wire_reader *r, struct appearance_texture *t)
{
    const uint8_t *hash = wire_bytes(r, sizeof t->hash);
    if (hash) memcpy(t->hash, hash, sizeof t->hash);
    t->size_bytes = wire_u32(r);
    t->uv_set = wire_u8(r);
    t->wrap_s = wire_u8(r);
    t->wrap_t = wire_u8(r);
    t->filter = wire_u8(r);
    wire_floats(r, t->offset, 2);
    wire_floats(r, t->scale, 2);
    t->rotation_rad = wire_f32(r);
    t->strength = wire_f32(r);
    return wire_finite(t->offset, 2) && wire_finite(t->scale, 2) &&
           wire_finite(&t->rotation_rad, 1) && wire_finite(&t->strength, 1) &&
           t->wrap_s <= APPEARANCE_MIRROR && t->wrap_t <= APPEARANCE_MIRROR && t->filter <= 1 &&
           t->size_bytes <= APPEARANCE_TEXTURE_BYTES_MAX;
}

static void put_material(struct wire_writer *w, const struct appearance_material *m)
{
    wire_put_floats(w, m->base_color, 4);
    wire_put_floats(w, m->emissive, 3);
    wire_put_f32(w, m->metallic);
    wire_put_f32(w, m->roughness);
    wire_put_f32(w, m->alpha_cutoff);
    wire_put_u8(w, m->alpha);
    wire_put_u8(w, m->flags);
    wire_put_u8(w, APPEARANCE_USE_COUNT);
    wire_put_text(w, m->name);
    wire_put_align4(w);
    for (int i = 0; i < APPEARANCE_USE_COUNT; i++)
        put_texture(w, &m->textures[i]);
}

static enum err get_material(struct wire_reader *r, struct appearance_material *m)
{
    *m = (struct appearance_material){0};
    wire_floats(r, m->base_color, 4);
    wire_floats(r, m->emissive, 3);
    m->metallic = wire_f32(r);
    m->roughness = wire_f32(r);
    m->alpha_cutoff = wire_f32(r);
    m->alpha = wire_u8(r);
    m->flags = wire_u8(r);
    uint8_t use_count = wire_u8(r);
    wire_text(r, m->name, sizeof m->name);
    wire_align4(r);
    bool fine = true;
    for (uint32_t i = 0; i < use_count && !r->failed; i++) {
        struct appearance_texture later; // uses that a newer server may add: skipped
        fine &= get_texture(r, i < APPEARANCE_USE_COUNT ? &m->textures[i] : &later);
    }
    if (r->failed) return wire_error(r);
    float scalars[3] = {m->metallic, m->roughness, m->alpha_cutoff};
    if (!fine || m->alpha > APPEARANCE_BLEND || !wire_finite(m->base_color, 4) ||
        !wire_finite(m->emissive, 3) || !wire_finite(scalars, 3))
        return ERR_MALFORMED;
    return ERR_OK;
}

enum err appearance_message_encode(struct wire_writer *w, uint32_t actor, uint32_t version,
                                   const struct appearance_material *materials,
                                   uint32_t material_count)
{
    if (material_count > APPEARANCE_MATERIALS_MAX) return ERR_LIMIT;
    wire_put_u32(w, actor);
    wire_put_u32(w, version);
    wire_put_u32(w, material_count);
    wire_put_u32(w, 0);
    for (uint32_t i = 0; i < material_count; i++)
        put_material(w, &materials[i]);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

enum err appearance_message_decode(const uint8_t *payload, size_t size_bytes,
                                   struct appearance_message *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct appearance_message m = {0};
    m.actor = wire_u32(&r);
    m.version = wire_u32(&r);
    m.material_count = wire_u32(&r);
    (void)wire_u32(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (m.material_count > APPEARANCE_MATERIALS_MAX) return ERR_LIMIT;
    m.materials_packed = r.at;
    for (uint32_t i = 0; i < m.material_count; i++) {
        struct appearance_material material;
        enum err e = get_material(&r, &material);
        if (e) return e;
    }
    m.materials_bytes = (uint32_t)(r.at - m.materials_packed);
    *out = m;
    return ERR_OK;
}

void appearance_message_material(const struct appearance_message *m, uint32_t index,
                                 struct appearance_material *out)
{
    CHECK(index < m->material_count);
    struct wire_reader r = wire_read(m->materials_packed, m->materials_bytes);
    for (uint32_t i = 0; i <= index; i++) {
        enum err e = get_material(&r, out);
        CHECK(e == ERR_OK); // decode went through all of them
    }
}

enum err appearance_encode_chunk(struct wire_writer *w, const struct appearance_chunk *in)
{
    if (in->size_bytes > APPEARANCE_CHUNK_BYTES_MAX) return ERR_LIMIT;
    size_t at = messages_begin(w, MESSAGE_TEXTURE);
    wire_put_bytes(w, in->hash, sizeof in->hash);
    wire_put_u32(w, in->total_bytes);
    wire_put_u32(w, in->first_byte);
    wire_put_u32(w, in->size_bytes);
    wire_put_u32(w, in->mime);
    wire_put_bytes(w, in->bytes, in->size_bytes);
    messages_end(w, at);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

enum err appearance_decode_chunk(const uint8_t *payload, size_t size_bytes,
                                 struct appearance_chunk *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct appearance_chunk c = {0};
    const uint8_t *hash = wire_bytes(&r, sizeof c.hash);
    c.total_bytes = wire_u32(&r);
    c.first_byte = wire_u32(&r);
    c.size_bytes = wire_u32(&r);
    uint32_t mime = wire_u32(&r);
    c.bytes = wire_bytes(&r, c.size_bytes);
    if (!c.bytes || !hash) return ERR_TRUNCATED;
    if (c.total_bytes > APPEARANCE_TEXTURE_BYTES_MAX) return ERR_LIMIT;
    if (c.size_bytes > c.total_bytes || c.first_byte > c.total_bytes - c.size_bytes)
        return ERR_MALFORMED;
    if (mime < APPEARANCE_PNG || mime > APPEARANCE_SHARES) return ERR_UNSUPPORTED;
    c.mime = (uint8_t)mime;
    memcpy(c.hash, hash, sizeof c.hash);
    *out = c;
    return ERR_OK;
}
