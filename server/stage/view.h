#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/session_messages.h"
#include "server/stage/frame.h"
#include "server/stage/role.h"

// What one session sees of its scene: which actors (its own first, then the nearest, up to a cap),
// each at which detail, and the newest frame of each that the other end can decode. Made by
// stage_join, gone with stage_leave. Loop thread, between ticks; nothing here allocates except
// view_set.
//
// The other end is taken to receive all that was begun to be sent, in order (TCP): a frame passed
// to view_sent that is an anchor (FRAME_ANCHOR) counts as held. After a new connection:
// view_restart.
enum { VIEW_ACTORS_MAX = 64 };

struct view_settings {
    uint8_t bits;        // grid bits, SURFACE_BITS_MIN .. MAX; not looked at with raw
    bool raw;            // float32 frames
    uint8_t detail;      // 0 by distance and link; 1 full, 2 medium, 3 coarse: at best
    uint8_t link_detail; // what the link carries: 0 all, 1 medium, 2 coarse at best. Not for the
                         // own actor, which is full unless `detail` says otherwise
    uint32_t actors_max; // nearest first; 0 or above VIEW_ACTORS_MAX: VIEW_ACTORS_MAX
};

enum view_event_kind {
    VIEW_ENTERED, // send ACTOR, and SURFACE and APPEARANCE unless the client has this version
    VIEW_CHANGED, // the same: another model version, or controlled by someone else now
    VIEW_LOOKS,   // send APPEARANCE: what was told of its face or customisation has changed it
    VIEW_LEFT     // send GONE
};
struct view_event {
    enum view_event_kind kind;
    struct session_actor actor;    // as ACTOR says it; scene and actor always set
    const struct role *role;       // but for LEFT: borrowed until the next tick or join, take a
                                   // reference to keep its payloads; NULL for LEFT
    const struct face_state *face; // with the role, borrowed likewise; NULL: as the file has it
};

struct view;
// The next thing that happened since the last call; false: none. Frames of an actor come only
// after its ENTERED or CHANGED has been taken.
bool view_next_event(struct view *v, struct view_event *out);

// Before a tick: whether this session can take frames of it (its rate, its socket). Only what some
// ready view sees is evaluated and encoded. Holds until changed; false at the start.
void view_set_ready(struct view *v, bool ready);
bool view_is_ready(const struct view *v);
// ERR_MEMORY or ERR_LIMIT: the old settings stay.
MUST_CHECK enum err view_set(struct view *v, const struct view_settings *settings);
const struct view_settings *view_settings(const struct view *v);

// The seen actors, own first, then by distance: index 0 .. view_count - 1. Indices hold until the
// next tick, join or leave.
size_t view_count(const struct view *v);
uint32_t view_actor(const struct view *v, size_t index); // FRAME.actor
// The newest frame, when the other end can decode it and it has not been passed to view_sent; else
// NULL. Borrowed until the next tick: frame_ref to keep it. Small and anchor frames are worth
// sending first.
struct frame *view_frame(const struct view *v, size_t index);
// That frame is being sent: what it is coded against and holds counts from now on.
void view_sent(struct view *v, size_t index, const struct frame *frame);

// While an actor is on hold (its SURFACE is still on the way, say) the view asks for no frames of
// it and gets none. Entering and changing end a hold. Unknown actors are ignored. A ready view that
// leaves its key frames lying is asked for less and less: every fourth tick.
void view_hold(struct view *v, uint32_t actor, bool hold);

// RESYNC, or a decoder that lost its state: the next frame of that actor is a key frame. Unknown
// actors are ignored. At most one a VIEW_KEY_GAP is granted; later ones are remembered.
enum { VIEW_KEY_GAP_MS = 250 };
void view_want_key(struct view *v, uint32_t actor);
// A new connection of the same session: nothing is held, all actors enter again.
void view_restart(struct view *v);

uint32_t view_scene(const struct view *v);              // FRAME.scene
const char *view_scene_name(const struct view *v);      // "" for a private one
uint64_t view_first_tick(const struct view *v);         // the first tick with this view in it
uint32_t view_own_actor(const struct view *v);          // FRAME.actor; 0: none
uint64_t view_own_id(const struct view *v);             // for stage_input; 0: none
const struct role *view_own_role(const struct view *v); // NULL: none
uint32_t view_hidden_count(const struct view *v);       // actors of the scene beyond the cap
