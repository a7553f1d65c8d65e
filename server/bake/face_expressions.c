#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "common/json_guard.h"
#include "server/bake/face_bake.h"

// A VRM's expressions and look-at, from the import's JSON (vrm_read.h: one schema, indices
// checked).

static enum err add_morphs(struct face_bake *k, const cJSON *list, struct model_expression *e)
{
    const struct model *m = &k->b->model;
    e->mix_first = (uint32_t)k->mixes_count;
    for (const cJSON *v = list ? list->child : NULL; v; v = v->next) {
        uint32_t node = k->b->node_of_source[(size_t)rig_get(v, "node")->valuedouble];
        uint32_t target = (uint32_t)rig_get(v, "index")->valuedouble;
        // One mesh's target: a shape may have channels in other meshes that are not meant.
        for (uint32_t c = 0; c < m->channels_count; c++) {
            if (m->channels[c].node != node || m->channels[c].target != target) continue;
            struct model_face_mix *mix = FACE_ADD(k, mixes);
            if (!mix) return builder_no_memory(k->b);
            *mix = (struct model_face_mix){c, (float)rig_get(v, "weight")->valuedouble};
        }
    }
    e->mix_count = (uint32_t)k->mixes_count - e->mix_first;
    return ERR_OK;
}

static void read_floats(const cJSON *list, float *out, int count)
{
    const cJSON *v = list ? list->child : NULL;
    for (int i = 0; v && i < count; i++, v = v->next)
        out[i] = (float)v->valuedouble;
}

static enum err add_colors(struct face_bake *k, const cJSON *list, struct model_expression *e)
{
    e->color_first = (uint32_t)k->colors_count;
    for (const cJSON *v = list ? list->child : NULL; v; v = v->next) {
        const cJSON *type = rig_get(v, "type");
        struct model_expression_color *c = FACE_ADD(k, colors);
        if (!c) return builder_no_memory(k->b);
        *c = (struct model_expression_color){
            .material = (uint32_t)rig_get(v, "material")->valuedouble, .type = MODEL_COLOR_OTHER};
        if (cJSON_IsString(type) && strcmp(type->valuestring, "color") == 0)
            c->type = MODEL_COLOR_BASE;
        if (cJSON_IsString(type) && strcmp(type->valuestring, "emissionColor") == 0)
            c->type = MODEL_COLOR_EMISSION;
        read_floats(rig_get(v, "targetValue"), c->target, 4);
    }
    e->color_count = (uint32_t)k->colors_count - e->color_first;
    return ERR_OK;
}

static enum err add_transforms(struct face_bake *k, const cJSON *list, struct model_expression *e)
{
    e->transform_first = (uint32_t)k->transforms_count;
    for (const cJSON *v = list ? list->child : NULL; v; v = v->next) {
        struct model_expression_transform *t = FACE_ADD(k, transforms);
        if (!t) return builder_no_memory(k->b);
        *t = (struct model_expression_transform){
            .material = (uint32_t)rig_get(v, "material")->valuedouble, .scale = {1, 1}};
        read_floats(rig_get(v, "scale"), t->scale, 2);
        read_floats(rig_get(v, "offset"), t->offset, 2);
    }
    e->transform_count = (uint32_t)k->transforms_count - e->transform_first;
    return ERR_OK;
}

static uint32_t group_of(const char *name)
{
    static const struct {
        const char *name;
        uint32_t group;
    } presets[] = {{"blink", MODEL_EXPRESSION_BLINK},       {"blinkLeft", MODEL_EXPRESSION_BLINK},
                   {"blinkRight", MODEL_EXPRESSION_BLINK},  {"lookUp", MODEL_EXPRESSION_LOOK_AT},
                   {"lookDown", MODEL_EXPRESSION_LOOK_AT},  {"lookLeft", MODEL_EXPRESSION_LOOK_AT},
                   {"lookRight", MODEL_EXPRESSION_LOOK_AT}, {"aa", MODEL_EXPRESSION_MOUTH},
                   {"ih", MODEL_EXPRESSION_MOUTH},          {"ou", MODEL_EXPRESSION_MOUTH},
                   {"ee", MODEL_EXPRESSION_MOUTH},          {"oh", MODEL_EXPRESSION_MOUTH}};
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(presets[i].name, name) == 0) return presets[i].group;
    return MODEL_EXPRESSION_FREE;
}

static uint32_t override_of(const cJSON *json, const char *key)
{
    const cJSON *word = rig_get(json, key);
    if (!cJSON_IsString(word)) return MODEL_OVERRIDE_NONE;
    if (strcmp(word->valuestring, "block") == 0) return MODEL_OVERRIDE_BLOCK;
    return strcmp(word->valuestring, "blend") == 0 ? MODEL_OVERRIDE_BLEND : MODEL_OVERRIDE_NONE;
}

static enum err add_expression(struct face_bake *k, const cJSON *json, bool preset)
{
    static const uint32_t groups[] = {MODEL_EXPRESSION_BLINK, MODEL_EXPRESSION_LOOK_AT,
                                      MODEL_EXPRESSION_MOUTH};
    static const char *const keys[] = {"overrideBlink", "overrideLookAt", "overrideMouth"};
    if (k->expressions_count == MODEL_EXPRESSIONS_MAX) return ERR_OK;
    struct model_expression e = {.name = builder_text(k->b, json->string),
                                 .group = preset ? group_of(json->string) : MODEL_EXPRESSION_FREE,
                                 .binary = cJSON_IsTrue(rig_get(json, "isBinary")) ? 1 : 0};
    for (int i = 0; i < 3; i++) // of its own kind it overrides nothing
        e.overrides[i] = e.group == groups[i] ? MODEL_OVERRIDE_NONE : override_of(json, keys[i]);
    enum err err = add_morphs(k, rig_get(json, "morphTargetBinds"), &e);
    if (err == ERR_OK) err = add_colors(k, rig_get(json, "materialColorBinds"), &e);
    if (err == ERR_OK) err = add_transforms(k, rig_get(json, "textureTransformBinds"), &e);
    struct model_expression *out = err == ERR_OK ? FACE_ADD(k, expressions) : NULL;
    if (!out) return err == ERR_OK ? builder_no_memory(k->b) : err;
    *out = e;
    return ERR_OK;
}

static int32_t bone_node(const struct model *m, const char *bone)
{
    for (size_t i = 0; i < m->bones_count; i++)
        if (strcmp(model_text(m, m->bones[i].bone), bone) == 0) return (int32_t)m->bones[i].node;
    return MODEL_NONE;
}

static enum err read_look_at(struct face_bake *k, const cJSON *json)
{
    static const char *const maps[] = {"rangeMapHorizontalInner", "rangeMapHorizontalOuter",
                                       "rangeMapVerticalDown", "rangeMapVerticalUp"};
    static const char *const looks[] = {"lookUp", "lookDown", "lookLeft", "lookRight"};
    struct model *m = &k->b->model;
    struct model_look_at *l = BUILDER_ARRAY(k->b, struct model_look_at, 1);
    const cJSON *type = rig_get(json, "type");
    if (!l) return builder_no_memory(k->b);
    bool expression = cJSON_IsString(type) && strcmp(type->valuestring, "expression") == 0;
    l->type = expression ? MODEL_LOOK_EXPRESSION : MODEL_LOOK_BONE;
    l->head = bone_node(m, "head");
    l->left_eye = bone_node(m, "leftEye");
    l->right_eye = bone_node(m, "rightEye");
    read_floats(rig_get(json, "offsetFromHeadBone"), l->offset, 3);
    for (int i = 0; i < 4; i++) {
        const cJSON *map = rig_get(json, maps[i]);
        const cJSON *most = rig_get(map, "inputMaxValue"), *scale = rig_get(map, "outputScale");
        l->map[i][0] = cJSON_IsNumber(most) ? (float)most->valuedouble : 90;
        l->map[i][1] = cJSON_IsNumber(scale) ? (float)scale->valuedouble : expression ? 1 : 10;
        l->expressions[i] = MODEL_NONE;
        for (size_t n = 0; n < k->expressions_count; n++)
            if (strcmp(model_text(m, k->expressions[n].name), looks[i]) == 0)
                l->expressions[i] = (int32_t)n;
    }
    m->look_at = l;
    m->look_at_count = 1;
    return ERR_OK;
}

enum err face_read_expressions(struct face_bake *k)
{
    struct model *m = &k->b->model;
    const char *text = k->b->scene->vrm.json;
    if (!text || !*text) return ERR_OK;
    struct json_limits limits = json_limits_for(strlen(text) + 1);
    cJSON *json = NULL;
    enum err e = json_parse(text, strlen(text), &limits, &json, k->b->fault);
    if (e != ERR_OK) return e;
    const cJSON *all = rig_get(json, "expressions"),
                *lists[] = {rig_get(all, "preset"), rig_get(all, "custom")};
    for (int i = 0; i < 2; i++)
        for (const cJSON *v = lists[i] ? lists[i]->child : NULL; v && e == ERR_OK; v = v->next)
            e = add_expression(k, v, i == 0);
    if (e == ERR_OK && rig_get(json, "lookAt")) e = read_look_at(k, rig_get(json, "lookAt"));
    cJSON_Delete(json);
    m->expressions = k->expressions;
    m->expressions_count = k->expressions_count;
    m->expression_colors = k->colors;
    m->expression_colors_count = k->colors_count;
    m->expression_transforms = k->transforms;
    m->expression_transforms_count = k->transforms_count;
    return e;
}
