#include "server/stream/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/input_messages.h"
#include "proto/session_messages.h"
#include "server/stream/hub_internal.h"

// --- Small messages -----------------------------------------------------------------------------

void session_note(struct link *l, uint8_t type, enum stream_code code, uint8_t message_type,
                  uint32_t subject, const char *text)
{
    uint8_t bytes[SESSION_TEXT_MAX + 64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct session_note note = {
        .code = (uint16_t)code, .message_type = message_type, .subject = subject};
    if (text) strncpy(note.text, text, sizeof note.text - 1);
    // A text cut inside a character, or from a peer's own bad bytes, must not lose the code.
    if (session_encode_note(&w, type, &note) != ERR_OK) {
        note.text[0] = '\0';
        w = wire_write(bytes, sizeof bytes);
        if (session_encode_note(&w, type, &note) != ERR_OK) return;
    }
    (void)link_send(l, bytes, wire_size(&w));
}

// Answers to wrong messages are budgeted: nobody gets us to talk without end.
static void refuse(struct session *s, const struct message *m, enum stream_code code,
                   uint32_t subject, const char *text)
{
    if (!bucket_take(&s->link->errors, 1, clock_ns())) return;
    s->hub->counts.errors_sent++;
    session_note(s->link, MESSAGE_ERROR, code, m->type, subject, text);
}

// --- Input --------------------------------------------------------------------------------------

static enum stream_code code_of(enum err e)
{
    switch (e) {
    case ERR_NOT_FOUND:
        return STREAM_UNKNOWN_NAME;
    case ERR_AMBIGUOUS:
        return STREAM_AMBIGUOUS_NAME;
    default:
        return STREAM_INPUT_REFUSED;
    }
}

static void on_input(struct session *s, const struct message *m)
{
    struct input_head head = {0};
    uint64_t *results = s->hub->counts.inputs[m->type - MESSAGE_CONTROL];
    enum err e = input_decode_head(m->payload, m->size_bytes, &head);
    if (e != ERR_OK) {
        results[HUB_INPUT_REFUSED]++;
        refuse(s, m, STREAM_INPUT_REFUSED, 0, err_text(e));
        return;
    }
    if (view_own_id(s->view) == 0) {
        results[HUB_INPUT_REFUSED]++;
        refuse(s, m, STREAM_NO_ACTOR, head.sequence, NULL);
        return;
    }
    struct fault fault = {0};
    e = stage_input(s->hub->options.stage, view_own_id(s->view), m->type, m->payload, m->size_bytes,
                    &fault);
    bool values = m->type == MESSAGE_FACE || m->type == MESSAGE_CUSTOMISE;
    if (values && e != ERR_STALE && (e != ERR_OK || fault.line[0])) {
        // Sliders and trackers of another character: told, not refused as a mistake of the
        // protocol.
        if (bucket_take(&s->link->errors, 1, clock_ns()))
            session_note(s->link, MESSAGE_NOTICE, STREAM_INPUT_LEFT_OUT, m->type, head.sequence,
                         fault.line[0] ? fault.line : err_text(e));
        if (e != ERR_OK) results[HUB_INPUT_REFUSED]++;
        if (e != ERR_OK) return;
    }
    if (e == ERR_OK) {
        results[HUB_INPUT_APPLIED]++;
        if (s->input_ns == 0) {
            s->input_sequence = head.sequence;
            s->input_ns = clock_ns();
        }
    } else if (e == ERR_STALE) {
        results[HUB_INPUT_STALE]++;
    } else if (e == ERR_UNSUPPORTED) {
        results[HUB_INPUT_NOT_YET]++;
        refuse(s, m, STREAM_INPUT_REFUSED, head.sequence, fault.line);
    } else {
        results[HUB_INPUT_REFUSED]++;
        refuse(s, m, code_of(e), head.sequence, fault.line[0] ? fault.line : err_text(e));
    }
}

// --- Feedback of the client ---------------------------------------------------------------------

static const struct session_sent *find_sent(const struct session *s, uint32_t actor, uint32_t frame)
{
    size_t n = s->sent_count < SESSION_AGES ? s->sent_count : SESSION_AGES;
    for (size_t i = 1; i <= n; i++) {
        const struct session_sent *sent = &s->sent[(s->sent_count - i) % SESSION_AGES];
        if (sent->actor == actor && sent->frame == frame) return sent;
    }
    return NULL;
}

// The age of a frame when it arrived: by the client's clock and its own estimate of the offset,
// held between nothing and what our clock alone allows, so that a wrong clock cannot mislead.
static void take_age(struct session *s, const struct session_ack *ack,
                     const struct session_ack_entry *entry, uint64_t now_ns)
{
    const struct session_sent *sent = find_sent(s, entry->actor, entry->frame);
    if (!sent) return;
    double most_s = (double)(now_ns / 1000 - sent->server_time_us) * 1e-6;
    double age_s = most_s;
    if (ack->rtt_us > 0) {
        int64_t arrived_us = (int64_t)(entry->receive_time_us + (uint64_t)ack->offset_us);
        age_s = (double)(arrived_us - (int64_t)sent->server_time_us) * 1e-6;
        if (!(age_s > 0)) age_s = 0;
        if (age_s > most_s) age_s = most_s;
    }
    s->age_s = age_s;
    // What the server itself took is not the link's doing.
    pace_age(&s->pace, age_s - (double)(sent->given_us - sent->server_time_us) * 1e-6);
    tally_add(&s->hub->counts.age, age_s);
}

static void on_ack(struct session *s, const struct message *m)
{
    struct session_ack ack;
    if (session_decode_ack(m->payload, m->size_bytes, &ack) != ERR_OK) {
        refuse(s, m, STREAM_PROTOCOL, 0, "ACK");
        return;
    }
    uint64_t now_ns = clock_ns();
    s->hub->counts.acks++;
    for (uint16_t i = 0; i < ack.entry_count; i++)
        take_age(s, &ack, &ack.entries[i], now_ns);
}

static void on_resync(struct session *s, const struct message *m)
{
    struct session_resync resync;
    if (session_decode_resync(m->payload, m->size_bytes, &resync) != ERR_OK) {
        refuse(s, m, STREAM_PROTOCOL, 0, "RESYNC");
        return;
    }
    s->hub->counts.resyncs++;
    view_want_key(s->view, resync.actor);
}

static void on_ping(struct link *l, const struct message *m)
{
    struct session_ping ping;
    if (session_decode_ping(m->payload, m->size_bytes, &ping) != ERR_OK) return;
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    uint64_t now_us = clock_ns() / 1000;
    struct session_pong pong = {.id = ping.id,
                                .ping_time_us = ping.send_time_us,
                                .receive_time_us = now_us,
                                .send_time_us = now_us};
    hub_of(l)->counts.pings++;
    if (session_encode_pong(&w, &pong) == ERR_OK) (void)link_send(l, bytes, wire_size(&w));
}

static void on_pong(struct session *s, const struct message *m)
{
    struct session_pong pong;
    if (session_decode_pong(m->payload, m->size_bytes, &pong) != ERR_OK) return;
    if (pong.id != s->link->ping_id || pong.ping_time_us != s->ping_sent_ns / 1000) return;
    struct session_clock clock = session_clock_from(&pong, clock_ns() / 1000);
    // The quickest answer is the best estimate; it ages, so that a clock that jumps is followed.
    if (s->rtt_us == 0 || clock.rtt_us <= s->rtt_us + s->rtt_us / 4 + 500) {
        s->rtt_us = clock.rtt_us ? clock.rtt_us : 1;
        s->clock_offset_us = clock.offset_us;
    } else {
        s->rtt_us += s->rtt_us / 4 + 500;
    }
}

// --- Settings -----------------------------------------------------------------------------------

uint32_t session_rate(const struct hub *h, const struct hello_quality *asked)
{
    uint32_t hz = asked->rate_hz ? asked->rate_hz : 60;
    return hz < h->options.tick_hz ? hz : h->options.tick_hz;
}

struct view_settings session_view_settings(const struct session *s)
{
    uint32_t link_detail = s->pace.coarser;
    bool takes_lods = s->capabilities & HELLO_CAN_LOD;
    return (struct view_settings){.bits = (uint8_t)(s->asked.bits ? s->asked.bits : 14),
                                  .raw = s->asked.raw,
                                  .detail = (uint8_t)(takes_lods ? s->asked.detail : 1),
                                  .link_detail = (uint8_t)(link_detail > 2 ? 2 : link_detail),
                                  .actors_max = s->asked.characters_max};
}

static bool apply_settings(struct session *s, const struct hello_quality *asked)
{
    struct hello_quality before = s->asked;
    s->asked = *asked;
    struct view_settings settings = session_view_settings(s);
    if (view_set(s->view, &settings) != ERR_OK) {
        s->asked = before;
        return false;
    }
    pace_ask(&s->pace, session_rate(s->hub, asked));
    return true;
}

static void on_settings(struct session *s, const struct message *m)
{
    struct hello_quality asked = s->asked;
    struct fault fault = {0};
    if (hello_decode_settings(m->payload, m->size_bytes, &asked, &fault) != ERR_OK)
        refuse(s, m, STREAM_SETTING_REFUSED, 0, fault.line);
    else if (!apply_settings(s, &asked))
        refuse(s, m, STREAM_SETTING_REFUSED, 0, "no memory for these settings");
}

static void on_want(struct session *s, const struct message *m)
{
    struct session_want want;
    if (session_decode_want(m->payload, m->size_bytes, &want) != ERR_OK) {
        refuse(s, m, STREAM_PROTOCOL, 0, "WANT");
        return;
    }
    const struct cast *cast = stage_cast(s->hub->options.stage);
    for (uint32_t i = 0; i < want.hash_count; i++) {
        const struct role_texture *found = NULL;
        const struct role *role = NULL;
        for (size_t k = 0; k < cast->count && !found; k++) {
            role = cast->entries[k].role;
            if (role) found = role_texture_find(role, want.hashes[i]);
        }
        if (!found)
            refuse(s, m, STREAM_UNKNOWN_TEXTURE, 0, NULL);
        else if (!supply_want(&s->supply, role, found))
            refuse(s, m, STREAM_POLICY, 0, "too many textures are waiting: ask again later");
    }
    supply_feed(&s->supply, s->link);
}

static void on_bye(struct link *l, const struct message *m)
{
    struct session_note note;
    bool resumes = session_decode_note(m->payload, m->size_bytes, &note) == ERR_OK &&
                   note.code != STREAM_NORMAL;
    struct session *s = l->session;
    if (s && !resumes) {
        s->hub->counts.sessions_ended++;
        session_end(s, 0, 0);
    }
    link_close(l, STREAM_NORMAL, 0, NULL);
}

void session_on_message(struct link *l, const struct message *m)
{
    struct session *s = l->session;
    if (m->type == MESSAGE_PING) {
        on_ping(l, m);
    } else if (m->type == MESSAGE_BYE) {
        on_bye(l, m);
    } else if (!s) {
        if (m->type == MESSAGE_HELLO)
            session_on_hello(l, m);
        else
            link_close(l, STREAM_PROTOCOL, 0, "HELLO must come first");
    } else {
        static void (*const handlers[256])(struct session *, const struct message *) = {
            [MESSAGE_PONG] = on_pong,       [MESSAGE_ACK] = on_ack,
            [MESSAGE_RESYNC] = on_resync,   [MESSAGE_SETTINGS] = on_settings,
            [MESSAGE_WANT] = on_want,       [MESSAGE_CONTROL] = on_input,
            [MESSAGE_SENSOR] = on_input,    [MESSAGE_FACE] = on_input,
            [MESSAGE_CUSTOMISE] = on_input, [MESSAGE_POSE] = on_input,
            [MESSAGE_PLACE] = on_input,
        };
        if (m->type == MESSAGE_HELLO)
            link_close(l, STREAM_PROTOCOL, 0, "HELLO came twice");
        else if (handlers[m->type])
            handlers[m->type](s, m);
    }
}

// --- Life ---------------------------------------------------------------------------------------

void session_on_link_gone(struct session *s, enum link_end end)
{
    s->link = NULL;
    supply_clear(&s->supply);
    view_set_ready(s->view, false);
    s->due = false;
    if (end != LINK_LOST || s->hub->stopped || s->hub->draining) { // it could not come back
        s->hub->counts.sessions_ended++;
        session_end(s, 0, 0);
        return;
    }
    s->lost_ns = clock_ns();
    log_event(LOG_LEVEL_INFO, "session.lost", LOG_T("session", s->name),
              LOG_T("peer", s->peer.text));
}

void session_end(struct session *s, enum stream_code code, uint32_t retry_ms)
{
    struct hub *h = s->hub;
    struct link *l = s->link;
    if (l) {
        l->session = NULL;
        s->link = NULL;
        if (code) link_close(l, code, retry_ms, NULL);
    }
    supply_clear(&s->supply);
    lease_close(s->lease);
    stage_leave(h->options.stage, s->view);
    h->sessions[s->index] = h->sessions[--h->session_count];
    h->sessions[s->index]->index = s->index;
    log_event(LOG_LEVEL_INFO, "session.end", LOG_T("session", s->name),
              LOG_T("code", code ? stream_codes_name((uint16_t)code) : NULL),
              LOG_I("frames", s->frames_sent), LOG_I("sessions", h->session_count),
              LOG_F("seconds", (double)(clock_ns() - s->joined_ns) * 1e-9));
    free(s);
}

static void send_ping(struct session *s, uint64_t now_ns)
{
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    s->ping_sent_ns = now_ns;
    struct session_ping ping = {.id = ++s->link->ping_id, .send_time_us = now_ns / 1000};
    if (session_encode_ping(&w, &ping) == ERR_OK) (void)link_send(s->link, bytes, wire_size(&w));
}

// Frames are never behind for long: a link that took nothing for this long is of no use to its
// player, and holds frames that others could use.
enum { BLOCKED_S_MAX = 15 };

void session_second(struct session *s, uint64_t now_ns)
{
    struct hub *h = s->hub;
    uint64_t heartbeat_ns = (uint64_t)h->options.heartbeat_ms * 1000000u;
    if (!s->link) {
        if (now_ns - s->lost_ns < (uint64_t)h->options.resume_s * 1000000000u) return;
        h->counts.sessions_expired++;
        session_end(s, 0, 0);
        return;
    }
    struct conn_stats stats;
    conn_stats(s->link->conn, &stats);
    if (s->link->closing) return;
    if (now_ns > s->link->heard_ns + 3 * heartbeat_ns) {
        h->counts.timed_out++;
        link_drop(s->link, STREAM_TIMED_OUT);
    } else if (stats.blocked_since_ns &&
               now_ns > stats.blocked_since_ns + (uint64_t)BLOCKED_S_MAX * 1000000000u) {
        link_drop(s->link, STREAM_TOO_SLOW);
    } else if (now_ns >= s->ping_sent_ns + heartbeat_ns) {
        send_ping(s, now_ns);
    }
}
