#include "server/stage/stage_sensors.h"

#include <string.h>

#include "server/stage/input_sensors.h"
#include "server/stage/stage_own.h"

// Sensor input that does not come as a session's messages.

static enum err hear_devices(struct body *b, const struct osc_said *said, struct fault *fault)
{
    struct input_sensor message = {.head.sequence = 1};
    for (uint32_t id = 0; id < INPUT_DEVICE_COUNT; id++)
        if (said->device_set & 1U << id)
            message.devices[message.device_count++] = said->devices[id];
    return input_sensor(b, &message, fault);
}

void stage_hear(struct stage *s, uint64_t id, const struct osc_said *said, uint32_t news)
{
    struct actor *a = slots_find(&s->actors, id);
    struct fault unused = {0};
    enum err e = ERR_OK;
    if (!a) return;
    // A sender that has solved the pose sends the devices too: the pose counts.
    if (news & OSC_NEW_BONES && said->any_bone)
        e = input_bones(&a->body, &said->bones, &unused);
    else if (news & OSC_NEW_DEVICES && !said->any_bone)
        e = hear_devices(&a->body, said, &unused);
    if (news & OSC_NEW_BLENDS) (void)input_blends(&a->body, said->blends, said->blend_count);
    s->counts.inputs += e == ERR_OK; // a character that is no human body hears nothing
}

enum err stage_calibrate(struct stage *s, uint64_t id, uint16_t requests, struct fault *fault)
{
    struct actor *a = slots_find(&s->actors, id);
    const struct input_sensor message = {.head.sequence = 1, .requests = requests};
    if (!a) return fault_set(fault, ERR_NOT_FOUND, "this session controls no character");
    return input_sensor(&a->body, &message, fault);
}

const struct calibration *stage_calibration(struct stage *s, uint64_t id)
{
    struct actor *a = slots_find(&s->actors, id);
    if (!a || !a->body.sensors.wearer.changed) return NULL;
    a->body.sensors.wearer.changed = false;
    return &a->body.sensors.wearer.calibration;
}

void stage_set_calibration(struct stage *s, uint64_t id, const struct calibration *saved)
{
    struct actor *a = slots_find(&s->actors, id);
    if (a) wearer_calibrate(&a->body.sensors.wearer, saved);
}
