#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "server/bake/control_words.h"
#include "server/bake/controls.h"
#include "server/bake/gait.h"
#include "server/bake/legs.h"
#include "server/bake/rig.h"

// What clips are for: what the rig file's `controls` say, the rest guessed from names, and a
// character whose names say nothing by how its clips move.

static void guess_moves(struct controls *t)
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
static void guess_actions(struct controls *t)
{
    const struct model *m = &t->b->model;
    for (uint32_t c = 0; c < m->clips_count; c++) {
        bool used = false;
        char name[64];
        size_t i = 0;
        for (uint32_t k = 0; k < MODEL_MOVE_COUNT; k++)
            used = used || (t->taken[k] && t->moves[k].clip == c);
        const char *text = model_text(m, m->clips[c].name);
        if (used || !*text || strlen(text) >= sizeof name) continue;
        for (; text[i]; i++)
            name[i] = (char)(text[i] == ' ' ? '_' : tolower((unsigned char)text[i]));
        name[i] = 0;
        if (controls_find_action(t, name) == MODEL_NONE)
            (void)controls_add_action(t, name, c, MODEL_CONTROL_BY_NAME, 0.2F);
    }
}

// A character that can jump has something to press for it.
static void add_jump(struct controls *t)
{
    const struct model_move *jump = &t->moves[MODEL_MOVE_JUMP];
    if (t->taken[MODEL_MOVE_JUMP] && controls_find_action(t, "jump") == MODEL_NONE)
        (void)controls_add_action(t, "jump", jump->clip, jump->source, 0.1F);
}

// The given speed is how fast it goes; how far its feet carry it is the clip's.
static void set_speed(struct controls *t, uint32_t kind, double unit_m)
{
    struct model_move *move = &t->moves[kind];
    double period = (double)t->b->model.clips[move->clip].duration_s;
    if (!(t->speeds[kind] > 0) || !(period > 0)) return;
    move->speed = (float)((double)t->speeds[kind] / unit_m);
    if (!(move->stride > 0)) move->stride = move->speed * (float)period;
}

static bool goes(const struct controls *t, uint32_t kind)
{
    return t->taken[kind] && kind >= MODEL_MOVE_WALK && kind <= MODEL_MOVE_STRAFE_RIGHT &&
           t->moves[kind].speed > 0;
}

// What it stands on, by its slowest gait, and when in each move.
static enum err find_legs(struct controls *t, struct gait *g, double unit_m)
{
    struct model_contact(*contacts)[MODEL_LEGS_MAX] = t->contacts;
    uint32_t first = MODEL_MOVE_WALK;
    while (first < MODEL_MOVE_COUNT && !goes(t, first))
        first++;
    enum err e = first < MODEL_MOVE_COUNT ? legs_find(g, &t->moves[first]) : ERR_OK;
    for (uint32_t k = 0; k < MODEL_MOVE_COUNT && e == ERR_OK; k++) {
        if (!t->taken[k]) continue;
        gait_contacts(g, &t->moves[k], contacts[k]);
        if (k != first && goes(t, k) && g->leg_count)
            gait_match(g, &t->moves[k], contacts[k], contacts[first]);
        set_speed(t, k, unit_m);
    }
    return e;
}

static void measure(struct controls *t, struct gait *g)
{
    for (uint32_t k = MODEL_MOVE_WALK; k <= MODEL_MOVE_STRAFE_RIGHT; k++)
        if (t->taken[k]) gait_measure(g, &t->moves[k]);
}

// No name says anything: the first clip stands, unless it goes over the ground.
static void guess_by_motion(struct controls *t, struct gait *g)
{
    struct model_move move = {.source = MODEL_CONTROL_BY_MOTION, .root = MODEL_NONE};
    gait_measure(g, &move);
    if ((double)move.speed < 0.15 * g->height)
        move = (struct model_move){.source = MODEL_CONTROL_BY_MOTION, .root = MODEL_NONE};
    else
        move.kind = MODEL_MOVE_WALK;
    t->moves[move.kind] = move;
    t->taken[move.kind] = true;
}

static enum err take_tables(struct controls *t)
{
    size_t nodes = t->b->model.nodes_count;
    t->mask_capacity = (uint32_t)(nodes < 4096 ? nodes * 4 : 4 * 4096);
    t->actions = BUILDER_ARRAY(t->b, struct model_action, MODEL_ACTIONS_MAX);
    t->ways = BUILDER_ARRAY(t->b, struct model_action_way, MODEL_ACTIONS_MAX);
    t->masks = BUILDER_ARRAY(t->b, uint32_t, t->mask_capacity + 1);
    t->bindings = BUILDER_ARRAY(t->b, struct model_binding, MODEL_BINDINGS_MAX);
    if (!t->actions || !t->ways || !t->masks || !t->bindings) return builder_no_memory(t->b);
    return ERR_OK;
}

static enum err give_legs(struct controls *t, const struct gait *g)
{
    struct model *m = &t->b->model;
    struct model_leg *legs = BUILDER_ARRAY(t->b, struct model_leg, MODEL_LEGS_MAX);
    struct model_contact *contacts =
        BUILDER_ARRAY(t->b, struct model_contact, MODEL_MOVE_COUNT * MODEL_LEGS_MAX);
    if (!legs || !contacts) return builder_no_memory(t->b);
    memcpy(legs, g->legs, sizeof g->legs);
    m->legs = legs;
    m->legs_count = g->leg_count;
    m->contacts = contacts;
    for (uint32_t k = 0; k < MODEL_MOVE_COUNT; k++)
        for (uint32_t i = 0; t->taken[k] && i < g->leg_count; i++)
            contacts[m->contacts_count++] = t->contacts[k][i];
    return ERR_OK;
}

static void give_tables(struct controls *t, struct model_move *moves)
{
    struct model *m = &t->b->model;
    for (uint32_t k = 0; k < MODEL_MOVE_COUNT; k++)
        if (t->taken[k]) moves[m->moves_count++] = t->moves[k];
    m->moves = moves;
    m->actions = t->actions;
    m->action_ways = t->ways;
    m->actions_count = m->action_ways_count = t->action_count;
    m->action_masks = t->masks;
    m->action_masks_count = t->mask_count;
    m->bindings = t->bindings;
    m->bindings_count = t->binding_count;
}

enum err compile_controls(struct builder *b, double unit_m)
{
    const cJSON *json =
        b->settings->rig ? cJSON_GetObjectItem(b->settings->rig->json, "controls") : NULL;
    struct controls t = {.b = b};
    struct gait g;
    const struct model *m = &b->model;
    if (m->clips_count == 0 && !json) return ERR_OK;
    struct model_move *moves = BUILDER_ARRAY(b, struct model_move, MODEL_MOVE_COUNT);
    enum err e = moves ? take_tables(&t) : builder_no_memory(b);
    if (e == ERR_OK) e = controls_read(&t, json);
    if (e == ERR_OK) e = gait_begin(b, &g);
    if (e != ERR_OK) return e;
    if (!cJSON_GetObjectItem(json, "locomotion")) guess_moves(&t);
    bool any = false;
    for (uint32_t k = 0; k < MODEL_MOVE_COUNT; k++)
        any = any || t.taken[k];
    measure(&t, &g);
    if (!any && m->clips_count > 0) guess_by_motion(&t, &g);
    e = find_legs(&t, &g, unit_m);
    if (e == ERR_OK) e = give_legs(&t, &g);
    if (e != ERR_OK) return e;
    if (t.action_count == 0) guess_actions(&t);
    add_jump(&t);
    e = controls_bind(&t, json);
    if (e == ERR_OK) give_tables(&t, moves);
    return e;
}
