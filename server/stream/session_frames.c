#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/messages.h"
#include "server/stage/notes.h"
#include "server/stream/hub_internal.h"

// A session's part of a tick: who is in view, what is due, and the batch of frames that goes out.

// --- Before -------------------------------------------------------------------------------------

static void count_skip(struct session *s, enum hub_skip why, size_t frames)
{
    s->hub->counts.skipped[why] += frames;
    s->frames_skipped += frames;
}

void session_before_tick(struct session *s, double tick_s)
{
    s->due = false;
    if (s->link && !s->link->closing) {
        bool can_send = conn_can_send(s->link->conn);
        // What stands in the way is a surface, which says nothing of how many frames the link
        // takes.
        if (s->supply.count > 0 || !s->first_frame_sent) pace_forgive(&s->pace);
        double share = s->hub->share;
        s->due = pace_due(&s->pace, tick_s * share, can_send);
        s->asked_credit += s->pace.asked_hz * tick_s;
        bool wanted = s->asked_credit >= 0.999;
        if (wanted) s->asked_credit = s->asked_credit >= 2 ? 0 : s->asked_credit - 1;
        if (wanted && !s->due && s->watch_count > 0)
            count_skip(s,
                       !can_send   ? HUB_SKIP_LINK
                       : share < 1 ? HUB_SKIP_LOAD
                                   : HUB_SKIP_PACE,
                       s->watch_count);
    }
    view_set_ready(s->view, s->due);
}

// --- Who is in view -----------------------------------------------------------------------------

static struct session_watch *find_watch(struct session *s, uint32_t actor)
{
    for (size_t i = 0; i < s->watch_count; i++)
        if (s->watches[i].actor == actor) return &s->watches[i];
    return NULL;
}

static bool is_known(struct session *s, uint32_t model, uint32_t version)
{
    for (size_t i = 0; i < s->known_count; i++)
        if (s->known[i].model == model && s->known[i].version == version) return true;
    return false;
}

// When the table is full the oldest is forgotten: at worst a surface is sent twice.
static void remember(struct session *s, uint32_t model, uint32_t version)
{
    if (s->known_count < SESSION_SURFACES) s->known_count++;
    s->known[s->known_next++ % SESSION_SURFACES] =
        (struct session_known){.model = model, .version = version};
}

static void put_catalogue(struct session *s, uint32_t actor, const struct parcel_row *row)
{
    struct chunk *chunk = chunk_copy(row->catalogue->bytes, row->catalogue->size_bytes);
    if (chunk) {
        struct wire_writer w = wire_write(chunk_writable(chunk), PARCEL_CATALOGUE_HEAD_BYTES);
        wire_put_u32(&w, actor);
        wire_put_u32(&w, (uint32_t)(row->catalogue_bytes - PARCEL_CATALOGUE_HEAD_BYTES));
    }
    (void)supply_put(&s->supply, MESSAGE_CATALOGUE, 0, chunk, row->catalogue_bytes);
}

static void put_appearance(struct session *s, const struct view_event *event, uint64_t tag)
{
    size_t size = 0;
    struct chunk *chunk = parcel_appearance(event->role, event->actor.actor, event->face, &size);
    (void)supply_put(&s->supply, MESSAGE_APPEARANCE, tag, chunk, size);
}

static void put_character(struct session *s, const struct view_event *event)
{
    const struct role *role = event->role;
    const struct parcel_row *row = parcel_of_role(&s->hub->shelf, role);
    uint32_t actor = event->actor.actor;
    if (!row) {
        s->supply.failed = true;
        return;
    }
    if (actor == view_own_actor(s->view)) put_catalogue(s, actor, row);
    if (!is_known(s, role->number, role->version)) {
        remember(s, role->number, role->version);
        (void)supply_put(&s->supply, MESSAGE_SURFACE, 0, chunk_ref(row->surface),
                         role->surface_bytes);
    }
    put_appearance(s, event, SUPPLY_TAG_ACTOR | actor);
}

static void enter(struct session *s, const struct view_event *event)
{
    uint8_t bytes[512];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (session_encode_actor(&w, &event->actor) == ERR_OK)
        (void)link_send(s->link, bytes, wire_size(&w));
    struct session_watch *watch = find_watch(s, event->actor.actor);
    bool same =
        watch && watch->model == event->actor.model && watch->version == event->actor.model_version;
    if (same) { // only who controls it has changed
        view_hold(s->view, event->actor.actor, !watch->ready);
        return;
    }
    if (!watch) {
        CHECK(s->watch_count < SESSION_WATCHES);
        watch = &s->watches[s->watch_count++];
    } else {
        session_note(s->link, MESSAGE_NOTICE, STREAM_MODEL_CHANGED, 0, event->actor.actor, NULL);
    }
    *watch = (struct session_watch){.actor = event->actor.actor,
                                    .model = event->actor.model,
                                    .version = event->actor.model_version};
    put_character(s, event);
    view_hold(s->view, watch->actor, true); // until its SURFACE and APPEARANCE are out
}

static void leave(struct session *s, const struct view_event *event)
{
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct session_gone gone = {.scene = event->actor.scene, .actor = event->actor.actor};
    if (session_encode_gone(&w, &gone) == ERR_OK) (void)link_send(s->link, bytes, wire_size(&w));
    struct session_watch *watch = find_watch(s, event->actor.actor);
    if (watch) *watch = s->watches[--s->watch_count];
}

// A few at a time: what a crowd's arrival costs is spread, and the queue of small messages does
// not overflow.
enum { EVENTS_PER_TICK = 16, EVENT_ROOM_BYTES = 8192 };

static void take_events(struct session *s)
{
    struct view_event event;
    for (int i = 0; i < EVENTS_PER_TICK; i++) {
        if (conn_send_room(s->link->conn) < EVENT_ROOM_BYTES || s->link->closing) return;
        if (s->supply.count + 3 > SUPPLY_ITEMS_MAX) return;
        if (!view_next_event(s->view, &event)) return;
        if (event.kind == VIEW_LEFT)
            leave(s, &event);
        else if (event.kind == VIEW_LOOKS)
            put_appearance(s, &event, 0);
        else
            enter(s, &event);
    }
}

// --- Frames -------------------------------------------------------------------------------------

struct batch {
    struct conn_piece pieces[CONN_PIECES_MAX];
    size_t piece_count, bytes;
    struct frame *frames[VIEW_ACTORS_MAX];
    size_t indices[VIEW_ACTORS_MAX], frame_count;
};

static bool put_frame(struct session *s, struct batch *b, size_t index, struct frame *f)
{
    size_t pieces = (f->size_bytes + MESSAGES_PIECE_BYTES - 1) / MESSAGES_PIECE_BYTES;
    if (pieces == 0) pieces = 1;
    // Grows once a connection, for a surface of more than 160,000 vertices or so.
    if (b->frame_count == 0 && pieces > conn_pieces_max(s->link->conn) &&
        !conn_reserve(s->link->conn, pieces))
        log_event(LOG_LEVEL_WARN, "session.frame_too_large", LOG_T("session", s->name));
    bool full = b->piece_count + pieces > conn_pieces_max(s->link->conn) ||
                (b->frame_count > 0 && b->bytes + f->size_bytes > s->hub->options.batch_bytes_max);
    if (full) return false;
    struct chunk *chunk = parcel_of_frame(f);
    bool answers = f->head.actor == view_own_actor(s->view) && s->input_ns &&
                   (int32_t)(f->head.input_sequence - s->input_sequence) >= 0;
    s->group++;
    for (size_t k = 0; k < pieces; k++) {
        struct conn_piece *p = &b->pieces[b->piece_count++];
        CHECK(link_piece(s->link, MESSAGE_FRAME, chunk, 0, f->size_bytes, k, p));
        p->group = s->group;
        if (answers && k + 1 == pieces) p->tag = SUPPLY_TAG_INPUT;
        (void)chunk_ref(chunk); // the batch's own, until the connection has taken its
    }
    chunk_release(chunk);
    if (answers) {
        s->answered_ns = s->input_ns;
        s->input_ns = 0;
    }
    b->bytes += f->size_bytes;
    b->frames[b->frame_count] = f;
    b->indices[b->frame_count++] = index;
    return true;
}

static void fill(struct session *s, struct batch *b)
{
    size_t count = view_count(s->view), others = count > 1 ? count - 1 : 0, missed = 0;
    for (size_t k = 0; k < count; k++) {
        size_t index = k == 0 ? 0 : 1 + (s->turn + k - 1) % others;
        const struct session_watch *watch = find_watch(s, view_actor(s->view, index));
        if (!watch || !watch->ready) { // on hold
            count_skip(s, HUB_SKIP_SURFACE, 1);
            continue;
        }
        struct frame *f = view_frame(s->view, index);
        if (f && !put_frame(s, b, index, f)) {
            count_skip(s, HUB_SKIP_BATCH, 1);
            if (missed == 0) missed = k;
        }
    }
    // Who did not fit comes first next time (after the own actor).
    if (missed > 0 && others > 0) s->turn = (s->turn + missed - 1) % others;
}

static void send_batch(struct session *s)
{
    struct batch b;
    b.piece_count = b.bytes = b.frame_count = 0;
    struct hub_counts *counts = &s->hub->counts;
    fill(s, &b);
    if (b.frame_count == 0) return;
    uint64_t now_us = clock_ns() / 1000;
    bool taken = conn_send_frame(s->link->conn, b.pieces, b.piece_count);
    for (size_t i = 0; i < b.frame_count && taken; i++) {
        const struct frame *f = b.frames[i];
        view_sent(s->view, b.indices[i], f);
        s->sent[s->sent_count++ % SESSION_AGES] =
            (struct session_sent){.actor = f->head.actor,
                                  .frame = f->head.frame,
                                  .server_time_us = f->head.server_time_us,
                                  .given_us = now_us};
    }
    for (size_t i = 0; i < b.piece_count; i++)
        chunk_release(b.pieces[i].chunk);
    if (!taken) return;
    if (!s->first_frame_sent) tally_add(&counts->join, (double)(clock_ns() - s->joined_ns) * 1e-9);
    s->first_frame_sent = true;
    s->frames_sent += b.frame_count;
    s->bytes_sent += b.bytes;
    counts->frames_sent += b.frame_count;
    counts->frame_bytes_sent += b.bytes;
    counts->batches_sent++;
}

static void tell_pace(struct session *s, uint32_t change)
{
    static const struct {
        uint32_t bit;
        enum stream_code code;
    } told[] = {{PACE_RATE_LOWERED, STREAM_RATE_LOWERED},
                {PACE_RATE_RESTORED, STREAM_RATE_RESTORED},
                {PACE_DETAIL_LOWERED, STREAM_DETAIL_LOWERED},
                {PACE_DETAIL_RESTORED, STREAM_DETAIL_RESTORED}};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        if (change & told[i].bit) session_note(s->link, MESSAGE_NOTICE, told[i].code, 0, 0, NULL);
    if (change & PACE_RATE_LOWERED) s->hub->counts.rate_lowered++;
    if (change & PACE_DETAIL_LOWERED) s->hub->counts.detail_lowered++;
    if (change & (PACE_DETAIL_LOWERED | PACE_DETAIL_RESTORED)) {
        struct view_settings settings = session_view_settings(s);
        // Without memory the old detail stays: the rate alone has to do.
        if (view_set(s->view, &settings) != ERR_OK)
            log_event(LOG_LEVEL_WARN, "session.detail", LOG_T("session", s->name));
    }
}

static void send_applied(struct session *s)
{
    struct session_applied applied = {.actor = view_own_actor(s->view)};
    uint8_t bytes[4096];
    if (!(s->capabilities & HELLO_CAN_APPLIED) || view_own_id(s->view) == 0) return;
    if (conn_send_room(s->link->conn) < EVENT_ROOM_BYTES) return; // told later
    applied.entry_count = (uint32_t)stage_applied(s->hub->options.stage, view_own_id(s->view),
                                                  applied.entries, SESSION_APPLIED_MAX);
    if (applied.entry_count == 0) return;
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (session_encode_applied(&w, &applied) == ERR_OK)
        (void)link_send(s->link, bytes, wire_size(&w));
}

static const uint64_t COSTS_NS = 1000000000;

static void tell_extras(struct session *s)
{
    static const uint16_t codes[] = {[STAGE_NOTE_SKIP] = STREAM_EXTRA_SKIPPED,
                                     [STAGE_NOTE_PLUGIN] = STREAM_EXTRA_TROUBLE,
                                     [STAGE_NOTE_OFF] = STREAM_EXTRAS_OFF};
    struct stage *stage = s->hub->options.stage;
    uint64_t id = view_own_id(s->view), now = clock_ns();
    uint32_t actor = view_own_actor(s->view);
    struct stage_note note;
    char costs[SESSION_TEXT_MAX];
    if (id == 0) return;
    while (conn_send_room(s->link->conn) >= EVENT_ROOM_BYTES && stage_note(stage, id, &note)) {
        if (note.kind != STAGE_NOTE_SKIP)
            log_event(LOG_LEVEL_WARN, "session.extra", LOG_T("session", s->name),
                      LOG_T("what", note.text));
        if (note.kind != STAGE_NOTE_SKIP || s->capabilities & HELLO_CAN_APPLIED)
            session_note(s->link, MESSAGE_NOTICE, codes[note.kind], 0, actor, note.text);
    }
    if (!(s->capabilities & HELLO_CAN_COSTS) || now < s->costs_ns + COSTS_NS) return;
    if (conn_send_room(s->link->conn) < EVENT_ROOM_BYTES) return;
    s->costs_ns = now;
    if (stage_costs(stage, id, costs, sizeof costs) > 0)
        session_note(s->link, MESSAGE_NOTICE, STREAM_EXTRA_COSTS, 0, actor, costs);
}

bool session_after_tick(struct session *s)
{
    if (!s->link || s->link->closing) return false;
    take_events(s);
    if (s->supply.failed) {
        link_close(s->link, STREAM_INTERNAL, hub_retry_ms(s->hub), "out of memory");
        return false;
    }
    supply_feed(&s->supply, s->link);
    send_applied(s);
    tell_extras(s);
    if (s->due) send_batch(s);
    if (s->link && !s->link->closing) tell_pace(s, pace_step(&s->pace, clock_ns()));
    return s->link && !s->link->closing;
}

void session_on_sent(struct session *s, uint64_t tag, bool sent)
{
    uint64_t kind = tag & SUPPLY_TAG_KIND;
    if (kind == SUPPLY_TAG_ACTOR && sent) {
        struct session_watch *watch = find_watch(s, (uint32_t)tag);
        if (watch) watch->ready = true;
        view_hold(s->view, (uint32_t)tag, false);
    } else if (kind == SUPPLY_TAG_INPUT && sent && s->answered_ns) {
        tally_add(&s->hub->counts.input_to_socket, (double)(clock_ns() - s->answered_ns) * 1e-9);
        s->answered_ns = 0;
    } else if (kind == 0 && !sent) {
        count_skip(s, HUB_SKIP_REPLACED, 1);
    }
    supply_on_sent(&s->supply, tag);
    if (kind == SUPPLY_TAG_TEXTURE && s->link) supply_feed(&s->supply, s->link);
}
