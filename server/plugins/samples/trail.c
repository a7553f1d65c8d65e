/* A sample plugin: flesh that trails behind the skin, each vertex by itself, with the time constant
 * `seconds` (0.08), by `amount` (1) of it. It feels the character's way through the scene too.
 *
 * u is how far a vertex is behind, in the scene: u' = -u / seconds - v, v the skin's velocity. For
 * a velocity that is constant over the step that is solved exactly, so that the frame rate hardly
 * matters, and a surface at rest comes back to its place.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/character/surface/extras/plugin.h"

#define UNUSED(x) ((void)(x))

struct trail {
    double seconds, amount;
    uint32_t vertex_count;
    /* then: where each vertex was in the scene, and how far behind it is; floats x y z */
};

static float *was_of(struct trail *r)
{
    return (float *)(r + 1);
}

static float *behind_of(struct trail *r)
{
    return was_of(r) + 3 * (size_t)r->vertex_count;
}

static double number(const char *settings, const char *key, double otherwise)
{
    const char *at = strstr(settings, key);
    const char *colon = at ? strchr(at, ':') : NULL;
    return colon ? strtod(colon + 1, NULL) : otherwise;
}

static uint64_t state_bytes(const struct sinew_plugin_model *model)
{
    return sizeof(struct trail) + (uint64_t)model->vertex_count * 6 * sizeof(float);
}

static int describe(const char *settings, const struct sinew_plugin_model *model,
                    struct sinew_plugin_needs *needs, char *message, uint64_t message_bytes)
{
    double seconds = number(settings, "\"seconds\"", 0.08);
    if (!(seconds > 0 && seconds <= 10)) {
        snprintf(message, (size_t)message_bytes, "seconds must be above 0 and at most 10");
        return SINEW_PLUGIN_FAILED;
    }
    needs->memory_bytes = needs->state_bytes = state_bytes(model);
    return SINEW_PLUGIN_OK;
}

static int create(const char *settings, const struct sinew_plugin_model *model, void *memory,
                  void **self, char *message, uint64_t message_bytes)
{
    struct trail *r = memory;
    UNUSED(message);
    UNUSED(message_bytes);
    r->seconds = number(settings, "\"seconds\"", 0.08);
    r->amount = number(settings, "\"amount\"", 1);
    r->vertex_count = model->vertex_count;
    *self = r;
    return SINEW_PLUGIN_OK;
}

static int step(void *self, const struct sinew_plugin_frame *frame)
{
    struct trail *r = self;
    float *was = was_of(r), *behind = behind_of(r);
    double c = cos(frame->yaw), s = sin(frame->yaw), largest = 0;
    double keeps = frame->dt_s > 0 ? exp(-frame->dt_s / r->seconds) : 1;
    double per_step = frame->dt_s > 0 ? r->seconds * (1 - keeps) / frame->dt_s : 0;
    for (size_t i = 0; i < 3 * (size_t)r->vertex_count; i += 3) {
        float *at = frame->positions + i;
        double x = at[0], z = at[2];
        double scene[3], u[3], inside = 0, slow;
        scene[0] = c * x + s * z + frame->place[0];
        scene[1] = at[1] + frame->place[1];
        scene[2] = c * z - s * x + frame->place[2];
        for (int k = 0; k < 3; k++) {
            double moved = frame->reset ? 0 : scene[k] - was[i + k];
            /* Nobody moves half a length at once: it was put there. */
            if (fabs(moved) > 0.5) moved = 0;
            u[k] = frame->reset ? 0 : behind[i + k] * keeps - moved * per_step;
            inside += u[k] * u[k];
            was[i + k] = (float)scene[k];
            behind[i + k] = (float)u[k];
        }
        slow = inside > 1e-14 ? r->amount : 0;
        if (slow == 0) behind[i] = behind[i + 1] = behind[i + 2] = 0;
        largest = inside > largest ? inside : largest;
        at[0] += (float)(slow * (c * u[0] - s * u[2]));
        at[1] += (float)(slow * u[1]);
        at[2] += (float)(slow * (c * u[2] + s * u[0]));
    }
    return largest > 1e-14 ? SINEW_PLUGIN_MOVING : SINEW_PLUGIN_STILL;
}

static int save(const void *self, void *state)
{
    const struct trail *r = self;
    memcpy(state, r, sizeof *r + (size_t)r->vertex_count * 6 * sizeof(float));
    return SINEW_PLUGIN_OK;
}

static int load(void *self, const void *state)
{
    struct trail *r = self;
    struct trail from;
    memcpy(&from, state, sizeof from);
    if (from.vertex_count != r->vertex_count) return SINEW_PLUGIN_FAILED;
    /* Settings stay those of the new instance. */
    memcpy(r + 1, (const char *)state + sizeof from, (size_t)r->vertex_count * 6 * sizeof(float));
    return SINEW_PLUGIN_OK;
}

static void destroy(void *self)
{
    UNUSED(self);
}

const struct sinew_plugin *sinew_plugin_entry(void)
{
    static const struct sinew_plugin plugin = {SINEW_PLUGIN_ABI,
                                               sizeof(struct sinew_plugin),
                                               "trail",
                                               "1.0",
                                               describe,
                                               create,
                                               step,
                                               save,
                                               load,
                                               destroy};
    return &plugin;
}
