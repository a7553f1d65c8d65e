#include "server/stage/script.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/json_guard.h"
#include "proto/sensor_json.h"
#include "server/model/lookup.h"
#include "server/stage/input_sensors.h"
#include "server/stage/script_extras.h"

#define TIME_SLACK_S 1e-6 // a time that a tick misses by less belongs to it

enum { LINE_BYTES_MAX = 1 << 20 };

static enum err bad(struct fault *f, enum err code, uint32_t line, const char *key,
                    const char *what)
{
    return fault_set(f, code, "script line %u: %.60s: %s", line, key, what);
}

static enum err read_time(const cJSON *item, uint32_t hz, struct script_line *line,
                          struct fault *fault)
{
    double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    bool ticks = strcmp(item->string, "tick") == 0;
    if (!(value >= 0) || !(value <= 1e9) || (ticks && value != floor(value)))
        return bad(fault, ERR_MALFORMED, line->number, item->string,
                   ticks ? "must be a whole number from 0" : "must be seconds from 0");
    if (!ticks) value = fmax(0, ceil((value - TIME_SLACK_S) * hz));
    line->tick = (uint64_t)value;
    return ERR_OK;
}

static enum err check_line(struct script_line *line, uint32_t hz, struct fault *fault)
{
    static const char *const known[] = {"pose",      "place",  "face", "control",
                                        "customise", "sensor", "skip"};
    bool timed = false;
    if (!cJSON_IsObject(line->json))
        return fault_set(fault, ERR_MALFORMED, "script line %u: must be a JSON object",
                         line->number);
    for (const cJSON *item = line->json->child; item; item = item->next) {
        bool fine = false;
        if (strcmp(item->string, "t_s") == 0 || strcmp(item->string, "tick") == 0) {
            if (timed)
                return bad(fault, ERR_MALFORMED, line->number, item->string,
                           "the line has a time already: give t_s or tick");
            timed = fine = true;
            enum err e = read_time(item, hz, line, fault);
            if (e != ERR_OK) return e;
        }
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            fine = fine || strcmp(item->string, known[i]) == 0;
        if (!fine)
            return bad(fault, ERR_MALFORMED, line->number, item->string,
                       "unknown; there are t_s or tick, control, sensor, pose, place, face, "
                       "customise, skip");
    }
    if (!timed)
        return fault_set(fault, ERR_MALFORMED, "script line %u: t_s is missing", line->number);
    return ERR_OK;
}

static int by_tick(const void *a, const void *b)
{
    const struct script_line *x = a, *y = b;
    if (x->tick != y->tick) return x->tick < y->tick ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

void script_free(struct script *s)
{
    for (size_t i = 0; i < s->line_count; i++)
        cJSON_Delete(s->lines[i].json);
    free(s->lines);
    *s = (struct script){0};
}

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    return true;
}

static enum err add_line(struct script *s, size_t *capacity, const char *text, size_t size,
                         uint32_t number, uint32_t hz, struct fault *fault)
{
    struct json_limits limits = json_limits_for(LINE_BYTES_MAX);
    struct script_line line = {.number = number};
    struct fault inner = {0};
    if (is_blank(text, size)) return ERR_OK;
    if (s->line_count == *capacity) {
        size_t more = *capacity ? *capacity * 2 : 64;
        struct script_line *grown = realloc(s->lines, more * sizeof *grown);
        if (!grown) return fault_set(fault, ERR_MEMORY, "no memory for the script");
        s->lines = grown;
        *capacity = more;
    }
    enum err e = json_parse(text, size, &limits, &line.json, &inner);
    if (e != ERR_OK) return fault_set(fault, e, "script line %u: %.300s", number, inner.line);
    s->lines[s->line_count++] = line;
    return check_line(&s->lines[s->line_count - 1], hz, fault);
}

enum err script_read(const char *text, size_t size_bytes, uint32_t hz, struct script *out,
                     struct fault *fault)
{
    CHECK(hz >= 1);
    CHECK(hz <= SCRIPT_HZ_MAX);
    struct script s = {0};
    size_t capacity = 0;
    uint32_t number = 0;
    enum err e = ERR_OK;
    if (size_bytes > SCRIPT_BYTES_MAX)
        return fault_set(fault, ERR_LIMIT, "a script has at most %d bytes", SCRIPT_BYTES_MAX);
    for (size_t at = 0; e == ERR_OK && at < size_bytes;) {
        const char *end = memchr(text + at, '\n', size_bytes - at);
        size_t size = end ? (size_t)(end - text) - at : size_bytes - at;
        if (++number > SCRIPT_LINES_MAX)
            e = fault_set(fault, ERR_LIMIT, "a script has at most %d lines", SCRIPT_LINES_MAX);
        else
            e = add_line(&s, &capacity, text + at, size, number, hz, fault);
        at += size + 1;
    }
    if (e != ERR_OK) {
        script_free(&s);
        return e;
    }
    if (s.line_count > 1) qsort(s.lines, s.line_count, sizeof *s.lines, by_tick);
    *out = s;
    return ERR_OK;
}

static enum err apply_pose(const struct script_line *line, const cJSON *json,
                           struct input_desk *desk, struct body *b, struct fault *fault)
{
    struct fault inner = {0};
    enum err e = pose_message_from_json(json, &desk->message.pose, &inner);
    if (e == ERR_OK) e = input_pose(desk, b, &desk->message.pose, &inner);
    if (e != ERR_OK) return fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
    return ERR_OK;
}

static enum err apply_sensor(const struct script_line *line, const cJSON *json,
                             struct input_desk *desk, struct body *b, struct fault *fault)
{
    struct fault inner = {0};
    struct input_sensor *sensor = &desk->message.sensor;
    *sensor = (struct input_sensor){.head.sequence = 1};
    enum err e = sensor_json_read(json, sensor, &inner);
    if (e == ERR_OK) e = input_sensor(b, sensor, &inner);
    if (e != ERR_OK) return fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
    return ERR_OK;
}

static enum err apply_face(const struct script_line *line, const cJSON *json, struct body *b,
                           struct fault *fault)
{
    if (!cJSON_IsObject(json))
        return bad(fault, ERR_MALFORMED, line->number, "face", "must be {SHAPE: weight}");
    for (const cJSON *item = json->child; item; item = item->next) {
        struct fault inner = {0};
        struct face_parts parts;
        enum err e = face_names_find(b->options.model, item->string, "face", &parts, &inner);
        if (e != ERR_OK)
            return fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
        if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= 2))
            return bad(fault, ERR_MALFORMED, line->number, item->string,
                       "must be a weight, -2 .. 2");
        face_state_set(&b->face, &parts, (float)item->valuedouble);
        b->change++;
    }
    return ERR_OK;
}

static enum err apply_customise(const struct script_line *line, const cJSON *json, struct body *b,
                                struct fault *fault)
{
    if (!cJSON_IsObject(json))
        return bad(fault, ERR_MALFORMED, line->number, "customise", "must be {PARAMETER: value}");
    for (const cJSON *item = json->child; item; item = item->next) {
        struct fault inner = {0};
        struct input_value value = {0};
        uint32_t parameter;
        enum err e = lookup_name(b->options.model, LOOKUP_PARAMETER, item->string, "customise",
                                 &parameter, &inner);
        if (e != ERR_OK)
            return fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
        value.value = (float)item->valuedouble;
        if (!cJSON_IsNumber(item) || !isfinite(value.value))
            return bad(fault, ERR_MALFORMED, line->number, item->string, "must be a number");
        value.id = (uint16_t)parameter;
        e = input_customise(b, &value, 1, fault);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

static bool read_floats(const cJSON *json, float *out, int count)
{
    const cJSON *item = cJSON_IsArray(json) ? json->child : NULL;
    for (int i = 0; i < count; i++, item = item->next) {
        if (!cJSON_IsNumber(item) || !isfinite((float)item->valuedouble)) return false;
        out[i] = (float)item->valuedouble;
    }
    return item == NULL;
}

static enum err apply_place(const struct script_line *line, const cJSON *json, struct body *b,
                            struct fault *fault)
{
    struct input_place place = {0};
    if (!cJSON_IsObject(json))
        return bad(fault, ERR_MALFORMED, line->number, "place", "must be an object");
    for (const cJSON *item = json->child; item; item = item->next) {
        bool fine = cJSON_IsNumber(item) && isfinite((float)item->valuedouble);
        if (strcmp(item->string, "position") == 0) {
            place.fields |= INPUT_PLACE_POSITION;
            fine = read_floats(item, place.position, 3);
        } else if (strcmp(item->string, "yaw") == 0) {
            place.fields |= INPUT_PLACE_YAW;
            place.yaw_rad = (float)item->valuedouble;
        } else if (strcmp(item->string, "scale") == 0) {
            place.fields |= INPUT_PLACE_SCALE;
            place.scale = (float)item->valuedouble;
            fine = fine && place.scale > 0 && place.scale <= 1000;
        } else {
            return bad(fault, ERR_MALFORMED, line->number, item->string,
                       "unknown; place has position, yaw, scale");
        }
        if (!fine)
            return bad(fault, ERR_MALFORMED, line->number, item->string,
                       "position is three numbers, yaw radians, scale above 0 and at most 1000");
    }
    input_place(b, &place);
    return ERR_OK;
}

static enum err read_root(const struct script_line *line, const cJSON *json,
                          struct input_root *root, struct fault *fault)
{
    static const struct {
        const char *key;
        uint32_t field;
        double low, high;
    } numbers[] = {{"speed", INPUT_ROOT_SPEED, 0, 16},
                   {"weight", INPUT_ROOT_WEIGHT, 0, 1},
                   {"offset", INPUT_ROOT_OFFSET, 0, 3600}};
    float *values[] = {&root->speed, &root->weight, &root->offset_s};
    if (strlen(json->string) >= sizeof root->root || !cJSON_IsObject(json))
        return bad(fault, ERR_MALFORMED, line->number, json->string,
                   "a root is an object with clip, speed, weight, offset, mirrored");
    memcpy(root->root, json->string, strlen(json->string) + 1);
    for (const cJSON *item = json->child; item; item = item->next) {
        bool fine = false;
        if (strcmp(item->string, "clip") == 0 && cJSON_IsString(item) &&
            strlen(item->valuestring) < sizeof root->clip) {
            memcpy(root->clip, item->valuestring, strlen(item->valuestring) + 1);
            fine = true;
        }
        if (strcmp(item->string, "mirrored") == 0 && cJSON_IsBool(item)) {
            root->fields |= INPUT_ROOT_SIDE | (cJSON_IsTrue(item) ? INPUT_ROOT_MIRRORED : 0);
            fine = true;
        }
        for (size_t i = 0; i < 3; i++) {
            if (strcmp(item->string, numbers[i].key) != 0 || !cJSON_IsNumber(item)) continue;
            *values[i] = (float)item->valuedouble;
            root->fields |= numbers[i].field;
            fine = item->valuedouble >= numbers[i].low && item->valuedouble <= numbers[i].high;
        }
        if (!fine)
            return bad(
                fault, ERR_MALFORMED, line->number, item->string,
                "a root has clip, speed 0 .. 16, weight 0 .. 1, offset in seconds, mirrored");
    }
    return ERR_OK;
}

static enum err apply_roots(const struct script_line *line, const cJSON *json, struct body *b,
                            struct fault *fault)
{
    struct fault inner = {0};
    if (!cJSON_IsObject(json))
        return bad(fault, ERR_MALFORMED, line->number, "root", "must be {NAME: {...}}");
    for (const cJSON *r = json->child; r; r = r->next) {
        struct input_root root = {0};
        enum err e = read_root(line, r, &root, fault);
        if (e != ERR_OK) return e;
        e = input_roots(b, &root, 1, &inner);
        if (e != ERR_OK)
            return fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
    }
    return ERR_OK;
}

static enum err read_events(const cJSON *names, uint8_t kind, uint32_t next,
                            struct input_control *c)
{
    for (const cJSON *n = names->child; n; n = n->next) {
        struct input_event *event = &c->events[c->event_count];
        if (!cJSON_IsString(n) || strlen(n->valuestring) >= sizeof event->name)
            return ERR_MALFORMED;
        if (c->event_count == INPUT_EVENTS_MAX) return ERR_LIMIT;
        *event = (struct input_event){.number = next + c->event_count, .kind = kind};
        memcpy(event->name, n->valuestring, strlen(n->valuestring) + 1);
        c->event_count++;
    }
    return ERR_OK;
}

static bool is_direction(const float v[3])
{
    double length2 = 0;
    for (int k = 0; k < 3; k++)
        length2 += (double)v[k] * (double)v[k];
    return length2 >= 0.25 && length2 <= 4;
}

static enum err apply_control(const struct script_line *line, const cJSON *json,
                              struct input_desk *desk, struct body *b, struct fault *fault)
{
    static const struct {
        const char *key;
        uint32_t field;
        double least, most;
    } states[] = {{"move", INPUT_MOVE, -1, 1},
                  {"look", INPUT_LOOK, -1, 1},
                  {"triggers", INPUT_TRIGGERS, 0, 1},
                  {"goto", INPUT_GOTO, -1e9, 1e9}};
    struct input_control *c = &desk->message.control;
    float *const to[] = {c->move, c->look, c->triggers, c->go_to};
    *c = (struct input_control){0};
    if (!cJSON_IsObject(json))
        return bad(fault, ERR_MALFORMED, line->number, "control", "must be an object");
    for (const cJSON *item = json->child; item; item = item->next) {
        bool known = false, fine = true;
        for (size_t i = 0; i < 4; i++) {
            if (strcmp(item->string, states[i].key) != 0) continue;
            known = true;
            fine = read_floats(item, to[i], 2);
            for (int k = 0; k < 2 && fine; k++)
                fine = (double)to[i][k] >= states[i].least && (double)to[i][k] <= states[i].most;
            c->fields |= states[i].field;
        }
        if (strcmp(item->string, "goto") == 0 && cJSON_IsNull(item)) {
            c->fields = (c->fields & ~(uint32_t)INPUT_GOTO) | INPUT_GOTO_END;
            fine = true;
        }
        if (strcmp(item->string, "view") == 0) {
            known = true;
            fine = read_floats(item, c->view, 3) && is_direction(c->view);
            c->fields |= INPUT_VIEW;
        }
        bool press = strcmp(item->string, "press") == 0;
        if (press || strcmp(item->string, "release") == 0) {
            known = true;
            fine = cJSON_IsArray(item) && read_events(item, press ? INPUT_PRESS : INPUT_RELEASE,
                                                      b->control.event_seen + 1, c) == ERR_OK;
        }
        if (strcmp(item->string, "root") == 0) {
            known = true;
            enum err e = apply_roots(line, item, b, fault);
            if (e != ERR_OK) return e;
        }
        if (strcmp(item->string, "activate") == 0 || strcmp(item->string, "extras") == 0) {
            known = true;
            fine = script_read_extras(item, c);
        }
        if (!known)
            return bad(
                fault, ERR_UNSUPPORTED, line->number, item->string,
                "unknown; control has move, look, view, triggers, goto, press, release, root, "
                "activate, extras");
        if (!fine)
            return bad(fault, ERR_MALFORMED, line->number, item->string,
                       "two numbers, -1 .. 1 (triggers 0 .. 1; goto x, z or null; view x, y, z of "
                       "length 0.5 .. 2), or a list of names");
    }
    if (c->fields || c->event_count || c->muscle_count || c->switch_count) input_control(b, c);
    return ERR_OK;
}

static enum err apply_skip(const struct script_line *line, const cJSON *json, struct body *b,
                           struct fault *fault)
{
    struct fault inner = {0};
    enum err e = script_skip(json, b, &inner);
    return e == ERR_OK ? e
                       : fault_set(fault, e, "script line %u: %.300s", line->number, inner.line);
}

enum err script_apply(const struct script_line *line, struct input_desk *desk, struct body *b,
                      struct fault *fault)
{
    enum err e = ERR_OK;
    for (const cJSON *item = line->json->child; e == ERR_OK && item; item = item->next) {
        if (strcmp(item->string, "pose") == 0)
            e = apply_pose(line, item, desk, b, fault);
        else if (strcmp(item->string, "sensor") == 0)
            e = apply_sensor(line, item, desk, b, fault);
        else if (strcmp(item->string, "control") == 0)
            e = apply_control(line, item, desk, b, fault);
        else if (strcmp(item->string, "place") == 0)
            e = apply_place(line, item, b, fault);
        else if (strcmp(item->string, "face") == 0)
            e = apply_face(line, item, b, fault);
        else if (strcmp(item->string, "customise") == 0)
            e = apply_customise(line, item, b, fault);
        else if (strcmp(item->string, "skip") == 0)
            e = apply_skip(line, item, b, fault);
    }
    return e;
}
