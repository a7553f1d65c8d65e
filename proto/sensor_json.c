#include "proto/sensor_json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static enum err bad(struct fault *fault, const char *key, const char *what)
{
    return fault_set(fault, ERR_MALFORMED, "sensor: %.60s: %s", key, what);
}

static bool read_float(const cJSON *json, float *out)
{
    if (!cJSON_IsNumber(json) || !isfinite((float)json->valuedouble)) return false;
    *out = (float)json->valuedouble;
    return true;
}

static bool read_floats(const cJSON *json, float *out, int count)
{
    const cJSON *item = cJSON_IsArray(json) ? json->child : NULL;
    for (int i = 0; i < count; i++, item = item->next)
        if (!item || !read_float(item, &out[i])) return false;
    return item == NULL;
}

static enum err read_device(const cJSON *json, struct input_device *to, struct fault *fault)
{
    static const struct {
        const char *key;
        uint8_t flag;
    } truths[] = {{"position_valid", INPUT_POSITION_VALID},
                  {"rotation_valid", INPUT_ROTATION_VALID},
                  {"tracked", INPUT_TRACKED}};
    unsigned given = INPUT_TRACKED, refused = 0;
    *to = (struct input_device){.rotation = {0, 0, 0, 1}};
    if (!input_device_find(json->string, &to->id))
        return bad(fault, json->string, "no such device; see the script format");
    if (!cJSON_IsObject(json)) return bad(fault, json->string, "a device must be an object");
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        bool known = false, fine = true;
        if (strcmp(item->string, "position") == 0) {
            given |= INPUT_POSITION_VALID;
            known = true;
            fine = read_floats(item, to->position, 3);
        } else if (strcmp(item->string, "rotation") == 0) {
            given |= INPUT_ROTATION_VALID;
            known = true;
            fine = read_floats(item, to->rotation, 4);
        }
        for (size_t i = 0; i < sizeof truths / sizeof truths[0]; i++) {
            if (strcmp(item->string, truths[i].key) != 0) continue;
            known = true;
            fine = cJSON_IsBool(item);
            refused |= cJSON_IsFalse(item) ? truths[i].flag : 0U;
        }
        if (!known)
            return bad(fault, item->string,
                       "unknown; a device has position, rotation, position_valid, "
                       "rotation_valid, tracked");
        if (!fine)
            return bad(fault, json->string,
                       "position is 3 numbers, rotation 4, the rest true or "
                       "false");
    }
    to->flags = (uint8_t)(given & ~refused);
    return ERR_OK;
}

enum { WEBXR_JOINTS = INPUT_HAND_JOINTS - 1 };

static bool read_joints(const cJSON *json, struct input_hand *to)
{
    int count = cJSON_IsArray(json) ? cJSON_GetArraySize(json) : 0;
    if (count != INPUT_HAND_JOINTS && count != WEBXR_JOINTS) return false;
    int at = INPUT_HAND_JOINTS - count;
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        if (!read_floats(item, to->rotation[at++], 4)) return false;
    }
    // The palm turns with the wrist.
    if (count == WEBXR_JOINTS) memcpy(to->rotation[0], to->rotation[1], sizeof to->rotation[0]);
    return true;
}

// Values of a controller: each curls some fingers.
static bool read_button(const cJSON *json, int first, int last, struct input_hand *to)
{
    float value;
    if (!read_float(json, &value) || value < 0 || value > 1) return false;
    for (int i = first; i <= last; i++)
        to->curl[i] = value;
    to->fields |= INPUT_HAND_CURL;
    return true;
}

static enum err read_hand(const cJSON *json, struct input_hand *to, struct fault *fault)
{
    bool fine = cJSON_IsObject(json);
    *to = (struct input_hand){.side = strcmp(json->string, "right") == 0};
    if (!to->side && strcmp(json->string, "left") != 0)
        return bad(fault, json->string, "fingers are of left or right");
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        const char *key = item->string;
        if (strcmp(key, "curl") == 0) {
            to->fields |= INPUT_HAND_CURL;
            fine = fine && read_floats(item, to->curl, 5);
        } else if (strcmp(key, "splay") == 0) {
            to->fields |= INPUT_HAND_SPLAY;
            fine = fine && read_floats(item, to->splay, 5);
        } else if (strcmp(key, "joints") == 0) {
            to->fields |= INPUT_HAND_JOINTS_SET;
            fine = fine && read_joints(item, to);
        } else if (strcmp(key, "thumb") == 0) {
            fine = fine && read_button(item, 0, 0, to);
        } else if (strcmp(key, "trigger") == 0) {
            fine = fine && read_button(item, 1, 1, to);
        } else if (strcmp(key, "grip") == 0) {
            fine = fine && read_button(item, 2, 4, to);
        } else {
            return bad(fault, key,
                       "unknown; fingers have curl, splay, joints, trigger, grip, thumb");
        }
    }
    if (fine) return ERR_OK;
    return bad(fault, json->string,
               "curl and splay are 5 numbers, joints 25 or 26 rotations, the others 0 .. 1");
}

static enum err read_group(const cJSON *group, struct input_sensor *to, struct fault *fault)
{
    bool fingers = strcmp(group->string, "fingers") == 0;
    const cJSON *item;
    if (!cJSON_IsObject(group)) return bad(fault, group->string, "must be an object by name");
    cJSON_ArrayForEach(item, group)
    {
        if (fingers ? to->hand_count == 2 : to->device_count == INPUT_DEVICES_MAX)
            return bad(fault, group->string, "too many");
        enum err e = fingers ? read_hand(item, &to->hands[to->hand_count++], fault)
                             : read_device(item, &to->devices[to->device_count++], fault);
        if (e) return e;
    }
    return ERR_OK;
}

static enum err read_request(const cJSON *item, struct input_sensor *to, struct fault *fault)
{
    static const struct {
        const char *key, *word; // word NULL: true or false
        uint16_t request;
    } requests[] = {{"calibrate", NULL, INPUT_CALIBRATE},
                    {"forget", NULL, INPUT_FORGET},
                    {"hands", "world", INPUT_HANDS_WORLD},
                    {"hands", "scaled", INPUT_HANDS_SCALED}};
    bool known = false;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        if (strcmp(item->string, requests[i].key) != 0) continue;
        known = true;
        if (requests[i].word && cJSON_IsString(item) &&
            strcmp(item->valuestring, requests[i].word) == 0) {
            to->requests |= requests[i].request;
            return ERR_OK;
        }
        if (!requests[i].word && cJSON_IsBool(item)) {
            if (cJSON_IsTrue(item)) to->requests |= requests[i].request;
            return ERR_OK;
        }
    }
    if (known) return bad(fault, item->string, "hands is world or scaled, the others are true");
    return bad(fault, item->string,
               "unknown; sensor has devices, fingers, calibrate, hands, forget");
}

enum err sensor_json_read(const struct cJSON *json, struct input_sensor *out, struct fault *fault)
{
    const cJSON *item;
    out->device_count = out->hand_count = 0;
    out->requests = 0;
    if (!cJSON_IsObject(json)) return bad(fault, "sensor", "must be an object");
    cJSON_ArrayForEach(item, json)
    {
        bool group = strcmp(item->string, "devices") == 0 || strcmp(item->string, "fingers") == 0;
        enum err e = group ? read_group(item, out, fault) : read_request(item, out, fault);
        if (e) return e;
    }
    return ERR_OK;
}
