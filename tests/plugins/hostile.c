/* A plugin that misbehaves as its settings say: "do" is one of nan, write, far, sleep, hang, abort,
 * leak, fail, huge, refuse; "after": steps that go well first. Well-behaved, it lifts everything by
 * one hundredth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/character/surface/extras/plugin.h"

struct hostile {
    char what[16];
    long after, steps;
    uint32_t vertex_count;
};

static const char *text_of(const char *settings, const char *key)
{
    const char *at = strstr(settings, key);
    return at ? strchr(at, ':') + 1 : "";
}

static int describe(const char *settings, const struct sinew_plugin_model *model,
                    struct sinew_plugin_needs *needs, char *message, uint64_t message_bytes)
{
    (void)model;
    needs->memory_bytes = sizeof(struct hostile);
    if (strstr(settings, "refuse")) {
        snprintf(message, (size_t)message_bytes, "it does not like\nits settings");
        return SINEW_PLUGIN_FAILED;
    }
    if (strstr(settings, "huge")) needs->memory_bytes = UINT64_MAX / 2;
    return SINEW_PLUGIN_OK;
}

static int create(const char *settings, const struct sinew_plugin_model *model, void *memory,
                  void **self, char *message, uint64_t message_bytes)
{
    struct hostile *h = memory;
    (void)message;
    (void)message_bytes;
    sscanf(text_of(settings, "\"do\""), " \"%15[a-z]", h->what);
    h->after = strtol(text_of(settings, "\"after\""), NULL, 10);
    h->vertex_count = model->vertex_count;
    *self = h;
    return SINEW_PLUGIN_OK;
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static int misbehave(struct hostile *h, const struct sinew_plugin_frame *frame)
{
    volatile float *positions = frame->positions;
    if (strcmp(h->what, "nan") == 0) positions[3 * (h->vertex_count / 2)] = NAN;
    if (strcmp(h->what, "write") == 0) positions[3 * (size_t)h->vertex_count + 1] = 1;
    if (strcmp(h->what, "far") == 0) positions[(size_t)1 << 40] = 1;
    if (strcmp(h->what, "sleep") == 0) pause_ms(20);
    if (strcmp(h->what, "hang") == 0) pause_ms(1000000);
    if (strcmp(h->what, "abort") == 0) abort();
    if (strcmp(h->what, "leak") == 0) {
        volatile char *lost = malloc(4u << 20);
        for (size_t i = 0; i < 4u << 20; i += 4096)
            lost[i] = 1; /* a null pointer once there is no more */
    }
    return strcmp(h->what, "fail") == 0 ? SINEW_PLUGIN_FAILED : SINEW_PLUGIN_MOVING;
}

static int step(void *self, const struct sinew_plugin_frame *frame)
{
    struct hostile *h = self;
    for (uint32_t v = 0; v < h->vertex_count; v++)
        frame->positions[3 * v + 1] += 0.01f;
    return h->steps++ >= h->after ? misbehave(h, frame) : SINEW_PLUGIN_MOVING;
}

static void destroy(void *self)
{
    (void)self;
}

#ifndef HOSTILE_ABI
#define HOSTILE_ABI SINEW_PLUGIN_ABI
#endif
const struct sinew_plugin *sinew_plugin_entry(void)
{
    static const struct sinew_plugin plugin = {HOSTILE_ABI, sizeof(struct sinew_plugin),
                                               "hostile",   "1",
                                               describe,    create,
                                               step,        NULL,
                                               NULL,        destroy};
    return &plugin;
}
