#include "client/cli/script_inputs.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "proto/input_messages.h"
#include "proto/pose_message.h"
#include "proto/sensor_json.h"

static enum err bad(struct fault *fault, const char *key, const char *what)
{
    return fault_set(fault, ERR_MALFORMED, "%.60s: %s", key, what);
}

static bool read_floats(const cJSON *json, float *out, int count)
{
    const cJSON *item = cJSON_IsArray(json) ? json->child : NULL;
    for (int i = 0; i < count; i++, item = item->next) {
        if (!item || !cJSON_IsNumber(item) || !isfinite((float)item->valuedouble)) return false;
        out[i] = (float)item->valuedouble;
    }
    return item == NULL;
}

static bool read_float(const cJSON *json, float *out)
{
    if (!cJSON_IsNumber(json) || !isfinite((float)json->valuedouble)) return false;
    *out = (float)json->valuedouble;
    return true;
}

static bool is_name(const char *text)
{
    return text && text[0] && strlen(text) < INPUT_NAME_MAX;
}

static enum err from_result(int result, const char *key, struct fault *fault)
{
    if (result == SINEW_OK) return ERR_OK;
    if (result == SINEW_ERR_USAGE) return bad(fault, key, "a value is out of its range");
    return fault_set(fault, ERR_IO, "%.60s: %s", key, sinew_result_text(result));
}

// ---- place ----

static enum err read_place(const cJSON *json, struct sinew_place *out, struct fault *fault)
{
    const cJSON *item;
    *out = (struct sinew_place){.struct_size = sizeof *out};
    cJSON_ArrayForEach(item, json)
    {
        bool fine;
        if (strcmp(item->string, "position") == 0) {
            out->fields |= SINEW_PLACE_POSITION;
            fine = read_floats(item, out->position, 3);
        } else if (strcmp(item->string, "yaw") == 0) {
            out->fields |= SINEW_PLACE_YAW;
            fine = read_float(item, &out->yaw_rad);
        } else if (strcmp(item->string, "scale") == 0) {
            out->fields |= SINEW_PLACE_SCALE;
            fine = read_float(item, &out->scale) && out->scale > 0 && out->scale <= 1000;
        } else {
            return bad(fault, item->string, "unknown; place has position, yaw, scale");
        }
        if (!fine)
            return bad(fault, item->string,
                       "position is three numbers, yaw radians, scale above 0 and at most 1000");
    }
    return ERR_OK;
}

static enum err do_place(struct sinew_client *c, const cJSON *json, uint32_t *sequence,
                         struct fault *fault)
{
    struct sinew_place place;
    enum err e = read_place(json, &place, fault);
    if (e || !c) return e;
    return from_result(sinew_send_place(c, &place, sequence), "place", fault);
}

// ---- pose ----

static enum err do_pose(struct sinew_client *c, const cJSON *json, uint32_t *sequence,
                        struct fault *fault)
{
    struct pose_message *m = calloc(1, sizeof *m);
    struct sinew_pose_joint *joints = calloc(POSE_JOINTS_MAX, sizeof *joints);
    enum err e = m && joints ? pose_message_from_json(json, m, fault) : ERR_MEMORY;
    for (uint32_t i = 0; e == ERR_OK && i < m->joint_count; i++) {
        const struct pose_joint *j = &m->joints[i];
        joints[i].name = j->name;
        joints[i].fields = j->fields;
        memcpy(joints[i].rotation, j->rotation, sizeof joints[i].rotation);
        memcpy(joints[i].translation, j->translation, sizeof joints[i].translation);
        memcpy(joints[i].scale, j->scale, sizeof joints[i].scale);
    }
    if (e == ERR_OK && c) {
        const struct sinew_pose pose = {.struct_size = sizeof pose,
                                        .clip = m->clip[0] ? m->clip : NULL,
                                        .time_s = m->time_s,
                                        .joints = joints,
                                        .joint_count = m->joint_count};
        e = from_result(sinew_send_pose(c, &pose, sequence), "pose", fault);
    }
    free(joints);
    free(m);
    return e;
}

// ---- face, customise ----

enum { FACE_PARTS_MAX = 12 };

static enum err do_values(struct sinew_client *c, const cJSON *json, uint32_t *sequence,
                          struct fault *fault)
{
    bool face = strcmp(json->string, "face") == 0;
    const cJSON *item;
    size_t count = 0;
    static struct sinew_value values[INPUT_VALUES_MAX]; // one thread sends
    cJSON_ArrayForEach(item, json)
    {
        float value;
        if (!read_float(item, &value) || (face && fabsf(value) > 2))
            return bad(fault, item->string,
                       face ? "must be a weight, -2 .. 2" : "must be a number");
        if (!c) continue;
        struct sinew_value parts[FACE_PARTS_MAX] = {{.value = 1}};
        size_t part_count = 1;
        int32_t id = 0;
        if (face)
            part_count = sinew_face_parts(c, item->string, parts, FACE_PARTS_MAX);
        else
            id = sinew_parameter_id(c, item->string);
        if (part_count == 0 || id < 0 || id > UINT16_MAX)
            return fault_set(fault, ERR_NOT_FOUND, "%s: the character has no \"%.60s\"",
                             json->string, item->string);
        if (!face) parts[0].id = (uint16_t)id;
        for (size_t i = 0; i < part_count; i++) {
            if (count == INPUT_VALUES_MAX) return bad(fault, json->string, "too many values");
            values[count++] =
                (struct sinew_value){.id = parts[i].id, .value = value * parts[i].value};
        }
    }
    if (!c) return ERR_OK;
    return from_result(face ? sinew_send_face(c, values, count, sequence)
                            : sinew_send_customise(c, values, count, sequence),
                       json->string, fault);
}

// ---- control ----

struct control {
    struct sinew_control out;
    struct sinew_action_event events[INPUT_EVENTS_MAX];
    struct sinew_root roots[INPUT_ROOTS_MAX];
    struct sinew_muscle muscles[INPUT_MUSCLES_MAX];
    struct sinew_switch switches[INPUT_SWITCHES_MAX];
    char *gesture; // JSON text, owned
};

static bool read_pair(const cJSON *item, uint32_t field, float out[2], struct control *to,
                      float low)
{
    to->out.fields |= field;
    return read_floats(item, out, 2) && out[0] >= low && out[0] <= 1 && out[1] >= low &&
           out[1] <= 1;
}

static bool read_names(const cJSON *list, uint32_t action, struct control *to)
{
    const cJSON *item;
    if (!cJSON_IsArray(list)) return false;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || !is_name(item->valuestring)) return false;
        if (to->out.event_count == INPUT_EVENTS_MAX) return false;
        to->events[to->out.event_count++] =
            (struct sinew_action_event){.action = action, .name = item->valuestring};
    }
    return true;
}

static bool read_gesture(const cJSON *json, struct control *to)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(json, "name");
    if (!cJSON_IsObject(json) || to->gesture || to->out.event_count == INPUT_EVENTS_MAX)
        return false;
    to->gesture = cJSON_PrintUnformatted(json);
    if (!to->gesture || strlen(to->gesture) > INPUT_GESTURE_JSON_MAX) return false;
    to->events[to->out.event_count++] = (struct sinew_action_event){
        .action = SINEW_GESTURE,
        .name = cJSON_IsString(name) && is_name(name->valuestring) ? name->valuestring : "gesture",
        .json = to->gesture};
    return true;
}

static bool read_root(const cJSON *json, struct sinew_root *to)
{
    const cJSON *item;
    *to = (struct sinew_root){.root = json->string};
    if (!cJSON_IsObject(json) || !is_name(json->string)) return false;
    cJSON_ArrayForEach(item, json)
    {
        bool fine = true;
        if (strcmp(item->string, "clip") == 0) {
            fine = cJSON_IsString(item) && is_name(item->valuestring);
            to->clip = item->valuestring;
        } else if (strcmp(item->string, "speed") == 0) {
            fine = read_float(item, &to->speed);
            to->fields |= SINEW_ROOT_SPEED;
        } else if (strcmp(item->string, "weight") == 0) {
            fine = read_float(item, &to->weight);
            to->fields |= SINEW_ROOT_WEIGHT;
        } else if (strcmp(item->string, "offset") == 0) {
            fine = read_float(item, &to->offset_s);
            to->fields |= SINEW_ROOT_OFFSET;
        } else if (strcmp(item->string, "mirrored") == 0) {
            fine = cJSON_IsBool(item);
            to->fields |= SINEW_ROOT_SIDE | (cJSON_IsTrue(item) ? SINEW_ROOT_MIRRORED : 0);
        } else {
            fine = false;
        }
        if (!fine) return false;
    }
    return true;
}

static bool read_roots(const cJSON *json, struct control *to)
{
    const cJSON *item;
    if (!cJSON_IsObject(json)) return false;
    cJSON_ArrayForEach(item, json)
    {
        if (to->out.root_count == INPUT_ROOTS_MAX) return false;
        if (!read_root(item, &to->roots[to->out.root_count++])) return false;
    }
    return true;
}

static bool read_muscles(const cJSON *json, struct control *to)
{
    const cJSON *item;
    if (!cJSON_IsObject(json)) return false;
    cJSON_ArrayForEach(item, json)
    {
        if (to->out.muscle_count == INPUT_MUSCLES_MAX || !is_name(item->string)) return false;
        struct sinew_muscle *m = &to->muscles[to->out.muscle_count++];
        m->name = item->string;
        if (!read_float(item, &m->activation) || m->activation < 0 || m->activation > 1)
            return false;
    }
    return true;
}

static bool read_switches(const cJSON *json, struct control *to)
{
    const cJSON *item;
    if (!cJSON_IsObject(json)) return false;
    cJSON_ArrayForEach(item, json)
    {
        if (to->out.switch_count == INPUT_SWITCHES_MAX || !is_name(item->string) ||
            !cJSON_IsBool(item))
            return false;
        to->switches[to->out.switch_count++] =
            (struct sinew_switch){.name = item->string, .on = cJSON_IsTrue(item)};
    }
    return true;
}

static enum err read_control_member(const cJSON *item, struct control *to, struct fault *fault)
{
    bool fine;
    const char *key = item->string;
    if (strcmp(key, "move") == 0) {
        fine = read_pair(item, SINEW_CONTROL_MOVE, to->out.move, to, -1);
    } else if (strcmp(key, "look") == 0) {
        fine = read_pair(item, SINEW_CONTROL_LOOK, to->out.look, to, -1);
    } else if (strcmp(key, "view") == 0) {
        to->out.fields |= SINEW_CONTROL_VIEW;
        fine = read_floats(item, to->out.view, 3);
    } else if (strcmp(key, "triggers") == 0) {
        fine = read_pair(item, SINEW_CONTROL_TRIGGERS, to->out.triggers, to, 0);
    } else if (strcmp(key, "goto") == 0) {
        to->out.fields |= cJSON_IsNull(item) ? SINEW_CONTROL_GOTO_END : SINEW_CONTROL_GOTO;
        fine = cJSON_IsNull(item) || read_floats(item, to->out.go_to, 2);
    } else if (strcmp(key, "press") == 0) {
        fine = read_names(item, SINEW_PRESS, to);
    } else if (strcmp(key, "release") == 0) {
        fine = read_names(item, SINEW_RELEASE, to);
    } else if (strcmp(key, "gesture") == 0) {
        fine = read_gesture(item, to);
    } else if (strcmp(key, "root") == 0) {
        fine = read_roots(item, to);
    } else if (strcmp(key, "activate") == 0) {
        fine = read_muscles(item, to);
    } else if (strcmp(key, "extras") == 0) {
        fine = read_switches(item, to);
    } else {
        return bad(
            fault, key,
            "unknown; control has move, look, view, triggers, press, release, goto, gesture, "
            "root, activate, extras");
    }
    return fine ? ERR_OK : bad(fault, key, "not as a control line wants it, or out of range");
}

static enum err do_control(struct sinew_client *c, const cJSON *json, uint32_t *sequence,
                           struct fault *fault)
{
    struct control control = {.out = {.struct_size = sizeof control.out}};
    const cJSON *item;
    enum err e = ERR_OK;
    cJSON_ArrayForEach(item, json)
    {
        if (e == ERR_OK) e = read_control_member(item, &control, fault);
    }
    control.out.events = control.events;
    control.out.roots = control.roots;
    control.out.muscles = control.muscles;
    control.out.switches = control.switches;
    if (e == ERR_OK && c)
        e = from_result(sinew_send_control(c, &control.out, sequence), "control", fault);
    cJSON_free(control.gesture);
    return e;
}

// ---- sensor ----

static enum err do_sensor(struct sinew_client *c, const cJSON *json, uint32_t *sequence,
                          struct fault *fault)
{
    struct input_sensor read;
    struct sinew_device devices[INPUT_DEVICES_MAX];
    struct sinew_hand hands[2];
    enum err e = sensor_json_read(json, &read, fault);
    if (e || !c) return e;
    for (uint32_t i = 0; i < read.device_count; i++) {
        const struct input_device *d = &read.devices[i];
        devices[i] = (struct sinew_device){.name = input_device_name(d->id), .flags = d->flags};
        memcpy(devices[i].position, d->position, sizeof d->position);
        memcpy(devices[i].rotation, d->rotation, sizeof d->rotation);
    }
    for (uint32_t i = 0; i < read.hand_count; i++) {
        const struct input_hand *h = &read.hands[i];
        hands[i] = (struct sinew_hand){.side = h->side, .fields = h->fields};
        memcpy(hands[i].curl, h->curl, sizeof h->curl);
        memcpy(hands[i].splay, h->splay, sizeof h->splay);
        memcpy(hands[i].rotation, h->rotation, sizeof h->rotation);
    }
    const struct sinew_sensor sensor = {.struct_size = sizeof sensor,
                                        .devices = devices,
                                        .hands = hands,
                                        .device_count = read.device_count,
                                        .hand_count = read.hand_count,
                                        .requests = read.requests};
    return from_result(sinew_send_sensor(c, &sensor, sequence), "sensor", fault);
}

// ---- one for all ----

static enum err script_inputs_do(struct sinew_client *c, const cJSON *item, uint32_t *sequence,
                                 struct fault *fault)
{
    static const struct {
        const char *key;
        enum err (*run)(struct sinew_client *c, const cJSON *json, uint32_t *sequence,
                        struct fault *fault);
    } kinds[] = {{"control", do_control}, {"sensor", do_sensor},    {"face", do_values},
                 {"pose", do_pose},       {"customise", do_values}, {"place", do_place}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(item->string, kinds[i].key) != 0) continue;
        if (!cJSON_IsObject(item)) return bad(fault, item->string, "must be an object");
        return kinds[i].run(c, item, sequence, fault);
    }
    return bad(fault, item->string,
               "unknown; there are t_s, control, sensor, face, customise, pose, place");
}

enum err script_inputs_check(const cJSON *item, struct fault *fault)
{
    return script_inputs_do(NULL, item, NULL, fault);
}

enum err script_inputs_send(struct sinew_client *client, const cJSON *item, uint32_t *sequence,
                            struct fault *fault)
{
    return script_inputs_do(client, item, sequence, fault);
}
