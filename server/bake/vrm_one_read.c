#include "server/bake/vrm_one_read.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "server/character/pose/humanoid.h"

static const char *const presets[] = {"happy",    "angry",     "sad",        "relaxed", "surprised",
                                      "aa",       "ih",        "ou",         "ee",      "oh",
                                      "blink",    "blinkLeft", "blinkRight", "lookUp",  "lookDown",
                                      "lookLeft", "lookRight", "neutral"};

static void read_meta(struct vrm_writer *w, const struct doc_at *vrm)
{
    static const char *const texts[] = {"name",
                                        "version",
                                        "copyrightInformation",
                                        "contactInformation",
                                        "thirdPartyLicenses",
                                        "licenseUrl",
                                        "avatarPermission",
                                        "commercialUsage",
                                        "creditNotation",
                                        "modification",
                                        "otherLicenseUrl"};
    struct doc *d = &w->src->doc;
    struct doc_at meta = doc_member(vrm, "meta");
    if (!doc_is_object(d, &meta)) return;
    json_text_open(&w->text, "meta", '{');
    vrm_copy_texts(w, &meta, texts, sizeof texts / sizeof texts[0]);
    struct doc_list authors = doc_list(d, &meta, "authors");
    json_text_open(&w->text, "authors", '[');
    for (uint32_t i = 0; i < authors.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&authors, i);
        json_text_string(&w->text, NULL, doc_value_text(d, &at));
    }
    json_text_close(&w->text, ']');
    json_text_close(&w->text, '}');
}

void vrm_one_read_bones(struct vrm_writer *w, const struct doc_at *vrm)
{
    struct doc *d = &w->src->doc;
    struct doc_at humanoid = doc_member(vrm, "humanoid");
    struct doc_at bones = doc_member(&humanoid, "humanBones");
    int32_t nodes[HUMANOID_BONE_COUNT];
    for (int32_t i = 0; i < HUMANOID_BONE_COUNT; i++)
        nodes[i] = SCENE_NONE;
    if (doc_is_object(d, &bones))
        for (const cJSON *c = bones.value->child; c && d->error == ERR_OK; c = c->next) {
            struct doc_at at = {.up = &bones, .key = c->string, .value = c};
            int32_t bone = humanoid_find(c->string);
            int32_t node = doc_index_needed(d, &at, "node", w->src->node_count);
            if (!vrm_settle(w, json_text_mark(&w->text))) continue;
            if (bone < 0)
                scene_note(d->scene, NOTE_LEFT_OUT, 1, "humanoid bone %.60s is not known",
                           c->string);
            else
                nodes[bone] = node;
        }
    (void)vrm_settle(w, json_text_mark(&w->text));
    vrm_keep_bones(w, nodes);
}

static void read_annotation(struct vrm_writer *w, const struct doc_at *at)
{
    struct doc *d = &w->src->doc;
    size_t mark = json_text_mark(&w->text);
    int32_t node = doc_index_needed(d, at, "node", w->src->node_count);
    struct doc_at type = doc_member(at, "type");
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "node", node);
    json_text_string(&w->text, "type", type.value ? doc_value_text(d, &type) : "auto");
    json_text_close(&w->text, '}');
    (void)vrm_settle(w, mark);
}

static void read_first_person(struct vrm_writer *w, const struct doc_at *vrm)
{
    struct doc *d = &w->src->doc;
    struct doc_at first = doc_member(vrm, "firstPerson");
    if (!doc_is_object(d, &first)) return;
    struct doc_list list = doc_list(d, &first, "meshAnnotations");
    json_text_open(&w->text, "firstPerson", '{');
    json_text_open(&w->text, "meshAnnotations", '[');
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        read_annotation(w, &at);
    }
    json_text_close(&w->text, ']');
    json_text_close(&w->text, '}');
}

static void read_look_at(struct vrm_writer *w, const struct doc_at *vrm)
{
    static const char *const maps[] = {"rangeMapHorizontalInner", "rangeMapHorizontalOuter",
                                       "rangeMapVerticalDown", "rangeMapVerticalUp"};
    struct doc *d = &w->src->doc;
    struct doc_at look = doc_member(vrm, "lookAt"), type = doc_member(&look, "type");
    if (!doc_is_object(d, &look)) return;
    float offset[3] = {0, 0, 0};
    (void)doc_floats(d, &look, "offsetFromHeadBone", offset, 3);
    json_text_open(&w->text, "lookAt", '{');
    json_text_numbers(&w->text, "offsetFromHeadBone", offset, 3);
    json_text_string(&w->text, "type", type.value ? doc_value_text(d, &type) : "bone");
    for (int i = 0; i < 4; i++) {
        struct doc_at map = doc_member(&look, maps[i]);
        if (!doc_is_object(d, &map)) continue;
        json_text_open(&w->text, maps[i], '{');
        json_text_number(&w->text, "inputMaxValue",
                         (double)doc_float(d, &map, "inputMaxValue", 90));
        json_text_number(&w->text, "outputScale", (double)doc_float(d, &map, "outputScale", 10));
        json_text_close(&w->text, '}');
    }
    json_text_close(&w->text, '}');
}

// ---- expressions

static void read_morph_bind(struct vrm_writer *w, const struct doc_at *at)
{
    struct doc *d = &w->src->doc;
    const struct scene *scene = d->scene;
    struct doc_at node_at = doc_member(at, "node");
    int32_t node = doc_index_needed(d, at, "node", w->src->node_count);
    if (d->error != ERR_OK) return;
    int32_t mesh = scene->nodes[node].mesh;
    if (mesh == SCENE_NONE)
        (void)doc_fail(d, &node_at, ERR_MALFORMED, "node %d has no mesh", (int)node);
    uint32_t targets = mesh == SCENE_NONE ? 0 : scene->meshes[mesh].target_count;
    int32_t index = doc_index_needed(d, at, "index", targets);
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "node", node);
    json_text_number(&w->text, "index", index);
    json_text_number(&w->text, "weight", (double)doc_float(d, at, "weight", 1));
    json_text_close(&w->text, '}');
}

static void read_color_bind(struct vrm_writer *w, const struct doc_at *at)
{
    struct doc *d = &w->src->doc;
    float value[4] = {1, 1, 1, 1};
    int32_t material = doc_index_needed(d, at, "material", d->scene->material_count);
    (void)doc_floats(d, at, "targetValue", value, 4);
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "material", material);
    json_text_string(&w->text, "type", doc_text(d, at, "type"));
    json_text_numbers(&w->text, "targetValue", value, 4);
    json_text_close(&w->text, '}');
}

static void read_transform_bind(struct vrm_writer *w, const struct doc_at *at)
{
    struct doc *d = &w->src->doc;
    float scale[2] = {1, 1}, offset[2] = {0, 0};
    int32_t material = doc_index_needed(d, at, "material", d->scene->material_count);
    (void)doc_floats(d, at, "scale", scale, 2);
    (void)doc_floats(d, at, "offset", offset, 2);
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "material", material);
    json_text_numbers(&w->text, "scale", scale, 2);
    json_text_numbers(&w->text, "offset", offset, 2);
    json_text_close(&w->text, '}');
}

typedef void bind_fn(struct vrm_writer *w, const struct doc_at *at);

static void read_binds(struct vrm_writer *w, const struct doc_at *expression, const char *key,
                       bind_fn *read)
{
    struct doc *d = &w->src->doc;
    struct doc_list list = doc_list(d, expression, key);
    json_text_open(&w->text, key, '[');
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        size_t mark = json_text_mark(&w->text);
        read(w, &at);
        (void)vrm_settle(w, mark);
    }
    json_text_close(&w->text, ']');
}

static void read_expression(struct vrm_writer *w, const struct doc_at *at)
{
    static const char *const overrides[] = {"overrideBlink", "overrideLookAt", "overrideMouth"};
    struct doc *d = &w->src->doc;
    size_t mark = json_text_mark(&w->text);
    if (!doc_is_object(d, at)) {
        (void)vrm_settle(w, mark);
        return;
    }
    json_text_open(&w->text, at->key, '{');
    json_text_bool(&w->text, "isBinary", doc_bool(d, at, "isBinary", false));
    for (int i = 0; i < 3; i++) {
        struct doc_at word = doc_member(at, overrides[i]);
        json_text_string(&w->text, overrides[i], word.value ? doc_value_text(d, &word) : "none");
    }
    read_binds(w, at, "morphTargetBinds", read_morph_bind);
    read_binds(w, at, "materialColorBinds", read_color_bind);
    read_binds(w, at, "textureTransformBinds", read_transform_bind);
    json_text_close(&w->text, '}');
    (void)vrm_settle(w, mark);
}

static void read_expressions(struct vrm_writer *w, const struct doc_at *vrm)
{
    struct doc *d = &w->src->doc;
    struct doc_at all = doc_member(vrm, "expressions");
    if (!doc_is_object(d, &all)) return;
    struct doc_at preset = doc_member(&all, "preset"), custom = doc_member(&all, "custom");
    json_text_open(&w->text, "expressions", '{');
    json_text_open(&w->text, "preset", '{');
    for (size_t i = 0; i < sizeof presets / sizeof presets[0] && doc_is_object(d, &preset); i++) {
        struct doc_at at = doc_member(&preset, presets[i]);
        if (at.value) read_expression(w, &at);
    }
    json_text_close(&w->text, '}');
    json_text_open(&w->text, "custom", '{');
    if (doc_is_object(d, &custom))
        for (const cJSON *c = custom.value->child; c && d->error == ERR_OK; c = c->next) {
            struct doc_at at = {.up = &custom, .key = c->string, .value = c};
            read_expression(w, &at);
        }
    json_text_close(&w->text, '}');
    json_text_close(&w->text, '}');
}

void vrm_one_read(struct vrm_writer *w, const struct doc_at *vrm)
{
    static void (*const parts[])(struct vrm_writer *, const struct doc_at *) = {
        read_meta, vrm_one_read_bones, read_first_person, read_look_at, read_expressions};
    if (!doc_is_object(&w->src->doc, vrm)) {
        (void)vrm_settle(w, json_text_mark(&w->text));
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t mark = json_text_mark(&w->text);
        parts[i](w, vrm);
        if (!vrm_settle(w, mark) && w->src->doc.error != ERR_OK) return;
    }
}
