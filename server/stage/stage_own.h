#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/slots.h"
#include "server/stage/body.h"
#include "server/stage/coder.h"
#include "server/stage/input.h"
#include "server/stage/stage.h"

// What the files of the stage share: stage.c (who is there), view.c (who sees what), tick.c.
// Everything is touched by the loop only; in a tick workers get bodies and coders, each to one of
// them at a time.
enum { APPLIED_MAX = 256, PENDING_MAX = 128, SKIPS_MAX = 32 };

struct actor_skip { // plugins that were left out from this tick of the actor's time on
    uint64_t tick, extras;
};

struct actor {
    uint64_t id;     // value id
    uint32_t number; // on the wire; never given twice
    struct stage *stage;
    struct scene *scene;
    struct role *role;           // a reference
    struct view *controller;     // NULL: ambient
    char name[SESSION_NAME_MAX]; // of the player; "": none
    bool private_role;           // stage_show: new versions of the character are not for it
    struct body body;
    uint64_t first_tick;                   // its time counts from here
    struct coder *coders[CODER_QUALITIES]; // NULL: nobody watches at that quality

    uint32_t sequence_newest, sequence_used;
    uint32_t pending[PENDING_MAX]; // sequences that came since the last tick
    uint32_t pending_count;
    struct session_applied_entry applied[APPLIED_MAX]; // a ring
    uint64_t applied_written, applied_read;
    uint64_t skipped;                   // as recorded last
    struct actor_skip skips[SKIPS_MAX]; // a ring
    uint64_t skips_written, skips_read;
    uint64_t costs_tick;

    // this tick
    bool wanted;
    const struct view *mark; // view_refresh: who asked last, and for which entry
    uint32_t mark_entry;
};

struct scene {
    uint32_t number;
    char name[SESSION_NAME_MAX]; // "": private
    struct actor **actors;       // actors_per_scene_max
    size_t actor_count, view_count;
    struct scene *next;
};

enum view_entry_state {
    VIEW_ENTRY_FREE,
    VIEW_ENTRY_NEW,     // ENTERED is to be told
    VIEW_ENTRY_SEEN,    // frames may go
    VIEW_ENTRY_CHANGED, // CHANGED is to be told
    VIEW_ENTRY_GONE     // LEFT is to be told; `actor` is not valid
};
struct view_entry {
    struct actor *actor;
    uint32_t number;
    uint8_t state, detail;
    bool want_key;       // RESYNC: to be granted when VIEW_KEY_GAP_MS have passed
    bool hold;           // view_hold
    uint8_t unsent;      // key frames in a row that were asked for and not taken
    uint64_t asked_tick; // of the newest of them
    uint32_t sent;       // newest frame passed to view_sent, of this detail
    uint32_t held_count, held[SURFACE_ANCHORS];
    uint64_t key_tick;          // when the last one was granted
    uint64_t looks, looks_tick; // face_state_looks as told, and when
};
enum { VIEW_ENTRIES = VIEW_ACTORS_MAX * 2 }; // some may wait for their LEFT to be told

struct view {
    struct stage *stage;
    struct scene *scene;
    struct view *next, *before; // all views of the stage
    struct view_settings settings;
    struct actor *own; // NULL: a pure viewer
    bool ready;
    uint64_t first_tick, ready_tick;
    uint32_t hidden_count;
    struct view_entry entries[VIEW_ENTRIES];
    uint8_t order[VIEW_ACTORS_MAX]; // entries of the seen actors, own first, then by distance
    size_t order_count;
};

struct stage_near { // one actor as a view sees it, while the view is refreshed
    struct actor *actor;
    float distance, rank; // metres; rank: what the cap goes by
};

struct tick_item {
    struct actor *actor;
    bool changed; // its surface must be made
};
struct tick_pair { // an actor's coder that is to be quantised
    struct actor *actor;
    struct coder *coder;
    bool again;
};
struct tick_job {
    struct actor *actor;
    struct coder *coder;
    uint32_t detail;
};
struct tick_lists { // sized at the start
    struct tick_item *items;
    struct tick_pair *pairs;
    struct tick_job *jobs;
    struct coder_box *boxes; // of one phase: pairs * parts
    size_t item_count, pair_count, job_count;
};

struct stage {
    struct stage_options options;
    struct cast cast;
    struct workers *workers;
    size_t packer_vertices; // what the seats' packers can do
    struct slots actors;
    struct scene *scenes;
    struct view *views;
    uint32_t scene_count, view_count, next_scene, next_actor;
    uint64_t tick;   // newest
    uint32_t missed; // ticks before it that are made up for: inputs take effect in the first
    bool ticked;
    struct stage_near *near;
    struct input_desk desk;
    struct tick_lists lists;
    struct stage_snapshot counts;
};

void view_refresh(struct view *v); // who is seen, nearest first, at which detail
void view_forget(struct view *v, const struct actor *a);  // the actor goes
void view_actor_changed(struct view *v, struct actor *a); // another role or controller
// Memory for one more viewer at that quality; ERR_MEMORY: nothing has changed.
MUST_CHECK enum err actor_watch(struct actor *a, size_t quality);
void actor_unwatch(struct actor *a, size_t quality);
static inline size_t view_quality(const struct view_settings *s)
{
    return coder_quality(s->bits, s->raw);
}
