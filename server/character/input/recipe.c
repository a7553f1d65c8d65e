#include "server/character/input/recipe.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json_guard.h"
#include "server/model/lookup.h"

enum { RECIPE_BYTES_MAX = 1 << 20, VERSION = 1 };

static void set_all(const cJSON *parameters, struct customise *c, unsigned *count,
                    unsigned *left_out, char first[64])
{
    for (const cJSON *v = parameters->child; v; v = v->next) {
        struct fault ignored;
        uint32_t id;
        bool fits = cJSON_IsNumber(v) && isfinite((float)v->valuedouble) &&
                    lookup_name(c->model, LOOKUP_PARAMETER, v->string, "", &id, &ignored) == ERR_OK;
        (*count)++;
        if (fits) {
            customise_set(c, id, (float)v->valuedouble);
            continue;
        }
        if ((*left_out)++ == 0) (void)snprintf(first, 64, "%.60s", v->string);
    }
}

static enum err check(const cJSON *json, struct fault *fault)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(json, "sinew_recipe");
    const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(json, "parameters");
    if (!cJSON_IsNumber(version) || !cJSON_IsObject(parameters))
        return fault_set(fault, ERR_MALFORMED,
                         "this is no recipe: {\"sinew_recipe\": 1, \"character\": NAME, "
                         "\"parameters\": {NAME: value}}");
    if (version->valuedouble != VERSION)
        return fault_set(fault, ERR_VERSION, "this program reads recipes of version %d", VERSION);
    return ERR_OK;
}

enum err recipe_apply(const char *text, size_t size_bytes, const char *character,
                      struct customise *c, struct fault *fault)
{
    struct json_limits limits = json_limits_for(RECIPE_BYTES_MAX);
    cJSON *json = NULL;
    struct fault inner = {0};
    if (size_bytes > RECIPE_BYTES_MAX)
        return fault_set(fault, ERR_LIMIT, "a recipe has at most %d bytes", RECIPE_BYTES_MAX);
    enum err e = json_parse(text, size_bytes, &limits, &json, &inner);
    if (e != ERR_OK) return fault_set(fault, ERR_MALFORMED, "the recipe: %.200s", inner.line);
    e = check(json, fault);
    if (e == ERR_OK) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(json, "character");
        bool other = character && cJSON_IsString(name) && strcmp(name->valuestring, character) != 0;
        unsigned count = 0, left_out = 0;
        char first[64] = "";
        set_all(cJSON_GetObjectItemCaseSensitive(json, "parameters"), c, &count, &left_out, first);
        if (other)
            (void)fault_set(fault, ERR_NOT_FOUND,
                            "the recipe is of \"%.60s\", not of \"%.60s\": %u of its %u values fit",
                            name->valuestring, character, count - left_out, count);
        else if (left_out > 0)
            (void)fault_set(fault, ERR_NOT_FOUND,
                            "%u of the recipe's %u values were left out, the first is \"%.60s\"",
                            left_out, count, first);
    }
    cJSON_Delete(json);
    return e;
}
