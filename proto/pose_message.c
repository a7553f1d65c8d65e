#include "proto/pose_message.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "proto/messages.h"

static enum err joint_check(const struct pose_joint *j)
{
    if (!j->name[0] || !(j->fields & (POSE_ROTATION | POSE_TRANSLATION | POSE_SCALE)))
        return ERR_MALFORMED;
    if (j->fields & POSE_ROTATION) {
        const float *q = j->rotation;
        float norm2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        if (!wire_finite(q, 4) || !(norm2 >= 0.25f && norm2 <= 4)) return ERR_MALFORMED;
    }
    if (j->fields & POSE_TRANSLATION && !wire_finite(j->translation, 3)) return ERR_MALFORMED;
    if (j->fields & POSE_SCALE && !wire_finite(j->scale, 3)) return ERR_MALFORMED;
    return ERR_OK;
}

enum err pose_message_encode(struct wire_writer *w, const struct pose_message *in)
{
    if (in->joint_count > POSE_JOINTS_MAX) return ERR_LIMIT;
    if (in->head.sequence == 0 || !wire_finite(&in->time_s, 1)) return ERR_MALFORMED;
    size_t at = messages_begin(w, MESSAGE_POSE);
    wire_put_u32(w, in->head.sequence);
    wire_put_u32(w, 0);
    wire_put_u64(w, in->head.client_time_us);
    wire_put_f32(w, in->time_s);
    wire_put_u32(w, in->joint_count);
    wire_put_text(w, in->clip);
    wire_put_align4(w);
    for (uint32_t i = 0; i < in->joint_count; i++) {
        const struct pose_joint *j = &in->joints[i];
        if (joint_check(j)) {
            w->at = w->begin + at;
            return ERR_MALFORMED;
        }
        wire_put_u8(w, j->fields);
        wire_put_text(w, j->name);
        wire_put_align4(w);
        if (j->fields & POSE_ROTATION) wire_put_floats(w, j->rotation, 4);
        if (j->fields & POSE_TRANSLATION) wire_put_floats(w, j->translation, 3);
        if (j->fields & POSE_SCALE) wire_put_floats(w, j->scale, 3);
    }
    messages_end(w, at);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

static enum err get_joint(struct wire_reader *r, struct pose_joint *j)
{
    *j = (struct pose_joint){.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    j->fields = wire_u8(r);
    wire_text(r, j->name, sizeof j->name);
    wire_align4(r);
    if (j->fields & POSE_ROTATION) wire_floats(r, j->rotation, 4);
    if (j->fields & POSE_TRANSLATION) wire_floats(r, j->translation, 3);
    if (j->fields & POSE_SCALE) wire_floats(r, j->scale, 3);
    if (r->failed) return wire_error(r);
    // A later field bit would change what follows it: it cannot be skipped.
    if (j->fields & ~(POSE_ROTATION | POSE_TRANSLATION | POSE_SCALE)) return ERR_MALFORMED;
    return joint_check(j);
}

// Two passes, so that *out stays as it was unless all is well, without a second 55 kB.
enum err pose_message_decode(const uint8_t *payload, size_t size_bytes, struct pose_message *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct input_head head = {0};
    char clip[INPUT_NAME_MAX];
    head.sequence = wire_u32(&r);
    (void)wire_u32(&r);
    head.client_time_us = wire_u64(&r);
    float time_s = wire_f32(&r);
    uint32_t joint_count = wire_u32(&r);
    wire_text(&r, clip, sizeof clip);
    wire_align4(&r);
    if (r.failed) return wire_error(&r);
    if (head.sequence == 0 || !wire_finite(&time_s, 1)) return ERR_MALFORMED;
    if (joint_count > POSE_JOINTS_MAX) return ERR_LIMIT;
    struct wire_reader joints = r;
    for (uint32_t i = 0; i < joint_count; i++) {
        struct pose_joint j;
        enum err e = get_joint(&r, &j);
        if (e) return e;
    }
    for (uint32_t i = 0; i < joint_count; i++)
        (void)get_joint(&joints, &out->joints[i]);
    out->head = head;
    out->time_s = time_s;
    out->joint_count = joint_count;
    memcpy(out->clip, clip, sizeof clip);
    return ERR_OK;
}

// ---- JSON form ----

static enum err json_name(const cJSON *value, const char *where, char out[INPUT_NAME_MAX],
                          struct fault *fault)
{
    const char *text = cJSON_IsString(value) ? value->valuestring : NULL;
    if (!text) return fault_set(fault, ERR_MALFORMED, "pose: %s must be a text", where);
    if (strlen(text) >= INPUT_NAME_MAX)
        return fault_set(fault, ERR_LIMIT, "pose: %s is longer than %d bytes", where,
                         INPUT_NAME_MAX - 1);
    memcpy(out, text, strlen(text) + 1);
    return ERR_OK;
}

static enum err json_floats(const cJSON *value, const char *joint, const char *field, float *out,
                            int count, struct fault *fault)
{
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) != count)
        return fault_set(fault, ERR_MALFORMED, "pose: joints.%s.%s must be %d numbers", joint,
                         field, count);
    const cJSON *item;
    cJSON_ArrayForEach(item, value)
    {
        if (!cJSON_IsNumber(item) || !isfinite((float)item->valuedouble))
            return fault_set(fault, ERR_MALFORMED, "pose: joints.%s.%s holds what is no number",
                             joint, field);
        *out++ = (float)item->valuedouble;
    }
    return ERR_OK;
}

static enum err json_joint(const cJSON *value, struct pose_joint *j, struct fault *fault)
{
    *j = (struct pose_joint){.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    const char *name = value->string;
    if (!name[0] || strlen(name) >= INPUT_NAME_MAX)
        return fault_set(fault, ERR_LIMIT, "pose: the joint name \"%.80s\" is empty or too long",
                         name);
    memcpy(j->name, name, strlen(name) + 1);
    if (!cJSON_IsObject(value))
        return fault_set(fault, ERR_MALFORMED, "pose: joints.%s must be an object", name);
    const cJSON *field;
    cJSON_ArrayForEach(field, value)
    {
        bool rotation = strcmp(field->string, "rotation") == 0;
        bool translation = strcmp(field->string, "translation") == 0;
        if (!rotation && !translation && strcmp(field->string, "scale") != 0)
            return fault_set(fault, ERR_MALFORMED,
                             "pose: joints.%s.%s is unknown: rotation, translation, scale", name,
                             field->string);
        float *to = rotation ? j->rotation : translation ? j->translation : j->scale;
        enum err e = json_floats(field, name, field->string, to, rotation ? 4 : 3, fault);
        if (e) return e;
        j->fields |= rotation ? POSE_ROTATION : translation ? POSE_TRANSLATION : POSE_SCALE;
    }
    if (j->fields == 0)
        return fault_set(fault, ERR_MALFORMED, "pose: joints.%s sets nothing", name);
    if (joint_check(j))
        return fault_set(fault, ERR_MALFORMED, "pose: joints.%s.rotation is no rotation", name);
    return ERR_OK;
}

static enum err json_joints(const cJSON *joints, struct pose_message *out, struct fault *fault)
{
    if (!cJSON_IsObject(joints))
        return fault_set(fault, ERR_MALFORMED, "pose: joints must be an object");
    const cJSON *joint;
    cJSON_ArrayForEach(joint, joints)
    {
        if (out->joint_count == POSE_JOINTS_MAX)
            return fault_set(fault, ERR_LIMIT, "pose: more than %d joints", POSE_JOINTS_MAX);
        enum err e = json_joint(joint, &out->joints[out->joint_count], fault);
        if (e) return e;
        out->joint_count++;
    }
    return ERR_OK;
}

enum err pose_message_from_json(const struct cJSON *json, struct pose_message *out,
                                struct fault *fault)
{
    if (!cJSON_IsObject(json)) return fault_set(fault, ERR_MALFORMED, "pose: must be an object");
    out->clip[0] = 0;
    out->time_s = 0;
    out->joint_count = 0;
    const cJSON *field;
    cJSON_ArrayForEach(field, json)
    {
        enum err e = ERR_OK;
        if (strcmp(field->string, "clip") == 0)
            e = json_name(field, "clip", out->clip, fault);
        else if (strcmp(field->string, "joints") == 0)
            e = json_joints(field, out, fault);
        else if (strcmp(field->string, "time_s") != 0)
            e = fault_set(fault, ERR_MALFORMED, "pose: %s is unknown: clip, time_s, joints",
                          field->string);
        else if (!cJSON_IsNumber(field) || !isfinite((float)field->valuedouble))
            e = fault_set(fault, ERR_MALFORMED, "pose: time_s must be a number");
        else
            out->time_s = (float)field->valuedouble;
        if (e) return e;
    }
    return ERR_OK;
}
