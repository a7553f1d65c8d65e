#include "server/bake/material_read.h"

#include <math.h>
#include <string.h>

#include "server/bake/buffers.h"
#include "server/bake/uri.h"

// ---- images

// Bytes that the pool keeps; of those already in it (data URIs) nothing is copied.
static bool keep_bytes(struct source *src, const struct doc_at *at, const uint8_t *bytes,
                       size_t size_bytes, struct scene_image *out)
{
    uint8_t *copy = DOC_KEEP(&src->doc, at, uint8_t, size_bytes + 1);
    if (!copy) return false;
    memcpy(copy, bytes, size_bytes);
    out->bytes = copy;
    out->size_bytes = size_bytes;
    return true;
}

static void read_image_view(struct source *src, const struct doc_at *at, int32_t view,
                            struct scene_image *image)
{
    struct doc *d = &src->doc;
    struct memo_key key = {{MEMO_IMAGE, view}};
    const struct scene_image *known = memo_find(&src->memo, &key);
    if (known) {
        image->bytes = known->bytes;
        image->size_bytes = known->size_bytes;
        return;
    }
    const uint8_t *bytes = NULL;
    size_t size = 0;
    if (buffers_view(src, view, &bytes, &size) && keep_bytes(src, at, bytes, size, image))
        memo_add(&src->memo, d, at, &key, image);
}

// Images are for viewers only: one that is missing does not stop a character.
static void read_image_file(struct source *src, const struct doc_at *at, const char *uri,
                            struct scene_image *image)
{
    struct doc *d = &src->doc;
    struct uri_data data = {0};
    bool missing = false;
    if (uri_load_file(src, at, uri, src->path ? &missing : NULL, &data)) {
        struct memo_key key = {{MEMO_IMAGE, -1}};
        memcpy(&key.part[2], &data.bytes, sizeof data.bytes);
        const struct scene_image *known = memo_find(&src->memo, &key);
        if (known) {
            image->bytes = known->bytes;
            image->size_bytes = known->size_bytes;
        } else if (keep_bytes(src, at, data.bytes, data.size_bytes, image)) {
            memo_add(&src->memo, d, at, &key, image);
        }
    } else if (missing) {
        scene_note(d->scene, NOTE_LEFT_OUT, 1,
                   "image %.120s is missing; put it beside the source and bake again", uri);
    }
}

static const char *guess_mime(const struct scene_image *image)
{
    static const struct {
        const char *mime, *magic;
        size_t length;
    } kinds[] = {{"image/png", "\x89PNG", 4},
                 {"image/jpeg", "\xFF\xD8\xFF", 3},
                 {"image/ktx2", "\xABKTX 20", 7},
                 {"image/webp", "RIFF", 4}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (image->bytes && image->size_bytes >= kinds[i].length &&
            memcmp(image->bytes, kinds[i].magic, kinds[i].length) == 0)
            return kinds[i].mime;
    return "";
}

static void read_image(struct source *src, const struct doc_at *at, struct scene_image *image)
{
    struct doc *d = &src->doc;
    *image = (struct scene_image){.name = "", .mime_type = ""};
    if (!doc_is_object(d, at)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return;
    }
    image->name = doc_text_kept(d, at, "name");
    image->mime_type = doc_text_kept(d, at, "mimeType");
    struct doc_at uri_at = doc_member(at, "uri"), view_at = doc_member(at, "bufferView");
    const char *uri = doc_text(d, at, "uri");
    int32_t view = doc_index(d, at, "bufferView", src->view_count);
    if (d->error != ERR_OK) return;
    if (view != SCENE_NONE) {
        read_image_view(src, &view_at, view, image);
    } else if (uri_is_data(uri)) {
        struct uri_data data = {0};
        if (!uri_decode_data(d, &uri_at, uri, true, &data)) return;
        image->bytes = data.bytes;
        image->size_bytes = data.size_bytes;
        if (!*image->mime_type) image->mime_type = data.mime_type;
    } else if (*uri) {
        read_image_file(src, &uri_at, uri, image);
    } else {
        scene_note(d->scene, NOTE_LEFT_OUT, 1, "images with neither uri nor bufferView");
    }
    if (!*image->mime_type) image->mime_type = guess_mime(image);
}

// ---- textures

static uint16_t sampler_value(struct doc *d, const struct doc_at *at, const char *key,
                              uint16_t absent)
{
    return (uint16_t)doc_uint(d, at, key, UINT16_MAX, absent);
}

static void read_texture(struct source *src, const struct doc_at *at,
                         const struct doc_list *samplers, struct scene_texture *t)
{
    enum { REPEAT = 10497 };
    struct doc *d = &src->doc;
    *t = (struct scene_texture){
        .image = SCENE_NONE, .basisu_image = SCENE_NONE, .wrap_s = REPEAT, .wrap_t = REPEAT};
    if (!doc_is_object(d, at)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return;
    }
    struct doc_at extensions = doc_member(at, "extensions");
    struct doc_at basisu = doc_member(&extensions, "KHR_texture_basisu"),
                  webp = doc_member(&extensions, "EXT_texture_webp");
    (void)doc_is_object(d, &extensions);
    (void)doc_is_object(d, &basisu);
    (void)doc_is_object(d, &webp);
    t->image = doc_index(d, at, "source", d->scene->image_count);
    t->basisu_image = doc_index(d, &basisu, "source", d->scene->image_count);
    if (t->image == SCENE_NONE) t->image = doc_index(d, &webp, "source", d->scene->image_count);
    int32_t sampler = doc_index(d, at, "sampler", samplers->count);
    if (sampler == SCENE_NONE || d->error != ERR_OK) return;
    struct doc_at s = doc_item(samplers, (uint32_t)sampler);
    if (!doc_is_object(d, &s)) return;
    t->mag_filter = sampler_value(d, &s, "magFilter", 0);
    t->min_filter = sampler_value(d, &s, "minFilter", 0);
    t->wrap_s = sampler_value(d, &s, "wrapS", REPEAT);
    t->wrap_t = sampler_value(d, &s, "wrapT", REPEAT);
}

// ---- materials

static struct scene_texture_use read_use(struct source *src, const struct doc_at *up,
                                         const char *key, const char *strength_key)
{
    struct doc *d = &src->doc;
    struct scene_texture_use use = {.texture = SCENE_NONE, .scale = {1, 1}, .strength = 1};
    struct doc_at at = doc_member(up, key);
    if (!doc_is_object(d, &at)) return use;
    use.texture = doc_index_needed(d, &at, "index", d->scene->texture_count);
    use.uv_set = (uint32_t)doc_uint(d, &at, "texCoord", UINT16_MAX, 0);
    if (strength_key) use.strength = doc_float(d, &at, strength_key, 1);
    struct doc_at extensions = doc_member(&at, "extensions");
    struct doc_at transform = doc_member(&extensions, "KHR_texture_transform");
    if (!doc_is_object(d, &transform)) return use;
    (void)doc_floats(d, &transform, "offset", use.offset, 2);
    (void)doc_floats(d, &transform, "scale", use.scale, 2);
    use.rotation = doc_float(d, &transform, "rotation", 0);
    use.uv_set = (uint32_t)doc_uint(d, &transform, "texCoord", UINT16_MAX, use.uv_set);
    return use;
}

static void read_alpha(struct doc *d, const struct doc_at *at, struct scene_material *m)
{
    const char *mode = doc_text(d, at, "alphaMode");
    struct doc_at mode_at = doc_member(at, "alphaMode");
    m->alpha_cutoff = doc_float(d, at, "alphaCutoff", 0.5F);
    if (!*mode || strcmp(mode, "OPAQUE") == 0)
        m->alpha = SCENE_ALPHA_OPAQUE;
    else if (strcmp(mode, "MASK") == 0)
        m->alpha = SCENE_ALPHA_MASK;
    else if (strcmp(mode, "BLEND") == 0)
        m->alpha = SCENE_ALPHA_BLEND;
    else
        (void)doc_fail(d, &mode_at, ERR_MALFORMED, "\"%.20s\" is no alpha mode", mode);
}

static void read_extensions(struct doc *d, const struct doc_at *at, struct scene_material *m)
{
    struct doc_at extensions = doc_member(at, "extensions");
    if (!doc_is_object(d, &extensions)) return;
    struct doc_at unlit = doc_member(&extensions, "KHR_materials_unlit");
    struct doc_at strong = doc_member(&extensions, "KHR_materials_emissive_strength");
    struct doc_at hdr = doc_member(&extensions, "VRMC_materials_hdr_emissiveMultiplier");
    m->unlit = doc_is_object(d, &unlit);
    float strength = doc_float(d, &strong, "emissiveStrength", 1);
    strength *= doc_float(d, &hdr, "emissiveMultiplier", 1);
    for (int i = 0; i < 3; i++) {
        m->emissive[i] *= strength;
        if (!isfinite(m->emissive[i])) m->emissive[i] = 0;
    }
}

static void read_material(struct source *src, const struct doc_at *at, struct scene_material *m)
{
    struct doc *d = &src->doc;
    *m = (struct scene_material){
        .name = "", .base_color = {1, 1, 1, 1}, .metallic = 1, .roughness = 1};
    if (!doc_is_object(d, at)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return;
    }
    m->name = doc_text_kept(d, at, "name");
    struct doc_at pbr = doc_member(at, "pbrMetallicRoughness");
    (void)doc_is_object(d, &pbr);
    (void)doc_floats(d, &pbr, "baseColorFactor", m->base_color, 4);
    (void)doc_floats(d, at, "emissiveFactor", m->emissive, 3);
    m->metallic = doc_float(d, &pbr, "metallicFactor", 1);
    m->roughness = doc_float(d, &pbr, "roughnessFactor", 1);
    m->double_sided = doc_bool(d, at, "doubleSided", false);
    m->base_color_texture = read_use(src, &pbr, "baseColorTexture", NULL);
    m->metallic_roughness_texture = read_use(src, &pbr, "metallicRoughnessTexture", NULL);
    m->normal_texture = read_use(src, at, "normalTexture", "scale");
    m->occlusion_texture = read_use(src, at, "occlusionTexture", "strength");
    m->emissive_texture = read_use(src, at, "emissiveTexture", NULL);
    read_alpha(d, at, m);
    read_extensions(d, at, m);
}

bool material_read(struct source *src)
{
    struct doc *d = &src->doc;
    struct scene *scene = d->scene;
    struct doc_at root = doc_root(d);
    struct doc_list images = doc_list(d, &root, "images"),
                    textures = doc_list(d, &root, "textures"),
                    samplers = doc_list(d, &root, "samplers"),
                    materials = doc_list(d, &root, "materials");
    scene->images = DOC_KEEP(d, &images.at, struct scene_image, images.count);
    scene->textures = DOC_KEEP(d, &textures.at, struct scene_texture, textures.count);
    scene->materials = DOC_KEEP(d, &materials.at, struct scene_material, materials.count);
    if (d->error != ERR_OK) return false;
    scene->image_count = images.count;
    for (uint32_t i = 0; i < images.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&images, i);
        read_image(src, &at, &scene->images[i]);
    }
    scene->texture_count = textures.count;
    for (uint32_t i = 0; i < textures.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&textures, i);
        read_texture(src, &at, &samplers, &scene->textures[i]);
    }
    scene->material_count = materials.count;
    for (uint32_t i = 0; i < materials.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&materials, i);
        read_material(src, &at, &scene->materials[i]);
    }
    return d->error == ERR_OK;
}
