#include <cjson/cJSON.h>
#include <string.h>

#include "server/stage/role_own.h"

// What the character's inputs mean, as WELCOME says it: {"key:KeyE": "wave", "mouse:button0":
// "goto"}. What a sensor recognises stays here.
enum err role_build_bindings(struct role_build *b)
{
    const struct model *m = b->role->model;
    cJSON *json = cJSON_CreateObject();
    bool fine = json != NULL;
    for (size_t i = 0; fine && i < m->bindings_count; i++) {
        const struct model_binding *from = &m->bindings[i];
        const char *input = model_text(m, from->input);
        const char *action =
            from->action == MODEL_NONE ? "goto" : model_text(m, m->actions[from->action].name);
        if (from->kind != MODEL_BINDING_INPUT ||
            !wire_is_utf8((const uint8_t *)input, strlen(input)) ||
            !wire_is_utf8((const uint8_t *)action, strlen(action)))
            continue;
        fine = cJSON_AddStringToObject(json, input, action) != NULL;
    }
    char *text = fine ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    char *kept = text ? pool_copy_text(&b->role->own->pool, text, strlen(text)) : NULL;
    b->role->bindings_bytes = text ? strlen(text) : 0;
    b->role->bindings_json = kept;
    cJSON_free(text);
    return kept ? ERR_OK : role_no_memory(b);
}
