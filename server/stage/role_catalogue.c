#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/model/face_names.h"
#include "server/stage/role_own.h"

// The names that a character takes, for pickers and for FACE ids. A thing without a name of its
// own, or whose name another has too, is listed as #N.

enum { NAMES_MAX = 2048 }; // of one list: the message has a limit, and uniqueness is looked up

static bool is_unique(const struct model *m, const uint32_t *names, size_t count, size_t i)
{
    const char *name = model_text(m, names[i]);
    if (!name[0] || !wire_is_utf8((const uint8_t *)name, strlen(name))) return false;
    for (size_t k = 0; k < count; k++)
        if (k != i && (names[k] == names[i] || strcmp(model_text(m, names[k]), name) == 0))
            return false;
    return true;
}

static bool add_name(cJSON *list, const struct model *m, const uint32_t *names, size_t count,
                     size_t i, uint32_t number)
{
    char fallback[16];
    const char *name = model_text(m, names[i]);
    if (!is_unique(m, names, count, i)) {
        (void)snprintf(fallback, sizeof fallback, "#%u", number);
        name = fallback;
    }
    return cJSON_AddItemToArray(list, cJSON_CreateString(name));
}

// The names, and how long each is: a player that sends times must know where the end is.
static bool add_clips(cJSON *list, cJSON *seconds, const struct model *m, uint32_t *names)
{
    bool fine = true;
    for (size_t i = 0; i < m->clips_count; i++)
        names[i] = m->clips[i].name;
    for (size_t i = 0; fine && i < m->clips_count && i < NAMES_MAX; i++)
        fine = add_name(list, m, names, m->clips_count, i, (uint32_t)i) &&
               cJSON_AddItemToArray(
                   seconds, cJSON_CreateNumber(round((double)m->clips[i].duration_s * 1e6) / 1e6));
    return fine;
}

static bool add_shapes(cJSON *list, const struct model *m, uint32_t *names)
{
    bool fine = true;
    for (size_t i = 0; i < m->shapes_count; i++)
        names[i] = m->shapes[i].name;
    for (size_t i = 0; fine && i < m->shapes_count && i < NAMES_MAX; i++)
        fine = add_name(list, m, names, m->shapes_count, i, (uint32_t)i);
    return fine;
}

static bool add_joints(cJSON *list, const struct model *m, uint32_t *names)
{
    bool fine = true;
    size_t listed = 0;
    for (size_t i = 0; i < m->nodes_count; i++)
        names[i] = m->nodes[i].name;
    for (size_t i = 0; fine && i < m->nodes_count && listed < NAMES_MAX; i++) {
        if (!(m->nodes[i].flags & MODEL_NODE_JOINT)) continue;
        fine = add_name(list, m, names, m->nodes_count, i, m->nodes[i].source);
        listed++;
    }
    return fine;
}

static bool add_extras(cJSON *list, const struct model *m)
{
    bool fine = list != NULL;
    for (size_t i = 0; fine && i < m->extras_count; i++)
        fine = cJSON_AddItemToArray(list, cJSON_CreateString(model_text(m, m->extras[i].name)));
    return fine;
}

static bool add_roots_and_actions(cJSON *roots, cJSON *actions, const struct model *m)
{
    bool fine = roots && actions;
    for (size_t i = 0; fine && i < m->roots_count; i++)
        fine = cJSON_AddItemToArray(roots, cJSON_CreateString(model_text(m, m->roots[i].name)));
    for (size_t i = 0; fine && i < m->actions_count && i < NAMES_MAX; i++)
        fine = cJSON_AddItemToArray(actions, cJSON_CreateString(model_text(m, m->actions[i].name)));
    return fine;
}

static bool add_tables(cJSON *json, const struct role_build *b)
{
    if (!b->tables[0]) return true;
    cJSON *list = cJSON_AddArrayToObject(json, "root_tables");
    bool fine = list != NULL;
    for (size_t r = 0; fine && r < b->role->model->roots_count; r++) {
        char hex[2 * SESSION_HASH_BYTES + 1] = "";
        for (size_t i = 0; b->tables[r] && i < SESSION_HASH_BYTES; i++)
            (void)snprintf(hex + 2 * i, 3, "%02x", b->tables[r]->hash[i]);
        fine = cJSON_AddItemToArray(list, cJSON_CreateString(hex));
    }
    return fine;
}

// Ids are places in "parameters"; what a panel of sliders must know of each stands beside it, in
// "parameter_info": [group, kind, low, high, default, options].
static bool add_parameters(cJSON *json, const struct model *m)
{
    static const char *const kinds[] = {"shape", "appearance", "expression"};
    cJSON *names = cJSON_AddArrayToObject(json, "parameters");
    cJSON *infos = cJSON_AddArrayToObject(json, "parameter_info");
    bool fine = names && infos;
    for (size_t i = 0; fine && i < m->parameters_count; i++) {
        const struct model_parameter *p = &m->parameters[i];
        cJSON *info = cJSON_CreateArray(), *options = cJSON_CreateArray();
        cJSON_AddItemToArray(info, cJSON_CreateString(model_text(m, p->group)));
        cJSON_AddItemToArray(info, cJSON_CreateString(kinds[p->kind]));
        const float numbers[] = {p->low, p->high, p->neutral};
        for (int k = 0; k < 3; k++)
            cJSON_AddItemToArray(info, cJSON_CreateNumber(round((double)numbers[k] * 1e6) / 1e6));
        for (uint32_t k = 0; k < p->option_count; k++)
            cJSON_AddItemToArray(options, cJSON_CreateString(model_text(
                                              m, m->face_options[p->option_first + k].name)));
        fine = cJSON_AddItemToArray(info, options) && cJSON_AddItemToArray(infos, info) &&
               cJSON_AddItemToArray(names, cJSON_CreateString(model_text(m, p->name)));
    }
    return fine;
}

// "expressions": FACE ids from the shapes' count on. "face_names": other names that people use for
// them, each [[id, share], ...].
static bool add_faces(cJSON *json, const struct model *m)
{
    cJSON *expressions = cJSON_AddArrayToObject(json, "expressions");
    cJSON *others = cJSON_AddObjectToObject(json, "face_names");
    struct face_parts parts;
    bool fine = expressions && others;
    for (size_t i = 0; fine && i < m->expressions_count; i++)
        fine = cJSON_AddItemToArray(expressions,
                                    cJSON_CreateString(model_text(m, m->expressions[i].name)));
    uint32_t at = 0;
    for (const char *name; fine && (name = face_names_next(m, &at, &parts));) {
        cJSON *list = cJSON_CreateArray();
        for (uint32_t k = 0; k < parts.count; k++) {
            double pair[2] = {parts.parts[k].id, round((double)parts.parts[k].share * 1e6) / 1e6};
            cJSON_AddItemToArray(list, cJSON_CreateDoubleArray(pair, 2));
        }
        fine = cJSON_AddItemToObject(others, name, list);
    }
    return fine;
}

enum err role_build_catalogue(struct role_build *b)
{
    const struct model *m = b->role->model;
    size_t most = m->nodes_count + m->clips_count + m->shapes_count;
    uint32_t *names = ROLE_SCRATCH(b, uint32_t, most);
    cJSON *json = cJSON_CreateObject();
    cJSON *clips = cJSON_AddArrayToObject(json, "clips");
    cJSON *seconds = cJSON_AddArrayToObject(json, "clip_seconds");
    cJSON *joints = cJSON_AddArrayToObject(json, "joints");
    cJSON *shapes = cJSON_AddArrayToObject(json, "shapes");
    bool fine = names && clips && seconds && joints && shapes && add_parameters(json, m) &&
                add_faces(json, m) &&
                add_roots_and_actions(cJSON_AddArrayToObject(json, "roots"),
                                      cJSON_AddArrayToObject(json, "actions"), m) &&
                add_extras(cJSON_AddArrayToObject(json, "extras"), m) && add_tables(json, b) &&
                add_clips(clips, seconds, m, names) && add_joints(joints, m, names) &&
                add_shapes(shapes, m, names);
    char *text = fine ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    char *kept = text ? pool_copy_text(&b->role->own->pool, text, strlen(text)) : NULL;
    b->role->catalogue_bytes = text ? strlen(text) : 0;
    b->role->catalogue_json = kept;
    cJSON_free(text);
    return kept ? ERR_OK : role_no_memory(b);
}
