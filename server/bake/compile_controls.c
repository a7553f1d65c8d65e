#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/bake/builder.h"
#include "server/bake/control_words.h"
#include "server/bake/gait.h"
#include "server/bake/rig.h"
#include "server/model/lookup.h"

// What clips are for: what the rig file's `controls` say, the rest guessed from names, and a
// character whose names say nothing by how its clips move.
struct table {
    struct builder *b;
    struct model_move moves[MODEL_MOVE_COUNT]; // [kind]
    bool taken[MODEL_MOVE_COUNT];
    struct model_action *actions;
    uint32_t action_count;
};

static const char *const kind_names[MODEL_MOVE_COUNT] = {
    "idle",      "walk",       "run",  "back", "strafe_left", "strafe_right",
    "turn_left", "turn_right", "jump", "fall", "land"};

static enum err bad(struct table *t, const char *where, const char *key, const char *what)
{
    return fault_set(t->b->fault, ERR_MALFORMED, "/controls/%s/%.60s: %s", where, key, what);
}

static enum err read_clip(struct table *t, const char *where, const cJSON *item, uint32_t *out)
{
    const cJSON *clip = cJSON_IsString(item) ? item : cJSON_GetObjectItem(item, "clip");
    char path[160];
    (void)snprintf(path, sizeof path, "controls/%s/%.60s", where, item->string);
    if (!cJSON_IsString(clip)) return bad(t, where, item->string, "must name a clip");
    return lookup_name(&t->b->model, LOOKUP_CLIP, clip->valuestring, path, out, t->b->fault);
}

static enum err read_positive(struct table *t, const char *where, const cJSON *item,
                              const char *key, double most, float *out)
{
    const cJSON *number = cJSON_GetObjectItem(item, key);
    if (!number) return ERR_OK;
    if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0 && number->valuedouble <= most))
        return bad(t, where, item->string, "a number is out of range");
    *out = (float)number->valuedouble;
    return ERR_OK;
}

static enum err read_moves(struct table *t, const cJSON *json, float *speeds)
{
    enum err e = ERR_OK;
    for (const cJSON *item = json ? json->child : NULL; item && e == ERR_OK; item = item->next) {
        uint32_t kind = 0;
        while (kind < MODEL_MOVE_COUNT && strcmp(kind_names[kind], item->string) != 0)
            kind++;
        if (kind == MODEL_MOVE_COUNT)
            return bad(t, "locomotion", item->string,
                       "unknown; there are idle, walk, run, back, strafe_left, strafe_right, "
                       "turn_left, turn_right, jump, fall, land");
        t->moves[kind] = (struct model_move){.kind = kind, .root = MODEL_NONE};
        e = read_clip(t, "locomotion", item, &t->moves[kind].clip);
        if (e == ERR_OK) e = read_positive(t, "locomotion", item, "speed_m_s", 1000, &speeds[kind]);
        t->taken[kind] = true;
    }
    return e;
}

static enum err read_actions(struct table *t, const cJSON *json)
{
    enum err e = ERR_OK;
    for (const cJSON *item = json ? json->child : NULL; item && e == ERR_OK; item = item->next) {
        struct model_action a = {.fade_s = 0.2F};
        if (t->action_count == MODEL_ACTIONS_MAX)
            return bad(t, "actions", item->string, "too many actions");
        e = read_clip(t, "actions", item, &a.clip);
        if (e == ERR_OK) e = read_positive(t, "actions", item, "fade_s", 10, &a.fade_s);
        a.name = builder_text(t->b, item->string);
        t->actions[t->action_count++] = a;
    }
    return e;
}

static void guess_moves(struct table *t)
{
    const struct model *m = &t->b->model;
    uint32_t ranks[MODEL_MOVE_COUNT];
    memset(ranks, 0xff, sizeof ranks);
    for (uint32_t c = 0; c < m->clips_count; c++) {
        uint32_t rank = 0;
        int32_t kind = control_guess(model_text(m, m->clips[c].name), &rank);
        if (kind < 0 || (t->taken[kind] && t->moves[kind].source == MODEL_CONTROL_GIVEN) ||
            rank >= ranks[kind])
            continue;
        ranks[kind] = rank;
        t->taken[kind] = true;
        t->moves[kind] = (struct model_move){
            .kind = (uint32_t)kind, .clip = c, .source = MODEL_CONTROL_BY_NAME, .root = MODEL_NONE};
    }
}

// Every clip that is no move is an action of its own name.
static void guess_actions(struct table *t)
{
    const struct model *m = &t->b->model;
    for (uint32_t c = 0; c < m->clips_count && t->action_count < MODEL_ACTIONS_MAX; c++) {
        bool used = false;
        char name[64];
        size_t i = 0;
        for (uint32_t k = 0; k < MODEL_MOVE_JUMP; k++)
            used = used || (t->taken[k] && t->moves[k].clip == c);
        const char *text = model_text(m, m->clips[c].name);
        if (used || !*text || strlen(text) >= sizeof name) continue;
        for (; text[i]; i++)
            name[i] = (char)(text[i] == ' ' ? '_' : tolower((unsigned char)text[i]));
        name[i] = 0;
        t->actions[t->action_count++] = (struct model_action){.name = builder_text(t->b, name),
                                                              .clip = c,
                                                              .source = MODEL_CONTROL_BY_NAME,
                                                              .fade_s = 0.2F};
    }
}

static void measure(struct table *t, struct gait *g, const float *speeds, double unit_m)
{
    bool any = false;
    for (uint32_t k = MODEL_MOVE_WALK; k <= MODEL_MOVE_STRAFE_RIGHT; k++) {
        struct model_move *move = &t->moves[k];
        if (!t->taken[k]) continue;
        gait_measure(g, move, !any);
        any = true;
        if (speeds[k] > 0 && t->b->model.clips[move->clip].duration_s > 0)
            move->speed = (float)((double)speeds[k] / unit_m);
    }
}

// No name says anything: the first clip stands, unless it goes over the ground.
static void guess_by_motion(struct table *t, struct gait *g)
{
    struct model_move move = {.source = MODEL_CONTROL_BY_MOTION, .root = MODEL_NONE};
    gait_measure(g, &move, true);
    if ((double)move.speed < 0.15 * g->height)
        move = (struct model_move){.source = MODEL_CONTROL_BY_MOTION, .root = MODEL_NONE};
    else
        move.kind = MODEL_MOVE_WALK;
    t->moves[move.kind] = move;
    t->taken[move.kind] = true;
}

enum err compile_controls(struct builder *b, double unit_m)
{
    const cJSON *json =
        b->settings->rig ? cJSON_GetObjectItem(b->settings->rig->json, "controls") : NULL;
    struct table t = {.b = b};
    struct gait g;
    float speeds[MODEL_MOVE_COUNT] = {0};
    struct model *m = &b->model;
    if (m->clips_count == 0 && !json) return ERR_OK;
    t.actions = BUILDER_ARRAY(b, struct model_action, MODEL_ACTIONS_MAX);
    struct model_move *moves = BUILDER_ARRAY(b, struct model_move, MODEL_MOVE_COUNT);
    if (!t.actions || !moves) return builder_no_memory(b);
    enum err e = read_moves(&t, cJSON_GetObjectItem(json, "locomotion"), speeds);
    if (e == ERR_OK) e = read_actions(&t, cJSON_GetObjectItem(json, "actions"));
    if (e == ERR_OK) e = gait_begin(b, &g);
    if (e != ERR_OK) return e;
    bool told = json && cJSON_GetObjectItem(json, "locomotion");
    if (!told) guess_moves(&t);
    bool any = false;
    for (uint32_t k = 0; k < MODEL_MOVE_COUNT; k++)
        any = any || t.taken[k];
    measure(&t, &g, speeds, unit_m);
    if (!any && m->clips_count > 0) guess_by_motion(&t, &g);
    if (t.action_count == 0) guess_actions(&t);
    for (uint32_t k = 0; k < MODEL_MOVE_COUNT; k++)
        if (t.taken[k]) moves[m->moves_count++] = t.moves[k];
    m->moves = moves;
    m->actions = t.actions;
    m->actions_count = t.action_count;
    return ERR_OK;
}
