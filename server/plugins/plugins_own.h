#pragma once
#include <sys/types.h>

#include "server/plugins/budget.h"
#include "server/plugins/channel.h"
#include "server/plugins/image.h"
#include "server/plugins/plugins.h"
#include "server/plugins/vendor.h"

// What the files of plugins share.
enum plugin_outcome {
    PLUGIN_USED,   // the surface is what it left
    PLUGIN_BAD,    // its result was not usable
    PLUGIN_BROKEN, // it wrote where it must not
    PLUGIN_LATE    // helper: no answer in time, or none to be asked
};

struct inside { // in this process
    struct vendor vendor;
    struct sinew_plugin_joint *joints;
    uint8_t *image, *memory, *scratch, *state;
    uint64_t memory_bytes, scratch_bytes, state_bytes;
    void *self;
};
struct outside { // in a helper's
    char path[VENDOR_PATH_BYTES];
    struct channel_head *head; // shared
    uint8_t *copy;             // private image: what was answered, before it is looked at
    uint64_t bytes;
    int fd;
    pid_t pid;         // 0: none
    bool ready, waits; // ready: it has begun; waits: an answer is still to come
    bool died;         // and nobody has looked yet
    uint64_t started_ns;
    uint64_t asked; // ours, whatever stands in shared memory
    uint64_t asked_ns, next_start_ns;
    uint32_t deaths;
};
struct plugin {
    struct plugin *next, **link;
    struct plugin_host *host;
    struct image_part part;
    struct plugin_budget budget;
    bool isolated, late;
    struct inside in;
    struct outside out;
    struct plugin_event events[4]; // [kind]
    uint64_t steps, spent_ns, overruns, skipped, faults, deaths, starts;
};
struct plugin_host {
    struct plugin_host_options options;
    char folder[VENDOR_PATH_BYTES], helper[VENDOR_PATH_BYTES];
    struct plugin *plugins;
    uint32_t helpers;
    struct plugin_counts closed; // of plugins that are gone
};

void plugin_tell(struct plugin *p, enum plugin_event_kind kind, const char *what);
const char *plugin_name(const struct plugin *p);

MUST_CHECK enum err inside_open(struct plugin *p, const char *path, struct fault *fault);
void inside_close(struct plugin *p);
enum plugin_outcome inside_step(struct plugin *p, const struct extra_motion *now,
                                struct surface_block *blocks, int *result);
bool inside_save(struct plugin *p, const void **state, uint64_t *bytes);
bool inside_load(struct plugin *p, const void *state, uint64_t bytes);

MUST_CHECK enum err outside_open(struct plugin *p, const char *path, struct fault *fault);
void outside_close(struct plugin *p);
enum plugin_outcome outside_step(struct plugin *p, const struct extra_motion *now,
                                 struct surface_block *blocks, int *result);
bool outside_save(struct plugin *p, const void **state, uint64_t *bytes);
bool outside_load(struct plugin *p, const void *state, uint64_t bytes);
void outside_tend(struct plugin *p, uint64_t now_ns);
