#include "server/plugins/plugins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "server/plugins/plugins_own.h"

static const char HELPER[] = "sinew-plugin"; // beside this program

static bool find_helper(char out[VENDOR_PATH_BYTES])
{
    ssize_t length = readlink("/proc/self/exe", out, VENDOR_PATH_BYTES - sizeof HELPER - 1);
    if (length <= 0) return false;
    out[length] = 0;
    char *slash = strrchr(out, '/');
    if (!slash) return false;
    memcpy(slash + 1, HELPER, sizeof HELPER);
    return true;
}

enum err plugin_host_create(const struct plugin_host_options *options, struct plugin_host **out,
                            struct fault *fault)
{
    struct plugin_host *h = calloc(1, sizeof *h);
    if (!h) return fault_set(fault, ERR_MEMORY, "no memory for plugins");
    h->options = *options;
    if (!h->options.budget_us) h->options.budget_us = PLUGIN_BUDGET_US;
    if (!h->options.helper_mb) h->options.helper_mb = 512;
    if (!h->options.restart_ms) h->options.restart_ms = 250;
    bool fits = (!options->folder || strlen(options->folder) < sizeof h->folder) &&
                (!options->helper || strlen(options->helper) < sizeof h->helper);
    if (fits && options->folder) memcpy(h->folder, options->folder, strlen(options->folder) + 1);
    if (fits && options->helper) memcpy(h->helper, options->helper, strlen(options->helper) + 1);
    if (!fits || (!options->helper && !find_helper(h->helper))) {
        free(h);
        return fault_set(fault, ERR_LIMIT, "plugins: a path is too long");
    }
    *out = h;
    return ERR_OK;
}

void plugin_host_destroy(struct plugin_host *h)
{
    if (!h) return;
    CHECK(h->plugins == NULL);
    free(h);
}

void plugin_host_tend(struct plugin_host *h, uint64_t now_ns)
{
    for (struct plugin *p = h->plugins; p; p = p->next)
        if (p->isolated) outside_tend(p, now_ns);
}

const char *plugin_name(const struct plugin *p)
{
    const char *name = model_text(p->part.model, p->part.extra->name);
    return *name ? name
                 : model_text(p->part.model, p->part.model->plugins[p->part.extra->item].library);
}

void plugin_tell(struct plugin *p, enum plugin_event_kind kind, const char *what)
{
    struct plugin_event *e = &p->events[kind];
    e->kind = kind;
    (void)snprintf(e->line, sizeof e->line, "plugin %.60s: %.110s", plugin_name(p), what);
}

bool plugin_event(struct plugin *p, struct plugin_event *out)
{
    for (int k = PLUGIN_EVENT_SKIPPED; k <= PLUGIN_EVENT_OFF; k++) {
        if (p->events[k].kind == PLUGIN_EVENT_NONE) continue;
        *out = p->events[k];
        p->events[k].kind = PLUGIN_EVENT_NONE;
        return true;
    }
    return false;
}

static enum err open_it(struct plugin *p, const struct model_plugin *x, struct fault *fault)
{
    const char *library = model_text(p->part.model, x->library);
    const char *folder = *p->host->folder ? p->host->folder : NULL;
    char path[VENDOR_PATH_BYTES];
    enum err e = vendor_path(folder, library, path, fault);
    if (e != ERR_OK) return e;
    if (p->isolated && p->host->helpers >= PLUGIN_HELPERS_MAX)
        return fault_set(fault, ERR_LIMIT, "plugin %.100s: %d helpers run already", library,
                         PLUGIN_HELPERS_MAX);
    if (!p->isolated) return inside_open(p, path, fault);
    p->host->helpers++;
    return outside_open(p, path, fault);
}

enum err plugin_open(struct plugin_host *h, const struct model *m, uint32_t extra,
                     struct plugin **out, struct fault *fault)
{
    CHECK(extra < m->extras_count);
    CHECK(m->extras[extra].kind == MODEL_EXTRA_PLUGIN);
    const struct model_plugin *x = &m->plugins[m->extras[extra].item];
    uint64_t budget_us = x->budget_us ? x->budget_us : h->options.budget_us;
    struct plugin *p = calloc(1, sizeof *p);
    if (!p) return fault_set(fault, ERR_MEMORY, "no memory for a plugin");
    p->host = h;
    p->isolated = h->options.isolate || x->isolate;
    if (h->options.clock_ns) p->budget.limit_ns = budget_us * 1000;
    p->next = h->plugins;
    p->link = &h->plugins;
    if (p->next) p->next->link = &p->next;
    h->plugins = p;
    enum err e = image_part_open(m, extra, &p->part, fault);
    if (e == ERR_OK) e = open_it(p, x, fault);
    if (e != ERR_OK) {
        plugin_close(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

static void add_counts(struct plugin_counts *to, const struct plugin *p)
{
    to->steps += p->steps;
    to->spent_ns += p->spent_ns;
    to->overruns += p->overruns;
    to->skipped += p->skipped;
    to->faults += p->faults;
    to->deaths += p->deaths;
    to->starts += p->starts;
}

void plugin_close(struct plugin *p)
{
    if (!p) return;
    add_counts(&p->host->closed, p);
    *p->link = p->next;
    if (p->next) p->next->link = p->link;
    if (p->out.bytes) p->host->helpers--;
    if (p->isolated)
        outside_close(p);
    else
        inside_close(p);
    image_part_close(&p->part);
    free(p);
}

void plugin_host_counts(const struct plugin_host *h, struct plugin_counts *out)
{
    *out = h->closed;
    out->helpers = h->helpers;
    for (const struct plugin *p = h->plugins; p; p = p->next) {
        add_counts(out, p);
        out->open++;
        out->off += p->budget.off;
    }
}

// ---- a step -------------------------------------------------------------------------------

bool plugin_was_late(const struct plugin *p)
{
    return p->late;
}

bool plugin_skips(struct plugin *p)
{
    p->late = false;
    bool skips = plugin_budget_skips(&p->budget);
    // A helper that has nothing to answer with is no input's fault, but the frame goes without it.
    if (p->isolated && p->host->options.clock_ns && (!p->out.ready || p->out.pid <= 0))
        skips = true;
    p->skipped += skips;
    return skips;
}

static void judge_time(struct plugin *p, uint64_t ns)
{
    enum plugin_verdict v = plugin_budget_spent(&p->budget, ns);
    if (v == PLUGIN_FINE) return;
    p->overruns++;
    if (v == PLUGIN_OFF)
        plugin_tell(p, PLUGIN_EVENT_OFF, "it overran its time again and again");
    else
        plugin_tell(p, PLUGIN_EVENT_SKIPPED, "it overran its time and is skipped for some frames");
}

static void judge_result(struct plugin *p, enum plugin_outcome outcome)
{
    p->faults++;
    if (outcome == PLUGIN_BROKEN) {
        p->budget.off = true;
        plugin_tell(p, PLUGIN_EVENT_OFF, "it wrote outside of its memory");
    } else if (plugin_budget_fault(&p->budget) == PLUGIN_OFF) {
        plugin_tell(p, PLUGIN_EVENT_OFF, "its results cannot be used");
    }
}

static enum extra_does step(void *owner, const struct extra_motion *now,
                            struct surface_block *blocks)
{
    struct plugin *p = owner;
    uint64_t (*clock)(void) = p->host->options.clock_ns, began = clock ? clock() : 0;
    int result = SINEW_PLUGIN_MOVING;
    if (p->budget.off) return EXTRA_NOTHING;
    enum plugin_outcome outcome =
        p->isolated ? outside_step(p, now, blocks, &result) : inside_step(p, now, blocks, &result);
    uint64_t spent = clock ? clock() - began : 0;
    p->steps++;
    p->spent_ns += spent;
    p->late = outcome == PLUGIN_LATE;
    if (p->late) {
        p->skipped++;
        if (p->out.ready) judge_time(p, p->budget.limit_ns * (PLUGIN_FIRST_STEP_TIMES + 1));
        return EXTRA_MOVES;
    }
    judge_time(p, spent);
    if (outcome != PLUGIN_USED) judge_result(p, outcome);
    if (outcome != PLUGIN_USED) return EXTRA_MOVES;
    return result == SINEW_PLUGIN_STILL ? EXTRA_STANDS : EXTRA_MOVES;
}

struct extra_plugin plugin_runs(struct plugin *p)
{
    return (struct extra_plugin){.owner = p, .step = step};
}

bool plugin_inherit(struct plugin *p, struct plugin *from)
{
    const void *state;
    uint64_t bytes;
    if (p->part.counts.vertices != from->part.counts.vertices || from->budget.off) return false;
    if (!(from->isolated ? outside_save(from, &state, &bytes) : inside_save(from, &state, &bytes)))
        return false;
    return p->isolated ? outside_load(p, state, bytes) : inside_load(p, state, bytes);
}
