#include "tests/bake/scene_check.h"

#include <math.h>
#include <string.h>

static bool index_ok(int32_t index, uint32_t count)
{
    return index == SCENE_NONE || (index >= 0 && (uint32_t)index < count);
}

static bool floats_ok(const float *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static const char *check_nodes(const struct scene *s)
{
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct scene_node *n = &s->nodes[i];
        if (!n->name) return "a node's name is NULL";
        if (!index_ok(n->parent, s->node_count)) return "a node's parent";
        if (!index_ok(n->mesh, s->mesh_count)) return "a node's mesh";
        if (!index_ok(n->skin, s->skin_count)) return "a node's skin";
        if (n->skin != SCENE_NONE && n->mesh == SCENE_NONE) return "a skin without a mesh";
        if (!xform_is_finite(&n->local)) return "a node's transform";
        if (!floats_ok(&n->rest.translation.x, 10)) return "a node's rest";
        if (n->parent != SCENE_NONE && s->nodes[n->parent].in_default_scene && !n->in_default_scene)
            return "a child outside its parent's scene";
        if (!floats_ok(n->weights, n->weight_count)) return "a node's weights";
        if (n->weight_count &&
            (n->mesh == SCENE_NONE || s->meshes[n->mesh].target_count != n->weight_count))
            return "a node's weight count";
        uint32_t steps = 0; // a forest: the climb ends. Only for small ones, to stay linear.
        for (int32_t at = n->parent; s->node_count < 2000 && at != SCENE_NONE; steps++) {
            if (steps > s->node_count) return "a cycle";
            at = s->nodes[at].parent;
        }
    }
    return NULL;
}

static const char *check_target(const struct scene_primitive *p, const struct scene_target *t)
{
    if (t->count > p->vertex_count) return "a target's count";
    if (!t->vertices && t->count != 0 && t->count != p->vertex_count) return "a dense target";
    for (uint32_t i = 0; t->vertices && i < t->count; i++) {
        if (t->vertices[i] >= p->vertex_count) return "a target's vertex";
        if (i && t->vertices[i] <= t->vertices[i - 1]) return "a target's order";
    }
    if (!floats_ok((const float *)t->positions, 3 * (size_t)t->count))
        return "a target's positions";
    if (!floats_ok((const float *)t->normals, 3 * (size_t)t->count)) return "a target's normals";
    if (!floats_ok((const float *)t->tangents, 3 * (size_t)t->count)) return "a target's tangents";
    return NULL;
}

static const char *check_primitive(const struct scene *s, const struct scene_primitive *p)
{
    size_t n = p->vertex_count;
    uint32_t corners = p->topology == SCENE_TRIANGLES ? 3 : p->topology == SCENE_LINES ? 2 : 1;
    if (n && !p->positions) return "vertices without positions";
    if (!floats_ok((const float *)p->positions, 3 * n)) return "positions";
    if (!floats_ok((const float *)p->normals, 3 * n)) return "normals";
    if (!floats_ok((const float *)p->tangents, 4 * n)) return "tangents";
    for (size_t i = 0; p->normals && i < n; i++) {
        const struct vec3 *v = &p->normals[i];
        if (fabsf(v->x * v->x + v->y * v->y + v->z * v->z - 1) > 1e-4F) return "a normal's length";
    }
    for (uint32_t i = 0; i < p->uv_set_count; i++)
        if (!p->uv[i] || !floats_ok(p->uv[i][0], 2 * n)) return "uv";
    for (uint32_t i = 0; i < p->color_set_count; i++)
        if (!p->colors[i] || !floats_ok(p->colors[i][0], 4 * n)) return "colours";
    if (!index_ok(p->material, s->material_count)) return "a material";
    if (p->influences_per_vertex % 4 || p->influences_per_vertex > SCENE_INFLUENCES_MAX)
        return "influences";
    if (!floats_ok(p->weights, n * p->influences_per_vertex)) return "weights";
    for (size_t i = 0; i < n * p->influences_per_vertex; i++)
        if (p->weights[i] < 0) return "a weight below 0";
    if (p->index_count % corners) return "an index count";
    for (uint32_t i = 0; i < p->index_count; i++)
        if (p->indices[i] >= n) return "an index";
    return NULL;
}

static const char *check_meshes(const struct scene *s)
{
    for (uint32_t m = 0; m < s->mesh_count; m++) {
        const struct scene_mesh *mesh = &s->meshes[m];
        if (!mesh->name) return "a mesh's name is NULL";
        if (!floats_ok(mesh->weights, mesh->target_count)) return "a mesh's weights";
        for (uint32_t t = 0; t < mesh->target_count; t++)
            if (!mesh->target_names[t]) return "a target's name is NULL";
        for (uint32_t i = 0; i < mesh->primitive_count; i++) {
            const struct scene_primitive *p = &mesh->primitives[i];
            const char *problem = check_primitive(s, p);
            for (uint32_t t = 0; t < mesh->target_count && !problem; t++)
                problem = check_target(p, &p->targets[t]);
            if (problem) return problem;
        }
    }
    return NULL;
}

static const char *check_skins(const struct scene *s)
{
    for (uint32_t i = 0; i < s->skin_count; i++) {
        const struct scene_skin *k = &s->skins[i];
        if (k->joint_count == 0) return "a skin without joints";
        for (uint32_t j = 0; j < k->joint_count; j++) {
            if (k->joints[j] < 0 || (uint32_t)k->joints[j] >= s->node_count) return "a joint";
            if (!xform_is_finite(&k->inverse_binds[j])) return "an inverse bind matrix";
        }
    }
    for (uint32_t i = 0; i < s->node_count; i++) {
        const struct scene_node *n = &s->nodes[i];
        if (n->skin == SCENE_NONE) continue;
        const struct scene_mesh *mesh = &s->meshes[n->mesh];
        for (uint32_t k = 0; k < mesh->primitive_count; k++) {
            const struct scene_primitive *p = &mesh->primitives[k];
            for (size_t v = 0; v < (size_t)p->vertex_count * p->influences_per_vertex; v++)
                if (p->joints[v] >= s->skins[n->skin].joint_count) return "a joint past the skin";
        }
    }
    return NULL;
}

static const char *check_channel(const struct scene *s, const struct scene_channel *c)
{
    static const uint32_t widths[] = {3, 4, 3};
    if (c->node < 0 || (uint32_t)c->node >= s->node_count) return "a channel's node";
    if (c->key_count == 0) return "a channel without keys";
    if (c->path != SCENE_WEIGHTS && c->width != widths[c->path]) return "a channel's width";
    if (c->path == SCENE_WEIGHTS && (s->nodes[c->node].mesh == SCENE_NONE ||
                                     s->meshes[s->nodes[c->node].mesh].target_count != c->width))
        return "a weights channel's width";
    size_t parts = c->interpolation == SCENE_CUBIC ? 3 : 1;
    if (!floats_ok(c->times, c->key_count)) return "times";
    if (!floats_ok(c->values, parts * c->width * c->key_count)) return "key values";
    for (uint32_t i = 1; i < c->key_count; i++)
        if (c->times[i] <= c->times[i - 1]) return "times that do not rise";
    for (uint32_t i = 0; c->path == SCENE_ROTATION && parts == 1 && i < c->key_count; i++) {
        const float *q = c->values + 4 * (size_t)i;
        if (fabsf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1) > 0.05F)
            return "a rotation key's length";
    }
    return NULL;
}

static const char *check_clips(const struct scene *s)
{
    for (uint32_t i = 0; i < s->clip_count; i++) {
        if (!s->clips[i].name) return "a clip's name is NULL";
        for (uint32_t c = 0; c < s->clips[i].channel_count; c++) {
            const char *problem = check_channel(s, &s->clips[i].channels[c]);
            if (problem) return problem;
            const struct scene_channel *channel = &s->clips[i].channels[c];
            if (channel->times[channel->key_count - 1] > s->clips[i].duration_s)
                return "a clip's duration";
        }
    }
    return NULL;
}

static bool use_ok(const struct scene *s, const struct scene_texture_use *u)
{
    return index_ok(u->texture, s->texture_count) && floats_ok(u->offset, 2) &&
           floats_ok(u->scale, 2) && isfinite(u->rotation) && isfinite(u->strength);
}

static const char *check_looks(const struct scene *s)
{
    for (uint32_t i = 0; i < s->material_count; i++) {
        const struct scene_material *m = &s->materials[i];
        if (!m->name) return "a material's name is NULL";
        if (!use_ok(s, &m->base_color_texture) || !use_ok(s, &m->metallic_roughness_texture) ||
            !use_ok(s, &m->normal_texture) || !use_ok(s, &m->occlusion_texture) ||
            !use_ok(s, &m->emissive_texture))
            return "a material's texture";
        if (!floats_ok(m->base_color, 4) || !floats_ok(m->emissive, 3)) return "a colour";
    }
    for (uint32_t i = 0; i < s->texture_count; i++)
        if (!index_ok(s->textures[i].image, s->image_count) ||
            !index_ok(s->textures[i].basisu_image, s->image_count))
            return "a texture's image";
    volatile uint8_t sum = 0; // every byte of an image must be readable
    for (uint32_t i = 0; i < s->image_count; i++) {
        if (!s->images[i].name || !s->images[i].mime_type) return "an image's name is NULL";
        for (size_t b = 0; b < s->images[i].size_bytes; b++)
            sum = (uint8_t)(sum + s->images[i].bytes[b]);
    }
    return NULL;
}

static const char *check_vrm(const struct scene *s)
{
    for (uint32_t i = 0; i < s->vrm.bone_count; i++)
        if (s->vrm.bones[i].node < 0 || (uint32_t)s->vrm.bones[i].node >= s->node_count ||
            !s->vrm.bones[i].bone)
            return "a humanoid bone";
    return NULL;
}

const char *scene_check(const struct scene *s)
{
    const char *problem = check_nodes(s);
    if (!problem) problem = check_meshes(s);
    if (!problem) problem = check_skins(s);
    if (!problem) problem = check_clips(s);
    if (!problem) problem = check_looks(s);
    if (!problem) problem = check_vrm(s);
    for (uint32_t i = 0; i < s->notes.count && !problem; i++)
        if (!*s->notes.items[i].text || s->notes.items[i].count == 0) problem = "an empty note";
    return problem;
}
