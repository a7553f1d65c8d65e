#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "proto/hello.h"
#include "server/stream/hub_internal.h"

// HELLO: who is it, what may it do, which scene and character; or which session goes on.

enum {
    ACK_HZ = 10,
    BINDINGS_BYTES_MAX = 48 << 10, // far more than 256 bindings take; else the client has its own
    WELCOME_BYTES = BINDINGS_BYTES_MAX + 8192
};

// What a peer without proof may do: view, when it is on this machine.
static bool authorise(struct link *l, const struct hello *hello, struct auth_identity *out)
{
    struct hub *h = hub_of(l);
    if (hello->ticket[0]) return tickets_take(&h->tickets, hello->ticket, clock_ns(), out);
    if (hello->token[0]) return auth_find(&h->options.auth, hello->token, out);
    *out = (struct auth_identity){.scopes = AUTH_VIEW, .name = "loopback"};
    return h->options.auth.loopback_open && conn_peer(l->conn)->loopback;
}

// Before proof is taken: a ticket is good once, and must be left for when there is something to
// see.
static bool comes_too_early(const struct hub *h, const struct hello *hello)
{
    struct role *role;
    return h->loading &&
           cast_find(stage_cast(h->options.stage), hello->character, &role, NULL) != ERR_OK;
}

static bool admit(struct link *l, const struct hello *hello, struct auth_identity *who)
{
    struct hub *h = hub_of(l);
    *who = (struct auth_identity){0};
    bool modeller = strcmp(hello->role, "modeller") == 0;
    if (comes_too_early(h, hello)) {
        link_close(l, STREAM_RESTART, hub_retry_ms(h), "characters are still being loaded");
        return false;
    }
    if (!authorise(l, hello, who)) {
        h->counts.refused_auth++;
        link_close(l, STREAM_UNAUTHORISED, 0,
                   "a token or a fresh ticket of POST /v1/sessions is needed here");
        return false;
    }
    bool may = who->scopes & AUTH_VIEW &&
               (!hello->character[0] || auth_may(&h->options.auth, who, hello->character)) &&
               (!modeller || (who->scopes & AUTH_MODEL && who->token));
    if (!may) {
        h->counts.refused_auth++;
        link_close(l, STREAM_FORBIDDEN, 0, NULL);
        return false;
    }
    if (hello->role[0] && strcmp(hello->role, "player") != 0 &&
        strcmp(hello->role, "viewer") != 0 && !modeller) {
        link_close(l, STREAM_POLICY, 0, "role must be \"player\", \"viewer\" or \"modeller\"");
        return false;
    }
    if (hub_is_full(h) ||
        hub_sessions_of(h, conn_peer(l->conn)) >= h->options.sessions_per_address_max) {
        h->counts.refused_full++;
        link_close(l, STREAM_FULL, hub_retry_ms(h), NULL);
        return false;
    }
    return true;
}

static bool send_welcome(struct session *s, bool resumed)
{
    struct hub *h = s->hub;
    char token[SECRET_TEXT_BYTES];
    uint8_t bytes[WELCOME_BYTES];
    const struct role *role = view_own_role(s->view);
    if (!secret_make(token)) return false;
    secret_hash(token, s->resume_hash);
    struct hello_welcome w = {.major = MESSAGES_MAJOR,
                              .minor = MESSAGES_MINOR,
                              .server = "sinewd " SINEW_VERSION,
                              .resume_s = h->options.resume_s,
                              .scene_id = view_scene(s->view),
                              .actor = view_own_actor(s->view),
                              .tick_hz = h->options.tick_hz,
                              .quality = s->asked,
                              .capabilities = HELLO_CAN_ZSTD | HELLO_CAN_LOD | HELLO_CAN_TEXTURES |
                                              HELLO_CAN_APPLIED | HELLO_CAN_RESUME,
                              .heartbeat_ms = h->options.heartbeat_ms,
                              .ack_hz = ACK_HZ,
                              .tick = view_first_tick(s->view),
                              .server_time_us = clock_ns() / 1000,
                              .resumed = resumed};
    (void)snprintf(w.session, sizeof w.session, "%s", s->name);
    (void)snprintf(w.resume, sizeof w.resume, "%s", token);
    (void)snprintf(w.scene, sizeof w.scene, "%s", view_scene_name(s->view));
    (void)snprintf(w.character, sizeof w.character, "%s", s->character);
    w.quality.rate_hz = session_rate(h, &s->asked);
    if (!w.quality.bits) w.quality.bits = 14;
    if (role && role->bindings_bytes <= BINDINGS_BYTES_MAX) {
        w.bindings = role->bindings_json;
        w.bindings_bytes = role->bindings_bytes;
    }
    struct wire_writer writer = wire_write(bytes, sizeof bytes);
    return hello_encode_welcome(&writer, &w) == ERR_OK &&
           link_send(s->link, bytes, wire_size(&writer));
}

static void attach(struct session *s, struct link *l)
{
    s->link = l;
    s->peer = *conn_peer(l->conn);
    s->lost_ns = 0;
    s->rtt_us = 0;
    s->ping_sent_ns = 0;
    s->input_ns = 0;
    s->watch_count = 0;
    s->known_count = 0; // SURFACE precedes the first FRAME on every connection
    s->first_frame_sent = false;
    l->session = s;
    conn_deadline(l->conn, 0);
}

static void refuse_join(struct link *l, enum err e, const struct fault *fault)
{
    struct hub *h = hub_of(l);
    const char *line = fault->line[0] ? fault->line : NULL;
    switch (e) {
    case ERR_NOT_FOUND:
        link_close(l, STREAM_NO_SUCH_CHARACTER, 0, line);
        break;
    case ERR_LIMIT:
        h->counts.refused_full++;
        link_close(l, STREAM_SCENE_FULL, hub_retry_ms(h), line);
        break;
    case ERR_MEMORY:
        h->counts.refused_full++;
        link_close(l, STREAM_FULL, hub_retry_ms(h), NULL);
        break;
    default:
        link_close(l, STREAM_INTERNAL, 0, line);
    }
}

static void keep_names(struct session *s)
{
    const struct role *role = view_own_role(s->view);
    (void)snprintf(s->character, sizeof s->character, "%s", role ? role->name : "");
    (void)snprintf(s->scene, sizeof s->scene, "%s", view_scene_name(s->view));
}

// The golden ratio spreads any number of sessions evenly over ticks.
static void start_pace(struct session *s)
{
    double phase = fmod((double)s->serial * 0.6180339887, 1);
    pace_init(&s->pace, session_rate(s->hub, &s->asked), phase, clock_ns());
}

// A modeller's own character begins with the draft that there is.
static void show_draft(struct session *s)
{
    struct hub *h = s->hub;
    struct role *role = h->options.find_draft
                            ? h->options.find_draft(h->options.owner, s->who.token, s->character)
                            : NULL;
    if (role && stage_show(h->options.stage, view_own_id(s->view), role) != ERR_OK)
        log_event(LOG_LEVEL_WARN, "session.draft", LOG_T("session", s->name));
}

// The character is customised before its first frame. What does not fit is told.
static void take_recipe(struct session *s, const struct hello *hello)
{
    struct fault fault = {0};
    enum err e = stage_recipe(s->hub->options.stage, view_own_id(s->view), hello->recipe,
                              hello->recipe_bytes, &fault);
    if (e != ERR_OK || fault.line[0])
        session_note(s->link, MESSAGE_NOTICE, STREAM_RECIPE_UNFIT, 0, view_own_actor(s->view),
                     fault.line[0] ? fault.line : err_text(e));
}

static void join(struct link *l, const struct hello *hello, const struct auth_identity *who)
{
    struct hub *h = hub_of(l);
    struct session *s = calloc(1, sizeof *s);
    struct fault fault = {0};
    if (!s) {
        link_close(l, STREAM_FULL, hub_retry_ms(h), NULL);
        return;
    }
    s->hub = h;
    s->asked = hello->quality;
    s->capabilities = hello->capabilities;
    s->who = *who;
    s->is_modeller = strcmp(hello->role, "modeller") == 0;
    s->controls = strcmp(hello->role, "viewer") != 0;
    s->serial = ++h->session_serial;
    s->joined_ns = clock_ns();
    (void)snprintf(s->name, sizeof s->name, "%08llx-%llu",
                   (unsigned long long)h->boot_us & 0xffffffff, (unsigned long long)s->serial);
    start_pace(s);
    struct stage_join how = {.scene = s->is_modeller ? "" : hello->scene,
                             .character = hello->character,
                             .name = hello->name,
                             .controls = s->controls,
                             .settings = session_view_settings(s)};
    enum err e = stage_join(h->options.stage, &how, &s->view, &fault);
    if (e != ERR_OK) {
        free(s);
        refuse_join(l, e, &fault);
        return;
    }
    s->index = h->session_count;
    h->sessions[h->session_count++] = s;
    h->counts.sessions_opened++;
    attach(s, l);
    keep_names(s);
    if (s->is_modeller) show_draft(s);
    if (!auth_may(&h->options.auth, &s->who, s->character)) { // the first one, and not granted
        session_end(s, STREAM_FORBIDDEN, 0);
        return;
    }
    if (!send_welcome(s, false)) {
        session_end(s, STREAM_INTERNAL, 1000);
        return;
    }
    if (hello->recipe_bytes > 0) take_recipe(s, hello);
    if (view_own_role(s->view) && view_own_role(s->view)->still)
        session_note(l, MESSAGE_NOTICE, STREAM_STILL, 0, view_own_actor(s->view), NULL);
    log_event(LOG_LEVEL_INFO, "session.open", LOG_T("session", s->name),
              LOG_T("peer", s->peer.text), LOG_T("link", link_name(l)),
              LOG_T("client", hello->client), LOG_T("character", s->character),
              LOG_I("sessions", h->session_count));
}

static void resume(struct link *l, const struct hello *hello)
{
    struct hub *h = hub_of(l);
    struct session *s = hub_find_resume(h, hello->resume);
    if (!s) {
        link_close(l, STREAM_RESUME_EXPIRED, 0, NULL);
        return;
    }
    if (s->link) { // looks alive still, but its owner is here
        struct link *old = s->link;
        h->counts.sessions_superseded++;
        old->session = NULL;
        s->link = NULL;
        supply_clear(&s->supply);
        link_close(old, STREAM_SUPERSEDED, 0, NULL);
    }
    attach(s, l);
    // Another connection, often another path: what the last one carried when it broke is no
    // measure.
    start_pace(s);
    struct view_settings settings = session_view_settings(s);
    if (view_set(s->view, &settings) != ERR_OK) {
        session_end(s, STREAM_FULL, hub_retry_ms(h));
        return;
    }
    view_restart(s->view);
    h->counts.sessions_resumed++;
    if (!send_welcome(s, true)) {
        session_end(s, STREAM_INTERNAL, 1000);
        return;
    }
    session_note(l, MESSAGE_NOTICE, STREAM_RESUMED, 0, 0, NULL);
    log_event(LOG_LEVEL_INFO, "session.resume", LOG_T("session", s->name),
              LOG_T("peer", s->peer.text), LOG_T("link", link_name(l)));
}

void session_on_hello(struct link *l, const struct message *m)
{
    struct hub *h = hub_of(l);
    struct hello hello;
    struct auth_identity who;
    struct fault fault = {0};
    enum err e = hello_decode(m->payload, m->size_bytes, &hello, &fault);
    if (e == ERR_VERSION)
        link_close(l, STREAM_PROTOCOL_VERSION, 0, fault.line);
    else if (e != ERR_OK)
        link_close(l, STREAM_PROTOCOL, 0, fault.line[0] ? fault.line : err_text(e));
    else if (h->draining || h->stopped)
        link_close(l, STREAM_RESTART, hub_retry_ms(h), NULL);
    else if (hello.resume[0])
        resume(l, &hello);
    else if (admit(l, &hello, &who))
        join(l, &hello, &who);
}
