#include "server/character/input/sensor.h"

#include <math.h>
#include <string.h>

#define CLOCK_RESTART_US 5000000U // further back than any network delays: another clock

static void take_device(struct sensor *s, const struct input_device *from)
{
    struct input_device *to = &s->devices[from->id];
    const struct input_device before = *to;
    *to = *from;
    for (int i = 0; i < 3; i++)
        if (!(fabsf(to->position[i]) <= 100)) to->flags &= (uint8_t)~INPUT_POSITION_VALID;
    // What is not valid keeps its last value: nobody reads zeros for a place.
    if (!(to->flags & INPUT_POSITION_VALID))
        memcpy(to->position, before.position, sizeof to->position);
    if (!(to->flags & INPUT_ROTATION_VALID))
        memcpy(to->rotation, before.rotation, sizeof to->rotation);
    s->given |= 1U << from->id;
}

static void take_hand(struct sensor *s, const struct input_hand *from)
{
    struct input_hand *to = &s->hands[from->side];
    if (from->fields & INPUT_HAND_CURL) memcpy(to->curl, from->curl, sizeof to->curl);
    if (from->fields & INPUT_HAND_SPLAY) memcpy(to->splay, from->splay, sizeof to->splay);
    if (from->fields & INPUT_HAND_JOINTS_SET)
        memcpy(to->rotation, from->rotation, sizeof to->rotation);
    // Whichever of the two was told last shows: measured joints, or values of a controller.
    if (from->fields & INPUT_HAND_JOINTS_SET)
        to->fields |= INPUT_HAND_JOINTS_SET;
    else if (from->fields & INPUT_HAND_CURL)
        to->fields &= (uint8_t)~INPUT_HAND_JOINTS_SET;
    to->fields |= from->fields & (INPUT_HAND_CURL | INPUT_HAND_SPLAY);
    to->side = from->side;
}

enum err sensor_take(struct sensor *s, const struct input_sensor *message)
{
    enum err e = input_check_sensor(message);
    if (e != ERR_OK) return e;
    uint64_t measured = message->sample_time_us;
    if (measured && measured < s->sample_us && s->sample_us - measured < CLOCK_RESTART_US)
        return ERR_STALE;
    for (uint32_t i = 0; i < message->device_count; i++)
        if (message->devices[i].id >= INPUT_DEVICE_COUNT) return ERR_MALFORMED;
    if (measured) s->sample_us = measured;
    for (uint32_t i = 0; i < message->device_count; i++)
        take_device(s, &message->devices[i]);
    for (uint32_t i = 0; i < message->hand_count; i++)
        take_hand(s, &message->hands[i]);
    s->requests |= message->requests;
    s->live = s->live || message->device_count > 0 || message->hand_count > 0;
    return ERR_OK;
}

const struct input_device *sensor_device(const struct sensor *s, uint8_t id)
{
    return s->given & 1U << id ? &s->devices[id] : NULL;
}
