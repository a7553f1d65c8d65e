#include <math.h>
#include <string.h>

#include "server/character/pose/clip.h"
#include "server/character/pose/motion_own.h"

// A fade of so many seconds as the rate of what dies away; no faster than joints may turn.
static double rate_of(double fade_s)
{
    return fmin(fmax(3.2 / fmax(fade_s, 1e-3), 4), 13);
}

static double length_of(const struct model *m, int32_t action)
{
    return (double)m->clips[m->actions[action].clip].duration_s;
}

bool motion_walks(const struct motion *n)
{
    return n->way.speed > 0.05 * n->way.height;
}

bool motion_is_jump(const struct model *m, int32_t action)
{
    const struct model_move *jump = locomotion_move(m, MODEL_MOVE_JUMP);
    return jump && jump->clip == m->actions[action].clip;
}

// Which nodes it may have: its mask's, its root's, else all.
static void take_nodes(struct motion *n, const struct model *m, int32_t action)
{
    const struct model_action_way *w = &m->action_ways[action];
    for (size_t i = 0; i < m->nodes_count; i++) {
        int32_t parent = m->nodes[i].parent;
        bool all = w->mask_count == 0 && w->root == MODEL_NONE;
        bool taken = all || (w->root != MODEL_NONE && m->node_roots_count > i &&
                             m->node_roots[i] == (uint8_t)w->root);
        if (w->mask_count > 0 && parent != MODEL_NONE) taken = taken || n->taken[parent] > 0;
        for (uint32_t k = 0; k < w->mask_count && !taken; k++)
            taken = m->action_masks[w->mask_first + k] == i;
        n->taken[i] = taken ? 1 : 0;
    }
}

static void begin_action(struct motion *n, const struct model *m, int32_t action)
{
    n->action = action;
    n->action_s = 0;
    n->action_upper = motion_walks(n) && !motion_is_jump(m, action);
    n->eases = true;
    n->ease_rate = rate_of((double)m->actions[action].fade_s);
    take_nodes(n, m, action);
}

static void end_action(struct motion *n, const struct model *m)
{
    n->eases = true;
    n->ease_rate = rate_of((double)m->actions[n->action].fade_s);
    n->action = MODEL_NONE;
    int32_t next = n->queued;
    n->queued = MODEL_NONE;
    if (next != MODEL_NONE) begin_action(n, m, next);
}

// An action of at least the same priority takes over at once; a lower one, and the same one again,
// waits for its end. One waits: the one that matters most, the newest of equals.
static void press(struct motion *n, const struct model *m, int32_t pressed)
{
    int32_t now = n->action == MODEL_NONE ? INT32_MIN : m->action_ways[n->action].priority;
    int32_t wants = m->action_ways[pressed].priority;
    if (n->action != MODEL_NONE && (pressed == n->action || wants < now)) {
        if (n->queued == MODEL_NONE || wants >= m->action_ways[n->queued].priority)
            n->queued = pressed;
        return;
    }
    begin_action(n, m, pressed);
}

void motion_act(struct motion *n, const struct model *m, struct control *c, double dt_s)
{
    if (n->action != MODEL_NONE) {
        double left = length_of(m, n->action) - (n->action_s += dt_s);
        bool upper = motion_walks(n) && !motion_is_jump(m, n->action);
        if (upper != n->action_upper) {
            n->action_upper = upper;
            n->eases = true;
        }
        if (left <= 0) end_action(n, m);
    }
    for (uint32_t i = 0; i < c->press_count; i++) {
        int32_t pressed = (int32_t)c->presses[i];
        if (motion_is_jump(m, pressed) && locomotion_move(m, MODEL_MOVE_FALL))
            motion_jump(n, m);
        else
            press(n, m, pressed);
    }
    c->press_count = 0;
}

static bool is_laid(const struct motion *n, size_t node)
{
    return n->taken[node] > 0 && (!n->action_upper || n->upper[node] > 0);
}

bool motion_action_has_legs(const struct motion *n, const struct model *m)
{
    for (size_t i = 0; n->action != MODEL_NONE && i < m->legs_count; i++)
        if (m->legs[i].hip != MODEL_NONE && is_laid(n, (size_t)m->legs[i].hip)) return true;
    return false;
}

void motion_lay_action(struct motion *n, const struct model *m)
{
    if (n->action == MODEL_NONE) return;
    const struct model_action_way *w = &m->action_ways[n->action];
    pose_rest(m, n->scratch);
    clip_sample(m, m->actions[n->action].clip, fmin(n->action_s, length_of(m, n->action)),
                (struct clip_cursor){0}, n->scratch);
    for (size_t i = 0; i < m->nodes_count; i++)
        if (is_laid(n, i)) n->target.locals[i] = n->scratch.locals[i];
    if (w->mask_count == 0 && w->root == MODEL_NONE)
        memcpy(n->target.weights, n->scratch.weights,
               m->channels_count * sizeof *n->scratch.weights);
}
