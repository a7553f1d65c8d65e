#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "proto/wire.h"
#include "server/http/http_internal.h"

enum {
    ANSWER_HEAD_BYTES = 6 * 1024,
    INLINE_BYTES_MAX = 16 * 1024, // a longer body goes out from a chunk of its own
};

void http_answer_header(struct http_exchange *x, const char *name, const char *value)
{
    CHECK(!x->answered);
    size_t name_bytes = strlen(name) + 1, value_bytes = strlen(value) + 1;
    CHECK(x->extra_count < HTTP_EXTRA_MAX);
    // Values may come from a peer (a Location): too long is no reason to stop the server.
    if (name_bytes + value_bytes > HTTP_EXTRA_BYTES - x->extra_used) {
        log_event(LOG_LEVEL_ERROR, "http.header_too_long", LOG_T("name", name),
                  LOG_T("request", x->request_id));
        return;
    }
    memcpy(x->extra + x->extra_used, name, name_bytes);
    memcpy(x->extra + x->extra_used + name_bytes, value, value_bytes);
    x->extra_used += name_bytes + value_bytes;
    x->extra_count++;
}

static bool has_extra(const struct http_exchange *x, const char *name)
{
    const char *at = x->extra;
    for (size_t i = 0; i < x->extra_count; i++) {
        if (strcasecmp(at, name) == 0) return true;
        at += strlen(at) + 1;
        at += strlen(at) + 1;
    }
    return false;
}

static void put_extra(struct wire_writer *w, const struct http_exchange *x)
{
    const char *at = x->extra;
    for (size_t i = 0; i < x->extra_count; i++) {
        const char *value = at + strlen(at) + 1;
        http_head_put(w, at, value);
        at = value + strlen(value) + 1;
    }
}

// "Mon, 30 Nov 2026 22:13:52 GMT" (RFC 9110 5.6.7); names as the RFC has them, not the locale's.
static void put_date(struct wire_writer *w)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = (time_t)(clock_wall_ns() / 1000000000u);
    struct tm t;
    char text[64];
    if (!gmtime_r(&now, &t)) return;
    (void)snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday],
                   t.tm_mday, months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
    http_head_put(w, "Date", text);
}

// What every answer carries. A page may not be framed, sniffed or told where it came from; an
// answer of the API is no document at all.
static void put_standard(struct wire_writer *w, const struct http_exchange *x)
{
    put_date(w);
    http_head_put(w, "X-Request-Id", x->request_id);
    http_head_put(w, "X-Content-Type-Options", "nosniff");
    http_head_put(w, "Referrer-Policy", "no-referrer");
    http_head_put(w, "X-Frame-Options", "DENY");
    http_head_put(w, "Cross-Origin-Opener-Policy", "same-origin");
    http_head_put(w, "Cross-Origin-Resource-Policy", "same-origin");
    if (!has_extra(x, "Cache-Control")) http_head_put(w, "Cache-Control", "no-store");
    if (!has_extra(x, "Content-Security-Policy"))
        http_head_put(w, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    const char *origin = x->origin_listed ? http_exchange_header(x, "origin") : NULL;
    if (origin) {
        http_head_put(w, "Access-Control-Allow-Origin", origin);
        http_head_put(w, "Access-Control-Expose-Headers",
                      "ETag, Idempotency-Replayed, Location, Retry-After, Sinew-Version, "
                      "Upload-Expires, Upload-Length, Upload-Offset, X-Request-Id");
        http_head_put(w, "Vary", "Origin");
    }
    if (x->close_after) http_head_put(w, "Connection", "close");
}

static void send_head(struct http_exchange *x, int status, const char *content_type,
                      size_t size_bytes)
{
    uint8_t bytes[ANSWER_HEAD_BYTES];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    http_head_begin(&w, (uint16_t)status);
    put_standard(&w, x);
    put_extra(&w, x);
    bool bodiless = status == 204 || status == 304;
    if (content_type && !bodiless) http_head_put(&w, "Content-Type", content_type);
    if (!bodiless) http_head_put_number(&w, "Content-Length", size_bytes);
    http_head_end(&w);
    if (w.failed) { // a header value with a line break in it: our own fault, and not to be sent
        log_event(LOG_LEVEL_ERROR, "http.bad_answer", LOG_T("request", x->request_id));
        conn_close(x->conn, CONN_REASON_PROTOCOL);
        return;
    }
    (void)conn_send(x->conn, bytes, wire_size(&w));
}

static void begin(struct http_exchange *x, int status)
{
    CHECK(!x->answered);
    CHECK(status >= 200 && status <= 599);
    x->answered = true;
    x->server->stats.by_class[status / 100]++;
    // Bytes of a body that nobody has read would be taken for the next request.
    if (!http_exchange_body_complete(x) || x->server->draining) x->close_after = true;
}

static bool wants_body(const struct http_exchange *x, int status)
{
    return x->head.method != HTTP_METHOD_HEAD && status != 204 && status != 304;
}

void http_answer_chunk(struct http_exchange *x, int status, const char *content_type,
                       struct chunk *chunk)
{
    begin(x, status);
    send_head(x, status, content_type, chunk->size_bytes);
    bool bulk = wants_body(x, status) && chunk->size_bytes > 0;
    if (bulk) {
        struct conn_piece piece = {
            .chunk = chunk, .size_bytes = chunk->size_bytes, .tag = ++x->sending_tag};
        bulk = conn_send_bulk(x->conn, &piece);
    }
    chunk_release(chunk);
    http_exchange_answered(x, bulk);
}

void http_answer(struct http_exchange *x, int status, const char *content_type, const void *body,
                 size_t size_bytes)
{
    if (size_bytes > INLINE_BYTES_MAX) {
        struct chunk *chunk = chunk_copy(body, size_bytes);
        if (chunk)
            http_answer_chunk(x, status, content_type, chunk);
        else
            http_answer_problem(x, 503, "no-memory", "Out of memory", "Try again later.");
        return;
    }
    begin(x, status);
    send_head(x, status, content_type, size_bytes);
    if (size_bytes > 0 && wants_body(x, status)) (void)conn_send(x->conn, body, size_bytes);
    http_exchange_answered(x, false);
}

void http_answer_empty(struct http_exchange *x, int status)
{
    http_answer(x, status, NULL, NULL, 0);
}

static void answer_printed(struct http_exchange *x, int status, const char *content_type,
                           const struct cJSON *json)
{
    char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    if (text)
        http_answer(x, status, content_type, text, strlen(text));
    else
        http_answer(x, 503, "text/plain", "out of memory\n", 14);
    cJSON_free(text);
}

void http_answer_json(struct http_exchange *x, int status, const struct cJSON *json)
{
    answer_printed(x, status, "application/json", json);
}

void http_answer_problem(struct http_exchange *x, int status, const char *type, const char *title,
                         const char *detail)
{
    http_answer_problem_with(x, status, type, title, detail, NULL);
}

void http_answer_problem_with(struct http_exchange *x, int status, const char *type,
                              const char *title, const char *detail, struct cJSON *more)
{
    char uri[96];
    (void)snprintf(uri, sizeof uri, "/problems/%s", type);
    cJSON *problem = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(problem, "type", uri);
    (void)cJSON_AddStringToObject(problem, "title", title);
    (void)cJSON_AddNumberToObject(problem, "status", status);
    if (detail) (void)cJSON_AddStringToObject(problem, "detail", detail);
    (void)cJSON_AddStringToObject(problem, "request_id", x->request_id);
    while (more && more->child) {
        cJSON *member = cJSON_DetachItemViaPointer(more, more->child);
        char *name = member->string;
        member->string = NULL;
        if (!name || !cJSON_AddItemToObject(problem, name, member)) cJSON_Delete(member);
        cJSON_free(name);
    }
    cJSON_Delete(more);
    answer_printed(x, status, "application/problem+json", problem);
    cJSON_Delete(problem);
}
