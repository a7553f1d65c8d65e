#include <mbedtls/sha256.h>
#include <string.h>

#include "common/check.h"
#include "proto/appearance_message.h"
#include "server/stage/role_own.h"

enum { GL_NEAREST = 9728, GL_CLAMP_TO_EDGE = 33071, GL_MIRRORED_REPEAT = 33648 };

static uint8_t mime_of(const char *mime_type)
{
    static const struct {
        const char *name;
        uint8_t mime;
    } known[] = {{"image/png", APPEARANCE_PNG},
                 {"image/jpeg", APPEARANCE_JPEG},
                 {"image/jpg", APPEARANCE_JPEG},
                 {"image/webp", APPEARANCE_WEBP},
                 {"image/ktx2", APPEARANCE_KTX2}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(mime_type, known[i].name) == 0) return known[i].mime;
    return 0;
}

const struct role_texture *role_texture_add(struct role_build *b, uint8_t mime,
                                            const uint8_t *bytes, size_t size_bytes)
{
    uint8_t digest[32];
    struct role_texture *list = b->textures;
    if (mbedtls_sha256_ret(bytes, size_bytes, digest, 0) != 0) return NULL;
    for (size_t i = 0; i < b->role->texture_count; i++)
        if (memcmp(list[i].hash, digest, SESSION_HASH_BYTES) == 0) return &list[i];
    struct role_texture *t = &list[b->role->texture_count++];
    *t = (struct role_texture){.mime = mime, .bytes = bytes, .size_bytes = size_bytes};
    memcpy(t->hash, digest, SESSION_HASH_BYTES);
    return t;
}

// The entry of an image, hashed the first time it is used; NULL: nothing that can be sent.
static const struct role_texture *texture_of(struct role_build *b,
                                             const struct role_texture **of_image, int32_t image)
{
    const struct model *m = b->role->model;
    if (image == MODEL_NONE) return NULL;
    if (of_image[image]) return of_image[image];
    const struct model_image *g = &m->images[image];
    uint8_t mime = mime_of(model_text(m, g->mime_type));
    if (!mime || g->byte_count == 0 || g->byte_count > APPEARANCE_TEXTURE_BYTES_MAX) return NULL;
    const struct role_texture *t =
        role_texture_add(b, mime, m->image_bytes + g->byte_first, (size_t)g->byte_count);
    of_image[image] = t;
    return t;
}

static uint8_t wrap_of(uint32_t gl)
{
    return gl == GL_CLAMP_TO_EDGE     ? APPEARANCE_CLAMP
           : gl == GL_MIRRORED_REPEAT ? APPEARANCE_MIRROR
                                      : APPEARANCE_REPEAT;
}

static void fill_texture(struct role_build *b, const struct role_texture **of_image,
                         const struct model_texture_use *use, struct appearance_texture *out)
{
    const struct model *m = b->role->model;
    *out = (struct appearance_texture){.scale = {1, 1}, .strength = 1};
    if (use->texture == MODEL_NONE) return;
    const struct model_texture *texture = &m->textures[use->texture];
    const struct role_texture *t = texture_of(b, of_image, texture->image);
    if (!t) t = texture_of(b, of_image, texture->basisu_image);
    if (!t) return;
    memcpy(out->hash, t->hash, SESSION_HASH_BYTES);
    out->size_bytes = (uint32_t)t->size_bytes;
    out->uv_set = (uint8_t)(use->uv_set < SURFACE_UV_SETS_MAX ? use->uv_set : 0);
    out->wrap_s = wrap_of(texture->wrap_s);
    out->wrap_t = wrap_of(texture->wrap_t);
    out->filter = texture->mag_filter == GL_NEAREST;
    memcpy(out->offset, use->offset, sizeof out->offset);
    memcpy(out->scale, use->scale, sizeof out->scale);
    out->rotation_rad = use->rotation;
    out->strength = use->strength;
}

// Names are cut between characters.
static void copy_name(const char *name, char out[SESSION_NAME_MAX])
{
    size_t length = strlen(name);
    if (length >= SESSION_NAME_MAX) {
        length = SESSION_NAME_MAX - 1;
        while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
            length--;
    }
    if (!wire_is_utf8((const uint8_t *)name, length)) length = 0;
    memcpy(out, name, length);
    out[length] = 0;
}

static void fill_material(struct role_build *b, const struct role_texture **of_image,
                          const struct model_material *from, struct appearance_material *out)
{
    const struct model_texture_use *uses[APPEARANCE_USE_COUNT] = {
        [APPEARANCE_BASE_COLOR] = &from->base_color_texture,
        [APPEARANCE_METALLIC_ROUGHNESS] = &from->metallic_roughness_texture,
        [APPEARANCE_NORMAL] = &from->normal_texture,
        [APPEARANCE_OCCLUSION] = &from->occlusion_texture,
        [APPEARANCE_EMISSIVE] = &from->emissive_texture};
    *out = (struct appearance_material){
        .alpha = (uint8_t)from->alpha, // the two enums agree
        .flags = (uint8_t)((from->double_sided ? APPEARANCE_DOUBLE_SIDED : 0) |
                           (from->unlit ? APPEARANCE_UNLIT : 0)),
        .metallic = from->metallic,
        .roughness = from->roughness,
        .alpha_cutoff = from->alpha_cutoff};
    copy_name(model_text(b->role->model, from->name), out->name);
    memcpy(out->base_color, from->base_color, sizeof out->base_color);
    memcpy(out->emissive, from->emissive, sizeof out->emissive);
    for (int i = 0; i < APPEARANCE_USE_COUNT; i++)
        fill_texture(b, of_image, uses[i], &out->textures[i]);
}

enum err role_build_appearance(struct role_build *b)
{
    struct role *r = b->role;
    const struct model *m = r->model;
    size_t capacity = 64 + m->materials_count * (256 + APPEARANCE_USE_COUNT * 64);
    struct role_texture *list = ROLE_KEEP(b, struct role_texture, m->images_count + m->roots_count);
    const struct role_texture **of_image =
        ROLE_SCRATCH(b, const struct role_texture *, m->images_count);
    struct appearance_material *materials =
        ROLE_KEEP(b, struct appearance_material, m->materials_count);
    struct appearance_texture *options =
        ROLE_KEEP(b, struct appearance_texture, m->face_options_count);
    uint8_t *bytes = ROLE_KEEP(b, uint8_t, capacity);
    if (!list || !of_image || !materials || !options || !bytes) return role_no_memory(b);
    r->textures = b->textures = list;
    for (size_t i = 0; i < m->materials_count; i++)
        fill_material(b, of_image, &m->materials[i], &materials[i]);
    for (size_t i = 0; i < m->face_options_count; i++) {
        struct model_texture_use use = {
            .texture = m->face_options[i].texture, .scale = {1, 1}, .strength = 1};
        fill_texture(b, of_image, &use, &options[i]);
    }
    r->materials = materials;
    r->options = options;
    struct wire_writer w = wire_write(bytes, capacity);
    enum err e =
        appearance_message_encode(&w, 0, r->version, materials, (uint32_t)m->materials_count);
    if (e != ERR_OK)
        return fault_set(b->fault, e, "the materials of %s cannot be sent: %s", r->name,
                         err_text(e));
    r->appearance = bytes;
    r->appearance_bytes = wire_size(&w);
    return ERR_OK;
}

void role_appearance_head(const struct role *r, uint32_t actor,
                          uint8_t out[ROLE_APPEARANCE_HEAD_BYTES])
{
    struct wire_writer w = wire_write(out, ROLE_APPEARANCE_HEAD_BYTES);
    wire_put_u32(&w, actor);
    wire_put_u32(&w, r->version);
    CHECK(!w.failed);
}

const struct role_texture *role_texture_find(const struct role *r,
                                             const uint8_t hash[SESSION_HASH_BYTES])
{
    for (size_t i = 0; i < r->texture_count; i++)
        if (memcmp(r->textures[i].hash, hash, SESSION_HASH_BYTES) == 0) return &r->textures[i];
    return NULL;
}
