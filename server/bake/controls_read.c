#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "server/bake/controls.h"
#include "server/model/lookup.h"

static const char *const kind_names[MODEL_MOVE_COUNT] = {
    "idle",      "walk",       "run",  "back", "strafe_left", "strafe_right",
    "turn_left", "turn_right", "jump", "fall", "land"};

static enum err bad(struct controls *t, const char *where, const char *key, const char *what)
{
    return fault_set(t->b->fault, ERR_MALFORMED, "/controls/%s/%.60s: %s", where, key, what);
}

static enum err read_clip(struct controls *t, const char *where, const cJSON *item, uint32_t *out)
{
    const cJSON *clip = cJSON_IsString(item) ? item : cJSON_GetObjectItem(item, "clip");
    char path[160];
    (void)snprintf(path, sizeof path, "controls/%s/%.60s", where, item->string);
    return lookup_name(&t->b->model, LOOKUP_CLIP, clip->valuestring, path, out, t->b->fault);
}

static enum err read_moves(struct controls *t, const cJSON *json)
{
    enum err e = ERR_OK;
    for (const cJSON *item = json ? json->child : NULL; item && e == ERR_OK; item = item->next) {
        uint32_t kind = 0;
        while (strcmp(kind_names[kind], item->string) != 0) // the schema knows them all
            kind++;
        t->moves[kind] = (struct model_move){.kind = kind, .root = MODEL_NONE};
        e = read_clip(t, "locomotion", item, &t->moves[kind].clip);
        const cJSON *speed = cJSON_GetObjectItem(item, "speed_m_s");
        t->speeds[kind] = speed ? (float)speed->valuedouble : 0;
        if (t->speeds[kind] > 1000)
            return bad(t, "locomotion", item->string, "speed_m_s: at most 1000");
        t->taken[kind] = true;
    }
    return e;
}

bool controls_add_action(struct controls *t, const char *name, uint32_t clip, uint32_t source,
                         float fade_s)
{
    if (t->action_count == MODEL_ACTIONS_MAX) return false;
    t->ways[t->action_count] = (struct model_action_way){.root = MODEL_NONE};
    t->actions[t->action_count++] = (struct model_action){
        .name = builder_text(t->b, name), .clip = clip, .source = source, .fade_s = fade_s};
    return true;
}

int32_t controls_find_action(const struct controls *t, const char *name)
{
    for (uint32_t i = 0; i < t->action_count; i++)
        if (strcmp(model_text(&t->b->model, t->actions[i].name), name) == 0) return (int32_t)i;
    return MODEL_NONE;
}

static enum err read_root(struct controls *t, const cJSON *item, int32_t *out)
{
    const struct model *m = &t->b->model;
    const cJSON *root = cJSON_GetObjectItem(item, "root");
    if (!root) return ERR_OK;
    if (m->roots_count == 0) {
        scene_note(t->b->scene, NOTE_LEFT_OUT, 1,
                   "controls/actions/%.60s/root: the character has one root only", item->string);
        return ERR_OK;
    }
    char path[160];
    uint32_t found = 0;
    (void)snprintf(path, sizeof path, "/controls/actions/%.100s/root", item->string);
    enum err e = lookup_name(m, LOOKUP_ROOT, root->valuestring, path, &found, t->b->fault);
    if (e == ERR_OK) *out = (int32_t)found;
    return e;
}

static enum err read_mask(struct controls *t, const cJSON *item, struct model_action_way *way)
{
    const cJSON *mask = cJSON_GetObjectItem(item, "mask");
    enum err e = ERR_OK;
    char path[160];
    (void)snprintf(path, sizeof path, "controls/actions/%.60s/mask", item->string);
    way->mask_first = t->mask_count;
    for (const cJSON *n = mask ? mask->child : NULL; n && e == ERR_OK; n = n->next) {
        if (t->mask_count == t->mask_capacity)
            return bad(t, "actions", item->string, "mask: too many joints in all masks");
        e = lookup_name(&t->b->model, LOOKUP_NODE, n->valuestring, path, &t->masks[t->mask_count],
                        t->b->fault);
        t->mask_count++;
        way->mask_count++;
    }
    return e;
}

static enum err read_action(struct controls *t, const cJSON *item)
{
    const cJSON *fade = cJSON_GetObjectItem(item, "fade_s"),
                *priority = cJSON_GetObjectItem(item, "priority");
    struct model_action_way *way = &t->ways[t->action_count];
    uint32_t clip = 0;
    enum err e = read_clip(t, "actions", item, &clip);
    if (e != ERR_OK) return e;
    if (fade && !(fade->valuedouble >= 0 && fade->valuedouble <= 10))
        return bad(t, "actions", item->string, "fade_s: 0 to 10");
    if (priority && !(priority->valuedouble >= -100 && priority->valuedouble <= 100))
        return bad(t, "actions", item->string, "priority: -100 to 100");
    if (!controls_add_action(t, item->string, clip, MODEL_CONTROL_GIVEN,
                             fade ? (float)fade->valuedouble : 0.2F))
        return bad(t, "actions", item->string, "too many actions");
    way->priority = priority ? (int32_t)priority->valuedouble : 0;
    e = read_root(t, item, &way->root);
    if (e == ERR_OK) e = read_mask(t, item, way);
    if (e == ERR_OK && way->root != MODEL_NONE && way->mask_count > 0)
        return bad(t, "actions", item->string, "give a root or a mask");
    return e;
}

enum err controls_read(struct controls *t, const cJSON *json)
{
    enum err e = read_moves(t, cJSON_GetObjectItem(json, "locomotion"));
    const cJSON *actions = cJSON_GetObjectItem(json, "actions");
    for (const cJSON *item = actions ? actions->child : NULL; item && e == ERR_OK;
         item = item->next)
        e = read_action(t, item);
    return e;
}

// ---- bindings ---------------------------------------------------------------------------------

static bool add_binding(struct controls *t, uint32_t kind, const char *input, int32_t action,
                        uint32_t source)
{
    if (t->binding_count == MODEL_BINDINGS_MAX) return false;
    t->bindings[t->binding_count++] =
        (struct model_binding){kind, builder_text(t->b, input), action, source};
    return true;
}

static bool is_input(const char *name)
{
    static const char *const devices[] = {"key:", "gamepad:", "touch:", "mouse:"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        size_t length = strlen(devices[i]);
        if (strncmp(name, devices[i], length) == 0 && name[length]) return true;
    }
    return false;
}

static enum err read_bindings(struct controls *t, const cJSON *json, const char *where,
                              uint32_t kind)
{
    for (const cJSON *item = json ? json->child : NULL; item; item = item->next) {
        bool input = kind == MODEL_BINDING_INPUT;
        int32_t action = controls_find_action(t, item->valuestring);
        if (strlen(item->string) >= 64) return bad(t, where, item->string, "the name is too long");
        if (input && !is_input(item->string))
            return bad(t, where, item->string,
                       "an input is key:CODE, gamepad:buttonN, touch:GESTURE or mouse:buttonN");
        if (action == MODEL_NONE && !(input && strcmp(item->valuestring, "goto") == 0))
            return bad(t, where, item->string, "no such action; /controls/actions lists them");
        if (!add_binding(t, kind, item->string, action, MODEL_CONTROL_GIVEN))
            return bad(t, where, item->string, "too many bindings");
    }
    return ERR_OK;
}

// What players try first.
static void bind_usual(struct controls *t)
{
    static const char *const jumps[] = {"key:Space", "gamepad:button0", "touch:swipe_up"},
                             *const firsts[] = {"key:KeyE", "gamepad:button2", "touch:tap"};
    int32_t jump = controls_find_action(t, "jump"), first = controls_find_action(t, "wave");
    for (int32_t i = 0; first == MODEL_NONE && i < (int32_t)t->action_count; i++)
        if (i != jump) first = i;
    for (size_t i = 0; i < 3; i++) {
        if (jump != MODEL_NONE)
            (void)add_binding(t, MODEL_BINDING_INPUT, jumps[i], jump, MODEL_CONTROL_BY_NAME);
        if (first != MODEL_NONE)
            (void)add_binding(t, MODEL_BINDING_INPUT, firsts[i], first, MODEL_CONTROL_BY_NAME);
    }
    int32_t digit = 1;
    for (int32_t i = 0; i < (int32_t)t->action_count && digit <= 9; i++) {
        char key[16];
        if (i == jump || i == first) continue;
        (void)snprintf(key, sizeof key, "key:Digit%d", digit++);
        (void)add_binding(t, MODEL_BINDING_INPUT, key, i, MODEL_CONTROL_BY_NAME);
    }
    (void)add_binding(t, MODEL_BINDING_INPUT, "mouse:button0", MODEL_NONE, MODEL_CONTROL_BY_NAME);
    if (jump != MODEL_NONE)
        (void)add_binding(t, MODEL_BINDING_MOVEMENT, "jump", jump, MODEL_CONTROL_BY_NAME);
    int32_t wave = controls_find_action(t, "wave");
    if (wave != MODEL_NONE)
        (void)add_binding(t, MODEL_BINDING_MOVEMENT, "raise_hand", wave, MODEL_CONTROL_BY_NAME);
}

enum err controls_bind(struct controls *t, const cJSON *json)
{
    const cJSON *bindings = cJSON_GetObjectItem(json, "bindings"),
                *gestures = cJSON_GetObjectItem(json, "gestures");
    if (!bindings && !gestures) {
        bind_usual(t);
        return ERR_OK;
    }
    enum err e = read_bindings(t, bindings, "bindings", MODEL_BINDING_INPUT);
    return e == ERR_OK ? read_bindings(t, gestures, "gestures", MODEL_BINDING_MOVEMENT) : e;
}
