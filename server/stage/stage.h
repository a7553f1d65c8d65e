#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/simd.h"
#include "proto/session_messages.h"
#include "server/stage/cast.h"
#include "server/stage/frame.h"
#include "server/stage/ticker.h"
#include "server/stage/view.h"
#include "server/stage/workers.h"

// The stage: scenes with actors, and views that look at them. The loop owns it; a tick forks over
// the workers, joins, and allocates nothing. Memory is taken when something joins and given back
// when it leaves.
//
//   stage_create -> stage_serve a role -> stage_join a session
//   loop:  view_set_ready ...; if (ticker_due) { stage_tick; ticker_done; }
//          for each view: view_next_event ...; view_frame -> send -> view_sent
//          workers_run(stage_workers(s), ...) for what else wants all cores (encryption)
//
// A scene lasts as long as a view or an ambient actor is in it. The result of a tick does not
// depend on the number of workers.
struct stage_limits {              // 0: the default
    uint32_t scenes_max;           // 256
    uint32_t actors_max;           // 256
    uint32_t actors_per_scene_max; // 64
    uint32_t views_max;            // 1024
};
struct stage_options {
    uint32_t tick_hz;
    uint32_t worker_count; // threads besides the loop
    enum simd_level level;
    struct stage_limits limits;
    struct plugin_host *plugins; // outlives the stage; NULL: none are run
    uint64_t (*clock_ns)(void);  // what extras cost is measured by it; NULL: not at all
};

struct plugin_host;
struct stage;
MUST_CHECK enum err stage_create(const struct stage_options *options, struct stage **out,
                                 struct fault *fault);
// All views must have left and all frames been given back.
void stage_destroy(struct stage *s); // NULL is fine
struct cast *stage_cast(struct stage *s);
struct workers *stage_workers(struct stage *s);

// Takes over the reference of a role built with numbers from cast_reserve; actors of that
// character change to it now. Where its version is another their views get VIEW_CHANGED; else
// frames just go on. ERR_STALE: a newer one stands; ERR_MEMORY: nothing has changed (the reference
// is dropped).
MUST_CHECK enum err stage_serve(struct stage *s, struct role *role);

// Shows `role` (borrowed; made with numbers of the same character) on the actor `id` alone, from
// the next tick on: what is not served yet. NULL: what is served again. ERR_NOT_FOUND: no such
// actor; ERR_MEMORY: nothing has changed.
MUST_CHECK enum err stage_show(struct stage *s, uint64_t id, struct role *role);

struct stage_join {
    const char *scene;     // NULL or "": a private one
    const char *character; // NULL or "": the first
    bool controls;         // false: a pure viewer, no actor of its own
    const char *name;      // of the player, for others to see; NULL or "": none
    struct view_settings settings;
};
// ERR_NOT_FOUND: the character; ERR_LIMIT: the stage or the scene is full; ERR_MEMORY.
MUST_CHECK enum err stage_join(struct stage *s, const struct stage_join *join, struct view **out,
                               struct fault *fault);
void stage_leave(struct stage *s, struct view *v); // and its actor; NULL is fine

// An actor that no session controls (it plays its default clip), by value id.
MUST_CHECK enum err stage_add_ambient(struct stage *s, const char *scene, const char *character,
                                      const float position[3], uint64_t *id, struct fault *fault);
void stage_remove_ambient(struct stage *s, uint64_t id); // unknown ids are ignored

// An INPUT message for the actor `id` (view_own_id): see input.h. ERR_NOT_FOUND: no such actor.
MUST_CHECK enum err stage_input(struct stage *s, uint64_t id, uint8_t type, const uint8_t *payload,
                                size_t size_bytes, struct fault *fault);

// A customisation recipe for the actor `id`: see recipe.h, the character's name being its role's.
MUST_CHECK enum err stage_recipe(struct stage *s, uint64_t id, const char *text, size_t size_bytes,
                                 struct fault *fault);

// Inputs by the tick that used them first, oldest first, each told once; returns how many
// (SESSION_APPLIED_MAX at most a call). For APPLIED messages.
size_t stage_applied(struct stage *s, uint64_t id, struct session_applied_entry *out,
                     size_t capacity);

// One tick. `tick` from ticker_due; server_time_us of the frames is its deadline.
void stage_tick(struct stage *s, const struct ticker_tick *tick);

struct stage_snapshot { // for /status and /metrics
    uint32_t scenes, actors, views, roles;
    uint64_t evaluations, encodings, key_encodings, still_frames; // since start
    uint64_t encoded_bytes;
    uint64_t dropped_frames; // no free frame memory: all of it was held by slow readers
    uint64_t refused_poses;  // not finite where a driver reads them: its last weights stood in
    uint64_t grid_changes, inputs;
    uint64_t presses;              // of actions: each once, however often it was said
    uint32_t plugins, plugins_off; // instances open now, and switched off
    uint64_t plugin_steps, plugin_ns, plugin_overruns, plugin_skipped, plugin_faults, plugin_deaths;
};
void stage_snapshot(const struct stage *s, struct stage_snapshot *out);
// Walks the scenes for a listing; false past the last. `name` is "" for private ones.
struct stage_scene_info {
    uint32_t number;
    const char *name; // borrowed
    uint32_t actors, views;
};
bool stage_scene_at(const struct stage *s, size_t index, struct stage_scene_info *out);
