#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/pose/face_state.h"
#include "server/stage/role.h"

// What customisation and expressions make of a role's materials.

static float between(float from, float to, float share)
{
    return from + (to - from) * share;
}

static void lay_factor(const struct model_parameter *p, float share, struct appearance_material *m)
{
    float v[4];
    for (int i = 0; i < 4; i++)
        v[i] = between(p->from[i], p->to[i], share);
    switch (p->property) {
    case MODEL_PROPERTY_BASE_COLOR:
        memcpy(m->base_color, v, sizeof m->base_color);
        break;
    case MODEL_PROPERTY_EMISSIVE:
        memcpy(m->emissive, v, sizeof m->emissive);
        break;
    case MODEL_PROPERTY_METALLIC:
        m->metallic = v[0];
        break;
    case MODEL_PROPERTY_ROUGHNESS:
        m->roughness = v[0];
        break;
    case MODEL_PROPERTY_ALPHA_CUTOFF:
        m->alpha_cutoff = v[0];
        break;
    case MODEL_PROPERTY_NORMAL_SCALE:
        m->textures[APPEARANCE_NORMAL].strength = v[0];
        break;
    case MODEL_PROPERTY_OCCLUSION_STRENGTH:
        m->textures[APPEARANCE_OCCLUSION].strength = v[0];
        break;
    default:
        break;
    }
}

static enum appearance_use use_of(uint32_t property)
{
    switch (property) {
    case MODEL_PROPERTY_METALLIC_ROUGHNESS_TEXTURE:
        return APPEARANCE_METALLIC_ROUGHNESS;
    case MODEL_PROPERTY_NORMAL_TEXTURE:
        return APPEARANCE_NORMAL;
    case MODEL_PROPERTY_OCCLUSION_TEXTURE:
        return APPEARANCE_OCCLUSION;
    case MODEL_PROPERTY_EMISSIVE_TEXTURE:
        return APPEARANCE_EMISSIVE;
    default:
        return APPEARANCE_BASE_COLOR;
    }
}

// The picture changes; where and how it is laid stays as the material has it.
static void choose_texture(const struct role *r, const struct model_parameter *p, float value,
                           struct appearance_material *m)
{
    long last = (long)p->option_count - 1, n = lroundf(value);
    uint32_t option = p->option_first + (uint32_t)(n < 0 ? 0 : n > last ? last : n);
    struct appearance_texture *t = &m->textures[use_of(p->property)];
    const struct appearance_texture *from = &r->options[option];
    memcpy(t->hash, from->hash, sizeof t->hash);
    t->size_bytes = from->size_bytes;
}

static void lay_parameters(const struct role *r, const struct face_state *face,
                           struct appearance_material *materials)
{
    const struct model *m = r->model;
    for (size_t i = 0; i < m->parameters_count; i++) {
        const struct model_parameter *p = &m->parameters[i];
        if (p->kind != MODEL_PARAMETER_APPEARANCE || !face->customise.told[i]) continue;
        float value = face->customise.values[i];
        if (p->property < MODEL_PROPERTY_FACTORS)
            lay_factor(p, value, &materials[p->material]);
        else
            choose_texture(r, p, value, &materials[p->material]);
    }
}

// Base + sum of (target - base) * weight, base being what stands without expressions.
static void lay_expressions(const struct role *r, const struct face_state *face,
                            const struct appearance_material *base,
                            struct appearance_material *materials)
{
    const struct model *m = r->model;
    for (size_t i = 0; i < m->expressions_count; i++) {
        const struct model_expression *e = &m->expressions[i];
        float w = face->outputs[i];
        for (uint32_t k = 0; k < e->color_count && w != 0; k++) {
            const struct model_expression_color *c = &m->expression_colors[e->color_first + k];
            const struct appearance_material *from = &base[c->material];
            struct appearance_material *to = &materials[c->material];
            for (int n = 0; n < 4 && c->type == MODEL_COLOR_BASE; n++)
                to->base_color[n] += (c->target[n] - from->base_color[n]) * w;
            for (int n = 0; n < 3 && c->type == MODEL_COLOR_EMISSION; n++)
                to->emissive[n] += (c->target[n] - from->emissive[n]) * w;
        }
        for (uint32_t k = 0; k < e->transform_count && w != 0; k++) {
            const struct model_expression_transform *t =
                &m->expression_transforms[e->transform_first + k];
            for (int u = 0; u < APPEARANCE_USE_COUNT; u++) { // all that UVs reach
                const struct appearance_texture *from = &base[t->material].textures[u];
                struct appearance_texture *to = &materials[t->material].textures[u];
                for (int n = 0; n < 2; n++) {
                    to->scale[n] += (t->scale[n] - from->scale[n]) * w;
                    to->offset[n] += (t->offset[n] - from->offset[n]) * w;
                }
            }
        }
    }
}

enum err role_appearance_told(const struct role *r, const struct face_state *face, uint32_t actor,
                              uint8_t *out, size_t capacity, size_t *size_bytes)
{
    size_t count = r->model->materials_count, bytes = count * sizeof *r->materials;
    struct appearance_material *materials = malloc(2 * bytes + 1), *base = materials + count;
    struct wire_writer w = wire_write(out, capacity);
    if (!materials) return ERR_MEMORY;
    if (count > 0) memcpy(materials, r->materials, bytes);
    lay_parameters(r, face, materials);
    if (count > 0) memcpy(base, materials, bytes);
    lay_expressions(r, face, base, materials);
    enum err e = appearance_message_encode(&w, actor, r->version + (uint32_t)face_state_looks(face),
                                           materials, (uint32_t)count);
    free(materials);
    if (e == ERR_OK) *size_bytes = wire_size(&w);
    return e;
}
