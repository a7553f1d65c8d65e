#include "client/lib/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/backoff.h"
#include "client/lib/client.h"
#include "common/check.h"
#include "proto/stream_codes.h"

enum {
    HEARTBEAT_DEFAULT_MS = 5000,
    ACK_DEFAULT_HZ = 10,
    PING_FAST_US = 100000, // until the clock offset is settled
    PING_SLOW_US = 1000000,
    PINGS_FAST = 8,
    HEARTBEAT_MAX_MS = 20000,
    JOIN_FIRST_BYTES = 256 * 1024
};

static void tell(struct sinew_client *c, const struct event *e, const char *text)
{
    struct event event = *e;
    event.time_us = sinew_now_us();
    events_push(&c->events, &event, text);
}

bool session_send(struct sinew_client *c, const void *bytes, size_t size_bytes)
{
    return link_send(&c->session.link, bytes, size_bytes);
}

void session_send_resync(struct sinew_client *c, const struct session_resync *in)
{
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (session_encode_resync(&w, in) == ERR_OK) (void)session_send(c, bytes, wire_size(&w));
}

void session_note_anchor(struct sinew_client *c, uint32_t actor, uint32_t frame, uint64_t now_us)
{
    struct session *s = &c->session;
    if (s->anchor_count == ACK_ANCHORS_MAX) return; // the newest of each actor goes out anyway
    s->anchors[s->anchor_count].actor = actor;
    s->anchors[s->anchor_count].frame = frame;
    s->anchors[s->anchor_count++].receive_time_us = now_us;
    s->ack_now = true;
}

// ---- ends ----

// xorshift: spreads clients that were cut at the same moment; nothing secret.
static double random_part(struct session *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 17;
    s->random ^= s->random << 5;
    return (double)s->random / 4294967296.0;
}

static int result_of_code(uint16_t code)
{
    switch (code) {
    case STREAM_PROTOCOL:
    case STREAM_PROTOCOL_VERSION:
    case STREAM_TOO_BIG:
    case STREAM_BAD_TEXT:
    case STREAM_NOT_BINARY:
        return SINEW_ERR_PROTOCOL;
    case STREAM_TIMED_OUT:
    case STREAM_HELLO_LATE:
    case STREAM_TOO_SLOW:
        return SINEW_ERR_TIMEOUT;
    case STREAM_GOING_AWAY:
    case STREAM_RESTART:
    case STREAM_INTERNAL:
        return SINEW_ERR_NETWORK;
    default:
        return SINEW_ERR_REFUSED;
    }
}

static void reason_text(struct session_reason *r, const char *text)
{
    (void)snprintf(r->text, sizeof r->text, "%s", text);
}

static void reason_from_code(struct session_reason *r, uint16_t code, const char *text)
{
    r->code = code;
    r->result = result_of_code(code);
    r->final = !stream_codes_may_retry(code);
    reason_text(r, text[0] ? text : stream_codes_text(code));
}

static void reason_from_http(struct session_reason *r, const struct link *l)
{
    uint16_t status = l->http_status;
    r->result = SINEW_ERR_REFUSED;
    r->final = status != 429 && status < 500;
    if (status == 401) r->code = STREAM_UNAUTHORISED;
    if (status == 403) r->code = STREAM_FORBIDDEN;
    reason_text(r, l->fault.line);
}

static void reason_from_link(struct sinew_client *c, struct session_reason *r)
{
    const struct link *l = &c->session.link;
    uint16_t code = stream_codes_from_close(l->close_code);
    switch (l->end) {
    case LINK_END_TLS:
        r->result = SINEW_ERR_TLS;
        // The same certificate would be there again. Anything else, with a server that was fine
        // before, is one that stops or starts.
        r->final = l->refused || !c->session.ever_joined;
        break;
    case LINK_END_PROTOCOL:
        r->result = SINEW_ERR_PROTOCOL;
        r->final = !c->session.ever_joined;
        break;
    case LINK_END_HTTP:
        reason_from_http(r, l);
        return;
    case LINK_END_PEER:
        if (code != 0) {
            reason_from_code(r, code, l->fault.line);
            return;
        }
        r->result = SINEW_ERR_NETWORK;
        break;
    case LINK_END_NONE:
    case LINK_END_NETWORK:
    case LINK_END_HANDLER:
        r->result = SINEW_ERR_NETWORK;
        break;
    }
    reason_text(r, l->fault.line[0] ? l->fault.line : "the connection was lost");
}

static void session_lost(struct sinew_client *c, uint64_t now_us)
{
    struct session *s = &c->session;
    struct session_reason *r = &s->reason;
    if (r->result == 0) reason_from_link(c, r);
    link_close(&s->link, 1000, NULL);
    if (s->phase == SESSION_JOINED) {
        s->lost_at_us = now_us;
        s->joined_total_us += now_us - s->joined_at_us;
    }
    // The token is used or too old: join anew, which needs no waiting.
    bool anew = r->code == STREAM_RESUME_EXPIRED && s->tried_resume;
    if (r->code == STREAM_RESUME_EXPIRED) s->resumable = false;
    bool final = (r->final && !anew) || !c->options.reconnect || s->closing;
    bool advised = r->retry_ms > 0; // then it is not one more failure
    r->retry_ms = final || anew ? 0 : backoff_ms(s->attempt, r->retry_ms, random_part(s));
    s->phase = final ? SESSION_ENDED : SESSION_WAITING;
    s->deadline_us = now_us + (uint64_t)r->retry_ms * 1000;
    if (!final && !anew && !advised) s->attempt++;
    tell(c,
         &(struct event){.kind = final ? SINEW_EVENT_CLOSED : SINEW_EVENT_LOST,
                         .result = r->result,
                         .code = r->code,
                         .retry_ms = r->retry_ms},
         r->text);
}

static void session_fail(struct sinew_client *c, int result, const char *text, bool final)
{
    struct session_reason *r = &c->session.reason;
    if (r->result != 0) return;
    r->result = result;
    r->final = final;
    reason_text(r, text);
}

// ---- joining ----

void session_start(struct sinew_client *c, uint64_t now_us)
{
    struct session *s = &c->session;
    s->phase = SESSION_RESOLVING;
    s->deadline_us = now_us + (uint64_t)c->options.connect_timeout_ms * 1000;
    s->reason = (struct session_reason){0};
}

void session_resolved(struct sinew_client *c, enum err e, const struct net_addresses *addresses,
                      const struct fault *fault, uint64_t now_us)
{
    struct session *s = &c->session;
    if (s->phase != SESSION_RESOLVING) return;
    s->link.url = c->url;
    if (e == ERR_OK) {
        s->link.addresses = *addresses;
        s->phase = SESSION_LINKING;
        e = link_open(&s->link, c->tls);
        if (e == ERR_OK) return;
        session_fail(c, SINEW_ERR_MEMORY, "no memory for a connection", false);
    }
    session_fail(c, SINEW_ERR_NETWORK, fault->line, false);
    session_lost(c, now_us);
}

static void copy_text(char *out, size_t capacity, const char *text)
{
    (void)snprintf(out, capacity, "%s", text ? text : "");
}

static bool send_hello(struct sinew_client *c, uint64_t now_us)
{
    struct session *s = &c->session;
    const struct sinew_options *o = &c->options;
    struct hello h = {.major = MESSAGES_MAJOR,
                      .minor = MESSAGES_MINOR,
                      .capabilities = HELLO_CAN_ZSTD | HELLO_CAN_LOD | HELLO_CAN_RESUME,
                      .quality = {.bits = o->quality.bits,
                                  .rate_hz = o->quality.rate_hz,
                                  .detail = o->quality.detail,
                                  .characters_max = o->quality.characters_max,
                                  .raw = o->quality.raw != 0}};
    if (o->textures) h.capabilities |= HELLO_CAN_TEXTURES;
    if (o->applied) h.capabilities |= HELLO_CAN_APPLIED;
    copy_text(h.client, sizeof h.client, o->program ? o->program : "libsinew " SINEW_VERSION);
    copy_text(h.role, sizeof h.role, o->role);
    copy_text(h.scene, sizeof h.scene, o->scene);
    copy_text(h.character, sizeof h.character, o->character);
    copy_text(h.name, sizeof h.name, o->name);
    h.recipe = o->recipe;
    h.recipe_bytes = o->recipe ? strlen(o->recipe) : 0;
    uint64_t away_us = now_us - s->lost_at_us;
    s->tried_resume =
        s->resumable && s->welcome.resume[0] && away_us < (uint64_t)s->welcome.resume_s * 1000000;
    if (s->tried_resume) {
        const struct actor *own = actors_find(&c->actors, c->actors.own);
        copy_text(h.resume, sizeof h.resume, s->welcome.resume);
        h.last_frame = own ? own->newest_frame : 0;
    } else if (o->token) {
        copy_text(h.token, sizeof h.token, o->token);
    } else {
        copy_text(h.ticket, sizeof h.ticket, o->ticket);
    }
    uint8_t bytes[20000];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    return hello_encode(&w, &h) == ERR_OK && link_send(&s->link, bytes, wire_size(&w));
}

static char *copy_bytes(const char *bytes, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1);
    if (!text) return NULL;
    if (size_bytes) memcpy(text, bytes, size_bytes);
    text[size_bytes] = 0;
    return text;
}

static enum err on_welcome(struct sinew_client *c, const struct message *m, uint64_t now_us)
{
    struct session *s = &c->session;
    struct hello_welcome w;
    struct fault fault = {0};
    if (s->phase != SESSION_HELLO) return ERR_MALFORMED;
    enum err e = hello_decode_welcome(m->payload, m->size_bytes, &w, &fault);
    if (e) {
        session_fail(c, SINEW_ERR_PROTOCOL, fault.line, true);
        return e;
    }
    bool resumed = w.resumed && s->tried_resume;
    if (w.bindings) {
        free(c->bindings_new);
        c->bindings_new = copy_bytes(w.bindings, w.bindings_bytes);
        c->bindings_fresh = true;
        w.bindings = NULL;
    }
    s->welcome = w;
    if (s->ever_joined) {
        c->figures.reconnects++;
        c->figures.resumes += resumed;
    }
    s->phase = SESSION_JOINED;
    s->ever_joined = s->resumable = true;
    s->attempt = 0;
    s->joined_at_us = now_us;
    s->ping_at_us = s->ack_at_us = now_us;
    c->figures.own_at_us = 0;
    c->clock = (struct clock_sync){0};
    playout_init(&c->playout, (uint64_t)c->options.delay_max_ms * 1000);
    actors_rejoin(c, resumed);
    textures_rejoin(&c->textures);
    c->actors.own = w.actor;
    tell(c,
         &(struct event){.kind = resumed ? SINEW_EVENT_RESUMED : SINEW_EVENT_JOINED,
                         .actor = w.actor,
                         .tick = w.tick},
         w.character);
    input_rejoin(c, resumed);
    return ERR_OK;
}

// ---- messages of a session ----

static enum err on_ping(struct sinew_client *c, const struct message *m, uint64_t now_us)
{
    struct session_ping ping;
    enum err e = session_decode_ping(m->payload, m->size_bytes, &ping);
    if (e) return e;
    const struct session_pong pong = {.id = ping.id,
                                      .ping_time_us = ping.send_time_us,
                                      .receive_time_us = now_us,
                                      .send_time_us = sinew_now_us()};
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (session_encode_pong(&w, &pong) == ERR_OK) (void)session_send(c, bytes, wire_size(&w));
    return ERR_OK;
}

static enum err on_pong(struct sinew_client *c, const struct message *m)
{
    struct session_pong pong;
    enum err e = session_decode_pong(m->payload, m->size_bytes, &pong);
    if (e || pong.id != c->session.ping_id) return e; // late answers say nothing good
    struct session_clock clock = session_clock_from(&pong, sinew_now_us());
    clock_sync_add(&c->clock, clock.offset_us, clock.rtt_us);
    histogram_add(&c->figures.rtt, clock.rtt_us);
    return ERR_OK;
}

static enum err on_note(struct sinew_client *c, const struct message *m)
{
    struct session_note n;
    enum err e = session_decode_note(m->payload, m->size_bytes, &n);
    if (e) return e;
    const char *text = n.text[0] ? n.text : stream_codes_text(n.code);
    if (m->type == MESSAGE_NOTICE) {
        tell(c, &(struct event){.kind = SINEW_EVENT_NOTICE, .code = n.code, .actor = n.subject},
             text);
        return ERR_OK;
    }
    if (m->type == MESSAGE_ERROR && !n.fatal) {
        tell(c, &(struct event){.kind = SINEW_EVENT_REFUSED, .code = n.code, .sequence = n.subject},
             text);
        return ERR_OK;
    }
    struct session_reason *r = &c->session.reason;
    if (r->result == 0) { // an ERROR before the BYE says more
        reason_from_code(r, n.code, text);
        if (n.code == STREAM_NORMAL) r->result = SINEW_ERR_NETWORK;
    }
    if (n.retry_ms) r->retry_ms = n.retry_ms;
    return m->type == MESSAGE_BYE ? ERR_PEER_CLOSED : ERR_OK;
}

static enum err on_applied(struct sinew_client *c, const struct message *m)
{
    struct session_applied a;
    enum err e = session_decode_applied(m->payload, m->size_bytes, &a);
    if (e || !c->options.applied) return e;
    for (uint32_t i = 0; i < a.entry_count; i++)
        tell(c,
             &(struct event){.kind = SINEW_EVENT_APPLIED,
                             .actor = a.actor,
                             .tick = a.entries[i].tick,
                             .sequence = a.entries[i].sequence},
             NULL);
    return ERR_OK;
}

static enum err on_catalogue(struct sinew_client *c, const struct message *m)
{
    struct session_catalogue in;
    enum err e = session_decode_catalogue(m->payload, m->size_bytes, &in);
    if (e) return e;
    free(c->catalogue_new);
    c->catalogue_new = copy_bytes(in.json, in.json_bytes);
    c->catalogue_fresh = true;
    tell(c, &(struct event){.kind = SINEW_EVENT_CATALOGUE, .actor = in.actor}, NULL);
    return ERR_OK;
}

static enum err dispatch(struct sinew_client *c, const struct message *m, uint64_t now_us)
{
    bool whole;
    if (m->type != MESSAGE_WELCOME && c->session.phase == SESSION_HELLO &&
        m->type != MESSAGE_ERROR && m->type != MESSAGE_BYE && m->type != MESSAGE_PING &&
        m->type != MESSAGE_NOTICE)
        return ERR_MALFORMED; // nothing else may come before WELCOME
    switch (m->type) {
    case MESSAGE_WELCOME:
        return on_welcome(c, m, now_us);
    case MESSAGE_PING:
        return on_ping(c, m, now_us);
    case MESSAGE_PONG:
        return on_pong(c, m);
    case MESSAGE_NOTICE:
    case MESSAGE_ERROR:
    case MESSAGE_BYE:
        return on_note(c, m);
    case MESSAGE_ACTOR:
        return actors_on_actor(c, m);
    case MESSAGE_GONE:
        return actors_on_gone(c, m);
    case MESSAGE_SURFACE:
        return actors_on_surface(c, m);
    case MESSAGE_APPEARANCE:
        return actors_on_appearance(c, m);
    case MESSAGE_TEXTURE: {
        whole = false;
        enum err e = textures_on_chunk(c, m->payload, m->size_bytes, &whole);
        if (whole) tell(c, &(struct event){.kind = SINEW_EVENT_TEXTURE}, NULL);
        return e;
    }
    case MESSAGE_FRAME:
        return actors_on_frame(c, m, now_us);
    case MESSAGE_APPLIED:
        return on_applied(c, m);
    case MESSAGE_CATALOGUE:
        return on_catalogue(c, m);
    default: // of a later version, or reserved
        c->figures.messages_skipped++;
        return ERR_OK;
    }
}

// Which join collects the pieces of a type; -1: none, its messages are never long.
static int join_of(uint8_t type)
{
    static const uint8_t types[JOIN_TYPES] = {MESSAGE_WELCOME, MESSAGE_SURFACE, MESSAGE_FRAME,
                                              MESSAGE_APPEARANCE, MESSAGE_CATALOGUE};
    for (int i = 0; i < JOIN_TYPES; i++)
        if (types[i] == type) return i;
    return -1;
}

static enum err grow_join(struct sinew_client *c, struct inbox_join *join)
{
    size_t capacity = join->capacity_bytes ? join->capacity_bytes * 2 : JOIN_FIRST_BYTES;
    if (!client_take_memory(c, capacity - join->capacity_bytes)) return ERR_MEMORY;
    uint8_t *bytes = realloc(join->bytes, capacity);
    if (!bytes) {
        client_give_memory(c, capacity - join->capacity_bytes);
        return ERR_MEMORY;
    }
    join->bytes = bytes;
    join->capacity_bytes = capacity;
    return ERR_OK;
}

static enum err on_message(void *owner, const struct message *m)
{
    struct sinew_client *c = owner;
    int at = join_of(m->type);
    struct message whole = *m;
    enum err e = ERR_OK;
    if (at >= 0) {
        struct inbox_join *join = &c->session.joins[at];
        while ((e = inbox_join(join, m, &whole)) == ERR_MEMORY && grow_join(c, join) == ERR_OK)
            ;
        if (e == ERR_TRUNCATED) return ERR_OK;
    } else if (m->flags & (MESSAGES_MORE | MESSAGES_CONTINUES)) {
        c->figures.messages_skipped++; // too large for this version to be of use
        return ERR_OK;
    }
    if (e == ERR_OK) e = dispatch(c, &whole, sinew_now_us());
    if (e == ERR_OK || e == ERR_PEER_CLOSED) return e;
    const struct messages_row *row = messages_row(m->type);
    char line[160];
    (void)snprintf(line, sizeof line, "the server sent a %s that cannot be: %s",
                   row->name ? row->name : "message", err_text(e));
    session_fail(c, e == ERR_MEMORY ? SINEW_ERR_MEMORY : SINEW_ERR_PROTOCOL, line,
                 !c->session.ever_joined);
    return e;
}

// ---- time ----

static void send_ack(struct sinew_client *c, uint64_t now_us)
{
    struct session *s = &c->session;
    struct session_ack ack = {.client_time_us = now_us,
                              .offset_us = c->clock.known ? c->clock.offset_us : 0,
                              .rtt_us = c->clock.known ? c->clock.rtt_us + !c->clock.rtt_us : 0};
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < s->anchor_count; i++)
        ack.entries[ack.entry_count++] =
            (struct session_ack_entry){.actor = s->anchors[i].actor,
                                       .frame = s->anchors[i].frame,
                                       .receive_time_us = s->anchors[i].receive_time_us};
    for (uint32_t i = 0; i < c->actors.count; i++) {
        const struct actor *a = c->actors.items[i];
        for (uint32_t k = 0; k < a->slot_count; k++)
            waiting += !actors_slot_at(a, k)->shown;
        if (a->gone || a->newest_frame == 0 || ack.entry_count == SESSION_ACKS_MAX) continue;
        ack.entries[ack.entry_count++] = (struct session_ack_entry){
            .actor = a->id,
            .frame = a->newest_frame,
            .receive_time_us = a->newest_receive_us,
            .render_time_us = a->rendered_frame == a->newest_frame ? a->rendered_us : 0};
    }
    ack.queue_count = waiting > UINT16_MAX ? UINT16_MAX : (uint16_t)waiting;
    s->anchor_count = 0;
    s->ack_now = false;
    uint8_t bytes[4096];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (ack.entry_count > 0 && session_encode_ack(&w, &ack) == ERR_OK)
        (void)session_send(c, bytes, wire_size(&w));
}

static void send_ping(struct sinew_client *c, uint64_t now_us)
{
    const struct session_ping ping = {.id = ++c->session.ping_id, .send_time_us = now_us};
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (session_encode_ping(&w, &ping) == ERR_OK) (void)session_send(c, bytes, wire_size(&w));
    c->session.ping_at_us =
        now_us + (c->clock.sample_count < PINGS_FAST ? PING_FAST_US : PING_SLOW_US);
}

static uint64_t silence_us(const struct session *s)
{
    uint32_t ms = s->welcome.heartbeat_ms ? s->welcome.heartbeat_ms : HEARTBEAT_DEFAULT_MS;
    if (ms > HEARTBEAT_MAX_MS) ms = HEARTBEAT_MAX_MS;
    return (uint64_t)ms * 3000;
}

static void step_joined(struct sinew_client *c, uint64_t now_us)
{
    struct session *s = &c->session;
    uint32_t ack_hz = s->welcome.ack_hz ? s->welcome.ack_hz : ACK_DEFAULT_HZ;
    // Bytes of the pieces of a long message are signs of life as well.
    if (now_us > s->link.read_at_us && now_us - s->link.read_at_us > silence_us(s)) {
        session_fail(c, SINEW_ERR_TIMEOUT, "the server is silent", false);
        session_lost(c, now_us);
        return;
    }
    if (now_us >= s->ping_at_us) send_ping(c, now_us);
    input_step(c, now_us);
    if (s->ack_now || now_us >= s->ack_at_us) {
        s->ack_at_us = now_us + 1000000 / ack_hz;
        send_ack(c, now_us);
    }
    struct session_want want;
    uint8_t bytes[4096];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    if (c->options.textures && textures_next_want(&c->textures, &want) &&
        session_encode_want(&w, &want) == ERR_OK)
        (void)session_send(c, bytes, wire_size(&w));
}

static void step_link(struct sinew_client *c, uint64_t now_us)
{
    struct session *s = &c->session;
    const struct link_handler handler = {on_message, c};
    link_step(&s->link, now_us, &handler);
    if (s->phase == SESSION_LINKING && s->link.state == LINK_OPEN) {
        s->phase = SESSION_HELLO;
        for (int i = 0; i < JOIN_TYPES; i++)
            s->joins[i].type = 0; // an unfinished message of the connection before
        if (!send_hello(c, now_us))
            session_fail(c, SINEW_ERR_USAGE, "the options do not fit into a greeting", true);
        link_step(&s->link, now_us, &handler);
    }
    if (s->link.state == LINK_CLOSED || s->reason.result == SINEW_ERR_USAGE) {
        session_lost(c, now_us);
        return;
    }
    if (s->phase != SESSION_JOINED && now_us > s->deadline_us) {
        session_fail(c, SINEW_ERR_TIMEOUT,
                     s->phase == SESSION_HELLO ? "the server does not answer the greeting"
                                               : "the server does not answer",
                     false);
        session_lost(c, now_us);
        return;
    }
    if (s->phase == SESSION_JOINED) {
        step_joined(c, now_us);
        if (s->phase == SESSION_JOINED && link_unsent_bytes(&s->link) > 0)
            link_step(&s->link, now_us, &handler); // what this step has written goes out now
    }
}

void session_step(struct sinew_client *c, uint64_t now_us)
{
    struct session *s = &c->session;
    if (s->phase == SESSION_WAITING && now_us >= s->deadline_us) session_start(c, now_us);
    if (s->phase == SESSION_LINKING || s->phase == SESSION_HELLO || s->phase == SESSION_JOINED)
        step_link(c, now_us);
}

uint32_t session_wait_ms(const struct sinew_client *c, uint64_t now_us)
{
    const struct session *s = &c->session;
    uint64_t until = s->deadline_us;
    if (s->phase == SESSION_RESOLVING) return 0;
    if (s->phase == SESSION_ENDED) return 60000;
    if (s->phase == SESSION_JOINED) {
        until = s->ping_at_us < s->ack_at_us ? s->ping_at_us : s->ack_at_us;
        if (s->ack_now) return 0;
    }
    if (until <= now_us) return 0;
    uint64_t ms = (until - now_us + 999) / 1000;
    return ms > 60000 ? 60000 : (uint32_t)ms;
}

void session_goodbye(struct sinew_client *c)
{
    struct session *s = &c->session;
    s->closing = true;
    if (s->phase == SESSION_JOINED || s->phase == SESSION_HELLO) {
        const struct session_note bye = {.code = STREAM_NORMAL};
        uint8_t bytes[64];
        struct wire_writer w = wire_write(bytes, sizeof bytes);
        if (session_encode_note(&w, MESSAGE_BYE, &bye) == ERR_OK)
            (void)session_send(c, bytes, wire_size(&w));
    }
    link_close(&s->link, 1000, NULL);
    s->phase = SESSION_ENDED;
}

void session_free(struct sinew_client *c)
{
    for (int i = 0; i < JOIN_TYPES; i++)
        free(c->session.joins[i].bytes);
    link_free(&c->session.link);
}
