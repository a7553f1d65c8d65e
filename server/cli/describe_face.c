#include "server/cli/describe_face.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "common/json_guard.h"

static cJSON *list_parameters(const struct model *m)
{
    static const char *const kinds[] = {"shape", "appearance", "expression"};
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->parameters_count; i++) {
        const struct model_parameter *p = &m->parameters[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", model_text(m, p->name));
        cJSON_AddStringToObject(item, "group", model_text(m, p->group));
        cJSON_AddStringToObject(item, "kind", kinds[p->kind % 3]);
        if (p->bone) cJSON_AddBoolToObject(item, "bone", true);
        cJSON *range = cJSON_AddArrayToObject(item, "range");
        cJSON_AddItemToArray(range, cJSON_CreateNumber((double)p->low));
        cJSON_AddItemToArray(range, cJSON_CreateNumber((double)p->high));
        cJSON_AddNumberToObject(item, "default", (double)p->neutral);
        if (p->option_count > 0) {
            cJSON *options = cJSON_AddArrayToObject(item, "options");
            for (uint32_t k = 0; k < p->option_count; k++)
                cJSON_AddItemToArray(options, cJSON_CreateString(model_text(
                                                  m, m->face_options[p->option_first + k].name)));
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *list_expressions(const struct model *m)
{
    static const char *const overrides[] = {"none", "block", "blend"};
    static const char *const keys[] = {"overrideBlink", "overrideLookAt", "overrideMouth"};
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->expressions_count; i++) {
        const struct model_expression *e = &m->expressions[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", model_text(m, e->name));
        cJSON_AddBoolToObject(item, "isBinary", e->binary != 0);
        for (int k = 0; k < 3; k++)
            cJSON_AddStringToObject(item, keys[k], overrides[e->overrides[k] % 3]);
        cJSON_AddNumberToObject(item, "morphs", e->mix_count);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *list_bones(const struct model *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->face_bones_count; i++) {
        const struct model_face_bone *b = &m->face_bones[i];
        if (b->pull_count == 0) continue;
        cJSON *item = cJSON_CreateObject(), *shapes;
        cJSON_AddStringToObject(item, "joint", model_text(m, m->nodes[b->node].name));
        cJSON_AddNumberToObject(item, "speed_per_s", (double)b->speed);
        shapes = cJSON_AddArrayToObject(item, "shapes");
        for (uint32_t k = 0; k < b->pull_count; k++) {
            uint32_t shape = m->face_pulls[b->pull_first + k].shape;
            cJSON_AddItemToArray(shapes, cJSON_CreateString(model_text(m, m->shapes[shape].name)));
        }
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

cJSON *describe_face(const struct model *m)
{
    cJSON *root = NULL;
    struct json_limits limits = json_limits_for(m->face_json_count + 1);
    struct fault fault;
    if (m->face_json_count > 1 &&
        json_parse(m->face_json, strnlen(m->face_json, m->face_json_count), &limits, &root,
                   &fault) != ERR_OK)
        root = NULL;
    if (!root) root = cJSON_CreateObject();
    cJSON_AddItemToObject(root, "parameters", list_parameters(m));
    cJSON_AddItemToObject(root, "pull_back", list_bones(m));
    cJSON_AddNumberToObject(root, "corrections", (double)m->face_corrections_count);
    cJSON_AddItemToObject(root, "expressions", list_expressions(m));
    return root;
}
