#include "server/stage/script_extras.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "server/model/lookup.h"

static bool copy_name(char out[INPUT_NAME_MAX], const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= INPUT_NAME_MAX) return false;
    memcpy(out, name, length + 1);
    return true;
}

bool script_read_extras(const cJSON *json, struct input_control *out)
{
    bool switches = strcmp(json->string, "extras") == 0;
    if (!cJSON_IsObject(json)) return false;
    for (const cJSON *item = json->child; item; item = item->next) {
        double value = item->valuedouble;
        if (switches) {
            struct input_switch *s = &out->switches[out->switch_count];
            if (out->switch_count == INPUT_SWITCHES_MAX || !cJSON_IsBool(item) ||
                !copy_name(s->name, item->string))
                return false;
            s->on = cJSON_IsTrue(item) != 0;
            out->switch_count++;
        } else {
            struct input_muscle *m = &out->muscles[out->muscle_count];
            if (out->muscle_count == INPUT_MUSCLES_MAX || !cJSON_IsNumber(item) ||
                !(value >= 0 && value <= 1) || !copy_name(m->name, item->string))
                return false;
            m->activation = (float)value;
            out->muscle_count++;
        }
    }
    return true;
}

enum err script_skip(const cJSON *json, struct body *b, struct fault *fault)
{
    uint64_t skips = 0;
    if (!cJSON_IsArray(json))
        return fault_set(fault, ERR_MALFORMED, "skip: must be a list of extras");
    for (const cJSON *item = json->child; item; item = item->next) {
        int32_t extra =
            cJSON_IsString(item) ? extras_find(b->options.model, item->valuestring) : MODEL_NONE;
        if (extra == MODEL_NONE)
            return fault_set(fault, ERR_NOT_FOUND, "skip: \"%.60s\" is no extra of this character",
                             cJSON_IsString(item) ? item->valuestring : "?");
        skips |= (uint64_t)1 << extra;
    }
    b->told_skips = skips;
    return ERR_OK;
}
