#include "server/stage/view.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/stage/stage_own.h"

// A coarser detail may stray this far, as an angle from the eye: a pixel and a half of a full-HD
// screen. The eye is a few steps behind what the session looks from.
#define DETAIL_ANGLE   0.0015f
#define DETAIL_STAY    1.3f // what is shown already may be that much worse
#define EYE_DISTANCE_M 2.0f
#define RANK_STAY      0.8f // what is seen already counts as that much nearer

static bool is_live(const struct view_entry *e)
{
    return e->state == VIEW_ENTRY_NEW || e->state == VIEW_ENTRY_SEEN ||
           e->state == VIEW_ENTRY_CHANGED;
}

static void look_place(const struct view *v, float out[3])
{
    memset(out, 0, 3 * sizeof *out);
    if (!v->own) return;
    for (int k = 0; k < 3; k++)
        out[k] = v->own->body.state.position[k] * v->own->role->model->info->unit_m;
}

static float distance_to(const struct actor *a, const float from[3])
{
    float sum = 0;
    for (int k = 0; k < 3; k++) {
        float d = a->body.state.position[k] * a->role->model->info->unit_m - from[k];
        sum += d * d;
    }
    return sqrtf(sum);
}

// Own first, then by rank; equal ranks by age, so that the order does not flicker.
static bool before(const struct view *v, const struct stage_near *a, const struct stage_near *b)
{
    if (a->actor == v->own || b->actor == v->own) return a->actor == v->own;
    if (a->rank < b->rank || a->rank > b->rank) return a->rank < b->rank;
    return a->actor->number < b->actor->number;
}

static size_t list_near(struct view *v, struct stage_near *near)
{
    float from[3];
    look_place(v, from);
    for (uint32_t i = 0; i < VIEW_ENTRIES; i++) {
        if (!is_live(&v->entries[i])) continue;
        v->entries[i].actor->mark = v;
        v->entries[i].actor->mark_entry = i;
    }
    for (size_t i = 0; i < v->scene->actor_count; i++) {
        struct actor *a = v->scene->actors[i];
        float distance = distance_to(a, from);
        struct stage_near n = {a, distance, a->mark == v ? distance * RANK_STAY : distance};
        size_t at = i;
        for (; at > 0 && before(v, &n, &near[at - 1]); at--)
            near[at] = near[at - 1];
        near[at] = n;
    }
    return v->scene->actor_count;
}

static uint8_t choose_detail(const struct view *v, const struct actor *a, float distance,
                             uint8_t shown)
{
    const struct role *r = a->role;
    uint8_t last = (uint8_t)(r->detail_count - 1);
    uint8_t finest = v->settings.detail ? (uint8_t)(v->settings.detail - 1) : 0;
    if (a == v->own) return finest < last ? finest : last;
    if (v->settings.link_detail > finest) finest = v->settings.link_detail;
    uint8_t detail = finest < last ? finest : last;
    if (v->settings.detail != 0) return detail;
    float allowed = DETAIL_ANGLE * (distance + EYE_DISTANCE_M);
    float size = r->model->info->unit_m * a->body.state.scale;
    for (uint8_t i = (uint8_t)(detail + 1); i <= last; i++) {
        float strays = r->details[i].error * size;
        if (strays <= (i <= shown ? allowed * DETAIL_STAY : allowed)) detail = i;
    }
    return detail;
}

static void set_detail(struct view_entry *e, uint8_t detail)
{
    if (e->detail == detail) return;
    e->detail = detail;
    e->held_count = 0; // decoders keep the anchors of one detail
    e->sent = 0;
}

static struct view_entry *entry_for(struct view *v, struct actor *a)
{
    struct view_entry *free_entry = NULL;
    for (uint32_t i = 0; i < VIEW_ENTRIES; i++) {
        struct view_entry *e = &v->entries[i];
        if (e->state == VIEW_ENTRY_GONE && e->number == a->number) {
            *e = (struct view_entry){.actor = a, .number = a->number, .state = VIEW_ENTRY_CHANGED};
            return e;
        }
        if (e->state == VIEW_ENTRY_FREE && !free_entry) free_entry = e;
    }
    if (free_entry)
        *free_entry = (struct view_entry){.actor = a, .number = a->number, .state = VIEW_ENTRY_NEW};
    return free_entry;
}

static void leave(struct view_entry *e)
{
    if (!is_live(e)) return;
    e->state = e->state == VIEW_ENTRY_NEW ? VIEW_ENTRY_FREE : VIEW_ENTRY_GONE;
    e->actor = NULL;
}

void view_refresh(struct view *v)
{
    struct stage_near *near = v->stage->near;
    size_t count = list_near(v, near), cap = v->settings.actors_max;
    if (cap == 0 || cap > VIEW_ACTORS_MAX) cap = VIEW_ACTORS_MAX;
    size_t seen = count < cap ? count : cap;
    v->hidden_count = (uint32_t)(count - seen);
    for (size_t i = seen; i < count; i++)
        if (near[i].actor->mark == v) leave(&v->entries[near[i].actor->mark_entry]);
    v->order_count = 0;
    for (size_t i = 0; i < seen; i++) {
        struct actor *a = near[i].actor;
        struct view_entry *e = a->mark == v ? &v->entries[a->mark_entry] : entry_for(v, a);
        if (!e) continue; // too many LEFT are still to be told: later
        set_detail(e, choose_detail(v, a, near[i].distance, e->detail));
        v->order[v->order_count++] = (uint8_t)(e - v->entries);
    }
    for (size_t i = 0; i < count; i++)
        near[i].actor->mark = NULL;
}

static struct view_entry *find_entry(struct view *v, const struct actor *a)
{
    for (uint32_t i = 0; i < VIEW_ENTRIES; i++)
        if (is_live(&v->entries[i]) && v->entries[i].actor == a) return &v->entries[i];
    return NULL;
}

void view_forget(struct view *v, const struct actor *a)
{
    struct view_entry *e = find_entry(v, a);
    if (!e) return;
    size_t kept = 0;
    for (size_t i = 0; i < v->order_count; i++)
        if (&v->entries[v->order[i]] != e) v->order[kept++] = v->order[i];
    v->order_count = kept;
    leave(e);
}

void view_actor_changed(struct view *v, struct actor *a)
{
    struct view_entry *e = find_entry(v, a);
    if (!e) return;
    if (e->state == VIEW_ENTRY_SEEN) e->state = VIEW_ENTRY_CHANGED;
    e->held_count = 0;
    e->sent = 0;
    e->hold = false;
    if (e->detail >= a->role->detail_count) e->detail = 0;
}

static void describe(const struct view *v, struct view_entry *e, struct view_event *out)
{
    const struct actor *a = e->actor;
    const struct role *r = a->role;
    e->looks = face_state_looks(&a->body.face);
    e->looks_tick = v->stage->tick;
    out->role = r;
    out->face = e->looks > 0 ? &a->body.face : NULL;
    out->actor.model = r->number;
    out->actor.model_version = r->version;
    out->actor.flags = (uint32_t)((a == v->own ? SESSION_ACTOR_OWN : 0) |
                                  (a->controller ? SESSION_ACTOR_CONTROLLED : 0));
    memcpy(out->actor.character, r->name, sizeof out->actor.character);
    memcpy(out->actor.name, a->name, sizeof out->actor.name);
}

// Often enough for a slider that is drawn; whatever changes meanwhile, the newest is told.
static bool looks_are_due(const struct view *v, const struct view_entry *e)
{
    const uint64_t gap = v->stage->options.tick_hz / 10;
    return e->looks != face_state_looks(&e->actor->body.face) &&
           v->stage->tick >= e->looks_tick + gap;
}

bool view_next_event(struct view *v, struct view_event *out)
{
    for (uint32_t i = 0; i < VIEW_ENTRIES; i++) {
        struct view_entry *e = &v->entries[i];
        if (e->state == VIEW_ENTRY_FREE) continue;
        if (e->state == VIEW_ENTRY_SEEN && looks_are_due(v, e)) {
            *out = (struct view_event){.kind = VIEW_LOOKS,
                                       .actor = {.scene = v->scene->number, .actor = e->number}};
            describe(v, e, out);
            return true;
        }
        if (e->state == VIEW_ENTRY_SEEN) continue;
        *out = (struct view_event){.actor = {.scene = v->scene->number, .actor = e->number}};
        if (e->state == VIEW_ENTRY_GONE) {
            out->kind = VIEW_LEFT;
            *e = (struct view_entry){0};
            return true;
        }
        out->kind = e->state == VIEW_ENTRY_NEW ? VIEW_ENTERED : VIEW_CHANGED;
        describe(v, e, out);
        e->state = VIEW_ENTRY_SEEN;
        return true;
    }
    return false;
}

void view_set_ready(struct view *v, bool ready)
{
    v->ready = ready;
}

bool view_is_ready(const struct view *v)
{
    return v->ready;
}

static bool settings_valid(const struct view_settings *s)
{
    return (s->raw || (s->bits >= SURFACE_BITS_MIN && s->bits <= SURFACE_BITS_MAX)) &&
           s->detail <= 3 && s->link_detail <= 2;
}

enum err view_set(struct view *v, const struct view_settings *settings)
{
    size_t old = view_quality(&v->settings);
    CHECK(settings_valid(settings));
    size_t quality = view_quality(settings);
    for (size_t i = 0; quality != old && i < v->scene->actor_count; i++) {
        enum err e = actor_watch(v->scene->actors[i], quality);
        if (e == ERR_OK) continue;
        while (i-- > 0)
            actor_unwatch(v->scene->actors[i], quality);
        return e;
    }
    for (size_t i = 0; quality != old && i < v->scene->actor_count; i++)
        actor_unwatch(v->scene->actors[i], old);
    for (uint32_t i = 0; quality != old && i < VIEW_ENTRIES; i++) {
        v->entries[i].held_count = 0;
        v->entries[i].sent = 0;
    }
    v->settings = *settings;
    view_refresh(v);
    return ERR_OK;
}

const struct view_settings *view_settings(const struct view *v)
{
    return &v->settings;
}

size_t view_count(const struct view *v)
{
    return v->order_count;
}

uint32_t view_actor(const struct view *v, size_t index)
{
    CHECK(index < v->order_count);
    return v->entries[v->order[index]].number;
}

struct frame *view_frame(const struct view *v, size_t index)
{
    CHECK(index < v->order_count);
    const struct view_entry *e = &v->entries[v->order[index]];
    if (e->state != VIEW_ENTRY_SEEN || e->hold) return NULL;
    const struct coder *c = e->actor->coders[view_quality(&v->settings)];
    struct frame *f = coder_frame(c, e->detail, e->held, e->held_count);
    return f && f->head.frame > e->sent ? f : NULL;
}

void view_sent(struct view *v, size_t index, const struct frame *frame)
{
    CHECK(index < v->order_count);
    struct view_entry *e = &v->entries[v->order[index]];
    if (frame->head.actor != e->number || frame->head.lod != e->detail) return;
    e->sent = frame->head.frame;
    e->unsent = 0;
    if (!(frame->head.flags & FRAME_ANCHOR)) return;
    if (e->held_count == SURFACE_ANCHORS)
        memmove(e->held, e->held + 1, (SURFACE_ANCHORS - 1) * sizeof e->held[0]);
    else
        e->held_count++;
    e->held[e->held_count - 1] = frame->head.frame;
}

void view_hold(struct view *v, uint32_t actor, bool hold)
{
    for (uint32_t i = 0; i < VIEW_ENTRIES; i++)
        if (is_live(&v->entries[i]) && v->entries[i].number == actor) v->entries[i].hold = hold;
}

void view_want_key(struct view *v, uint32_t actor)
{
    for (uint32_t i = 0; i < VIEW_ENTRIES; i++)
        if (is_live(&v->entries[i]) && v->entries[i].number == actor) v->entries[i].want_key = true;
}

void view_restart(struct view *v)
{
    for (uint32_t i = 0; i < VIEW_ENTRIES; i++) {
        struct view_entry *e = &v->entries[i];
        if (e->state == VIEW_ENTRY_GONE) e->state = VIEW_ENTRY_FREE;
        if (!is_live(e)) continue;
        *e = (struct view_entry){
            .actor = e->actor, .number = e->number, .state = VIEW_ENTRY_NEW, .detail = e->detail};
    }
}

uint32_t view_scene(const struct view *v)
{
    return v->scene->number;
}

const char *view_scene_name(const struct view *v)
{
    return v->scene->name;
}

uint64_t view_first_tick(const struct view *v)
{
    return v->first_tick;
}

uint32_t view_own_actor(const struct view *v)
{
    return v->own ? v->own->number : 0;
}

uint64_t view_own_id(const struct view *v)
{
    return v->own ? v->own->id : 0;
}

const struct role *view_own_role(const struct view *v)
{
    return v->own ? v->own->role : NULL;
}

uint32_t view_hidden_count(const struct view *v)
{
    return v->hidden_count;
}
