#include <stdio.h>
#include <string.h>

#include "server/stage/body.h"

// The third parties' extras of one character.

// Frame path: whoever runs them decides, before the frame, who is left out of it.
static void find_skipped(struct body *b)
{
    b->extras.skipped = 0;
    for (size_t i = 0; i < b->options.model->extras_count; i++)
        if (b->plugins[i] && plugin_skips(b->plugins[i])) b->extras.skipped |= (uint64_t)1 << i;
    b->extras.skipped |= b->told_skips;
}

void body_before_tick(struct body *b)
{
    if (b->plugins) find_skipped(b);
}

void body_missed_tick(struct body *b)
{
    b->extras.skipped = 0;
    for (size_t i = 0; b->plugins && i < b->options.model->extras_count; i++)
        if (b->plugins[i]) b->extras.skipped |= (uint64_t)1 << i;
}

uint64_t body_skipped(const struct body *b)
{
    uint64_t skipped = b->plugins ? b->extras.skipped : 0;
    for (size_t i = 0; b->plugins && i < b->options.model->extras_count; i++)
        if (b->plugins[i] && plugin_was_late(b->plugins[i])) skipped |= (uint64_t)1 << i;
    return skipped;
}

bool body_has_plugins(const struct body *b)
{
    for (size_t i = 0; b->plugins && i < b->options.model->extras_count; i++)
        if (b->plugins[i] && !((b->extras.off >> i) & 1)) return true;
    return false;
}

bool body_plugin_event(struct body *b, struct plugin_event *out)
{
    if (b->plugin_fault.code != ERR_OK) { // told once
        out->kind = PLUGIN_EVENT_OFF;
        (void)snprintf(out->line, sizeof out->line, "%.190s", b->plugin_fault.line);
        b->plugin_fault = (struct fault){0};
        return true;
    }
    for (size_t i = 0; b->plugins && i < b->options.model->extras_count; i++)
        if (b->plugins[i] && plugin_event(b->plugins[i], out)) return true;
    return false;
}

size_t body_plugins_bytes(const struct model *m)
{
    return m->plugins_count == 0
               ? 0
               : m->extras_count * (sizeof(struct plugin *) + sizeof(struct extra_plugin)) + 128;
}

void body_plugins_open(struct body *b)
{
    const struct model *m = b->options.model;
    if (!b->extras.model || m->plugins_count == 0) return;
    b->plugins = ARENA_ARRAY(&b->arena, struct plugin *, m->extras_count);
    b->extras.plugins = ARENA_ARRAY(&b->arena, struct extra_plugin, m->extras_count);
    for (uint32_t i = 0; i < m->extras_count; i++) {
        b->plugins[i] = NULL;
        b->extras.plugins[i] = (struct extra_plugin){0};
        if (m->extras[i].kind != MODEL_EXTRA_PLUGIN) continue;
        if (!b->options.plugins)
            (void)fault_set(&b->plugin_fault, ERR_DENIED,
                            "plugin %.100s is left out: there is no folder of plugins",
                            model_text(m, m->plugins[m->extras[i].item].library));
        else if (plugin_open(b->options.plugins, m, i, &b->plugins[i], &b->plugin_fault) == ERR_OK)
            b->extras.plugins[i] = plugin_runs(b->plugins[i]);
        else
            b->plugins[i] = NULL;
    }
}

void body_plugins_close(struct body *b)
{
    for (size_t i = 0; b->plugins && i < b->options.model->extras_count; i++)
        plugin_close(b->plugins[i]);
    b->plugins = NULL;
}

void body_plugins_inherit(struct body *b, const struct body *from)
{
    const struct model *m = b->options.model, *old = from->options.model;
    for (size_t i = 0; b->plugins && i < m->extras_count; i++)
        for (size_t k = 0; b->plugins[i] && from->plugins && k < old->extras_count; k++) {
            if (!from->plugins[k] ||
                strcmp(model_text(m, m->extras[i].name), model_text(old, old->extras[k].name)) != 0)
                continue;
            if (plugin_inherit(b->plugins[i], from->plugins[k])) {
                b->extras.settled |= (uint64_t)1 << i;
                b->extras.does[i] = from->extras.does[k];
                b->extras.stepped_s = from->extras.stepped_s;
            }
            break;
        }
}
