#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "server/bake/face_bake.h"
#include "server/model/lookup.h"

// Parameters of kind appearance: a factor of a material between two values, or one of several
// pictures in place of a texture. Pictures join the model's images.

static const struct property {
    const char *name, *also; // also: as glTF's path says it
    int width;               // of a factor
} properties[MODEL_PROPERTY_COUNT] = {
    [MODEL_PROPERTY_BASE_COLOR] = {"baseColorFactor", "pbrMetallicRoughness.baseColorFactor", 4},
    [MODEL_PROPERTY_EMISSIVE] = {"emissiveFactor", NULL, 3},
    [MODEL_PROPERTY_METALLIC] = {"metallicFactor", "pbrMetallicRoughness.metallicFactor", 1},
    [MODEL_PROPERTY_ROUGHNESS] = {"roughnessFactor", "pbrMetallicRoughness.roughnessFactor", 1},
    [MODEL_PROPERTY_ALPHA_CUTOFF] = {"alphaCutoff", NULL, 1},
    [MODEL_PROPERTY_NORMAL_SCALE] = {"normalTexture.scale", "normalScale", 1},
    [MODEL_PROPERTY_OCCLUSION_STRENGTH] = {"occlusionTexture.strength", "occlusionStrength", 1},
    [MODEL_PROPERTY_BASE_COLOR_TEXTURE] = {"baseColorTexture",
                                           "pbrMetallicRoughness.baseColorTexture", 0},
    [MODEL_PROPERTY_METALLIC_ROUGHNESS_TEXTURE] = {"metallicRoughnessTexture",
                                                   "pbrMetallicRoughness.metallicRoughnessTexture",
                                                   0},
    [MODEL_PROPERTY_NORMAL_TEXTURE] = {"normalTexture", NULL, 0},
    [MODEL_PROPERTY_OCCLUSION_TEXTURE] = {"occlusionTexture", NULL, 0},
    [MODEL_PROPERTY_EMISSIVE_TEXTURE] = {"emissiveTexture", NULL, 0},
};

static enum err wrong(struct face_bake *k, const char *path, const char *key, const char *what)
{
    return fault_set(k->b->fault, ERR_MALFORMED, "%s/%s: %s", path, key, what);
}

static enum err find_property(struct face_bake *k, const cJSON *json, const char *path,
                              uint32_t *out)
{
    const cJSON *name = rig_get(json, "property");
    char what[400] = "must be one of:";
    if (!name) return wrong(k, path, "property", "is missing");
    for (uint32_t i = 0; i < MODEL_PROPERTY_COUNT; i++) {
        const struct property *p = &properties[i];
        if (strcmp(p->name, name->valuestring) == 0 ||
            (p->also && strcmp(p->also, name->valuestring) == 0)) {
            *out = i;
            return ERR_OK;
        }
        size_t used = strlen(what);
        (void)snprintf(what + used, sizeof what - used, " %s", p->name);
    }
    return wrong(k, path, "property", what);
}

static enum err read_factor(struct face_bake *k, const cJSON *json, const char *path,
                            const char *key, int width, float out[4])
{
    const cJSON *list = rig_get(json, key), *v = list ? list->child : NULL;
    int count = cJSON_GetArraySize(list);
    if (!list) return wrong(k, path, key, "is missing");
    if (count != width && !(width == 4 && count == 3))
        return wrong(k, path, key, "has another count of numbers than the property");
    out[3] = 1;
    for (int i = 0; v; i++, v = v->next)
        out[i] = (float)v->valuedouble;
    return ERR_OK;
}

static const char *mime_of(const char *name)
{
    static const char *const endings[][2] = {{".png", "image/png"},
                                             {".jpg", "image/jpeg"},
                                             {".jpeg", "image/jpeg"},
                                             {".webp", "image/webp"},
                                             {".ktx2", "image/ktx2"}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i][0]);
        if (length > n && strcmp(name + length - n, endings[i][0]) == 0) return endings[i][1];
    }
    return NULL;
}

// Appends to a table of the model that an earlier stage has made.
#define APPEND(k, type, table, item)                                                               \
    append((k), (const void **)&(k)->b->model.table, &(k)->b->model.table##_count, (item),         \
           sizeof(type))
static bool append(struct face_bake *k, const void **items, size_t *count, const void *item,
                   size_t item_bytes)
{
    uint8_t *grown = pool_take(&k->b->scene->pool, *count + 1, item_bytes);
    if (!grown) return false;
    if (*count > 0) memcpy(grown, *items, *count * item_bytes);
    memcpy(grown + *count * item_bytes, item, item_bytes);
    *items = grown;
    *count += 1;
    return true;
}

static bool append_bytes(struct face_bake *k, const uint8_t *bytes, size_t size)
{
    struct model *m = &k->b->model;
    uint8_t *grown = pool_take(&k->b->scene->pool, m->image_bytes_count + size, 1);
    if (!grown) return false;
    if (m->image_bytes_count > 0) memcpy(grown, m->image_bytes, m->image_bytes_count);
    memcpy(grown + m->image_bytes_count, bytes, size);
    m->image_bytes = grown;
    m->image_bytes_count += size;
    return true;
}

static const struct model_texture_use *texture_of(const struct model_material *m, uint32_t property)
{
    switch (property) {
    case MODEL_PROPERTY_METALLIC_ROUGHNESS_TEXTURE:
        return &m->metallic_roughness_texture;
    case MODEL_PROPERTY_NORMAL_TEXTURE:
        return &m->normal_texture;
    case MODEL_PROPERTY_OCCLUSION_TEXTURE:
        return &m->occlusion_texture;
    case MODEL_PROPERTY_EMISSIVE_TEXTURE:
        return &m->emissive_texture;
    default:
        return &m->base_color_texture;
    }
}

static enum err read_option(struct face_bake *k, const char *name, const char *path,
                            const struct model_parameter *p)
{
    enum { PICTURE_BYTES_MAX = 64 << 20 };
    struct model *m = &k->b->model;
    char file[2048], where[200];
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct fault inner = {0};
    (void)snprintf(where, sizeof where, "%s/options", path);
    if (!mime_of(name)) return wrong(k, path, "options", "a picture is .png, .jpg, .webp or .ktx2");
    if (file_beside(k->b->settings->rig->path, name, file, sizeof file) != ERR_OK)
        return fault_set(k->b->fault, ERR_DENIED, "%s: must stay in the rig file's folder: %.100s",
                         where, name);
    enum err e = file_read(file, PICTURE_BYTES_MAX, &bytes, &size, &inner);
    if (e != ERR_OK) return fault_set(k->b->fault, e, "%s: %s", where, inner.line);
    // Sampled as the picture that it stands in for.
    const struct model_texture_use *use = texture_of(&m->materials[p->material], p->property);
    struct model_texture texture = {.wrap_s = 10497, .wrap_t = 10497};
    if (use->texture != MODEL_NONE) texture = m->textures[use->texture];
    texture.image = (int32_t)m->images_count;
    texture.basisu_image = MODEL_NONE;
    struct model_image image = {builder_text(k->b, name), builder_text(k->b, mime_of(name)),
                                m->image_bytes_count, size};
    struct model_face_option *option = FACE_ADD(k, options);
    bool fine = option && append_bytes(k, bytes, size) &&
                APPEND(k, struct model_image, images, &image) &&
                APPEND(k, struct model_texture, textures, &texture);
    free(bytes);
    if (!fine) return builder_no_memory(k->b);
    *option = (struct model_face_option){builder_text(k->b, name), (int32_t)m->textures_count - 1};
    return ERR_OK;
}

enum err face_read_appearance(struct face_bake *k, const cJSON *json, const char *path,
                              struct model_parameter *p)
{
    const cJSON *material = rig_get(json, "material"), *options = rig_get(json, "options");
    char where[200];
    uint32_t found;
    if (!material) return wrong(k, path, "material", "is missing");
    (void)snprintf(where, sizeof where, "%s/material", path);
    enum err e = lookup_name(&k->b->model, LOOKUP_MATERIAL, material->valuestring, where, &found,
                             k->b->fault);
    if (e == ERR_OK) e = find_property(k, json, path, &p->property);
    if (e != ERR_OK) return e;
    p->material = (int32_t)found;
    if (p->property < MODEL_PROPERTY_FACTORS) {
        int width = properties[p->property].width;
        if (options) return wrong(k, path, "options", "are of a texture; a factor has from and to");
        e = read_factor(k, json, path, "from", width, p->from);
        return e == ERR_OK ? read_factor(k, json, path, "to", width, p->to) : e;
    }
    if (!options || !options->child)
        return wrong(k, path, "options", "lists the pictures to choose from");
    for (const cJSON *v = options->child; v && e == ERR_OK; v = v->next)
        e = read_option(k, v->valuestring, path, p);
    return e;
}
