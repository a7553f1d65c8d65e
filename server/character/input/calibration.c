#include "server/character/input/calibration.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/json_guard.h"

// Devices and parts share their first names.
_Static_assert(HUMAN_PART_COUNT == (int)INPUT_DEVICE_gaze, "a part is the device of its name");

static void append(char out[CALIBRATION_TEXT_BYTES], size_t *used, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + *used, CALIBRATION_TEXT_BYTES - *used, format, args);
    va_end(args);
    CHECK(n >= 0);
    CHECK((size_t)n < CALIBRATION_TEXT_BYTES - *used);
    *used += (size_t)n;
}

size_t calibration_write(const struct calibration *c, char out[CALIBRATION_TEXT_BYTES])
{
    size_t used = 0;
    append(out, &used, "{\"eye_height_m\":%.9g,\"span_m\":%.9g,\"floor_m\":%.9g,\"hands\":\"%s\"",
           c->eye_height, c->span, c->floor, c->world ? "world" : "scaled");
    append(out, &used, ",\"trackers\":{");
    bool first = true;
    for (int i = 0; i < INPUT_TRACKERS; i++) {
        if (!c->part_of[i]) continue;
        append(out, &used, "%s\"tracker_%d\":\"%s\"", first ? "" : ",", i + 1,
               input_device_name((uint8_t)(c->part_of[i] - 1)));
        first = false;
    }
    append(out, &used, "},\"seats\":{");
    first = true;
    for (int i = 0; i < HUMAN_PART_COUNT; i++) {
        const struct calibration_seat *s = &c->seats[i];
        if (!s->found) continue;
        append(out, &used, "%s\"%s\":[%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g]", first ? "" : ",",
               input_device_name((uint8_t)i), s->position[0], s->position[1], s->position[2],
               s->rotation[0], s->rotation[1], s->rotation[2], s->rotation[3]);
        first = false;
    }
    append(out, &used, "}}");
    return used;
}

static bool read_number(const cJSON *json, const char *key, double low, double high, double *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high))
        return false;
    *out = item->valuedouble;
    return true;
}

static bool find_part(const char *name, uint8_t *out)
{
    return name && input_device_find(name, out) && *out < HUMAN_PART_COUNT;
}

static bool read_trackers(const cJSON *json, struct calibration *c)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        uint8_t tracker, part;
        if (!input_device_find(item->string, &tracker) || tracker < INPUT_DEVICE_tracker_1)
            return false;
        if (!cJSON_IsString(item) || !find_part(item->valuestring, &part)) return false;
        c->part_of[tracker - INPUT_DEVICE_tracker_1] = (uint8_t)(part + 1);
    }
    return true;
}

static bool read_seats(const cJSON *json, struct calibration *c)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        uint8_t part;
        double v[7], norm2 = 0;
        if (!find_part(item->string, &part) || cJSON_GetArraySize(item) != 7) return false;
        for (int i = 0; i < 7; i++) {
            const cJSON *number = cJSON_GetArrayItem(item, i);
            if (!cJSON_IsNumber(number) || !(fabs(number->valuedouble) <= 10)) return false;
            v[i] = number->valuedouble;
            if (i >= 3) norm2 += v[i] * v[i];
        }
        if (!(norm2 > 0.9 && norm2 < 1.1)) return false;
        struct calibration_seat *s = &c->seats[part];
        s->found = true;
        memcpy(s->position, v, sizeof s->position);
        memcpy(s->rotation, v + 3, sizeof s->rotation);
    }
    return true;
}

enum err calibration_read(const char *text, size_t size_bytes, struct calibration *out)
{
    struct calibration c = {.state = CALIBRATION_MEASURED};
    struct json_limits limits = json_limits_for(CALIBRATION_TEXT_BYTES);
    struct fault fault = {0};
    cJSON *json = NULL;
    if (json_parse(text, size_bytes, &limits, &json, &fault) != ERR_OK) return ERR_MALFORMED;
    const cJSON *hands = cJSON_GetObjectItemCaseSensitive(json, "hands");
    bool fine = cJSON_IsObject(json) && read_number(json, "eye_height_m", 0.3, 3, &c.eye_height) &&
                read_number(json, "span_m", 0, 5, &c.span) &&
                read_number(json, "floor_m", -100, 100, &c.floor) && cJSON_IsString(hands) &&
                read_trackers(cJSON_GetObjectItemCaseSensitive(json, "trackers"), &c) &&
                read_seats(cJSON_GetObjectItemCaseSensitive(json, "seats"), &c);
    if (fine) c.world = strcmp(hands->valuestring, "world") == 0;
    cJSON_Delete(json);
    if (!fine) return ERR_MALFORMED;
    *out = c;
    return ERR_OK;
}
