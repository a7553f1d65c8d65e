#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/face_bake.h"
#include "server/model/lookup.h"

// The rig file's parameters and face bones, as parameters of the model.

enum { FACE_LIST_START = 16 };

bool face_grow(struct face_bake *k, void **items, size_t *capacity, size_t count, size_t item_bytes)
{
    if (count < *capacity) return true;
    size_t more = *capacity ? *capacity * 2 : FACE_LIST_START;
    void *grown = pool_take(&k->b->scene->pool, more, item_bytes);
    if (!grown) return false;
    if (count > 0) memcpy(grown, *items, count * item_bytes);
    *items = grown;
    *capacity = more;
    return true;
}

uint32_t face_bone_of(struct face_bake *k, uint32_t node)
{
    for (size_t i = 0; i < k->bones_count; i++)
        if (k->bones[i].node == node) return (uint32_t)i;
    struct model_face_bone *bone = FACE_ADD(k, bones);
    if (!bone) return UINT32_MAX;
    *bone = (struct model_face_bone){.node = node};
    return (uint32_t)(k->bones_count - 1);
}

int32_t face_parameter_find(const struct face_bake *k, const char *name)
{
    for (size_t i = 0; i < k->parameters_count; i++)
        if (strcmp(model_text(&k->b->model, k->parameters[i].name), name) == 0) return (int32_t)i;
    return MODEL_NONE;
}

static void read_vector(const cJSON *json, double *out, int count)
{
    const cJSON *v = json ? json->child : NULL;
    for (int i = 0; v && i < count; i++, v = v->next)
        out[i] = v->valuedouble;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *v = rig_get(object, key);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static enum err add_move(struct face_bake *k, uint32_t node, const double translation[3],
                         const double rotation[4], const double scale[3])
{
    uint32_t bone = face_bone_of(k, node);
    struct model_face_move *move = FACE_ADD(k, moves);
    if (bone == UINT32_MAX || !move) return builder_no_memory(k->b);
    double sign = rotation[3] < 0 ? -1 : 1; // the shorter way
    struct quat turn = {(float)(sign * rotation[0]), (float)(sign * rotation[1]),
                        (float)(sign * rotation[2]), (float)(sign * rotation[3])};
    *move = (struct model_face_move){
        .bone = bone,
        .translation = {(float)translation[0], (float)translation[1], (float)translation[2]},
        .rotation = quat_normalise(turn),
        .scale = {(float)(scale[0] - 1), (float)(scale[1] - 1), (float)(scale[2] - 1)}};
    return ERR_OK;
}

static enum err read_joint(struct face_bake *k, const cJSON *json, const char *path)
{
    double translation[3] = {0}, rotation[4] = {0, 0, 0, 1}, scale[3] = {1, 1, 1};
    char where[200];
    uint32_t node;
    (void)snprintf(where, sizeof where, "%s/joints", path);
    enum err e = lookup_name(&k->b->model, LOOKUP_NODE, json->string, where, &node, k->b->fault);
    if (e != ERR_OK) return e;
    read_vector(rig_get(json, "translation"), translation, 3);
    read_vector(rig_get(json, "rotation"), rotation, 4);
    read_vector(rig_get(json, "scale"), scale, 3);
    double norm = 0;
    for (int i = 0; i < 4; i++)
        norm += rotation[i] * rotation[i];
    if (!(norm > 0.25 && norm < 4))
        return fault_set(k->b->fault, ERR_MALFORMED, "%s/%.60s/rotation: must be a unit quaternion",
                         where, json->string);
    return add_move(k, node, translation, rotation, scale);
}

static enum err read_mixes(struct face_bake *k, const cJSON *list, const char *path,
                           const char *key)
{
    const struct model *m = &k->b->model;
    char where[200];
    (void)snprintf(where, sizeof where, "%s/%s", path, key);
    for (const cJSON *v = list ? list->child : NULL; v; v = v->next) {
        uint32_t shape;
        enum err e = lookup_name(m, LOOKUP_SHAPE, v->string, where, &shape, k->b->fault);
        if (e != ERR_OK) return e;
        for (uint32_t c = 0; c < m->channels_count; c++) {
            if (m->channels[c].shape != shape) continue;
            struct model_face_mix *mix = FACE_ADD(k, mixes);
            if (!mix) return builder_no_memory(k->b);
            *mix = (struct model_face_mix){c, (float)v->valuedouble};
        }
    }
    return ERR_OK;
}

static enum err read_range(struct face_bake *k, const cJSON *json, const char *path, double options,
                           struct model_parameter *p)
{
    double range[2] = {p->kind == MODEL_PARAMETER_SHAPE ? -1 : 0, options > 0 ? options - 1 : 1};
    const cJSON *given = rig_get(json, "default");
    read_vector(rig_get(json, "range"), range, 2);
    if (!(range[0] < range[1] || (options == 1 && range[0] <= range[1])) ||
        !(fabs(range[0]) < 1e9) || !(fabs(range[1]) < 1e9))
        return fault_set(k->b->fault, ERR_MALFORMED, "%s/range: must rise", path);
    p->low = (float)range[0];
    p->high = (float)range[1];
    p->neutral = fminf(fmaxf(given ? (float)given->valuedouble : 0, p->low), p->high);
    return ERR_OK;
}

// The keys that a kind of parameter has no use for are mistakes.
static enum err check_kind(struct face_bake *k, const cJSON *json, const char *path, uint32_t kind)
{
    static const struct {
        const char *key;
        uint32_t kind;
    } keys[] = {{"joints", MODEL_PARAMETER_SHAPE},        {"morphs", MODEL_PARAMETER_SHAPE},
                {"shapes", MODEL_PARAMETER_EXPRESSION},   {"material", MODEL_PARAMETER_APPEARANCE},
                {"property", MODEL_PARAMETER_APPEARANCE}, {"from", MODEL_PARAMETER_APPEARANCE},
                {"to", MODEL_PARAMETER_APPEARANCE},       {"options", MODEL_PARAMETER_APPEARANCE}};
    static const char *const kinds[] = {"shape", "appearance", "expression"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (rig_get(json, keys[i].key) && keys[i].kind != kind)
            return fault_set(k->b->fault, ERR_MALFORMED, "%s/%s: not of a parameter of kind %s",
                             path, keys[i].key, kinds[kind]);
    return ERR_OK;
}

static enum err read_parameter(struct face_bake *k, const cJSON *json, const char *path)
{
    static const char *const kinds[] = {"shape", "appearance", "expression"};
    const char *name = text_of(json, "name"), *kind = text_of(json, "kind");
    struct model_parameter p = {.material = MODEL_NONE};
    if (k->parameters_count == MODEL_PARAMETERS_MAX)
        return fault_set(k->b->fault, ERR_LIMIT, "%s: more than %d parameters", path,
                         MODEL_PARAMETERS_MAX);
    if (face_parameter_find(k, name) != MODEL_NONE)
        return fault_set(k->b->fault, ERR_MALFORMED, "%s/name: another is called \"%.60s\"", path,
                         name);
    while (strcmp(kinds[p.kind], kind) != 0)
        p.kind++;
    enum err e = check_kind(k, json, path, p.kind);
    p.name = builder_text(k->b, name);
    p.group = builder_text(k->b, text_of(json, "group") ? text_of(json, "group") : "");
    p.move_first = (uint32_t)k->moves_count;
    p.mix_first = (uint32_t)k->mixes_count;
    p.option_first = (uint32_t)k->options_count;
    const cJSON *joints = rig_get(json, "joints");
    for (const cJSON *j = joints ? joints->child : NULL; j && e == ERR_OK; j = j->next)
        e = read_joint(k, j, path);
    if (e == ERR_OK) e = read_mixes(k, rig_get(json, "morphs"), path, "morphs");
    if (e == ERR_OK) e = read_mixes(k, rig_get(json, "shapes"), path, "shapes");
    if (e == ERR_OK && p.kind == MODEL_PARAMETER_APPEARANCE)
        e = face_read_appearance(k, json, path, &p);
    p.move_count = (uint32_t)k->moves_count - p.move_first;
    p.mix_count = (uint32_t)k->mixes_count - p.mix_first;
    p.option_count = (uint32_t)k->options_count - p.option_first;
    if (e == ERR_OK) e = read_range(k, json, path, p.option_count, &p);
    if (e != ERR_OK) return e;
    struct model_parameter *out = FACE_ADD(k, parameters);
    if (!out) return builder_no_memory(k->b);
    *out = p;
    return ERR_OK;
}

// A face bone is a parameter too: its value is the offset along its axis, in the file's unit or in
// radians, so that it can be moved alone.
static enum err read_bone(struct face_bake *k, const cJSON *json, const char *path)
{
    double translation[3] = {0}, rotation[4] = {0, 0, 0, 1}, scale[3] = {1, 1, 1}, axis[3] = {0};
    double range[2] = {0};
    const char *name = text_of(json, "joint");
    const cJSON *move = rig_get(json, "move"), *rotate = rig_get(json, "rotate"),
                *size = rig_get(json, "scale");
    char where[200];
    uint32_t node;
    (void)snprintf(where, sizeof where, "%s/joint", path);
    enum err e = lookup_name(&k->b->model, LOOKUP_NODE, name, where, &node, k->b->fault);
    if (e != ERR_OK) return e;
    if (!move + !rotate + !size != 2)
        return fault_set(k->b->fault, ERR_MALFORMED, "%s: needs one of move, rotate, scale", path);
    read_vector(move ? move : rotate ? rotate : size, axis, 3);
    read_vector(rig_get(json, "range"), range, 2);
    double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    if (!(length > 0) || !(range[0] <= 0 && range[1] >= 0 && range[0] < range[1]) ||
        !(fmax(-range[0], range[1]) < (rotate ? 7 : 1e9)))
        return fault_set(k->b->fault, ERR_MALFORMED,
                         "%s: the axis must not be zero, the range must hold 0", path);
    if (face_parameter_find(k, name) != MODEL_NONE || k->parameters_count == MODEL_PARAMETERS_MAX)
        return ERR_OK; // a parameter of its name speaks for it
    for (int i = 0; i < 3; i++) {
        if (move) translation[i] = axis[i] / length;
        if (rotate) rotation[i] = axis[i] / length * sin(0.5);
        if (size) scale[i] = 1 + axis[i];
    }
    if (rotate) rotation[3] = cos(0.5);
    struct model_parameter *p = FACE_ADD(k, parameters);
    if (!p) return builder_no_memory(k->b);
    *p = (struct model_parameter){.name = builder_text(k->b, name),
                                  .group = builder_text(k->b, "bones"),
                                  .kind = MODEL_PARAMETER_SHAPE,
                                  .bone = 1,
                                  .low = (float)range[0],
                                  .high = (float)range[1],
                                  .move_first = (uint32_t)k->moves_count,
                                  .move_count = 1,
                                  .material = MODEL_NONE};
    return add_move(k, node, translation, rotation, scale);
}

static enum err read_pull(struct face_bake *k, const cJSON *json, const char *path)
{
    const struct model *m = &k->b->model;
    char where[200];
    uint32_t node, shape;
    (void)snprintf(where, sizeof where, "%s/joint", path);
    enum err e = lookup_name(m, LOOKUP_NODE, text_of(json, "joint"), where, &node, k->b->fault);
    (void)snprintf(where, sizeof where, "%s/shape", path);
    if (e == ERR_OK)
        e = lookup_name(m, LOOKUP_SHAPE, text_of(json, "shape"), where, &shape, k->b->fault);
    if (e != ERR_OK) return e;
    uint32_t at = face_bone_of(k, node);
    struct model_face_pull *pull = FACE_ADD(k, pulls);
    if (at == UINT32_MAX || !pull) return builder_no_memory(k->b);
    // Those of one bone stand together: later ones move up.
    struct model_face_bone *bone = &k->bones[at];
    uint32_t place =
        bone->pull_count ? bone->pull_first + bone->pull_count : (uint32_t)k->pulls_count - 1;
    memmove(&k->pulls[place + 1], &k->pulls[place],
            (k->pulls_count - 1 - place) * sizeof *k->pulls);
    for (size_t i = 0; i < k->bones_count; i++)
        if (k->bones[i].pull_count && k->bones[i].pull_first >= place) k->bones[i].pull_first++;
    if (!bone->pull_count) bone->pull_first = place;
    k->pulls[place].shape = shape;
    bone->pull_count++;
    bone->speed = fmaxf(bone->speed, (float)rig_get(json, "speed_per_s")->valuedouble);
    return ERR_OK;
}

static enum err read_list(struct face_bake *k, const char *key,
                          enum err (*read)(struct face_bake *, const cJSON *, const char *))
{
    const cJSON *list = rig_get(k->json, key);
    unsigned index = 0;
    enum err e = ERR_OK;
    for (const cJSON *v = list ? list->child : NULL; v && e == ERR_OK; v = v->next, index++) {
        char path[160];
        (void)snprintf(path, sizeof path, "/face/%s/%u", key, index);
        e = read(k, v, path);
    }
    return e;
}

enum err face_read_parameters(struct face_bake *k)
{
    enum err e = read_list(k, "parameters", read_parameter);
    if (e == ERR_OK) e = read_list(k, "bones", read_bone);
    if (e == ERR_OK) e = read_list(k, "pull_back", read_pull);
    return e;
}

// ---- combinations and in-betweens

static enum err read_shape(struct face_bake *k, const char *name, const char *path, const char *key,
                           uint32_t *out)
{
    char where[200];
    (void)snprintf(where, sizeof where, "%s/%s", path, key);
    return lookup_name(&k->b->model, LOOKUP_SHAPE, name, where, out, k->b->fault);
}

static enum err read_combination(struct face_bake *k, const cJSON *json, const char *path)
{
    struct model_face_rule rule = {.kind = MODEL_FACE_COMBINATION};
    enum err e = read_shape(k, text_of(json, "shape"), path, "shape", &rule.shape);
    for (const cJSON *v = rig_get(json, "of")->child; v && e == ERR_OK; v = v->next) {
        if (rule.parent_count == MODEL_FACE_PARENTS_MAX)
            return fault_set(k->b->fault, ERR_LIMIT, "%s/of: more than %d shapes", path,
                             MODEL_FACE_PARENTS_MAX);
        e = read_shape(k, v->valuestring, path, "of", &rule.parents[rule.parent_count++]);
    }
    if (e != ERR_OK) return e;
    if (rule.parent_count < 2)
        return fault_set(k->b->fault, ERR_MALFORMED, "%s/of: a combination is of two or more",
                         path);
    for (uint32_t i = 0; i < rule.parent_count; i++)
        if (rule.parents[i] == rule.shape)
            return fault_set(k->b->fault, ERR_MALFORMED, "%s/of: the shape itself", path);
    struct model_face_rule *out = FACE_ADD(k, rules);
    if (!out) return builder_no_memory(k->b);
    *out = rule;
    return ERR_OK;
}

static enum err read_between(struct face_bake *k, const cJSON *json, const char *path)
{
    struct model_face_rule rule = {.kind = MODEL_FACE_IN_BETWEEN, .parent_count = 1};
    enum err e = read_shape(k, text_of(json, "shape"), path, "shape", &rule.shape);
    if (e == ERR_OK) e = read_shape(k, text_of(json, "of"), path, "of", &rule.parents[0]);
    rule.at = (float)rig_get(json, "at")->valuedouble;
    if (e != ERR_OK) return e;
    if (!(rule.at > 0 && rule.at < 1) || rule.shape == rule.parents[0])
        return fault_set(k->b->fault, ERR_MALFORMED,
                         "%s/at: an in-between is another shape, between 0 and 1", path);
    struct model_face_rule *out = FACE_ADD(k, rules);
    if (!out) return builder_no_memory(k->b);
    *out = rule;
    return ERR_OK;
}

// Hats from neighbour to neighbour; the whole shape takes what is left above the last.
static enum err lay_hats(struct face_bake *k)
{
    size_t count = k->rules_count;
    for (size_t i = 0; i < count; i++) {
        struct model_face_rule *r = &k->rules[i];
        if (r->kind != MODEL_FACE_IN_BETWEEN) continue;
        float before = 0, after = 1;
        bool last = true;
        for (size_t j = 0; j < count; j++) {
            const struct model_face_rule *o = &k->rules[j];
            if (o->kind != r->kind || o->parents[0] != r->parents[0] || i == j) continue;
            if (!(o->at < r->at || o->at > r->at))
                return fault_set(k->b->fault, ERR_MALFORMED,
                                 "/face/in_betweens: two of one shape stand at %g", (double)r->at);
            if (o->at < r->at) before = fmaxf(before, o->at);
            if (o->at > r->at) after = fminf(after, o->at), last = false;
        }
        r->before = before;
        r->after = after;
        if (!last) continue;
        struct model_face_rule whole = *r;
        whole.shape = r->parents[0];
        whole.before = r->at;
        whole.at = whole.after = 1;
        struct model_face_rule *out = FACE_ADD(k, rules);
        if (!out) return builder_no_memory(k->b);
        *out = whole;
    }
    return ERR_OK;
}

enum err face_read_rules(struct face_bake *k)
{
    enum err e = read_list(k, "combinations", read_combination);
    if (e == ERR_OK) e = read_list(k, "in_betweens", read_between);
    return e == ERR_OK ? lay_hats(k) : e;
}
