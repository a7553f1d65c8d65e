#include "server/http/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/http/http_internal.h"
#include "server/http/origin.h"

enum {
    HEAD_MS = 5000,
    BODY_MS = 30000,
    IDLE_MS = 60000,
    SENDING_MS = 30000,       // without any progress
    UPLOAD_BYTES_PER_MS = 32, // a streamed body may take so much longer than body_ms
    EXCHANGES_MAX = 4096,
    BUFFERED_BYTES_MAX = 64 * 1024 * 1024,
    BODY_GROW_BYTES = 4096,
    THROTTLE_ENTRIES = 4096,
    THROTTLE_BURST = 10,
    THROTTLE_PER_MINUTE = 10,
    URI_BYTES_MAX = HTTP_PATH_BYTES - 1,
    NEXT_ROOM_BYTES = 24 * 1024 // of the control queue, before the next request is looked at
};

static uint32_t pick(uint32_t configured, uint32_t standard)
{
    return configured ? configured : standard;
}

bool http_exchange_body_complete(const struct http_exchange *x)
{
    return body_done(&x->body);
}

// --- The life of a request ----------------------------------------------------------------------

static void free_body(struct http_exchange *x)
{
    CHECK(x->server->buffered_bytes >= x->body_capacity);
    x->server->buffered_bytes -= x->body_capacity;
    free(x->body_bytes);
    x->body_bytes = NULL;
    x->body_size = x->body_capacity = 0;
}

static void free_request(struct http_exchange *x)
{
    free_body(x);
    http_exchange_set_data(x, NULL, NULL);
    if (x->id != 0) CHECK(slots_remove(&x->server->exchanges, x->id) == x);
    x->id = 0;
}

static void reset_request(struct http_exchange *x)
{
    struct http_server *s = x->server;
    free_request(x);
    x->phase = PHASE_IDLE;
    x->scanned_bytes = 0;
    x->head = (struct http_head){0};
    x->match = (struct router_match){0};
    x->body = (struct body){0}; // not complete: an answer now closes the connection
    x->path[0] = x->query[0] = x->params[0] = 0;
    x->answered = x->close_after = x->origin_listed = x->wants_room = false;
    x->extra_count = x->extra_used = 0;
    x->id = slots_add(&s->exchanges, x);
    CHECK(x->id != 0); // this exchange has just left its slot
    (void)snprintf(x->request_id, sizeof x->request_id, "%08x-%012llx",
                   s->boot_random[0] ^ s->boot_random[1], (unsigned long long)++s->request_count);
}

static void next_request(struct http_exchange *x)
{
    struct conn *c = x->conn;
    bool inside = x->in_bytes;
    reset_request(x);
    if (x->server->draining) {
        conn_finish(c, CONN_REASON_SHUTDOWN);
        return;
    }
    conn_deadline(c, pick(x->server->options.idle_ms, IDLE_MS));
    if (!inside) conn_resume(c); // may free x: an upgrade
}

static void log_request(const struct http_exchange *x)
{
    // The pattern, not the path: paths and queries may hold what nobody should read later.
    log_event(LOG_LEVEL_DEBUG, "http.request", LOG_T("request", x->request_id),
              LOG_T("route", x->match.route ? x->match.route->pattern : NULL),
              LOG_T("peer", conn_peer(x->conn)->text),
              LOG_F("ms", (double)(clock_ns() - x->began_ns) / 1e6));
}

void http_exchange_answered(struct http_exchange *x, bool bulk)
{
    struct conn *c = x->conn;
    CHECK(x->answered);
    log_request(x);
    x->phase = PHASE_SENDING;
    if (x->close_after || conn_is_closing(c)) {
        if (conn_is_closing(c)) return;
        conn_finish(c, CONN_REASON_FINISHED);
        return;
    }
    bool inside = x->in_bytes;
    if (!bulk && conn_send_room(c) >= NEXT_ROOM_BYTES) {
        next_request(x);
    } else {
        x->wants_room = !bulk;
        conn_deadline(c, SENDING_MS);
    }
    if (!inside) conn_flush(c);
}

static void refuse(struct http_exchange *x, int status, const char *type, const char *title,
                   const char *detail)
{
    x->close_after = x->close_after || status == 400 || status == 408 || status == 413;
    http_answer_problem(x, status, type, title, detail);
}

// --- Request head -------------------------------------------------------------------------------

static void refuse_head(struct http_exchange *x, uint16_t status)
{
    x->close_after = true;
    x->began_ns = clock_ns();
    switch (status) {
    case 414:
        refuse(x, 414, "uri-too-long", "The URI is too long", NULL);
        break;
    case 431:
        refuse(x, 431, "head-too-large", "The request head is too large", NULL);
        break;
    case 505:
        refuse(x, 505, "http-version", "HTTP/1.1 is needed", NULL);
        break;
    default:
        refuse(x, 400, "bad-request", "The request is malformed", NULL);
        break;
    }
}

// The values end where the head's own copy has CR or a blank: texts for everyone else.
static void terminate_texts(struct http_exchange *x)
{
    for (size_t i = 0; i < x->head.header_count; i++) {
        struct http_text *value = &x->head.headers[i].value;
        if (value->size_bytes == 0)
            value->at = "";
        else
            x->head_bytes[(const uint8_t *)value->at - x->head_bytes +
                          (ptrdiff_t)value->size_bytes] = 0;
    }
}

static bool copy_params(struct http_exchange *x)
{
    size_t used = 0;
    for (size_t i = 0; i < x->match.param_count; i++) {
        const struct router_param *p = &x->match.params[i];
        if (p->value_bytes + 1 > sizeof x->params - used) return false;
        memcpy(x->params + used, p->value, p->value_bytes);
        x->params[used + p->value_bytes] = 0;
        used += p->value_bytes + 1;
    }
    return true;
}

static void put_allow(struct http_exchange *x, const char *header, uint32_t allowed)
{
    static const char *const names[] = {
        [HTTP_METHOD_GET] = "GET",        [HTTP_METHOD_HEAD] = "HEAD",
        [HTTP_METHOD_POST] = "POST",      [HTTP_METHOD_PUT] = "PUT",
        [HTTP_METHOD_PATCH] = "PATCH",    [HTTP_METHOD_DELETE] = "DELETE",
        [HTTP_METHOD_OPTIONS] = "OPTIONS"};
    char text[96] = "";
    size_t used = 0;
    for (size_t m = HTTP_METHOD_GET; m <= HTTP_METHOD_OPTIONS; m++)
        if (allowed & 1u << m)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "",
                                     names[m]);
    http_answer_header(x, header, text);
}

static void answer_options(struct http_exchange *x, uint32_t allowed)
{
    put_allow(x, "Allow", allowed);
    if (x->origin_listed) {
        put_allow(x, "Access-Control-Allow-Methods", allowed);
        http_answer_header(x, "Access-Control-Allow-Headers",
                           "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, "
                           "Sinew-Fence, Sinew-Grant, Tus-Resumable, Upload-Checksum, "
                           "Upload-Length, Upload-Metadata, "
                           "Upload-Offset");
        http_answer_header(x, "Access-Control-Max-Age", "600");
    }
    http_answer_empty(x, 204);
}

// False: answered.
static bool check_browser(struct http_exchange *x)
{
    const struct http_server_options *o = &x->server->options;
    const char *host = http_exchange_header(x, "host"), *origin = http_exchange_header(x, "origin");
    if (host && conn_peer(x->conn)->loopback && !origin_host_is_local(host, o->allowed_hosts)) {
        x->server->stats.refused_host++;
        refuse(x, 403, "host-not-allowed", "This name is not served on loopback",
               "Use localhost or 127.0.0.1, or add the name to the allowed hosts.");
        return false;
    }
    if (!origin) return true;
    bool same = origin_is_allowed(origin, host ? host : "", conn_is_tls(x->conn),
                                  o->allowed_origins, &x->origin_listed);
    // Reading is held back by the browser itself; what changes something, and sockets, are not.
    bool reads = x->head.method == HTTP_METHOD_GET || x->head.method == HTTP_METHOD_HEAD ||
                 x->head.method == HTTP_METHOD_OPTIONS;
    if (same || (reads && !x->head.upgrade)) return true;
    x->server->stats.refused_origin++;
    refuse(x, 403, "origin-not-allowed", "This page may not use this server",
           "Add its origin to the allowed origins.");
    return false;
}

static void answer_without_route(struct http_exchange *x)
{
    bool gets = x->head.method == HTTP_METHOD_GET || x->head.method == HTTP_METHOD_HEAD;
    const struct http_static *assets = x->server->options.assets;
    uint32_t allowed = x->match.allowed;
    if (assets && static_find(assets, x->path))
        allowed |= 1u << HTTP_METHOD_GET | 1u << HTTP_METHOD_HEAD | 1u << HTTP_METHOD_OPTIONS;
    if (gets && http_assets_answer(x, x->path)) return;
    if (allowed && x->head.method == HTTP_METHOD_OPTIONS) {
        answer_options(x, allowed);
    } else if (allowed) {
        put_allow(x, "Allow", allowed);
        refuse(x, 405, "method-not-allowed", "The method is not allowed here", NULL);
    } else {
        refuse(x, 404, "not-found", "Not found", NULL);
    }
}

// --- Authorisation and body ---------------------------------------------------------------------

static void run_handler(struct http_exchange *x)
{
    x->phase = PHASE_WAITING;
    conn_deadline(x->conn, 0);
    x->match.route->on_request(x, x->server->options.owner);
}

static void begin_body(struct http_exchange *x)
{
    const struct http_route *route = x->match.route;
    const struct http_server_options *o = &x->server->options;
    if (route->websocket || body_done(&x->body)) {
        run_handler(x);
        return;
    }
    const char *expect = http_exchange_header(x, "expect");
    if (expect) (void)conn_send(x->conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    uint64_t ms = pick(o->body_ms, BODY_MS);
    if (route->on_body && !x->head.chunked) ms += x->head.content_length / UPLOAD_BYTES_PER_MS;
    x->phase = PHASE_BODY;
    conn_deadline(x->conn, ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX);
}

static void after_auth(struct http_exchange *x, enum http_auth result)
{
    switch (result) {
    case HTTP_AUTH_OK:
        begin_body(x);
        return;
    case HTTP_AUTH_PENDING:
        x->phase = PHASE_AUTH;
        return;
    case HTTP_AUTH_FORBIDDEN:
        refuse(x, 403, "forbidden", "The token does not allow this", NULL);
        return;
    case HTTP_AUTH_HIDDEN:
        refuse(x, 404, "not-found", "Not found", NULL);
        return;
    case HTTP_AUTH_MISSING:
        break;
    }
    if (http_exchange_bearer(x)) { // guessing costs; forgetting the token does not
        x->server->stats.auth_failures++;
        throttle_take(&x->server->throttle, conn_peer(x->conn)->key, clock_ns());
        log_event(LOG_LEVEL_WARN, "http.bad_token", LOG_T("peer", conn_peer(x->conn)->text),
                  LOG_T("request", x->request_id));
    }
    http_answer_header(x, "WWW-Authenticate", "Bearer");
    refuse(x, 401, "unauthorised", "A valid token is needed",
           "Send it as \"Authorization: Bearer TOKEN\".");
}

void http_server_authorised(struct http_exchange *x, enum http_auth result)
{
    CHECK(x->phase == PHASE_AUTH);
    CHECK(result != HTTP_AUTH_PENDING);
    struct conn *c = x->conn;
    after_auth(x, result); // x may be gone
    conn_resume(c);        // for the body; a handler at work pauses again by itself
    conn_flush(c);
}

static void authorise(struct http_exchange *x)
{
    const struct http_route *route = x->match.route;
    struct http_server *s = x->server;
    uint32_t where = (uint32_t)x->listener;
    if (conn_peer(x->conn)->loopback) where |= HTTP_ON_LOOPBACK_PEER;
    if (route->scope == 0 || (route->open_on & where)) {
        begin_body(x);
        return;
    }
    if (http_exchange_bearer(x) &&
        !throttle_allows(&s->throttle, conn_peer(x->conn)->key, clock_ns())) {
        s->stats.throttled++;
        http_answer_header(x, "Retry-After", "60");
        refuse(x, 429, "too-many-failures", "Too many wrong tokens from this address", NULL);
        return;
    }
    after_auth(x, s->options.authorise ? s->options.authorise(x, route, s->options.owner)
                                       : HTTP_AUTH_MISSING);
}

// False: answered.
static bool prepare_body(struct http_exchange *x)
{
    uint64_t max = x->match.route->body_max;
    const char *expect = http_exchange_header(x, "expect");
    if (expect && !http_head_text_is(*http_head_find(&x->head, "expect"), "100-continue")) {
        refuse(x, 417, "expectation", "Only 100-continue can be expected", NULL);
        return false;
    }
    if (!x->head.chunked && x->head.content_length > max) {
        char detail[64];
        (void)snprintf(detail, sizeof detail, "At most %llu bytes are taken here.",
                       (unsigned long long)max);
        refuse(x, 413, "body-too-large", "The body is too large", detail);
        return false;
    }
    if (x->head.chunked)
        body_init_chunked(&x->body, max);
    else
        body_init_length(&x->body, x->head.content_length, max);
    return true;
}

static bool has_token_in_query(const struct http_exchange *x)
{
    static const char *const names[] = {"token", "access_token", "authorization", "bearer"};
    for (const char *at = x->query; *at;) {
        size_t n = strcspn(at, "&"), key = strcspn(at, "=&");
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strlen(names[i]) == key && strncasecmp(at, names[i], key) == 0) return true;
        at += n + (at[n] == '&');
    }
    return false;
}

static void begin_request(struct http_exchange *x)
{
    const struct http_server_options *o = &x->server->options;
    x->began_ns = clock_ns();
    x->server->stats.requests++;
    x->close_after = !x->head.keep_alive || x->head.minor == 0;
    if (!x->head.chunked && x->head.content_length == 0) body_init_length(&x->body, 0, 0);
    if (x->head.query.size_bytes >= sizeof x->query ||
        !router_path_decode(x->head.path.at, x->head.path.size_bytes, x->path, sizeof x->path)) {
        refuse(x, 400, "bad-path", "The path is malformed", NULL);
        return;
    }
    if (x->head.query.size_bytes > 0) memcpy(x->query, x->head.query.at, x->head.query.size_bytes);
    x->query[x->head.query.size_bytes] = 0;
    if (!check_browser(x)) return;
    router_find(o->routes, o->route_count, x->head.method, x->path, x->listener, &x->match);
    if (!x->match.route) {
        answer_without_route(x);
        return;
    }
    if (!copy_params(x)) {
        refuse(x, 400, "bad-path", "The path is malformed", NULL);
        return;
    }
    if (has_token_in_query(x)) {
        refuse(x, 400, "token-in-query", "A token must not stand in a URL",
               "URLs are logged and kept: send it as \"Authorization: Bearer TOKEN\".");
        return;
    }
    if (prepare_body(x)) authorise(x);
}

static ptrdiff_t take_head(struct http_exchange *x, const uint8_t *bytes, size_t size_bytes)
{
    const struct http_server_options *o = &x->server->options;
    struct http_limits limits = http_head_limits();
    limits.head_bytes_max = o->head_bytes_max ? o->head_bytes_max : HTTP_HEAD_BYTES;
    limits.uri_bytes_max = URI_BYTES_MAX;
    struct http_head head;
    uint16_t status = 400;
    enum err e = http_head_request(bytes, size_bytes, &limits, &x->scanned_bytes, &head, &status);
    if (e == ERR_TRUNCATED) {
        if (x->phase == PHASE_IDLE) conn_deadline(x->conn, pick(o->head_ms, HEAD_MS));
        x->phase = PHASE_HEAD;
        return 0;
    }
    if (e != ERR_OK) {
        refuse_head(x, status);
        return (ptrdiff_t)size_bytes;
    }
    // The connection's buffer moves on; the request keeps its own copy.
    CHECK(head.head_bytes <= limits.head_bytes_max);
    ptrdiff_t used = (ptrdiff_t)head.head_bytes;
    memcpy(x->head_bytes, bytes, head.head_bytes);
    size_t scanned = 0;
    e = http_head_request(x->head_bytes, head.head_bytes, &limits, &scanned, &x->head, &status);
    CHECK(e == ERR_OK);
    terminate_texts(x);
    begin_request(x); // x may be gone
    return used;
}

static bool buffer_body(struct http_exchange *x, const uint8_t *bytes, size_t size_bytes)
{
    struct http_server *s = x->server;
    size_t need = x->body_size + size_bytes + 1; // NUL
    if (need > x->body_capacity) {
        size_t capacity = x->body_capacity ? 2 * x->body_capacity : BODY_GROW_BYTES;
        if (capacity < need) capacity = need;
        size_t max = s->options.buffered_body_total_max ? s->options.buffered_body_total_max
                                                        : BUFFERED_BYTES_MAX;
        if (s->buffered_bytes - x->body_capacity + capacity > max) return false;
        uint8_t *grown = realloc(x->body_bytes, capacity);
        if (!grown) return false;
        s->buffered_bytes += capacity - x->body_capacity;
        x->body_bytes = grown;
        x->body_capacity = capacity;
    }
    memcpy(x->body_bytes + x->body_size, bytes, size_bytes);
    x->body_size += size_bytes;
    x->body_bytes[x->body_size] = 0;
    return true;
}

// One stretch of payload to whom it belongs. False: answered, or gone.
static bool give_body(struct http_exchange *x, const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes == 0) return true;
    if (!x->match.route->on_body) {
        if (buffer_body(x, bytes, size_bytes)) return true;
        http_answer_header(x, "Retry-After", "5");
        refuse(x, 503, "busy", "Too many bodies at once", NULL);
        return false;
    }
    bool *gone = x->gone;
    uint64_t id = x->id;
    x->match.route->on_body(x, bytes, size_bytes, x->server->options.owner);
    return !*gone && x->id == id && !x->answered;
}

static ptrdiff_t take_body(struct http_exchange *x, const uint8_t *bytes, size_t size_bytes)
{
    size_t at = 0;
    while (at < size_bytes && !body_done(&x->body)) {
        const uint8_t *payload;
        size_t used, payload_bytes;
        enum err e =
            body_next(&x->body, bytes + at, size_bytes - at, &used, &payload, &payload_bytes);
        if (e != ERR_OK) {
            x->body = (struct body){0};
            if (e == ERR_LIMIT)
                refuse(x, 413, "body-too-large", "The body is too large", NULL);
            else
                refuse(x, 400, "bad-body", "The body is malformed", NULL);
            return (ptrdiff_t)size_bytes;
        }
        at += used;
        if (!give_body(x, payload, payload_bytes)) return (ptrdiff_t)at;
    }
    if (body_done(&x->body)) run_handler(x);
    return (ptrdiff_t)at;
}

// --- Events of the connection -------------------------------------------------------------------

static ptrdiff_t on_bytes(struct conn *c, uint8_t *bytes, size_t size_bytes, void *owner)
{
    struct http_exchange *x = owner;
    bool gone = false;
    ptrdiff_t used = 0;
    x->gone = &gone;
    x->in_bytes = true;
    if (x->phase == PHASE_IDLE || x->phase == PHASE_HEAD)
        used = take_head(x, bytes, size_bytes);
    else if (x->phase == PHASE_BODY)
        used = take_body(x, bytes, size_bytes);
    if (gone) return used;
    x->in_bytes = false;
    x->gone = NULL;
    // The next request waits in the connection's buffer, and then in the peer.
    if (x->phase > PHASE_BODY || x->phase == PHASE_AUTH) conn_pause(c);
    return used;
}

static void on_end(struct conn *c, void *owner)
{
    const struct http_exchange *x = owner;
    // A request that is complete is still answered; a peer that only stops asking may listen on.
    if (x->phase >= PHASE_WAITING || x->phase == PHASE_AUTH) return;
    conn_finish(c, CONN_REASON_PEER_CLOSED);
}

static void on_sent(struct conn *c, uint64_t tag, bool sent, void *owner)
{
    struct http_exchange *x = owner;
    if (!sent || tag != x->sending_tag || x->phase != PHASE_SENDING || conn_is_closing(c)) return;
    next_request(x);
}

static void on_drained(struct conn *c, void *owner)
{
    struct http_exchange *x = owner;
    if (x->phase == PHASE_SENDING && x->wants_room && !conn_is_closing(c)) next_request(x);
}

static void on_deadline(struct conn *c, void *owner)
{
    struct http_exchange *x = owner;
    struct conn_stats stats;
    switch (x->phase) {
    case PHASE_HEAD:
    case PHASE_BODY:
        x->close_after = true;
        refuse(x, 408, "timeout", "The request took too long", NULL);
        return;
    case PHASE_SENDING:
        conn_stats(c, &stats);
        if (stats.sent_bytes == x->sent_seen_bytes) {
            conn_close(c, CONN_REASON_SLOW);
            return;
        }
        x->sent_seen_bytes = stats.sent_bytes;
        conn_deadline(c, SENDING_MS);
        return;
    case PHASE_IDLE:
    case PHASE_AUTH:
    case PHASE_WAITING:
        conn_finish(c, CONN_REASON_DEADLINE);
        return;
    }
}

static void free_exchange(struct http_exchange *x)
{
    free_request(x);
    if (x->gone) *x->gone = true;
    CHECK(x->server->stats.open > 0);
    x->server->stats.open--;
    free(x->head_bytes);
    free(x);
}

void http_exchange_release(struct http_exchange *x)
{
    free_exchange(x);
}

static void on_closed(struct conn *c, enum conn_reason reason, void *owner)
{
    (void)c;
    (void)reason;
    free_exchange(owner);
}

static const struct conn_events events = {
    .on_bytes = on_bytes,
    .on_end = on_end,
    .on_sent = on_sent,
    .on_drained = on_drained,
    .on_deadline = on_deadline,
    .on_closed = on_closed,
};

// --- The server ---------------------------------------------------------------------------------

void http_server_accept(struct http_server *server, struct conn *c, enum http_listener listener)
{
    size_t head_max = server->options.head_bytes_max;
    struct http_exchange *x = NULL;
    if (!server->draining && server->exchanges.used < server->exchanges.capacity)
        x = calloc(1, sizeof *x);
    if (x) x->head_bytes = malloc((head_max ? head_max : HTTP_HEAD_BYTES) + 1);
    if (!x || !x->head_bytes) {
        free(x);
        conn_close(c, CONN_REASON_REFUSED);
        return;
    }
    x->server = server;
    x->conn = c;
    x->listener = listener;
    server->stats.open++;
    reset_request(x);
    conn_take(c, &events, x);
    // From the first moment on: a peer that says nothing is as slow as one that dribbles.
    conn_deadline(c, pick(server->options.head_ms, HEAD_MS));
    x->phase = PHASE_HEAD;
}

struct http_server *http_server_create(const struct http_server_options *options)
{
    router_validate(options->routes, options->route_count);
    struct http_server *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->options = *options;
    size_t max = options->exchanges_max ? options->exchanges_max : EXCHANGES_MAX;
    bool ok = slots_create(&s->exchanges, max) &&
              throttle_create(&s->throttle, THROTTLE_ENTRIES,
                              pick(options->auth_failures_burst, THROTTLE_BURST),
                              pick(options->auth_failures_per_minute, THROTTLE_PER_MINUTE)) &&
              uv_random(NULL, NULL, s->boot_random, sizeof s->boot_random, 0, NULL) == 0;
    if (ok) return s;
    http_server_free(s);
    return NULL;
}

void http_server_free(struct http_server *s)
{
    if (!s) return;
    CHECK(s->stats.open == 0);
    throttle_free(&s->throttle);
    slots_free(&s->exchanges);
    free(s);
}

const struct http_stats *http_server_stats(const struct http_server *server)
{
    return &server->stats;
}

void http_server_drain(struct http_server *s)
{
    s->draining = true;
    for (size_t i = 0; i < s->exchanges.capacity; i++) {
        struct http_exchange *x = slots_at(&s->exchanges, i);
        if (x && (x->phase == PHASE_IDLE || x->phase == PHASE_HEAD))
            conn_finish(x->conn, CONN_REASON_SHUTDOWN);
    }
}
