#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "server/character/surface/extras/extra.h"

// Third parties' deformations: libraries from one configured folder, each character's instance on
// its own, held to a time budget, in this process or in a helper's. The interface that they are
// written to is server/character/surface/extras/plugin.h.
//
// A host lives on the loop thread. A plugin's steps run on any one thread at a time; everything
// else of it is called between ticks.
struct plugin_host_options {
    const char *folder;         // copied; NULL: no plugins here
    const char *helper;         // the helper program; NULL: beside this program
    bool isolate;               // all of them, whatever rig files say
    uint32_t budget_us;         // of a step, where the rig file does not say; 0: PLUGIN_BUDGET_US
    uint32_t helper_mb;         // memory of a helper; 0: 512
    uint32_t restart_ms;        // after a helper's first death; doubles; 0: 250
    uint64_t (*clock_ns)(void); // NULL: offline, no budgets, and helpers are waited for
};
enum { PLUGIN_BUDGET_US = 2000, PLUGIN_HELPERS_MAX = 64 };
struct plugin_host;
MUST_CHECK enum err plugin_host_create(const struct plugin_host_options *options,
                                       struct plugin_host **out, struct fault *fault);
void plugin_host_destroy(struct plugin_host *h); // every plugin has been closed; NULL is fine
// Between ticks: helpers that died are started again, each time a little later; those that hang
// are ended.
void plugin_host_tend(struct plugin_host *h, uint64_t now_ns);

struct plugin;
// For the extra `extra` (a plugin) of `m`, which outlives it. On failure the fault says which
// library and why, and the character goes without it.
MUST_CHECK enum err plugin_open(struct plugin_host *h, const struct model *m, uint32_t extra,
                                struct plugin **out, struct fault *fault);
void plugin_close(struct plugin *p);               // NULL is fine
struct extra_plugin plugin_runs(struct plugin *p); // for `extras.plugins`
// Whether it is left out of the coming frame; asked once a frame. An input to the character: what
// a replay needs to know.
bool plugin_skips(struct plugin *p);
// Its last step came to nothing, since a helper had not answered in time.
bool plugin_was_late(const struct plugin *p);
// Goes on as `from` stands; false where that cannot be, and then it begins anew.
bool plugin_inherit(struct plugin *p, struct plugin *from);

enum plugin_event_kind {
    PLUGIN_EVENT_NONE,
    PLUGIN_EVENT_SKIPPED,
    PLUGIN_EVENT_DIED,
    PLUGIN_EVENT_OFF
};
struct plugin_event {
    enum plugin_event_kind kind;
    char line[192];
};
// What has happened since it was asked last, one at a time.
bool plugin_event(struct plugin *p, struct plugin_event *out);

struct plugin_counts { // since the host began
    uint64_t steps, spent_ns, overruns, skipped, faults, deaths, starts;
    uint32_t open, off, helpers;
};
void plugin_host_counts(const struct plugin_host *h, struct plugin_counts *out);
