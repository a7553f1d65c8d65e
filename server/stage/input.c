#include "server/stage/input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "proto/messages.h"
#include "server/model/lookup.h"
#include "server/stage/input_sensors.h"

enum err input_pose(struct input_desk *desk, struct body *b, const struct pose_message *message,
                    struct fault *fault)
{
    const struct model *m = b->options.model;
    int32_t clip = MODEL_NONE;
    if (message->clip[0]) {
        uint32_t found;
        enum err e = lookup_name(m, LOOKUP_CLIP, message->clip, "pose/clip", &found, fault);
        if (e != ERR_OK) return e;
        clip = (int32_t)found;
    }
    for (uint32_t i = 0; i < message->joint_count; i++) {
        const struct pose_joint *from = &message->joints[i];
        struct body_joint *to = &desk->joints[i];
        enum err e = lookup_name(m, LOOKUP_NODE, from->name, "pose/joints", &to->node, fault);
        if (e != ERR_OK) return e;
        to->fields = from->fields;
        to->local = (struct trs){
            .translation = {from->translation[0], from->translation[1], from->translation[2]},
            .rotation = {0, 0, 0, 1},
            .scale = {from->scale[0], from->scale[1], from->scale[2]}};
        if (from->fields & POSE_ROTATION)
            to->local.rotation = quat_normalise((struct quat){
                from->rotation[0], from->rotation[1], from->rotation[2], from->rotation[3]});
    }
    b->state.posed = true;
    b->state.clip = clip;
    b->state.time_s = message->time_s;
    b->state.joint_count = message->joint_count;
    memcpy(b->state.joints, desk->joints, message->joint_count * sizeof desk->joints[0]);
    b->sensors.live = b->sensors.started = false;
    b->control.live = b->control.going = b->motion.started = false;
    b->motion.action = b->motion.queued = MODEL_NONE;
    b->motion.way.speed = b->motion.way.speed_rate = b->motion.way.turning = 0;
    b->change++;
    return ERR_OK;
}

// Names that the character does not have are passed over: clients may know more than it has.
static void apply_extras(struct body *b, const struct input_control *message)
{
    const struct model *m = b->options.model;
    if (!b->extras.model) return;
    for (uint32_t i = 0; i < message->muscle_count; i++) {
        int32_t extra = extras_find(m, message->muscles[i].name);
        if (extra == MODEL_NONE || m->extras[extra].kind != MODEL_EXTRA_MUSCLE) continue;
        b->extras.activation[extra] = message->muscles[i].activation;
        b->change++;
    }
    for (uint32_t i = 0; i < message->switch_count; i++) {
        int32_t extra = extras_find(m, message->switches[i].name);
        uint64_t bit = extra == MODEL_NONE ? 0 : (uint64_t)1 << extra;
        uint64_t off = message->switches[i].on ? b->extras.off & ~bit : b->extras.off | bit;
        b->change += off != b->extras.off;
        b->extras.off = off;
    }
}

void input_control(struct body *b, const struct input_control *message)
{
    apply_extras(b, message);
    // Motions of single roots alone, and extras, leave what drives the whole as it is.
    if (message->root_count + message->muscle_count + message->switch_count > 0 &&
        !message->fields && message->event_count == 0)
        return;
    (void)control_take(&b->control, b->options.model, message);
    if (message->fields & INPUT_LOOK && b->options.model->look_at_count > 0) b->change++;
}

void input_place(struct body *b, const struct input_place *message)
{
    const struct model_info *info = b->options.model->info;
    struct body_state *s = &b->state;
    double moved = 0, size = 0;
    for (int k = 0; k < 3; k++) {
        double side = (double)info->box_max[k] - (double)info->box_min[k];
        double step = (double)message->position[k] - (double)s->position[k];
        size += side * side;
        if (message->fields & INPUT_PLACE_POSITION) moved += step * step;
    }
    // Nobody walks half his height in one tick: viewers must not glide there.
    if (moved > 0.25 * size * (double)s->scale * (double)s->scale) b->jumped = true;
    if (message->fields & INPUT_PLACE_POSITION)
        memcpy(s->position, message->position, sizeof s->position);
    if (message->fields & INPUT_PLACE_YAW) s->yaw_rad = message->yaw_rad;
    if (message->fields & INPUT_PLACE_SCALE) s->scale = message->scale;
}

// Values of ids that the character does not have: what it has is used all the same.
static enum err left_out(const struct input_value *values, size_t count, size_t ids, size_t known,
                         const char *what, struct fault *fault)
{
    for (size_t i = 0; i < count && known < count; i++)
        if (values[i].id >= ids) {
            (void)fault_set(fault, ERR_NOT_FOUND,
                            "%zu of %zu values were left out: there is no %s %u, the character "
                            "has %zu",
                            count - known, count, what, values[i].id, ids);
            break;
        }
    return known > 0 || count == 0 ? ERR_OK : ERR_NOT_FOUND;
}

enum err input_face(struct body *b, const struct input_value *values, size_t count,
                    struct fault *fault)
{
    size_t ids = face_state_ids(b->options.model), known = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i].id < ids) {
            b->face.values[values[i].id] = fminf(fmaxf(values[i].value, -2), 2);
            known++;
        }
    b->change += known > 0;
    return left_out(values, count, ids, known, "shape or expression", fault);
}

enum err input_customise(struct body *b, const struct input_value *values, size_t count,
                         struct fault *fault)
{
    size_t parameters = b->options.model->parameters_count, known = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i].id < parameters) {
            customise_set(&b->face.customise, values[i].id, values[i].value);
            known++;
        }
    b->change += known > 0;
    return left_out(values, count, parameters, known, "parameter", fault);
}

static enum err apply_pose(struct input_desk *desk, struct body *b, const uint8_t *payload,
                           size_t size_bytes, struct fault *fault)
{
    enum err e = pose_message_decode(payload, size_bytes, &desk->message.pose);
    return e == ERR_OK ? input_pose(desk, b, &desk->message.pose, fault) : e;
}

static enum err apply_control(struct input_desk *desk, struct body *b, const uint8_t *payload,
                              size_t size_bytes, struct fault *fault)
{
    struct input_control *c = &desk->message.control;
    enum err e = input_decode_control(payload, size_bytes, c);
    if (e == ERR_OK) e = input_roots(b, c->roots, c->root_count, fault);
    if (e == ERR_OK) input_control(b, c);
    return e;
}

static enum err apply_sensor(struct input_desk *desk, struct body *b, const uint8_t *payload,
                             size_t size_bytes, struct fault *fault)
{
    enum err e = input_decode_sensor(payload, size_bytes, &desk->message.sensor);
    return e == ERR_OK ? input_sensor(b, &desk->message.sensor, fault) : e;
}

static enum err apply_place(struct input_desk *desk, struct body *b, const uint8_t *payload,
                            size_t size_bytes, struct fault *fault)
{
    (void)fault;
    enum err e = input_decode_place(payload, size_bytes, &desk->message.place);
    if (e == ERR_OK) input_place(b, &desk->message.place);
    return e;
}

static enum err decode_values(const uint8_t *payload, size_t size_bytes, uint8_t type,
                              struct input_values *out, struct fault *fault)
{
    enum err e = input_decode_values(payload, size_bytes, type, out);
    if (e == ERR_LIMIT)
        return fault_set(fault, e, "more than %d values in one message: none was used",
                         INPUT_VALUES_MAX);
    if (e == ERR_MALFORMED)
        return fault_set(fault, e, "a value is no number or out of range: none was used");
    return e;
}

static enum err apply_face(struct input_desk *desk, struct body *b, const uint8_t *payload,
                           size_t size_bytes, struct fault *fault)
{
    struct input_values *v = &desk->message.values;
    enum err e = decode_values(payload, size_bytes, MESSAGE_FACE, v, fault);
    return e == ERR_OK ? input_face(b, v->values, v->value_count, fault) : e;
}

static enum err apply_customise(struct input_desk *desk, struct body *b, const uint8_t *payload,
                                size_t size_bytes, struct fault *fault)
{
    struct input_values *v = &desk->message.values;
    enum err e = decode_values(payload, size_bytes, MESSAGE_CUSTOMISE, v, fault);
    return e == ERR_OK ? input_customise(b, v->values, v->value_count, fault) : e;
}

enum err input_apply(struct input_desk *desk, struct body *b, uint8_t type, const uint8_t *payload,
                     size_t size_bytes, struct fault *fault)
{
    static enum err (*const kinds[256])(struct input_desk *, struct body *, const uint8_t *, size_t,
                                        struct fault *) = {
        [MESSAGE_CONTROL] = apply_control,     [MESSAGE_POSE] = apply_pose,
        [MESSAGE_PLACE] = apply_place,         [MESSAGE_FACE] = apply_face,
        [MESSAGE_CUSTOMISE] = apply_customise, [MESSAGE_SENSOR] = apply_sensor,
    };
    if (!kinds[type])
        return fault_set(fault, ERR_UNSUPPORTED, "this kind of input is not taken yet");
    enum err e = kinds[type](desk, b, payload, size_bytes, fault);
    return e == ERR_OK ? e : fault_set(fault, e, "%s", err_text(e));
}
