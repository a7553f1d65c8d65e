#include <string.h>

#include "server/bake/builder.h"

static struct model_texture_use use_from(const struct scene_texture_use *u)
{
    return (struct model_texture_use){.texture = u->texture == SCENE_NONE ? MODEL_NONE : u->texture,
                                      .uv_set = u->uv_set,
                                      .offset = {u->offset[0], u->offset[1]},
                                      .scale = {u->scale[0], u->scale[1]},
                                      .rotation = u->rotation,
                                      .strength = u->strength};
}

static enum err compile_materials(struct builder *b)
{
    const struct scene *s = b->scene;
    struct model_material *out = BUILDER_ARRAY(b, struct model_material, s->material_count);
    if (!out) return builder_no_memory(b);
    for (uint32_t i = 0; i < s->material_count; i++) {
        const struct scene_material *m = &s->materials[i];
        out[i] = (struct model_material){
            .name = builder_text(b, m->name),
            .alpha = (uint32_t)m->alpha,
            .double_sided = m->double_sided,
            .unlit = m->unlit,
            .metallic = m->metallic,
            .roughness = m->roughness,
            .alpha_cutoff = m->alpha_cutoff,
            .base_color_texture = use_from(&m->base_color_texture),
            .metallic_roughness_texture = use_from(&m->metallic_roughness_texture),
            .normal_texture = use_from(&m->normal_texture),
            .occlusion_texture = use_from(&m->occlusion_texture),
            .emissive_texture = use_from(&m->emissive_texture),
        };
        memcpy(out[i].base_color, m->base_color, sizeof out[i].base_color);
        memcpy(out[i].emissive, m->emissive, sizeof out[i].emissive);
    }
    b->model.materials = out;
    b->model.materials_count = s->material_count;
    return ERR_OK;
}

static enum err compile_textures(struct builder *b)
{
    const struct scene *s = b->scene;
    struct model_texture *out = BUILDER_ARRAY(b, struct model_texture, s->texture_count);
    if (!out) return builder_no_memory(b);
    for (uint32_t i = 0; i < s->texture_count; i++) {
        const struct scene_texture *t = &s->textures[i];
        out[i] = (struct model_texture){
            .image = t->image == SCENE_NONE ? MODEL_NONE : t->image,
            .basisu_image = t->basisu_image == SCENE_NONE ? MODEL_NONE : t->basisu_image,
            .mag_filter = t->mag_filter,
            .min_filter = t->min_filter,
            .wrap_s = t->wrap_s,
            .wrap_t = t->wrap_t,
        };
    }
    b->model.textures = out;
    b->model.textures_count = s->texture_count;
    return ERR_OK;
}

static enum err compile_images(struct builder *b)
{
    const struct scene *s = b->scene;
    uint64_t total = 0;
    for (uint32_t i = 0; i < s->image_count; i++)
        total += s->images[i].bytes ? s->images[i].size_bytes : 0;
    struct model_image *out = BUILDER_ARRAY(b, struct model_image, s->image_count);
    uint8_t *bytes = BUILDER_ARRAY(b, uint8_t, total);
    if (!out || !bytes) return builder_no_memory(b);
    uint64_t at = 0;
    for (uint32_t i = 0; i < s->image_count; i++) {
        const struct scene_image *g = &s->images[i];
        size_t size = g->bytes ? g->size_bytes : 0;
        out[i] =
            (struct model_image){builder_text(b, g->name), builder_text(b, g->mime_type), at, size};
        if (size) memcpy(bytes + at, g->bytes, size);
        at += size;
    }
    b->model.images = out;
    b->model.images_count = s->image_count;
    b->model.image_bytes = bytes;
    b->model.image_bytes_count = (size_t)total;
    return ERR_OK;
}

enum err compile_appearance(struct builder *b)
{
    enum err e = compile_materials(b);
    if (e == ERR_OK) e = compile_textures(b);
    if (e == ERR_OK) e = compile_images(b);
    return e;
}
