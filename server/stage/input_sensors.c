#include "server/stage/input_sensors.h"

#include <math.h>

#include "server/model/face_names.h"

static enum err refuse_body(const struct body *b, struct fault *fault)
{
    const struct puppet *p = b->options.puppet;
    if (p && p->is_human) return ERR_OK;
    return fault_set(fault, ERR_UNSUPPORTED, "sensors need a human body: %.160s",
                     p ? p->why : "none was looked for");
}

// A POSE that stands gives way to what comes after it.
static void drive(struct body *b)
{
    b->sensors.live = true;
    b->state.posed = false;
    b->change++;
}

enum err input_sensor(struct body *b, const struct input_sensor *message, struct fault *fault)
{
    enum err e = refuse_body(b, fault);
    if (e == ERR_OK) e = sensor_take(&b->sensors.wearer.sensor, message);
    if (e != ERR_OK) return e == ERR_UNSUPPORTED ? e : fault_set(fault, e, "%s", err_text(e));
    if (!b->sensors.wearer.sensor.live) return ERR_OK; // a request alone drives nothing
    if (message->device_count > 0) b->sensors.boned = false;
    drive(b);
    return ERR_OK;
}

enum err input_bones(struct body *b, const struct input_bones *bones, struct fault *fault)
{
    enum err e = refuse_body(b, fault);
    if (e != ERR_OK) return e;
    b->sensors.bones = *bones;
    b->sensors.boned = true;
    drive(b);
    return ERR_OK;
}

size_t input_blends(struct body *b, const struct osc_blend *blends, size_t count)
{
    const struct model *m = b->options.model;
    size_t known = 0;
    for (int adds = 0; adds < 2; adds++) // what they move is cleared before it is summed
        for (size_t i = 0; i < count; i++) {
            struct face_parts parts;
            struct fault unused = {0};
            if (face_names_find(m, blends[i].name, "", &parts, &unused) != ERR_OK) continue;
            for (uint32_t k = 0; k < parts.count; k++) {
                float *value = &b->face.values[parts.parts[k].id];
                float sum = adds ? *value + blends[i].value * parts.parts[k].share : 0;
                *value = fminf(fmaxf(sum, -2), 2);
            }
            known += (size_t)adds;
        }
    if (known > 0) b->change++;
    return known;
}
