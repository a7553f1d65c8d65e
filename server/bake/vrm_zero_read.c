#include "server/bake/vrm_zero_read.h"

#include <string.h>
#include <strings.h>

#include "server/bake/memo.h"
#include "server/character/pose/humanoid.h"

// Who uses a mesh: 0.x names meshes where 1.0 names nodes.
struct users {
    uint32_t *first; // per mesh: where its nodes start in `nodes`, one more at the end
    int32_t *nodes;
};

struct zero {
    struct vrm_writer *w;
    struct doc_at vrm;
    struct users users;
    struct names materials;
};

static bool find_users(struct zero *z)
{
    struct doc *d = &z->w->src->doc;
    const struct scene *s = d->scene;
    z->users.first = DOC_SCRATCH(d, &z->vrm, uint32_t, s->mesh_count + 2);
    z->users.nodes = DOC_SCRATCH(d, &z->vrm, int32_t, s->node_count);
    if (d->error != ERR_OK) return false;
    uint32_t *first = z->users.first;
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].mesh != SCENE_NONE) first[s->nodes[i].mesh + 2]++;
    for (uint32_t m = 2; m < s->mesh_count + 2; m++)
        first[m] += first[m - 1];
    for (uint32_t i = 0; i < s->node_count; i++) // shifts every start to its place
        if (s->nodes[i].mesh != SCENE_NONE)
            z->users.nodes[first[s->nodes[i].mesh + 1]++] = (int32_t)i;
    return true;
}

static void read_meta(struct zero *z)
{
    static const char *const same[] = {"version", "contactInformation", "otherPermissionUrl",
                                       "licenseName", "otherLicenseUrl"};
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    struct doc_at meta = doc_member(&z->vrm, "meta");
    if (!doc_is_object(d, &meta)) return;
    json_text_open(&w->text, "meta", '{');
    json_text_string(&w->text, "name", doc_text(d, &meta, "title"));
    vrm_copy_texts(w, &meta, same, sizeof same / sizeof same[0]);
    json_text_open(&w->text, "authors", '[');
    json_text_string(&w->text, NULL, doc_text(d, &meta, "author"));
    json_text_close(&w->text, ']');
    json_text_close(&w->text, '}');
}

static void read_bones(struct zero *z)
{
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    struct doc_at humanoid = doc_member(&z->vrm, "humanoid");
    struct doc_list list = doc_list(d, &humanoid, "humanBones");
    int32_t nodes[HUMANOID_BONE_COUNT];
    for (int32_t i = 0; i < HUMANOID_BONE_COUNT; i++)
        nodes[i] = SCENE_NONE;
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        const char *name = doc_text(d, &at, "bone");
        struct doc_at node_at = doc_member(&at, "node");
        // -1 is how some exporters write "none".
        double number = node_at.value ? doc_value_number(d, &node_at) : -1;
        int32_t node = number < 0 ? SCENE_NONE : doc_index(d, &at, "node", w->src->node_count);
        if (!vrm_settle(w, json_text_mark(&w->text))) continue;
        int32_t bone = humanoid_find_vrm0(name);
        if (bone < 0)
            scene_note(d->scene, NOTE_LEFT_OUT, 1, "humanoid bone %.60s is not known", name);
        else if (nodes[bone] == SCENE_NONE)
            nodes[bone] = node;
    }
    (void)vrm_settle(w, json_text_mark(&w->text));
    vrm_keep_bones(w, nodes);
}

static void read_annotation(struct zero *z, const struct doc_at *at)
{
    static const char *const words[][2] = {{"Auto", "auto"},
                                           {"Both", "both"},
                                           {"ThirdPersonOnly", "thirdPersonOnly"},
                                           {"FirstPersonOnly", "firstPersonOnly"}};
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    int32_t mesh = doc_index_needed(d, at, "mesh", d->scene->mesh_count);
    const char *flag = doc_text(d, at, "firstPersonFlag"), *type = "auto";
    if (d->error != ERR_OK) return;
    for (int i = 0; i < 4; i++)
        if (strcasecmp(flag, words[i][0]) == 0) type = words[i][1];
    for (uint32_t u = z->users.first[mesh]; u < z->users.first[mesh + 1]; u++) {
        json_text_open(&w->text, NULL, '{');
        json_text_number(&w->text, "node", z->users.nodes[u]);
        json_text_string(&w->text, "type", type);
        json_text_close(&w->text, '}');
    }
}

// A list whose broken items are left out one by one.
typedef void zero_fn(struct zero *z, const struct doc_at *at);

static void each(struct zero *z, const struct doc_at *up, const char *key, zero_fn *read)
{
    struct doc *d = &z->w->src->doc;
    struct doc_list list = doc_list(d, up, key);
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        size_t mark = json_text_mark(&z->w->text);
        if (!doc_is_object(d, &at)) (void)doc_fail(d, &at, ERR_MALFORMED, "must be an object");
        if (d->error == ERR_OK) read(z, &at);
        (void)vrm_settle(z->w, mark);
    }
}

static void write_xyz(struct zero *z, const struct doc_at *up, const char *key, const char *written,
                      const float absent[3])
{
    struct doc *d = &z->w->src->doc;
    struct doc_at at = doc_member(up, key);
    float v[3] = {absent[0], absent[1], absent[2]};
    if (doc_is_object(d, &at)) {
        v[0] = doc_float(d, &at, "x", 0);
        v[1] = doc_float(d, &at, "y", 0);
        v[2] = -doc_float(d, &at, "z", 0); // Unity's z runs the other way
    }
    json_text_numbers(&z->w->text, written, v, 3);
}

static void read_first_person(struct zero *z)
{
    static const char *const maps[][2] = {{"lookAtHorizontalInner", "rangeMapHorizontalInner"},
                                          {"lookAtHorizontalOuter", "rangeMapHorizontalOuter"},
                                          {"lookAtVerticalDown", "rangeMapVerticalDown"},
                                          {"lookAtVerticalUp", "rangeMapVerticalUp"}};
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    struct doc_at first = doc_member(&z->vrm, "firstPerson");
    if (!doc_is_object(d, &first)) return;
    json_text_open(&w->text, "firstPerson", '{');
    json_text_open(&w->text, "meshAnnotations", '[');
    each(z, &first, "meshAnnotations", read_annotation);
    json_text_close(&w->text, ']');
    json_text_close(&w->text, '}');
    json_text_open(&w->text, "lookAt", '{');
    write_xyz(z, &first, "firstPersonBoneOffset", "offsetFromHeadBone",
              (const float[3]){0, 0.06F, 0});
    bool shapes = strcasecmp(doc_text(d, &first, "lookAtTypeName"), "BlendShape") == 0;
    json_text_string(&w->text, "type", shapes ? "expression" : "bone");
    for (int i = 0; i < 4; i++) {
        struct doc_at map = doc_member(&first, maps[i][0]);
        if (!doc_is_object(d, &map)) continue;
        json_text_open(&w->text, maps[i][1], '{');
        json_text_number(&w->text, "inputMaxValue", (double)doc_float(d, &map, "xRange", 90));
        json_text_number(&w->text, "outputScale", (double)doc_float(d, &map, "yRange", 10));
        json_text_close(&w->text, '}');
    }
    json_text_close(&w->text, '}');
}

// ---- expressions

static void read_bind(struct zero *z, const struct doc_at *at)
{
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    int32_t mesh = doc_index_needed(d, at, "mesh", d->scene->mesh_count);
    if (d->error != ERR_OK) return;
    int32_t index = doc_index_needed(d, at, "index", d->scene->meshes[mesh].target_count);
    double weight = doc_number(d, at, "weight", 100) / 100;
    for (uint32_t u = z->users.first[mesh]; u < z->users.first[mesh + 1]; u++) {
        json_text_open(&w->text, NULL, '{');
        json_text_number(&w->text, "node", z->users.nodes[u]);
        json_text_number(&w->text, "index", index);
        json_text_number(&w->text, "weight", weight);
        json_text_close(&w->text, '}');
    }
}

static int32_t material_of(struct zero *z, const struct doc_at *at)
{
    struct doc *d = &z->w->src->doc;
    struct doc_at name_at = doc_member(at, "materialName");
    int32_t material = names_find(&z->materials, doc_text(d, at, "materialName"), NULL);
    if (material == SCENE_NONE)
        (void)doc_fail(d, &name_at, ERR_MALFORMED, "no material has this name");
    return material;
}

static bool is_transform(const char *property)
{
    return strncmp(property, "_MainTex_ST", 11) == 0;
}

static void read_color_value(struct zero *z, const struct doc_at *at)
{
    static const char *const types[][2] = {{"_Color", "color"},
                                           {"_EmissionColor", "emissionColor"},
                                           {"_ShadeColor", "shadeColor"},
                                           {"_RimColor", "rimColor"},
                                           {"_OutlineColor", "outlineColor"}};
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    const char *property = doc_text(d, at, "propertyName");
    float value[4] = {1, 1, 1, 1};
    if (is_transform(property)) return;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(property, types[i][0]) != 0) continue;
        json_text_open(&w->text, NULL, '{');
        json_text_number(&w->text, "material", material_of(z, at));
        json_text_string(&w->text, "type", types[i][1]);
        (void)doc_floats(d, at, "targetValue", value, 4);
        json_text_numbers(&w->text, "targetValue", value, 4);
        json_text_close(&w->text, '}');
        return;
    }
    scene_note(d->scene, NOTE_LEFT_OUT, 1, "expression values of the material property %.40s",
               property);
}

static void read_transform_value(struct zero *z, const struct doc_at *at)
{
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    const char *property = doc_text(d, at, "propertyName");
    float v[4] = {1, 1, 0, 0};
    if (!is_transform(property)) return;
    (void)doc_floats(d, at, "targetValue", v, 4);
    bool s_only = strcmp(property, "_MainTex_ST_S") == 0,
         t_only = strcmp(property, "_MainTex_ST_T") == 0;
    // Unity counts v from the bottom.
    float scale[2] = {t_only ? 1 : v[0], s_only ? 1 : v[1]};
    float offset[2] = {t_only ? 0 : v[2], s_only ? 0 : 1 - v[3] - v[1]};
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "material", material_of(z, at));
    json_text_numbers(&w->text, "scale", scale, 2);
    json_text_numbers(&w->text, "offset", offset, 2);
    json_text_close(&w->text, '}');
}

static const char *preset_of(const char *name)
{
    static const char *const presets[][2] = {{"joy", "happy"},
                                             {"angry", "angry"},
                                             {"sorrow", "sad"},
                                             {"fun", "relaxed"},
                                             {"a", "aa"},
                                             {"i", "ih"},
                                             {"u", "ou"},
                                             {"e", "ee"},
                                             {"o", "oh"},
                                             {"blink", "blink"},
                                             {"blink_l", "blinkLeft"},
                                             {"blink_r", "blinkRight"},
                                             {"lookup", "lookUp"},
                                             {"lookdown", "lookDown"},
                                             {"lookleft", "lookLeft"},
                                             {"lookright", "lookRight"},
                                             {"neutral", "neutral"},
                                             {"surprised", "surprised"}};
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcasecmp(name, presets[i][0]) == 0) return presets[i][1];
    return NULL;
}

static void write_group(struct zero *z, const struct doc_at *at, const char *name)
{
    struct vrm_writer *w = z->w;
    json_text_open(&w->text, name, '{');
    json_text_bool(&w->text, "isBinary", doc_bool(&w->src->doc, at, "isBinary", false));
    json_text_string(&w->text, "overrideBlink", "none");
    json_text_string(&w->text, "overrideLookAt", "none");
    json_text_string(&w->text, "overrideMouth", "none");
    json_text_open(&w->text, "morphTargetBinds", '[');
    each(z, at, "binds", read_bind);
    json_text_close(&w->text, ']');
    json_text_open(&w->text, "materialColorBinds", '[');
    each(z, at, "materialValues", read_color_value);
    json_text_close(&w->text, ']');
    json_text_open(&w->text, "textureTransformBinds", '[');
    each(z, at, "materialValues", read_transform_value);
    json_text_close(&w->text, ']');
    json_text_close(&w->text, '}');
}

// Presets or customs of the list; of groups with the same name the first counts.
static void read_groups(struct zero *z, const struct doc_at *master, bool want_preset)
{
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    struct doc_list list = doc_list(d, master, "blendShapeGroups");
    struct names taken;
    if (d->error != ERR_OK || !names_open(&taken, d, &list.at, list.count)) return;
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        const char *preset = preset_of(doc_text(d, &at, "presetName"));
        const char *name = preset ? preset : doc_text(d, &at, "name");
        size_t mark = json_text_mark(&w->text);
        if (d->error == ERR_OK && (preset != NULL) == want_preset && *name) {
            if (names_find(&taken, name, NULL) == SCENE_NONE)
                write_group(z, &at, name);
            else
                scene_note(d->scene, NOTE_LEFT_OUT, 1, "second expression named %.60s", name);
            names_add(&taken, name, (int32_t)i);
        }
        (void)vrm_settle(w, mark);
    }
}

static void read_expressions(struct zero *z)
{
    struct vrm_writer *w = z->w;
    struct doc_at master = doc_member(&z->vrm, "blendShapeMaster");
    if (!doc_is_object(&w->src->doc, &master)) return;
    json_text_open(&w->text, "expressions", '{');
    json_text_open(&w->text, "preset", '{');
    read_groups(z, &master, true);
    json_text_close(&w->text, '}');
    json_text_open(&w->text, "custom", '{');
    read_groups(z, &master, false);
    json_text_close(&w->text, '}');
    json_text_close(&w->text, '}');
}

// ---- springs

struct springs {
    struct zero *z;
    struct doc_list groups; // colliderGroups
    int32_t *group_number;  // as written, or SCENE_NONE
    const int32_t *first_child, *sibling;
    bool *swings; // already a joint of some spring
    int32_t *stack;
};

static void write_collider(struct zero *z, const struct doc_at *at, int32_t node)
{
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    json_text_open(&w->text, NULL, '{');
    json_text_number(&w->text, "node", node);
    json_text_open(&w->text, "shape", '{');
    json_text_open(&w->text, "sphere", '{');
    write_xyz(z, at, "offset", "offset", (const float[3]){0, 0, 0});
    json_text_number(&w->text, "radius", (double)doc_float(d, at, "radius", 0));
    json_text_bool(&w->text, "inside", false);
    json_text_close(&w->text, '}');
    json_text_close(&w->text, '}');
    json_text_close(&w->text, '}');
}

// All colliders in one list; counts[i] says how many of them group i has.
static void write_colliders(struct springs *s, uint32_t *counts)
{
    struct vrm_writer *w = s->z->w;
    struct doc *d = &w->src->doc;
    json_text_open(&w->text, "colliders", '[');
    for (uint32_t i = 0; i < s->groups.count && d->error == ERR_OK; i++) {
        struct doc_at group = doc_item(&s->groups, i);
        size_t mark = json_text_mark(&w->text);
        int32_t node = doc_index_needed(d, &group, "node", w->src->node_count);
        struct doc_list list = doc_list(d, &group, "colliders");
        for (uint32_t c = 0; c < list.count && d->error == ERR_OK; c++) {
            struct doc_at at = doc_item(&list, c);
            write_collider(s->z, &at, node);
        }
        if (vrm_settle(w, mark)) counts[i] = list.count;
    }
    json_text_close(&w->text, ']');
}

static void write_collider_groups(struct springs *s, const uint32_t *counts)
{
    struct vrm_writer *w = s->z->w;
    uint32_t next = 0;
    json_text_open(&w->text, "colliderGroups", '[');
    for (uint32_t i = 0; i < s->groups.count && w->src->doc.error == ERR_OK; i++) {
        json_text_open(&w->text, NULL, '{');
        json_text_string(&w->text, "name", "");
        json_text_open(&w->text, "colliders", '[');
        for (uint32_t c = 0; c < counts[i]; c++)
            json_text_number(&w->text, NULL, next++);
        json_text_close(&w->text, ']');
        json_text_close(&w->text, '}');
    }
    json_text_close(&w->text, ']');
}

// One spring: a joint and its first children down to the end; further children wait on the stack.
static uint32_t write_chain(struct springs *s, const struct doc_at *group, int32_t node,
                            uint32_t depth)
{
    struct vrm_writer *w = s->z->w;
    struct doc *d = &w->src->doc;
    json_text_open(&w->text, "joints", '[');
    for (; node != SCENE_NONE && !s->swings[node]; node = s->first_child[node]) {
        s->swings[node] = true;
        json_text_open(&w->text, NULL, '{');
        json_text_number(&w->text, "node", node);
        json_text_number(&w->text, "hitRadius", (double)doc_float(d, group, "hitRadius", 0.02F));
        json_text_number(&w->text, "stiffness",
                         (double)doc_float(d, group, "stiffiness", 1)); // sic
        json_text_number(&w->text, "gravityPower", (double)doc_float(d, group, "gravityPower", 0));
        write_xyz(s->z, group, "gravityDir", "gravityDir", (const float[3]){0, -1, 0});
        json_text_number(&w->text, "dragForce", (double)doc_float(d, group, "dragForce", 0.4F));
        json_text_close(&w->text, '}');
        int32_t child = s->first_child[node];
        for (child = child == SCENE_NONE ? child : s->sibling[child]; child != SCENE_NONE;
             child = s->sibling[child])
            if (!s->swings[child]) s->stack[depth++] = child;
        if (d->error != ERR_OK) break;
    }
    json_text_close(&w->text, ']');
    return depth;
}

static void write_group_numbers(struct springs *s, const struct doc_at *group)
{
    struct vrm_writer *w = s->z->w;
    struct doc *d = &w->src->doc;
    struct doc_list list = doc_list(d, group, "colliderGroups");
    json_text_open(&w->text, "colliderGroups", '[');
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        size_t mark = json_text_mark(&w->text);
        json_text_number(&w->text, NULL, doc_value_index(d, &at, s->groups.count));
        (void)vrm_settle(w, mark);
    }
    json_text_close(&w->text, ']');
}

static void write_springs_of(struct springs *s, const struct doc_at *group, int32_t root)
{
    static const double END_LENGTH_M = 0.07; // what 0.x gives a bone without a child
    struct vrm_writer *w = s->z->w;
    struct doc *d = &w->src->doc;
    struct doc_at center_at = doc_member(group, "center");
    double number = center_at.value ? doc_value_number(d, &center_at) : -1;
    int32_t center = number < 0 ? SCENE_NONE : doc_index(d, group, "center", w->src->node_count);
    uint32_t depth = 0;
    s->stack[depth++] = root;
    while (depth > 0 && d->error == ERR_OK) {
        int32_t start = s->stack[--depth];
        if (s->swings[start]) continue;
        json_text_open(&w->text, NULL, '{');
        json_text_string(&w->text, "name", doc_text(d, group, "comment"));
        depth = write_chain(s, group, start, depth);
        write_group_numbers(s, group);
        if (center != SCENE_NONE) json_text_number(&w->text, "center", center);
        json_text_number(&w->text, "endLength", END_LENGTH_M);
        json_text_close(&w->text, '}');
    }
}

static void write_bone_group(struct springs *s, const struct doc_at *group)
{
    struct doc *d = &s->z->w->src->doc;
    struct doc_list bones = doc_list(d, group, "bones");
    for (uint32_t i = 0; i < bones.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&bones, i);
        size_t mark = json_text_mark(&s->z->w->text);
        int32_t root = doc_value_index(d, &at, s->z->w->src->node_count);
        if (d->error == ERR_OK) write_springs_of(s, group, root);
        (void)vrm_settle(s->z->w, mark);
    }
}

// Children in the file's order, as linked lists.
static bool link_children(struct springs *s)
{
    struct doc *d = &s->z->w->src->doc;
    uint32_t count = d->scene->node_count;
    int32_t *first = DOC_SCRATCH(d, &s->groups.at, int32_t, count);
    int32_t *sibling = DOC_SCRATCH(d, &s->groups.at, int32_t, count);
    s->swings = DOC_SCRATCH(d, &s->groups.at, bool, count);
    s->stack = DOC_SCRATCH(d, &s->groups.at, int32_t, count + 1);
    if (d->error != ERR_OK) return false;
    for (uint32_t i = 0; i < count; i++)
        first[i] = sibling[i] = SCENE_NONE;
    for (uint32_t i = count; i-- > 0;) {
        int32_t parent = d->scene->nodes[i].parent;
        if (parent == SCENE_NONE) continue;
        sibling[i] = first[parent];
        first[parent] = (int32_t)i;
    }
    s->first_child = first;
    s->sibling = sibling;
    return true;
}

static void read_springs(struct zero *z)
{
    struct vrm_writer *w = z->w;
    struct doc *d = &w->src->doc;
    struct doc_at all = doc_member(&z->vrm, "secondaryAnimation");
    if (!doc_is_object(d, &all)) return;
    struct springs s = {.z = z, .groups = doc_list(d, &all, "colliderGroups")};
    struct doc_list bone_groups = doc_list(d, &all, "boneGroups");
    uint32_t *counts = DOC_SCRATCH(d, &all, uint32_t, s.groups.count);
    if (!counts || !link_children(&s)) return;
    json_text_open(&w->text, "springBone", '{');
    write_colliders(&s, counts);
    write_collider_groups(&s, counts);
    json_text_open(&w->text, "springs", '[');
    for (uint32_t i = 0; i < bone_groups.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&bone_groups, i);
        size_t mark = json_text_mark(&w->text);
        write_bone_group(&s, &at);
        (void)vrm_settle(w, mark);
    }
    json_text_close(&w->text, ']');
    json_text_close(&w->text, '}');
}

void vrm_zero_read(struct vrm_writer *w, const struct doc_at *vrm)
{
    static void (*const parts[])(struct zero *) = {read_meta, read_bones, read_first_person,
                                                   read_expressions, read_springs};
    struct doc *d = &w->src->doc;
    struct zero z = {.w = w, .vrm = *vrm};
    size_t start = json_text_mark(&w->text);
    if (!doc_is_object(d, vrm) || !find_users(&z) ||
        !names_open(&z.materials, d, vrm, d->scene->material_count)) {
        (void)vrm_settle(w, start);
        return;
    }
    for (uint32_t i = 0; i < d->scene->material_count; i++)
        names_add(&z.materials, d->scene->materials[i].name, (int32_t)i);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t mark = json_text_mark(&w->text);
        parts[i](&z);
        if (!vrm_settle(w, mark) && d->error != ERR_OK) return;
    }
}
