#include "server/character/input/pose_json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/character/pose/clip.h"
#include "server/model/lookup.h"

enum { PATH_BYTES = 192 };

static enum err read_numbers(const cJSON *json, const char *path, int count, float *out,
                             struct fault *fault)
{
    const cJSON *item = cJSON_IsArray(json) ? json->child : NULL;
    for (int i = 0; i < count; i++, item = item->next) {
        if (!cJSON_IsNumber(item) || !isfinite((float)item->valuedouble))
            return fault_set(fault, ERR_MALFORMED, "%s: needs %d finite numbers", path, count);
        out[i] = (float)item->valuedouble;
    }
    if (item) return fault_set(fault, ERR_MALFORMED, "%s: needs exactly %d numbers", path, count);
    return ERR_OK;
}

static enum err read_field(const cJSON *field, const char *path, struct trs *local,
                           struct fault *fault)
{
    float v[4];
    bool is_rotation = strcmp(field->string, "rotation") == 0;
    if (!is_rotation && strcmp(field->string, "translation") != 0 &&
        strcmp(field->string, "scale") != 0)
        return fault_set(fault, ERR_MALFORMED,
                         "%s: unknown key; there are rotation, translation and scale", path);
    enum err e = read_numbers(field, path, is_rotation ? 4 : 3, v, fault);
    if (e != ERR_OK) return e;
    if (is_rotation) {
        float norm = v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3];
        if (!(norm > 1e-12f) || !isfinite(norm))
            return fault_set(fault, ERR_MALFORMED, "%s: this quaternion is no rotation", path);
        local->rotation = quat_normalise((struct quat){v[0], v[1], v[2], v[3]});
    } else if (field->string[0] == 't') {
        local->translation = (struct vec3){v[0], v[1], v[2]};
    } else {
        local->scale = (struct vec3){v[0], v[1], v[2]};
    }
    return ERR_OK;
}

static enum err apply_joints(const struct model *m, const cJSON *joints, const char *path,
                             struct pose pose, struct fault *fault)
{
    char where[PATH_BYTES];
    if (!cJSON_IsObject(joints))
        return fault_set(fault, ERR_MALFORMED, "%s/joints: must be an object", path);
    for (const cJSON *joint = joints->child; joint; joint = joint->next) {
        uint32_t node;
        (void)snprintf(where, sizeof where, "%.90s/joints/%.60s", path, joint->string);
        enum err e = lookup_name(m, LOOKUP_NODE, joint->string, where, &node, fault);
        if (e != ERR_OK) return e;
        if (!cJSON_IsObject(joint))
            return fault_set(fault, ERR_MALFORMED, "%s: must be an object", where);
        for (const cJSON *field = joint->child; field; field = field->next) {
            (void)snprintf(where, sizeof where, "%.70s/joints/%.50s/%.30s", path, joint->string,
                           field->string);
            e = read_field(field, where, &pose.locals[node], fault);
            if (e != ERR_OK) return e;
        }
    }
    return ERR_OK;
}

static enum err apply_clip(const struct model *m, const cJSON *clip, const cJSON *time_s,
                           const char *path, struct pose pose, struct fault *fault)
{
    char where[PATH_BYTES];
    uint32_t index;
    (void)snprintf(where, sizeof where, "%.150s/clip", path);
    if (!cJSON_IsString(clip))
        return fault_set(fault, ERR_MALFORMED, "%s: must be a clip's name or \"#N\"", where);
    enum err e = lookup_name(m, LOOKUP_CLIP, clip->valuestring, where, &index, fault);
    if (e != ERR_OK) return e;
    if (time_s && (!cJSON_IsNumber(time_s) || !isfinite(time_s->valuedouble)))
        return fault_set(fault, ERR_MALFORMED, "%s/time_s: must be a number of seconds", path);
    clip_sample(m, index, time_s ? time_s->valuedouble : 0, (struct clip_cursor){0}, pose);
    return ERR_OK;
}

static enum err apply(const struct model *m, const cJSON *json, const char *path, struct pose pose,
                      struct fault *fault)
{
    const cJSON *clip = NULL, *time_s = NULL, *joints = NULL;
    if (!cJSON_IsObject(json))
        return fault_set(fault, ERR_MALFORMED, "%s: a pose must be a JSON object", path);
    for (const cJSON *key = json->child; key; key = key->next) {
        if (strcmp(key->string, "clip") == 0)
            clip = key;
        else if (strcmp(key->string, "time_s") == 0)
            time_s = key;
        else if (strcmp(key->string, "joints") == 0)
            joints = key;
        else
            return fault_set(fault, ERR_MALFORMED,
                             "%s/%.60s: unknown key; a pose has clip, time_s and joints", path,
                             key->string);
    }
    if (time_s && !clip)
        return fault_set(fault, ERR_MALFORMED, "%s/time_s: needs a clip beside it", path);
    enum err e = ERR_OK;
    if (clip) e = apply_clip(m, clip, time_s, path, pose, fault);
    if (e == ERR_OK && joints) e = apply_joints(m, joints, path, pose, fault);
    return e;
}

enum err pose_json_apply(const struct model *m, const struct cJSON *json, const char *path,
                         struct pose out, struct arena *scratch, struct fault *fault)
{
    size_t mark = arena_mark(scratch);
    struct pose changed = pose_take(m, scratch);
    pose_copy(m, out, changed);
    enum err e = apply(m, json, path, changed, fault);
    if (e == ERR_OK) pose_copy(m, changed, out);
    arena_rewind(scratch, mark);
    return e;
}
