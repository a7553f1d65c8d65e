#include "server/bake/rig_references.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "server/model/lookup.h"

// Where a rig file names something, by path: "*" is every item or member, "@" the keys themselves.
// Drivers and clips are resolved by the stages that use them.
enum refers { NODE, SHAPE, MATERIAL, A_FILE };
static const struct reference {
    const char *pattern;
    enum refers refers;
} references[] = {
    {"roots/*/joint", NODE},
    {"roots/*/weights/joints/@", NODE},
    {"roots/*/weights/file", A_FILE},
    {"face/contours/*/closed_by/*", SHAPE},
    {"face/bones/*/joint", NODE},
    {"face/bones/*/create/parent", NODE},
    {"face/corrections/*/shape", SHAPE},
    {"face/corrections/*/joint", NODE},
    {"face/corrections/*/targets/*/file", A_FILE},
    {"face/corrections/*/targets/*/morph", SHAPE},
    {"face/pull_back/*/shape", SHAPE},
    {"face/pull_back/*/joint", NODE},
    {"face/parameters/*/joints/@", NODE},
    {"face/parameters/*/morphs/@", SHAPE},
    {"face/parameters/*/shapes/@", SHAPE},
    {"face/parameters/*/material", MATERIAL},
    {"face/parameters/*/options/*", A_FILE},
    {"extras/*/joint", NODE},
    {"extras/*/from", NODE},
    {"extras/*/to", NODE},
    {"extras/*/attach", NODE},
    {"controls/actions/*/mask/*", NODE},
    {"body/humanoid/*", NODE},
};

struct search {
    const struct rig *rig;
    const struct model *model;
    struct fault *fault;
    enum refers refers;
    char path[256];
};

// Bones that the rig file itself adds to the face.
static bool is_created(const struct rig *rig, const char *name)
{
    const cJSON *face = cJSON_GetObjectItemCaseSensitive(rig->json, "face");
    const cJSON *bones = cJSON_GetObjectItemCaseSensitive(face, "bones"), *bone;
    cJSON_ArrayForEach(bone, bones)
    {
        const cJSON *joint = cJSON_GetObjectItemCaseSensitive(bone, "joint");
        if (cJSON_HasObjectItem(bone, "create") && cJSON_IsString(joint) &&
            strcmp(joint->valuestring, name) == 0)
            return true;
    }
    return false;
}

static enum err check_file(const struct search *s, const char *name)
{
    char path[2048];
    if (file_beside(s->rig->path, name, path, sizeof path) != ERR_OK)
        return fault_set(s->fault, ERR_DENIED, "%s must stay in the rig file's folder: %.100s",
                         s->path, name);
    if (access(path, R_OK) == 0) return ERR_OK;
    return fault_set(s->fault, ERR_NOT_FOUND,
                     "%s: the file %.100s is missing; put it beside the rig file", s->path, name);
}

static enum err check_name(const struct search *s, const char *name)
{
    static const enum lookup_kind kinds[] = {LOOKUP_NODE, LOOKUP_SHAPE, LOOKUP_MATERIAL};
    uint32_t found;
    if (s->refers == A_FILE) return check_file(s, name);
    if (s->refers == NODE && is_created(s->rig, name)) return ERR_OK;
    return lookup_name(s->model, kinds[s->refers], name, s->path, &found, s->fault);
}

static enum err follow(struct search *s, const char *pattern, const cJSON *value)
{
    if (!value) return ERR_OK;
    if (!*pattern) return cJSON_IsString(value) ? check_name(s, value->valuestring) : ERR_OK;
    size_t length = strcspn(pattern, "/"), path_length = strlen(s->path);
    const char *rest = pattern + length + (pattern[length] == '/');
    unsigned index = 0;
    for (const cJSON *item = value->child; item; item = item->next, index++) {
        bool any = *pattern == '*' || *pattern == '@';
        if (!any && (!item->string || strlen(item->string) != length ||
                     strncmp(item->string, pattern, length) != 0))
            continue;
        if (item->string)
            (void)snprintf(s->path + path_length, sizeof s->path - path_length, "/%.80s",
                           item->string);
        else
            (void)snprintf(s->path + path_length, sizeof s->path - path_length, "/%u", index);
        enum err e = *pattern == '@' ? check_name(s, item->string) : follow(s, rest, item);
        if (e != ERR_OK) return e;
        s->path[path_length] = 0;
    }
    return ERR_OK;
}

enum err rig_references_check(const struct rig *rig, const struct model *model, struct fault *fault)
{
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        struct search s = {
            .rig = rig, .model = model, .fault = fault, .refers = references[i].refers};
        enum err e = follow(&s, references[i].pattern, rig->json);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}
