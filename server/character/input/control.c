#include "server/character/input/control.h"

#include <math.h>
#include <string.h>

static void press(struct control *c, const struct model *m, const char *name)
{
    for (uint32_t i = 0; i < m->actions_count; i++) {
        if (strcmp(model_text(m, m->actions[i].name), name) != 0) continue;
        if (c->press_count == CONTROL_PRESSES_MAX) {
            memmove(c->presses, c->presses + 1, sizeof c->presses - sizeof c->presses[0]);
            c->press_count--;
        }
        c->presses[c->press_count++] = i;
        c->pressed++;
        return;
    }
}

bool control_take(struct control *c, const struct model *m, const struct input_control *message)
{
    bool asks = false;
    if (message->fields & INPUT_MOVE) {
        memcpy(c->move, message->move, sizeof c->move);
        asks = c->move[0] != 0 || c->move[1] != 0;
        if (asks) c->going = false;
    }
    if (message->fields & INPUT_LOOK) memcpy(c->look, message->look, sizeof c->look);
    if (message->fields & INPUT_VIEW) memcpy(c->view, message->view, sizeof c->view);
    c->viewed = c->viewed || message->fields & INPUT_VIEW;
    if (message->fields & INPUT_TRIGGERS)
        memcpy(c->triggers, message->triggers, sizeof c->triggers);
    if (message->fields & INPUT_GOTO) {
        memcpy(c->go_to, message->go_to, sizeof c->go_to);
        c->going = asks = true;
    }
    if (message->fields & INPUT_GOTO_END) c->going = false;
    for (uint32_t i = 0; i < message->event_count; i++) {
        const struct input_event *event = &message->events[i];
        if (event->number <= c->event_seen) continue;
        c->event_seen = event->number;
        if (event->kind == INPUT_RELEASE) continue;
        press(c, m, event->name);
        asks = true;
    }
    c->live = c->live || asks;
    return asks;
}
