#include "proto/input_messages.h"

#include <math.h>
#include <string.h>

#include "proto/messages.h"

// Encoders refuse what decoders would: each pair shares one check.

static const char *const device_names[INPUT_DEVICE_COUNT] = {
#define X(id, name) [id] = #name,
    INPUT_DEVICE_MAP(X)
#undef X
};

const char *input_device_name(uint8_t id)
{
    return id < INPUT_DEVICE_COUNT ? device_names[id] : NULL;
}

bool input_device_find(const char *name, uint8_t *id)
{
    for (int i = 0; i < INPUT_DEVICE_COUNT; i++) {
        if (strcmp(device_names[i], name) != 0) continue;
        *id = (uint8_t)i;
        return true;
    }
    return false;
}

static enum err input_end(struct wire_writer *w, size_t begun_at)
{
    messages_end(w, begun_at);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

static void put_head(struct wire_writer *w, const struct input_head *head)
{
    wire_put_u32(w, head->sequence);
    wire_put_u32(w, 0);
    wire_put_u64(w, head->client_time_us);
}

static struct input_head get_head(struct wire_reader *r)
{
    struct input_head head = {0};
    head.sequence = wire_u32(r);
    (void)wire_u32(r);
    head.client_time_us = wire_u64(r);
    return head;
}

enum err input_decode_head(const uint8_t *payload, size_t size_bytes, struct input_head *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct input_head head = get_head(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (head.sequence == 0) return ERR_MALFORMED;
    *out = head;
    return ERR_OK;
}

static bool within(const float *values, size_t count, float low, float high)
{
    for (size_t i = 0; i < count; i++)
        if (!(values[i] >= low && values[i] <= high)) return false; // NaN too
    return true;
}

static bool rotation_usable(const float q[4])
{
    if (!wire_finite(q, 4)) return false;
    float norm2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return norm2 >= 0.25f && norm2 <= 4;
}

// ---- CONTROL ----

static bool direction_usable(const float v[3])
{
    if (!wire_finite(v, 3)) return false;
    float length2 = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    return length2 >= 0.25F && length2 <= 4;
}

static enum err control_check(const struct input_control *c)
{
    if (c->head.sequence == 0) return ERR_MALFORMED;
    if (!within(c->move, 2, -1, 1) || !within(c->look, 2, -1, 1) || !within(c->triggers, 2, 0, 1) ||
        !wire_finite(c->go_to, 2))
        return ERR_MALFORMED;
    if (c->fields & INPUT_VIEW && !direction_usable(c->view)) return ERR_MALFORMED;
    for (uint32_t i = 0; i < c->event_count; i++) {
        const struct input_event *event = &c->events[i];
        if (event->number == 0 || event->kind < INPUT_PRESS || event->kind > INPUT_GESTURE)
            return ERR_MALFORMED;
        if (i > 0 && event->number <= c->events[i - 1].number) return ERR_MALFORMED;
        if (event->json_bytes > INPUT_GESTURE_JSON_MAX) return ERR_LIMIT;
        if (event->json_bytes && event->kind != INPUT_GESTURE) return ERR_MALFORMED;
    }
    for (uint32_t i = 0; i < c->root_count; i++) {
        const struct input_root *root = &c->roots[i];
        float values[3] = {root->speed, root->weight, root->offset_s};
        if (!wire_finite(values, 3) || !root->root[0]) return ERR_MALFORMED;
    }
    for (uint32_t i = 0; i < c->muscle_count; i++)
        if (!within(&c->muscles[i].activation, 1, 0, 1) || !c->muscles[i].name[0])
            return ERR_MALFORMED;
    for (uint32_t i = 0; i < c->switch_count; i++)
        if (!c->switches[i].name[0]) return ERR_MALFORMED;
    return ERR_OK;
}

static bool control_counts_fit(const struct input_control *c)
{
    return c->event_count <= INPUT_EVENTS_MAX && c->root_count <= INPUT_ROOTS_MAX &&
           c->muscle_count <= INPUT_MUSCLES_MAX && c->switch_count <= INPUT_SWITCHES_MAX;
}

enum err input_encode_control(struct wire_writer *w, const struct input_control *in)
{
    if (!control_counts_fit(in)) return ERR_LIMIT;
    enum err e = control_check(in);
    if (e) return e;
    size_t at = messages_begin(w, MESSAGE_CONTROL);
    put_head(w, &in->head);
    wire_put_u32(w, in->fields);
    wire_put_floats(w, in->move, 2);
    wire_put_floats(w, in->look, 2);
    wire_put_floats(w, in->triggers, 2);
    wire_put_floats(w, in->go_to, 2);
    wire_put_u16(w, (uint16_t)in->event_count);
    wire_put_u16(w, (uint16_t)in->root_count);
    wire_put_u16(w, (uint16_t)in->muscle_count);
    wire_put_u16(w, (uint16_t)in->switch_count);
    for (uint32_t i = 0; i < in->event_count; i++) {
        const struct input_event *event = &in->events[i];
        wire_put_u32(w, event->number);
        wire_put_u16(w, event->json_bytes);
        wire_put_u8(w, event->kind);
        wire_put_text(w, event->name);
        wire_put_bytes(w, event->json, event->json_bytes);
        wire_put_align4(w);
    }
    for (uint32_t i = 0; i < in->root_count; i++) {
        const struct input_root *root = &in->roots[i];
        wire_put_u32(w, root->fields);
        wire_put_f32(w, root->speed);
        wire_put_f32(w, root->weight);
        wire_put_f32(w, root->offset_s);
        wire_put_text(w, root->root);
        wire_put_text(w, root->clip);
        wire_put_align4(w);
    }
    for (uint32_t i = 0; i < in->muscle_count; i++) {
        wire_put_f32(w, in->muscles[i].activation);
        wire_put_text(w, in->muscles[i].name);
        wire_put_align4(w);
    }
    for (uint32_t i = 0; i < in->switch_count; i++) {
        wire_put_u8(w, in->switches[i].on);
        wire_put_text(w, in->switches[i].name);
        wire_put_align4(w);
    }
    if (in->fields & INPUT_VIEW) wire_put_floats(w, in->view, 3);
    return input_end(w, at);
}

static void get_events(struct wire_reader *r, struct input_control *c)
{
    for (uint32_t i = 0; i < c->event_count && !r->failed; i++) {
        struct input_event *event = &c->events[i];
        event->number = wire_u32(r);
        event->json_bytes = wire_u16(r);
        event->kind = wire_u8(r);
        wire_text(r, event->name, sizeof event->name);
        event->json = (const char *)wire_bytes(r, event->json_bytes);
        wire_align4(r);
        if (r->failed) return;
        if (!wire_is_utf8((const uint8_t *)event->json, event->json_bytes))
            r->failed = r->malformed = true;
        if (event->json_bytes == 0) event->json = NULL;
    }
}

static void get_rest(struct wire_reader *r, struct input_control *c)
{
    for (uint32_t i = 0; i < c->root_count && !r->failed; i++) {
        struct input_root *root = &c->roots[i];
        root->fields = wire_u32(r);
        root->speed = wire_f32(r);
        root->weight = wire_f32(r);
        root->offset_s = wire_f32(r);
        wire_text(r, root->root, sizeof root->root);
        wire_text(r, root->clip, sizeof root->clip);
        wire_align4(r);
    }
    for (uint32_t i = 0; i < c->muscle_count && !r->failed; i++) {
        c->muscles[i].activation = wire_f32(r);
        wire_text(r, c->muscles[i].name, sizeof c->muscles[i].name);
        wire_align4(r);
    }
    for (uint32_t i = 0; i < c->switch_count && !r->failed; i++) {
        c->switches[i].on = wire_u8(r) != 0;
        wire_text(r, c->switches[i].name, sizeof c->switches[i].name);
        wire_align4(r);
    }
}

enum err input_decode_control(const uint8_t *payload, size_t size_bytes, struct input_control *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct input_control c = {0};
    c.head = get_head(&r);
    c.fields = wire_u32(&r);
    wire_floats(&r, c.move, 2);
    wire_floats(&r, c.look, 2);
    wire_floats(&r, c.triggers, 2);
    wire_floats(&r, c.go_to, 2);
    c.event_count = wire_u16(&r);
    c.root_count = wire_u16(&r);
    c.muscle_count = wire_u16(&r);
    c.switch_count = wire_u16(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (!control_counts_fit(&c)) return ERR_LIMIT;
    get_events(&r, &c);
    get_rest(&r, &c);
    if (c.fields & INPUT_VIEW) wire_floats(&r, c.view, 3);
    if (r.failed) return wire_error(&r);
    enum err e = control_check(&c);
    if (e) return e;
    *out = c;
    return ERR_OK;
}

// ---- SENSOR ----

enum err input_check_sensor(const struct input_sensor *s)
{
    if (s->head.sequence == 0) return ERR_MALFORMED;
    if (s->device_count > INPUT_DEVICES_MAX || s->hand_count > 2) return ERR_LIMIT;
    for (uint32_t i = 0; i < s->device_count; i++) {
        const struct input_device *d = &s->devices[i];
        if (!wire_finite(d->position, 3) || !wire_finite(d->rotation, 4) ||
            !wire_finite(d->velocity, 3) || !wire_finite(d->angular, 3))
            return ERR_MALFORMED;
        if (d->flags & INPUT_ROTATION_VALID && !rotation_usable(d->rotation)) return ERR_MALFORMED;
    }
    for (uint32_t i = 0; i < s->hand_count; i++) {
        const struct input_hand *h = &s->hands[i];
        if (h->side > 1 || (i == 1 && s->hands[0].side == h->side)) return ERR_MALFORMED;
        if (!within(h->curl, 5, 0, 1) || !within(h->splay, 5, -1, 1)) return ERR_MALFORMED;
        for (int j = 0; h->fields & INPUT_HAND_JOINTS_SET && j < INPUT_HAND_JOINTS; j++)
            if (!rotation_usable(h->rotation[j])) return ERR_MALFORMED;
    }
    return ERR_OK;
}

enum err input_encode_sensor(struct wire_writer *w, const struct input_sensor *in)
{
    enum err e = input_check_sensor(in);
    if (e) return e;
    size_t at = messages_begin(w, MESSAGE_SENSOR);
    put_head(w, &in->head);
    wire_put_u64(w, in->sample_time_us);
    wire_put_u16(w, (uint16_t)in->device_count);
    wire_put_u16(w, (uint16_t)in->hand_count);
    wire_put_u16(w, in->requests);
    wire_put_u16(w, 0);
    for (uint32_t i = 0; i < in->device_count; i++) {
        const struct input_device *d = &in->devices[i];
        wire_put_u8(w, d->id);
        wire_put_u8(w, d->flags);
        wire_put_u16(w, 0);
        wire_put_floats(w, d->position, 3);
        wire_put_floats(w, d->rotation, 4);
        wire_put_floats(w, d->velocity, 3);
        wire_put_floats(w, d->angular, 3);
    }
    for (uint32_t i = 0; i < in->hand_count; i++) {
        const struct input_hand *h = &in->hands[i];
        wire_put_u8(w, h->side);
        wire_put_u8(w, h->fields);
        wire_put_u16(w, 0);
        wire_put_floats(w, h->curl, 5);
        wire_put_floats(w, h->splay, 5);
        if (h->fields & INPUT_HAND_JOINTS_SET)
            wire_put_floats(w, &h->rotation[0][0], (size_t)INPUT_HAND_JOINTS * 4);
    }
    return input_end(w, at);
}

enum err input_decode_sensor(const uint8_t *payload, size_t size_bytes, struct input_sensor *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct input_sensor s = {0};
    s.head = get_head(&r);
    s.sample_time_us = wire_u64(&r);
    uint32_t device_count = wire_u16(&r);
    s.hand_count = wire_u16(&r);
    s.requests = wire_u16(&r);
    (void)wire_u16(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (device_count > INPUT_DEVICES_MAX || s.hand_count > 2) return ERR_LIMIT;
    for (uint32_t i = 0; i < device_count; i++) {
        struct input_device d = {0};
        d.id = wire_u8(&r);
        d.flags = wire_u8(&r);
        (void)wire_u16(&r);
        wire_floats(&r, d.position, 3);
        wire_floats(&r, d.rotation, 4);
        wire_floats(&r, d.velocity, 3);
        wire_floats(&r, d.angular, 3);
        if (d.id < INPUT_DEVICE_COUNT) s.devices[s.device_count++] = d; // later devices: skipped
    }
    for (uint32_t i = 0; i < s.hand_count; i++) {
        struct input_hand *h = &s.hands[i];
        h->side = wire_u8(&r);
        h->fields = wire_u8(&r);
        (void)wire_u16(&r);
        wire_floats(&r, h->curl, 5);
        wire_floats(&r, h->splay, 5);
        if (h->fields & INPUT_HAND_JOINTS_SET)
            wire_floats(&r, &h->rotation[0][0], (size_t)INPUT_HAND_JOINTS * 4);
    }
    if (r.failed) return ERR_TRUNCATED;
    enum err e = input_check_sensor(&s);
    if (e) return e;
    *out = s;
    return ERR_OK;
}

// ---- FACE, CUSTOMISE ----

static enum err values_check(const struct input_values *v, uint8_t type)
{
    if (v->head.sequence == 0) return ERR_MALFORMED;
    for (uint32_t i = 0; i < v->value_count; i++) {
        float value = v->values[i].value;
        if (type == MESSAGE_FACE ? !within(&value, 1, -2, 2) : !wire_finite(&value, 1))
            return ERR_MALFORMED;
    }
    return ERR_OK;
}

enum err input_encode_values(struct wire_writer *w, uint8_t type, const struct input_values *in)
{
    if (in->value_count > INPUT_VALUES_MAX) return ERR_LIMIT;
    enum err e = values_check(in, type);
    if (e) return e;
    size_t at = messages_begin(w, type);
    put_head(w, &in->head);
    wire_put_u32(w, in->value_count);
    for (uint32_t i = 0; i < in->value_count; i++) {
        wire_put_u16(w, in->values[i].id);
        wire_put_u16(w, 0);
        wire_put_f32(w, in->values[i].value);
    }
    return input_end(w, at);
}

enum err input_decode_values(const uint8_t *payload, size_t size_bytes, uint8_t type,
                             struct input_values *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct input_values v = {0};
    v.head = get_head(&r);
    v.value_count = wire_u32(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (v.value_count > INPUT_VALUES_MAX) return ERR_LIMIT;
    for (uint32_t i = 0; i < v.value_count; i++) {
        v.values[i].id = wire_u16(&r);
        (void)wire_u16(&r);
        v.values[i].value = wire_f32(&r);
    }
    if (r.failed) return ERR_TRUNCATED;
    enum err e = values_check(&v, type);
    if (e) return e;
    *out = v;
    return ERR_OK;
}

// ---- PLACE ----

static enum err place_check(const struct input_place *p)
{
    if (p->head.sequence == 0) return ERR_MALFORMED;
    if (!wire_finite(p->position, 3) || !wire_finite(&p->yaw_rad, 1)) return ERR_MALFORMED;
    if (!wire_finite(&p->scale, 1)) return ERR_MALFORMED;
    if (p->fields & INPUT_PLACE_SCALE && !(p->scale > 0 && p->scale <= 1000)) return ERR_MALFORMED;
    return ERR_OK;
}

enum err input_encode_place(struct wire_writer *w, const struct input_place *in)
{
    enum err e = place_check(in);
    if (e) return e;
    size_t at = messages_begin(w, MESSAGE_PLACE);
    put_head(w, &in->head);
    wire_put_u32(w, in->fields);
    wire_put_floats(w, in->position, 3);
    wire_put_f32(w, in->yaw_rad);
    wire_put_f32(w, in->scale);
    return input_end(w, at);
}

enum err input_decode_place(const uint8_t *payload, size_t size_bytes, struct input_place *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct input_place p = {0};
    p.head = get_head(&r);
    p.fields = wire_u32(&r);
    wire_floats(&r, p.position, 3);
    p.yaw_rad = wire_f32(&r);
    p.scale = wire_f32(&r);
    if (r.failed) return ERR_TRUNCATED;
    enum err e = place_check(&p);
    if (e) return e;
    *out = p;
    return ERR_OK;
}
