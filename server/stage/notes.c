#include "server/stage/notes.h"

#include <stdio.h>
#include <string.h>

#include "server/stage/stage_own.h"

// In a tick's end: who was left out of it, when that is not as before.
void notes_take_skips(struct actor *a, uint64_t tick)
{
    uint64_t skipped = body_skipped(&a->body);
    if (skipped == a->skipped) return;
    a->skipped = skipped;
    struct actor_skip *to = &a->skips[a->skips_written++ % SKIPS_MAX];
    *to = (struct actor_skip){.tick = tick > a->first_tick ? tick - a->first_tick : 0,
                              .extras = skipped};
}

// Names of extras are the file's own text: what JSON cannot hold as it is gets left out.
static size_t put_name(char *out, size_t size, const char *name)
{
    size_t used = 0;
    if (size < 3) return 0;
    out[used++] = '"';
    for (; *name && used + 2 < size; name++)
        if ((unsigned char)*name >= ' ' && *name != '"' && *name != '\\') out[used++] = *name;
    out[used++] = '"';
    out[used] = 0;
    return used;
}

static void put_skip(const struct actor *a, const struct actor_skip *skip, struct stage_note *out)
{
    const struct model *m = a->role->model;
    size_t used = (size_t)snprintf(out->text, sizeof out->text, "{\"tick\": %llu, \"skip\": [",
                                   (unsigned long long)skip->tick);
    bool first = true;
    for (size_t i = 0; i < m->extras_count && used + 80 < sizeof out->text; i++) {
        if (!((skip->extras >> i) & 1)) continue;
        if (!first) out->text[used++] = ',';
        first = false;
        used += put_name(out->text + used, 70, model_text(m, m->extras[i].name));
    }
    (void)snprintf(out->text + used, sizeof out->text - used, "]}");
    out->kind = STAGE_NOTE_SKIP;
}

bool stage_note(struct stage *s, uint64_t id, struct stage_note *out)
{
    struct actor *a = slots_find(&s->actors, id);
    struct plugin_event event;
    if (!a) return false;
    if (a->skips_written > a->skips_read) {
        if (a->skips_written - a->skips_read > SKIPS_MAX)
            a->skips_read = a->skips_written - SKIPS_MAX;
        put_skip(a, &a->skips[a->skips_read++ % SKIPS_MAX], out);
        return true;
    }
    if (!body_plugin_event(&a->body, &event)) return false;
    out->kind = event.kind == PLUGIN_EVENT_OFF ? STAGE_NOTE_OFF : STAGE_NOTE_PLUGIN;
    (void)snprintf(out->text, sizeof out->text, "%s", event.line);
    return true;
}

size_t stage_costs(struct stage *s, uint64_t id, char *out, size_t size)
{
    struct actor *a = slots_find(&s->actors, id);
    if (!a || !a->body.extras.model || !a->body.extras.clock_ns || size < 3) return 0;
    const struct model *m = a->role->model;
    uint64_t ticks = s->tick > a->costs_tick ? s->tick - a->costs_tick : 1;
    size_t used = 0;
    a->costs_tick = s->tick;
    out[used++] = '{';
    for (size_t i = 0; i < m->extras_count; i++) {
        uint64_t ns = atomic_exchange(&a->body.extras.spent_ns[i], 0);
        const char *name = model_text(m, m->extras[i].name);
        if (!*name) continue;
        if (used + 120 > size) return 0;
        if (used > 1) out[used++] = ',';
        used += put_name(out + used, 70, name);
        used +=
            (size_t)snprintf(out + used, size - used, ":%.1f", (double)ns * 1e-3 / (double)ticks);
    }
    out[used++] = '}';
    out[used] = 0;
    return used > 2 ? used : 0;
}
