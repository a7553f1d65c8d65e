#include "server/stream/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/http/exchange.h"
#include "server/stream/hub_internal.h"

enum { HELLO_MS = 5000, HEARTBEAT_MS = 2000, RESUME_S = 30 };

const char *hub_skip_text(enum hub_skip s)
{
    static const char *const texts[] = {
#define X(name, text) text,
        HUB_SKIP_MAP(X)
#undef X
    };
    CHECK(s < HUB_SKIP_COUNT);
    return texts[s];
}

// No session falls below a tenth of what it asked for: then the server is simply too small.
static const double share_min = 0.1;

// --- Asking -------------------------------------------------------------------------------------

bool hub_is_full(const struct hub *h)
{
    return h->session_count >= h->options.sessions_max || h->session_count == h->sessions_capacity;
}

uint32_t hub_retry_ms(const struct hub *h)
{
    uint16_t random = 0;
    (void)getentropy(&random, sizeof random);
    uint32_t spread_ms = h->draining ? 3000 : 2000;
    return 500 + random % spread_ms;
}

struct session *hub_find_resume(const struct hub *h, const char *token)
{
    uint8_t hash[SECRET_HASH_BYTES];
    struct session *found = NULL;
    secret_hash(token, hash);
    for (size_t i = 0; i < h->session_count; i++)
        if (secret_equal(h->sessions[i]->resume_hash, hash)) found = h->sessions[i];
    return found;
}

size_t hub_sessions_of(const struct hub *h, const struct conn_address *peer)
{
    if (peer->loopback) return 0; // a proxy on this machine stands for many
    size_t n = 0;
    for (size_t i = 0; i < h->session_count; i++)
        n += memcmp(h->sessions[i]->peer.key, peer->key, sizeof peer->key) == 0;
    return n;
}

bool hub_issue_ticket(struct hub *h, const struct auth_identity *identity,
                      char out[SECRET_TEXT_BYTES])
{
    return !h->draining && tickets_issue(&h->tickets, identity, clock_ns(), out);
}

// --- Links --------------------------------------------------------------------------------------

static void on_message(struct link *l, const struct message *m)
{
    session_on_message(l, m);
}

static void on_sent(struct link *l, uint64_t tag, bool sent)
{
    if (l->session) session_on_sent(l->session, tag, sent);
}

static void on_deadline(struct link *l)
{
    if (!l->session) link_close(l, STREAM_HELLO_LATE, 1000, NULL);
}

static void on_gone(struct link *l, enum link_end end, enum conn_reason reason)
{
    struct hub *h = hub_of(l);
    if (l->before)
        l->before->next = l->next;
    else
        h->links = l->next;
    if (l->next) l->next->before = l->before;
    h->link_count--;
    log_event(LOG_LEVEL_DEBUG, "link.gone", LOG_T("reason", conn_reason_text(reason)),
              LOG_T("peer", conn_peer(l->conn)->text));
    if (l->session) session_on_link_gone(l->session, end);
}

static const struct link_events link_events = {
    .on_message = on_message, .on_sent = on_sent, .on_deadline = on_deadline, .on_gone = on_gone};

static struct link_options link_options(struct hub *h)
{
    return (struct link_options){.events = &link_events,
                                 .owner = h,
                                 .stats = &h->link_stats,
                                 .hello_ms = h->options.hello_ms};
}

static void add_link(struct hub *h, struct link *l)
{
    l->next = h->links;
    if (l->next) l->next->before = l;
    h->links = l;
    h->link_count++;
}

void hub_take_native(struct hub *h, struct conn *c)
{
    struct link_options options = link_options(h);
    struct link *l = h->stopped ? NULL : link_native(c, &options);
    if (l)
        add_link(h, l);
    else
        conn_close(c, CONN_REASON_MEMORY);
}

void hub_take_websocket(struct hub *h, struct http_exchange *x)
{
    struct link_options options = link_options(h);
    if (h->draining || h->stopped) {
        http_answer_header(x, "Retry-After", "2");
        http_answer_problem(x, 503, "draining", "The server is stopping", "Try again shortly.");
        return;
    }
    struct link *l = link_websocket(x, &options);
    if (l) add_link(h, l);
}

// --- The tick -----------------------------------------------------------------------------------

static void run_encrypt(void *owner, size_t part, size_t part_count, struct workers_seat *seat)
{
    struct hub *h = owner;
    (void)part_count;
    (void)seat;
    conn_encrypt(h->encrypting[part]);
}

static void send_all(struct hub *h)
{
    h->encrypting_count = 0;
    // From the end: a session that ends here is replaced by one that has had its turn.
    for (size_t i = h->session_count; i > 0; i--) {
        struct session *s = h->sessions[i - 1];
        if (session_after_tick(s)) h->encrypting[h->encrypting_count++] = s->link->conn;
    }
    if (h->encrypting_count > 0)
        workers_run(stage_workers(h->options.stage), h->encrypting_count, run_encrypt, h);
    // Freed memory of a connection that closes here is given back later, by its close callback.
    for (size_t i = 0; i < h->encrypting_count; i++)
        conn_flush(h->encrypting[i]);
}

static void drain_step(struct hub *h, uint64_t now_ns)
{
    if (!h->draining || h->drained) return;
    uint64_t passed = now_ns - h->drain_from_ns;
    // The last third of the window is for the peers to take their goodbye.
    double spread_ns = (double)h->drain_window_ns * 2 / 3;
    size_t due = h->drain_total;
    if ((double)passed < spread_ns)
        due = (size_t)((double)h->drain_total * (double)passed / spread_ns);
    while (h->session_count > 0 && h->drain_closed < due) {
        session_end(h->sessions[h->session_count - 1], STREAM_RESTART, hub_retry_ms(h));
        h->drain_closed++;
    }
    bool over = passed >= h->drain_window_ns, spread = (double)passed >= spread_ns;
    for (struct link *l = h->links, *next; (spread || h->session_count == 0) && l; l = next) {
        next = l->next;
        if (!l->session) link_close(l, STREAM_RESTART, hub_retry_ms(h), NULL);
    }
    if (h->session_count > 0 || (h->link_count > 0 && !over)) return;
    h->drained = true;
    h->on_drained(h->drain_owner);
}

static void second(struct hub *h, uint64_t now_ns)
{
    if (now_ns - h->last_second_ns < 1000000000u) return;
    h->last_second_ns = now_ns;
    for (struct link *l = h->links, *next; l; l = next) {
        next = l->next;
        link_second(l);
    }
    for (size_t i = h->session_count; i > 0; i--)
        session_second(h->sessions[i - 1], now_ns);
    hub_check_tokens(h); // some run out
}

static void tick(struct hub *h, const struct ticker_tick *t)
{
    double tick_s = (1.0 + t->skipped) / h->options.tick_hz;
    for (size_t i = 0; i < h->session_count; i++) {
        session_before_tick(h->sessions[i], tick_s);
        h->counts.skipped[HUB_SKIP_LATE] += (uint64_t)t->skipped * h->sessions[i]->watch_count;
    }
    hub_hear(h);
    stage_tick(h->options.stage, t);
    send_all(h);
}

// When ticks take longer than they may, every session gets its frames less often, each in another
// tick: short ticks with some of them are fresher than long ones with all, and none is skipped.
static void share_out(struct hub *h, double busy_s)
{
    double period_s = 1.0 / h->options.tick_hz;
    h->busy_s += (busy_s - h->busy_s) * 0.1;
    if (h->busy_s > period_s * 0.9)
        h->share *= 0.97;
    else if (h->busy_s < period_s * 0.7)
        h->share *= 1.02;
    if (h->share > 1) h->share = 1;
    if (h->share < share_min) h->share = share_min;
}

static void on_due(void *owner)
{
    struct hub *h = owner;
    if (!h->started || h->stopped) return;
    uint64_t begin_ns = clock_ns();
    struct ticker_tick t;
    if (ticker_due(&h->ticker, begin_ns, &t)) {
        uint64_t cpu_ns = workers_cpu_ns(stage_workers(h->options.stage));
        tick(h, &t);
        uint64_t end_ns = clock_ns();
        cpu_ns = workers_cpu_ns(stage_workers(h->options.stage)) - cpu_ns + (end_ns - begin_ns);
        ticker_done(&h->ticker, &t, begin_ns, end_ns, cpu_ns);
        h->last_tick_ns = end_ns;
        share_out(h, (double)(end_ns - begin_ns) * 1e-9);
        for (struct link *l = h->links, *next; l; l = next) {
            next = l->next;
            link_resume(l, end_ns);
        }
        second(h, end_ns);
        drain_step(h, end_ns);
        if (h->options.on_tick) h->options.on_tick(h->options.owner, end_ns);
    }
    if (!h->stopped) metronome_set(&h->metronome, ticker_wait_ns(&h->ticker, clock_ns()));
}

// --- Life ---------------------------------------------------------------------------------------

static void fill_options(struct hub_options *o)
{
    if (!o->hello_ms) o->hello_ms = HELLO_MS;
    if (!o->heartbeat_ms) o->heartbeat_ms = HEARTBEAT_MS;
    if (!o->resume_s) o->resume_s = RESUME_S;
}

struct hub *hub_create(const struct hub_options *options)
{
    struct hub *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->options = *options;
    fill_options(&h->options);
    h->sessions_capacity = options->sessions_max;
    h->sessions = calloc(h->sessions_capacity, sizeof(struct session *));
    h->encrypting = calloc(h->sessions_capacity, sizeof(struct conn *));
    h->share = 1;
    h->boot_us = clock_wall_ns() / 1000;
    metronome_init(&h->metronome, options->loop, on_due, h);
    if (!h->sessions || !h->encrypting || !tickets_create(&h->tickets, TICKETS_CAPACITY)) {
        hub_stop(h);
        (void)uv_run(options->loop, UV_RUN_NOWAIT);
        hub_destroy(h);
        return NULL;
    }
    return h;
}

void hub_start(struct hub *h)
{
    uint64_t now_ns = clock_ns();
    ticker_init(&h->ticker, h->options.tick_hz, now_ns);
    h->last_second_ns = h->last_tick_ns = now_ns;
    h->started = true;
    metronome_set(&h->metronome, 0);
}

void hub_reload(struct hub *h, uint32_t sessions_max, uint32_t sessions_per_address_max)
{
    // The tables keep the size that they were made with.
    h->options.sessions_max = sessions_max;
    h->options.sessions_per_address_max = sessions_per_address_max;
}

void hub_set_loading(struct hub *h, bool loading)
{
    h->loading = loading;
}

bool hub_is_draining(const struct hub *h)
{
    return h->draining;
}

void hub_drain(struct hub *h, uint32_t window_ms, void (*on_drained)(void *owner), void *owner)
{
    if (h->draining) return;
    h->draining = true;
    h->drain_from_ns = clock_ns();
    h->drain_window_ns = (uint64_t)window_ms * 1000000u;
    h->on_drained = on_drained;
    h->drain_owner = owner;
    // Nobody is there to be told, and the end need not wait for whoever may come back.
    for (size_t i = h->session_count; i-- > 0;)
        if (!h->sessions[i]->link) session_end(h->sessions[i], STREAM_RESTART, 0);
    h->drain_total = h->session_count;
    for (size_t i = h->session_count; i-- > 0;)
        session_note(h->sessions[i]->link, MESSAGE_NOTICE, STREAM_DRAINING, 0, 0, NULL);
    log_event(LOG_LEVEL_INFO, "drain.begin", LOG_I("sessions", h->session_count),
              LOG_I("window_ms", window_ms));
}

void hub_stop(struct hub *h)
{
    if (h->stopped) return;
    h->stopped = true;
    while (h->session_count > 0)
        session_end(h->sessions[h->session_count - 1], STREAM_RESTART, hub_retry_ms(h));
    for (struct link *l = h->links, *next; l; l = next) {
        next = l->next;
        if (!l->closing) link_close(l, STREAM_RESTART, hub_retry_ms(h), NULL);
    }
    metronome_close(&h->metronome);
}

void hub_destroy(struct hub *h)
{
    if (!h) return;
    CHECK(h->stopped && h->link_count == 0);
    parcel_clear(&h->shelf);
    tickets_free(&h->tickets);
    free(h->encrypting);
    free(h->sessions);
    free(h);
}

// --- Tokens and drafts --------------------------------------------------------------------------

void hub_show_draft(struct hub *h, uint64_t token, const char *character, struct role *role)
{
    for (size_t i = 0; i < h->session_count; i++) {
        struct session *s = h->sessions[i];
        if (!s->is_modeller || s->who.token != token || strcmp(s->character, character) != 0)
            continue;
        if (stage_show(h->options.stage, view_own_id(s->view), role) != ERR_OK)
            log_event(LOG_LEVEL_WARN, "session.draft", LOG_T("session", s->name));
    }
}

void hub_check_tokens(struct hub *h)
{
    for (size_t i = h->session_count; i-- > 0;) {
        struct session *s = h->sessions[i]; // ending one moves only those behind it
        if (s->who.token && !auth_may(&h->options.auth, &s->who, s->character))
            session_end(s, STREAM_UNAUTHORISED, 0);
    }
}

// --- Telling ------------------------------------------------------------------------------------

void hub_snapshot(const struct hub *h, struct hub_snapshot *out)
{
    *out = (struct hub_snapshot){.counts = &h->counts,
                                 .links = &h->link_stats,
                                 .tickets = &h->tickets,
                                 .links_open = h->link_count,
                                 .sessions_max = h->options.sessions_max,
                                 .last_tick_ns = h->last_tick_ns,
                                 .share = h->share,
                                 .draining = h->draining};
    if (h->started) ticker_snapshot(&h->ticker, &out->tick);
    for (size_t i = 0; i < h->session_count; i++) {
        struct session *s = h->sessions[i];
        out->leases += s->lease != NULL;
        if (s->link)
            out->live++;
        else
            out->lost++;
    }
    for (const struct link *l = h->links; l; l = l->next) {
        struct conn_stats stats;
        conn_stats(l->conn, &stats);
        out->queue_bytes += stats.control_bytes + stats.out_bytes;
    }
}

bool hub_session_at(const struct hub *h, size_t index, struct hub_session_info *out)
{
    if (index >= h->session_count) return false;
    const struct session *s = h->sessions[index];
    *out = (struct hub_session_info){.state = s->link ? "live" : "lost",
                                     .rate_hz = s->pace.hz,
                                     .age_s = s->age_s,
                                     .rtt_s = s->rtt_us * 1e-6,
                                     .clock_offset_us = s->clock_offset_us,
                                     .asked_hz = s->pace.asked_hz,
                                     .coarser = s->pace.coarser,
                                     .actors = (uint32_t)s->watch_count,
                                     .frames_sent = s->frames_sent,
                                     .frames_skipped = s->frames_skipped,
                                     .bytes_sent = s->bytes_sent};
    (void)snprintf(out->session, sizeof out->session, "%s", s->name);
    (void)snprintf(out->link, sizeof out->link, "%s", s->link ? link_name(s->link) : "");
    (void)snprintf(out->peer, sizeof out->peer, "%s", s->peer.text);
    (void)snprintf(out->scene, sizeof out->scene, "%s", s->scene);
    (void)snprintf(out->character, sizeof out->character, "%s", s->character);
    if (s->link) {
        struct conn_stats stats;
        conn_stats(s->link->conn, &stats);
        out->queue_bytes = stats.control_bytes + stats.out_bytes;
    }
    return true;
}
