#include <stdlib.h>
#include <string.h>

#include "server/plugins/plugins_own.h"

// A plugin in this process: called directly, on memory of its own with known bytes behind it.

enum { GUARD_BYTES = 64, GUARD = 0x5A };

static uint8_t *take(uint64_t bytes)
{
    uint64_t whole = (bytes + GUARD_BYTES + 63) & ~(uint64_t)63;
    uint8_t *memory = aligned_alloc(64, whole);
    if (!memory) return NULL;
    memset(memory, 0, bytes);
    memset(memory + bytes, GUARD, GUARD_BYTES);
    return memory;
}

static bool is_guarded(const uint8_t *memory, uint64_t bytes)
{
    for (uint64_t i = 0; i < GUARD_BYTES; i++)
        if (memory[bytes + i] != GUARD) return false;
    return true;
}

static enum err begin(struct plugin *p, struct fault *fault)
{
    struct inside *in = &p->in;
    const char *settings = (const char *)in->image + p->part.layout.settings;
    struct sinew_plugin_needs needs;
    struct sinew_plugin_model model =
        image_view(&p->part.counts, in->image, p->part.model->info->unit_m, in->joints);
    enum err e = vendor_describe(in->vendor.plugin, settings, &model, &needs, fault);
    if (e != ERR_OK) return e;
    in->memory_bytes = needs.memory_bytes;
    in->scratch_bytes = needs.scratch_bytes;
    in->state_bytes = needs.state_bytes;
    in->memory = take(needs.memory_bytes);
    in->scratch = take(needs.scratch_bytes);
    in->state = take(needs.state_bytes);
    if (!in->memory || !in->scratch || !in->state)
        return fault_set(fault, ERR_MEMORY, "no memory for plugin %.60s", in->vendor.plugin->name);
    return vendor_create(in->vendor.plugin, settings, &model, in->memory, &in->self, fault);
}

enum err inside_open(struct plugin *p, const char *path, struct fault *fault)
{
    struct inside *in = &p->in;
    in->image = aligned_alloc(64, p->part.layout.end + 64);
    in->joints = calloc(p->part.counts.joints + 1, sizeof *in->joints);
    if (!in->image || !in->joints) return fault_set(fault, ERR_MEMORY, "no memory for a plugin");
    memset(in->image, 0, p->part.layout.end);
    image_guard(&p->part.counts, in->image);
    enum err e = image_write(&p->part, in->image, fault);
    if (e == ERR_OK) e = vendor_open(path, &in->vendor, fault);
    return e == ERR_OK ? begin(p, fault) : e;
}

void inside_close(struct plugin *p)
{
    struct inside *in = &p->in;
    if (in->self) in->vendor.plugin->destroy(in->self);
    vendor_close(&in->vendor);
    free(in->image);
    free(in->joints);
    free(in->memory);
    free(in->scratch);
    free(in->state);
    *in = (struct inside){0};
}

enum plugin_outcome inside_step(struct plugin *p, const struct extra_motion *now,
                                struct surface_block *blocks, int *result)
{
    struct inside *in = &p->in;
    const struct image_layout *l = &p->part.layout;
    image_gather(&p->part, now, blocks, in->image);
    struct sinew_plugin_frame frame = {.struct_bytes = sizeof frame,
                                       .reset = now->cut,
                                       .dt_s = now->cut ? 0 : now->dt_s,
                                       .place = {now->place[0], now->place[1], now->place[2]},
                                       .yaw = now->yaw_rad,
                                       .model_from_joint =
                                           (const float *)(const void *)(in->image + l->joints),
                                       .positions = (float *)(void *)(in->image + l->positions),
                                       .normals = (float *)(void *)(in->image + l->normals),
                                       .scratch = in->scratch};
    *result = in->vendor.plugin->step(in->self, &frame);
    if (!image_is_whole(&p->part.counts, in->image) || !is_guarded(in->memory, in->memory_bytes) ||
        !is_guarded(in->scratch, in->scratch_bytes))
        return PLUGIN_BROKEN;
    if (*result < 0 || !image_scatter(&p->part, in->image, blocks)) return PLUGIN_BAD;
    return PLUGIN_USED;
}

bool inside_save(struct plugin *p, const void **state, uint64_t *bytes)
{
    struct inside *in = &p->in;
    *state = in->state;
    *bytes = in->state_bytes;
    return in->state_bytes > 0 && in->vendor.plugin->save(in->self, in->state) == SINEW_PLUGIN_OK &&
           is_guarded(in->state, in->state_bytes);
}

bool inside_load(struct plugin *p, const void *state, uint64_t bytes)
{
    struct inside *in = &p->in;
    return bytes == in->state_bytes && bytes > 0 &&
           in->vendor.plugin->load(in->self, state) == SINEW_PLUGIN_OK;
}
