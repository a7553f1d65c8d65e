#include "client/lib/input.h"

#include <stdlib.h>
#include <string.h>

#include "client/lib/client.h"
#include "client/lib/session.h"

enum { AGAIN_US = 100000 };

// ---- sending ----

static struct input_head next_head(struct input *in, uint64_t now_us)
{
    in->sequence++;
    in->sent[in->sequence % INPUT_SENT_MAX].sequence = in->sequence;
    in->sent[in->sequence % INPUT_SENT_MAX].event = 0;
    in->sent[in->sequence % INPUT_SENT_MAX].sent_at_us = now_us;
    return (struct input_head){.sequence = in->sequence, .client_time_us = now_us};
}

static int from_encode(enum err e)
{
    return e == ERR_OK ? SINEW_OK : SINEW_ERR_USAGE; // too large, not finite, out of range
}

// Sends what was encoded; while there is no session it only holds.
static int send_now(struct sinew_client *c, const struct wire_writer *w, uint32_t *sequence)
{
    if (c->session.phase == SESSION_JOINED && !session_send(c, w->begin, wire_size(w)))
        return SINEW_ERR_BUSY;
    if (sequence) *sequence = c->input.sequence;
    return SINEW_OK;
}

static bool copy_name(char out[INPUT_NAME_MAX], const char *name)
{
    size_t length = name ? strlen(name) : 0;
    if (length >= INPUT_NAME_MAX) return false;
    memcpy(out, name ? name : "", length + 1);
    return true;
}

static void *once(void **held, size_t size_bytes)
{
    if (!*held) *held = calloc(1, size_bytes);
    return *held;
}

static bool is_ended(const struct sinew_client *c)
{
    return c->session.phase == SESSION_ENDED;
}

int64_t input_on_seen(struct input *in, uint32_t sequence, uint64_t now_us)
{
    if (sequence == 0 || sequence <= in->seen || sequence > in->sequence) return -1;
    in->seen = sequence;
    if (in->sent[sequence % INPUT_SENT_MAX].sequence != sequence) return -1;
    // Only a message that carried an event says that it came: one sent after it may have come
    // without it.
    uint32_t event = in->sent[sequence % INPUT_SENT_MAX].event, kept = 0;
    for (uint32_t i = 0; i < in->pending_count; i++) {
        struct input_pending *p = &in->pending[i];
        if (p->event.number <= event)
            free(p->json);
        else
            in->pending[kept++] = *p;
    }
    in->pending_count = kept;
    return (int64_t)(now_us - in->sent[sequence % INPUT_SENT_MAX].sent_at_us);
}

// ---- POSE ----

static int send_pose(struct sinew_client *c, uint32_t *sequence)
{
    uint8_t bytes[LINK_MESSAGE_BYTES_MAX];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    c->input.pose->head = next_head(&c->input, sinew_now_us());
    int r = from_encode(pose_message_encode(&w, c->input.pose));
    return r ? r : send_now(c, &w, sequence);
}

static bool fill_joint(struct pose_joint *to, const struct sinew_pose_joint *from)
{
    if (!from->name || !from->name[0] || !copy_name(to->name, from->name)) return false;
    to->fields = (uint8_t)from->fields;
    memcpy(to->rotation, from->rotation, sizeof to->rotation);
    memcpy(to->translation, from->translation, sizeof to->translation);
    memcpy(to->scale, from->scale, sizeof to->scale);
    return from->fields != 0 && from->fields < 8;
}

int input_pose(struct sinew_client *c, const struct sinew_pose *in, uint32_t *sequence)
{
    if (is_ended(c)) return SINEW_ERR_STATE;
    if (in->joint_count > POSE_JOINTS_MAX) return SINEW_ERR_USAGE;
    // Built aside: what holds stays as it was when this one is refused.
    struct pose_message *next = calloc(1, sizeof *next);
    if (!next) return SINEW_ERR_MEMORY;
    bool fine = copy_name(next->clip, in->clip);
    next->time_s = in->time_s;
    next->joint_count = (uint32_t)in->joint_count;
    for (size_t i = 0; fine && i < in->joint_count; i++)
        fine = fill_joint(&next->joints[i], &in->joints[i]);
    if (!fine) {
        free(next);
        return SINEW_ERR_USAGE;
    }
    struct pose_message *before = c->input.pose;
    c->input.pose = next;
    int r = send_pose(c, sequence);
    if (r == SINEW_ERR_USAGE) c->input.pose = before;
    free(r == SINEW_ERR_USAGE ? next : before);
    return r;
}

// ---- PLACE ----

static int send_place(struct sinew_client *c, const struct input_place *in, uint32_t *sequence)
{
    uint8_t bytes[512];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct input_place place = *in;
    place.head = next_head(&c->input, sinew_now_us());
    int r = from_encode(input_encode_place(&w, &place));
    return r ? r : send_now(c, &w, sequence);
}

int input_place(struct sinew_client *c, const struct sinew_place *in, uint32_t *sequence)
{
    if (is_ended(c)) return SINEW_ERR_STATE;
    struct input_place place = {
        .fields = in->fields & 7, .yaw_rad = in->yaw_rad, .scale = in->scale};
    memcpy(place.position, in->position, sizeof place.position);
    int r = send_place(c, &place, sequence);
    if (r && r != SINEW_ERR_BUSY) return r;
    struct input_place *held = &c->input.place;
    if (place.fields & INPUT_PLACE_POSITION)
        memcpy(held->position, place.position, sizeof held->position);
    if (place.fields & INPUT_PLACE_YAW) held->yaw_rad = place.yaw_rad;
    if (place.fields & INPUT_PLACE_SCALE) held->scale = place.scale;
    held->fields |= place.fields;
    return r;
}

// ---- FACE, CUSTOMISE ----

static int send_values(struct sinew_client *c, uint8_t type, struct input_values *values,
                       uint32_t *sequence)
{
    uint8_t bytes[LINK_MESSAGE_BYTES_MAX];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    values->head = next_head(&c->input, sinew_now_us());
    int r = from_encode(input_encode_values(&w, type, values));
    return r ? r : send_now(c, &w, sequence);
}

static void hold_value(struct input_values *held, const struct sinew_value *v)
{
    uint32_t i = 0;
    while (i < held->value_count && held->values[i].id != v->id)
        i++;
    if (i == INPUT_VALUES_MAX) return; // more different ids than any character has
    held->values[i] = (struct input_value){.id = v->id, .value = v->value};
    if (i == held->value_count) held->value_count++;
}

int input_values(struct sinew_client *c, uint8_t type, const struct sinew_value *in, size_t count,
                 uint32_t *sequence)
{
    if (is_ended(c)) return SINEW_ERR_STATE;
    if (count > INPUT_VALUES_MAX) return SINEW_ERR_USAGE;
    struct input_values **held = type == MESSAGE_FACE ? &c->input.face : &c->input.customise;
    void *memory = *held;
    struct input_values *message = calloc(1, sizeof *message);
    *held = once(&memory, sizeof **held);
    if (!message || !*held) {
        free(message);
        return SINEW_ERR_MEMORY;
    }
    message->value_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        message->values[i] = (struct input_value){.id = in[i].id, .value = in[i].value};
    int r = send_values(c, type, message, sequence);
    free(message);
    for (size_t i = 0; i < count && (r == SINEW_OK || r == SINEW_ERR_BUSY); i++)
        hold_value(*held, &in[i]);
    return r;
}

// ---- CONTROL ----

// Puts every unacknowledged event into the message.
static void attach_events(struct input *in, struct input_control *message)
{
    message->event_count = in->pending_count;
    for (uint32_t i = 0; i < in->pending_count; i++)
        message->events[i] = in->pending[i].event;
    if (in->pending_count == 0) return;
    in->sent[message->head.sequence % INPUT_SENT_MAX].event =
        in->pending[in->pending_count - 1].event.number;
    in->carried_at_us = message->head.client_time_us;
}

static int send_control(struct sinew_client *c, struct input_control *message, uint32_t *sequence)
{
    uint8_t bytes[LINK_MESSAGE_BYTES_MAX];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    message->head = next_head(&c->input, sinew_now_us());
    attach_events(&c->input, message);
    int r = from_encode(input_encode_control(&w, message));
    return r ? r : send_now(c, &w, sequence);
}

static bool add_event(struct input *in, const struct sinew_action_event *from)
{
    struct input_pending p = {.event = {.kind = (uint8_t)from->action}};
    if (from->action < SINEW_PRESS || from->action > SINEW_GESTURE) return false;
    if (!from->name || !copy_name(p.event.name, from->name)) return false;
    size_t json_bytes = from->json ? strlen(from->json) : 0;
    if (json_bytes > INPUT_GESTURE_JSON_MAX || (json_bytes && from->action != SINEW_GESTURE))
        return false;
    if (json_bytes) {
        p.json = malloc(json_bytes);
        if (!p.json) return false;
        memcpy(p.json, from->json, json_bytes);
        p.event.json = p.json;
        p.event.json_bytes = (uint16_t)json_bytes;
    }
    p.event.number = ++in->event_number;
    in->pending[in->pending_count++] = p;
    return true;
}

static bool fill_control(struct input_control *to, const struct sinew_control *from)
{
    memset(to, 0, sizeof *to);
    to->fields = from->fields & 63;
    memcpy(to->view, from->view, sizeof to->view);
    memcpy(to->move, from->move, sizeof to->move);
    memcpy(to->look, from->look, sizeof to->look);
    memcpy(to->triggers, from->triggers, sizeof to->triggers);
    memcpy(to->go_to, from->go_to, sizeof to->go_to);
    if (from->root_count > INPUT_ROOTS_MAX || from->muscle_count > INPUT_MUSCLES_MAX ||
        from->switch_count > INPUT_SWITCHES_MAX)
        return false;
    to->root_count = (uint32_t)from->root_count;
    to->muscle_count = (uint32_t)from->muscle_count;
    for (size_t i = 0; i < from->root_count; i++) {
        const struct sinew_root *r = &from->roots[i];
        to->roots[i] = (struct input_root){.fields = r->fields & 31,
                                           .speed = r->speed,
                                           .weight = r->weight,
                                           .offset_s = r->offset_s};
        if (!r->root || !copy_name(to->roots[i].root, r->root) ||
            !copy_name(to->roots[i].clip, r->clip))
            return false;
    }
    for (size_t i = 0; i < from->muscle_count; i++) {
        to->muscles[i].activation = from->muscles[i].activation;
        if (!from->muscles[i].name || !copy_name(to->muscles[i].name, from->muscles[i].name))
            return false;
    }
    to->switch_count = (uint32_t)from->switch_count;
    for (size_t i = 0; i < from->switch_count; i++) {
        to->switches[i].on = from->switches[i].on != 0;
        if (!from->switches[i].name || !copy_name(to->switches[i].name, from->switches[i].name))
            return false;
    }
    return true;
}

static void hold_root(struct input_control *held, const struct input_root *r)
{
    uint32_t i = 0;
    while (i < held->root_count && strcmp(held->roots[i].root, r->root) != 0)
        i++;
    if (i == INPUT_ROOTS_MAX) return;
    struct input_root *to = &held->roots[i];
    if (i == held->root_count) {
        *to = *r;
        held->root_count++;
        return;
    }
    if (r->clip[0]) memcpy(to->clip, r->clip, sizeof to->clip);
    if (r->fields & INPUT_ROOT_SPEED) to->speed = r->speed;
    if (r->fields & INPUT_ROOT_WEIGHT) to->weight = r->weight;
    if (r->fields & INPUT_ROOT_OFFSET) to->offset_s = r->offset_s;
    if (r->fields & INPUT_ROOT_SIDE) to->fields &= ~(uint32_t)INPUT_ROOT_MIRRORED;
    to->fields |= r->fields;
}

static void hold_muscle(struct input_control *held, const struct input_muscle *m)
{
    uint32_t i = 0;
    while (i < held->muscle_count && strcmp(held->muscles[i].name, m->name) != 0)
        i++;
    if (i == INPUT_MUSCLES_MAX) return;
    held->muscles[i] = *m;
    if (i == held->muscle_count) held->muscle_count++;
}

static void hold_switch(struct input_control *held, const struct input_switch *s)
{
    uint32_t i = 0;
    while (i < held->switch_count && strcmp(held->switches[i].name, s->name) != 0)
        i++;
    if (i == INPUT_SWITCHES_MAX) return;
    held->switches[i] = *s;
    if (i == held->switch_count) held->switch_count++;
}

static void hold_control(struct input_control *held, const struct input_control *m)
{
    if (m->fields & INPUT_MOVE) memcpy(held->move, m->move, sizeof held->move);
    if (m->fields & INPUT_LOOK) memcpy(held->look, m->look, sizeof held->look);
    if (m->fields & INPUT_TRIGGERS) memcpy(held->triggers, m->triggers, sizeof held->triggers);
    if (m->fields & INPUT_VIEW) memcpy(held->view, m->view, sizeof held->view);
    if (m->fields & INPUT_GOTO) memcpy(held->go_to, m->go_to, sizeof held->go_to);
    held->fields |= m->fields & ~(uint32_t)INPUT_GOTO_END;
    if (m->fields & INPUT_GOTO_END) held->fields &= ~(uint32_t)INPUT_GOTO;
    for (uint32_t i = 0; i < m->root_count; i++)
        hold_root(held, &m->roots[i]);
    for (uint32_t i = 0; i < m->muscle_count; i++)
        hold_muscle(held, &m->muscles[i]);
    for (uint32_t i = 0; i < m->switch_count; i++)
        hold_switch(held, &m->switches[i]);
}

static void drop_events(struct input *in, uint32_t keep)
{
    while (in->pending_count > keep) {
        free(in->pending[--in->pending_count].json);
        in->event_number--;
    }
}

int input_control(struct sinew_client *c, const struct sinew_control *from, uint32_t *sequence)
{
    struct input *in = &c->input;
    if (is_ended(c)) return SINEW_ERR_STATE;
    if (from->event_count > INPUT_EVENTS_MAX - in->pending_count) return SINEW_ERR_BUSY;
    void *message = in->message, *held = in->control;
    in->message = once(&message, sizeof *in->message);
    in->control = once(&held, sizeof *in->control);
    if (!message || !held) return SINEW_ERR_MEMORY;
    uint32_t had = in->pending_count;
    bool fine = fill_control(in->message, from);
    for (size_t i = 0; fine && i < from->event_count; i++)
        fine = add_event(in, &from->events[i]);
    int r = fine ? send_control(c, in->message, sequence) : SINEW_ERR_USAGE;
    if (r == SINEW_OK)
        hold_control(in->control, in->message);
    else
        drop_events(in, had);
    return r;
}

void input_step(struct sinew_client *c, uint64_t now_us)
{
    struct input *in = &c->input;
    if (in->pending_count == 0 || !in->message || now_us < in->carried_at_us + AGAIN_US) return;
    memset(in->message, 0, sizeof *in->message);
    (void)send_control(c, in->message, NULL);
}

// ---- SENSOR ----

static bool fill_sensor(struct input_sensor *to, const struct sinew_sensor *from)
{
    if (from->device_count > INPUT_DEVICES_MAX || from->hand_count > 2) return false;
    if (from->requests > UINT16_MAX) return false;
    to->sample_time_us = from->sample_time_us;
    to->requests = (uint16_t)from->requests;
    to->device_count = (uint32_t)from->device_count;
    to->hand_count = (uint32_t)from->hand_count;
    for (size_t i = 0; i < from->device_count; i++) {
        const struct sinew_device *d = &from->devices[i];
        struct input_device *out = &to->devices[i];
        if (!d->name || !input_device_find(d->name, &out->id) || d->flags > 63) return false;
        out->flags = (uint8_t)d->flags;
        memcpy(out->position, d->position, sizeof out->position);
        memcpy(out->rotation, d->rotation, sizeof out->rotation);
        memcpy(out->velocity, d->velocity, sizeof out->velocity);
        memcpy(out->angular, d->angular, sizeof out->angular);
    }
    for (size_t i = 0; i < from->hand_count; i++) {
        const struct sinew_hand *h = &from->hands[i];
        struct input_hand *out = &to->hands[i];
        if (h->side > 1 || h->fields > 7) return false;
        out->side = (uint8_t)h->side;
        out->fields = (uint8_t)h->fields;
        memcpy(out->curl, h->curl, sizeof out->curl);
        memcpy(out->splay, h->splay, sizeof out->splay);
        memcpy(out->rotation, h->rotation, sizeof out->rotation);
    }
    return true;
}

int input_sensor(struct sinew_client *c, const struct sinew_sensor *from, uint32_t *sequence)
{
    if (is_ended(c)) return SINEW_ERR_STATE;
    struct input_sensor sensor = {0};
    if (!fill_sensor(&sensor, from)) return SINEW_ERR_USAGE;
    uint8_t bytes[8192 + 16];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    sensor.head = next_head(&c->input, sinew_now_us());
    int r = from_encode(input_encode_sensor(&w, &sensor));
    return r ? r : send_now(c, &w, sequence);
}

// ---- a new connection ----

void input_rejoin(struct sinew_client *c, bool resumed)
{
    struct input *in = &c->input;
    if (!resumed) { // a new session counts its events from 1
        in->event_number = 0;
        for (uint32_t i = 0; i < in->pending_count; i++)
            in->pending[i].event.number = ++in->event_number;
        memset(in->sent, 0, sizeof in->sent);
    }
    if (in->control || in->pending_count > 0) {
        void *message = in->message;
        in->message = once(&message, sizeof *in->message);
        if (in->message) {
            memset(in->message, 0, sizeof *in->message);
            if (in->control) *in->message = *in->control;
            (void)send_control(c, in->message, NULL);
        }
    }
    if (in->pose) (void)send_pose(c, NULL);
    if (in->place.fields) (void)send_place(c, &in->place, NULL);
    if (in->face) (void)send_values(c, MESSAGE_FACE, in->face, NULL);
    if (in->customise) (void)send_values(c, MESSAGE_CUSTOMISE, in->customise, NULL);
}

void input_free(struct input *in)
{
    for (uint32_t i = 0; i < in->pending_count; i++)
        free(in->pending[i].json);
    free(in->pose);
    free(in->face);
    free(in->customise);
    free(in->control);
    free(in->message);
    *in = (struct input){0};
}
