#include "server/bake/rig.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "common/json_guard.h"
#include "server/bake/rig_schema.h"

enum {
    RIG_BYTES_MAX = 16 << 20,
    CLIPS_MAX = sizeof((struct rig *)0)->clips / sizeof(struct rig_clip)
};

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(v) ? v->valuestring : NULL;
}

static enum err take_clips(struct rig *rig, struct fault *fault)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(rig->json, "clips");
    for (const cJSON *c = list ? list->child : NULL; c; c = c->next) {
        if (rig->clip_count == CLIPS_MAX)
            return fault_set(fault, ERR_LIMIT, "/clips: more than %d clips", (int)CLIPS_MAX);
        rig->clips[rig->clip_count++] = (struct rig_clip){
            .file = text_of(c, "file"),
            .name = text_of(c, "name"),
            .loop = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(c, "loop")),
        };
    }
    return ERR_OK;
}

static enum err take_values(struct rig *rig, struct fault *fault)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(rig->json, "sinew_rig");
    if (version->valuedouble != 1)
        return fault_set(fault, ERR_VERSION, "/sinew_rig: this program reads version 1");
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(rig->json, "unit_m");
    const cJSON *base = cJSON_GetObjectItemCaseSensitive(rig->json, "base_pose");
    const char *skinning = text_of(rig->json, "skinning");
    rig->source = text_of(rig->json, "source");
    rig->unit_m = unit ? (float)unit->valuedouble : 0;
    rig->skinning = skinning && strcmp(skinning, "dq") == 0 ? MODEL_DQ : MODEL_LBS;
    if (cJSON_IsString(base)) rig->base_pose = strcmp(base->valuestring, "rest") == 0;
    if (cJSON_IsObject(base)) {
        rig->base_pose = 2;
        rig->base_pose_pose = base;
    }
    return take_clips(rig, fault);
}

static enum err parse(struct rig *rig, const uint8_t *bytes, size_t size_bytes, struct fault *fault)
{
    struct json_limits limits = json_limits_for(RIG_BYTES_MAX);
    enum err e = json_parse((const char *)bytes, size_bytes, &limits, &rig->json, fault);
    if (e == ERR_OK) e = rig_schema_check(rig->json, fault);
    if (e == ERR_OK) e = take_values(rig, fault);
    if (e != ERR_OK) return e;
    rig->text = cJSON_PrintUnformatted(rig->json);
    return rig->text ? ERR_OK : fault_set(fault, ERR_MEMORY, "no memory for the rig file");
}

enum err rig_read(const char *path, struct rig *out, struct fault *fault)
{
    struct rig rig = {0};
    uint8_t *bytes = NULL;
    size_t size_bytes = 0;
    if (strlen(path) >= sizeof rig.path)
        return fault_set(fault, ERR_LIMIT, "the path is too long: %.100s", path);
    (void)snprintf(rig.path, sizeof rig.path, "%s", path);
    enum err e = file_read(path, RIG_BYTES_MAX, &bytes, &size_bytes, fault);
    if (e != ERR_OK) return e;
    e = parse(&rig, bytes, size_bytes, fault);
    free(bytes);
    if (e != ERR_OK) {
        rig_free(&rig);
        return e;
    }
    *out = rig;
    return ERR_OK;
}

void rig_free(struct rig *rig)
{
    cJSON_Delete(rig->json);
    free(rig->text);
    *rig = (struct rig){0};
}

const cJSON *rig_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}
