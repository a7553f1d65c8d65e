// HTTP/1.1 over real sockets: requests, answers, limits, deadlines, upgrades.
#include <cjson/cJSON.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "server/http/server.h"
#include "server/http/static.h"
#include "tests/net/rig.h"
#include "tests/testing.h"

int testing_failures;

static struct rig rig;
static struct http_server *server;
static struct listener *listener;
static enum http_listener where = HTTP_ON_LOOPBACK;

// --- Handlers -----------------------------------------------------------------------------------

static uint64_t late_id;
static int data_freed;
static size_t streamed_bytes;
static struct {
    struct conn *c;
    char got[256];
    size_t got_bytes;
    char ticket[64];
    bool closed;
} socket_seat;

static void on_echo(struct http_exchange *x, void *owner)
{
    (void)owner;
    size_t n;
    const uint8_t *body = http_exchange_body(x, &n);
    http_answer(x, 200, "application/octet-stream", body, n);
}

static void on_param(struct http_exchange *x, void *owner)
{
    (void)owner;
    char text[512], q[64] = "-";
    (void)http_exchange_query_value(x, "q", q, sizeof q);
    const char *agent = http_exchange_header(x, "User-Agent");
    (void)snprintf(text, sizeof text, "id=%s n=%s q=%s agent=%s", http_exchange_param(x, "id"),
                   http_exchange_param(x, "n"), q, agent ? agent : "-");
    http_answer(x, 200, "text/plain", text, strlen(text));
}

static void on_data_free(void *data)
{
    (void)data;
    data_freed++;
}

static void on_late(struct http_exchange *x, void *owner)
{
    (void)owner;
    http_exchange_set_data(x, &late_id, on_data_free);
    late_id = http_exchange_id(x);
}

static void on_big(struct http_exchange *x, void *owner)
{
    (void)owner;
    struct chunk *chunk = chunk_copy(NULL, 3000000);
    memset(chunk_writable(chunk), 'z', 3000000);
    http_answer_chunk(x, 200, "application/octet-stream", chunk);
}

static void on_stream_body(struct http_exchange *x, const uint8_t *bytes, size_t size_bytes,
                           void *owner)
{
    (void)owner;
    streamed_bytes += size_bytes;
    if (size_bytes > 0 && bytes[0] == '!')
        http_answer_problem(x, 409, "conflict", "No more of this", NULL);
}

static void on_stream_end(struct http_exchange *x, void *owner)
{
    (void)owner;
    http_answer_empty(x, 204);
}

static void on_secret(struct http_exchange *x, void *owner)
{
    (void)owner;
    http_answer(x, 200, "text/plain", "secret", 6);
}

static ptrdiff_t on_socket_bytes(struct conn *c, uint8_t *bytes, size_t size_bytes, void *owner)
{
    (void)c;
    (void)owner;
    if (size_bytes > sizeof socket_seat.got - socket_seat.got_bytes - 1)
        size_bytes = sizeof socket_seat.got - socket_seat.got_bytes - 1;
    memcpy(socket_seat.got + socket_seat.got_bytes, bytes, size_bytes);
    socket_seat.got_bytes += size_bytes;
    return (ptrdiff_t)size_bytes;
}

static void on_socket_closed(struct conn *c, enum conn_reason reason, void *owner)
{
    (void)c;
    (void)reason;
    (void)owner;
    socket_seat.closed = true;
}

static const struct conn_events socket_events = {.on_bytes = on_socket_bytes,
                                                 .on_closed = on_socket_closed};

static void on_socket(struct http_exchange *x, void *owner)
{
    (void)owner;
    struct conn *c = http_exchange_conn(x);
    (void)http_exchange_subprotocol(x, "ticket.", socket_seat.ticket, sizeof socket_seat.ticket);
    if (http_exchange_upgrade(x, &socket_events, NULL)) socket_seat.c = c;
}

static void on_headers(struct http_exchange *x, void *owner)
{
    (void)owner;
    static char big[5000];
    char value[64] = "plain";
    memset(big, 'b', sizeof big - 1);
    (void)http_exchange_query_value(x, "v", value, sizeof value);
    http_answer_header(x, "X-Big", big);
    http_answer_header(x, "X-Value", value);
    http_answer_empty(x, 200);
}

static enum http_auth authorise(struct http_exchange *x, const struct http_route *route,
                                void *owner)
{
    (void)route;
    (void)owner;
    const char *token = http_exchange_bearer(x);
    if (!token) return HTTP_AUTH_MISSING;
    if (strcmp(token, "good") == 0) return HTTP_AUTH_OK;
    if (strcmp(token, "poor") == 0) return HTTP_AUTH_FORBIDDEN;
    if (strcmp(token, "hidden") == 0) return HTTP_AUTH_HIDDEN;
    if (strcmp(token, "later") != 0) return HTTP_AUTH_MISSING;
    late_id = http_exchange_id(x);
    return HTTP_AUTH_PENDING;
}

static const struct http_route routes[] = {
    {HTTP_METHOD_POST, "/echo", HTTP_ON_ANY, .body_max = 1000, .on_request = on_echo},
    {HTTP_METHOD_GET, "/echo", HTTP_ON_ANY, .on_request = on_echo},
    {HTTP_METHOD_GET, "/m/{id}/v/{n}", HTTP_ON_ANY, .on_request = on_param},
    {HTTP_METHOD_GET, "/late", HTTP_ON_ANY, .on_request = on_late},
    {HTTP_METHOD_GET, "/big", HTTP_ON_ANY, .on_request = on_big},
    {HTTP_METHOD_PATCH, "/stream", HTTP_ON_ANY, .body_max = 10000000, .on_request = on_stream_end,
     .on_body = on_stream_body},
    {HTTP_METHOD_GET, "/secret", HTTP_ON_ANY, .scope = 1, .on_request = on_secret},
    {HTTP_METHOD_POST, "/secret", HTTP_ON_ANY, .scope = 1, .body_max = 100, .on_request = on_echo},
    {HTTP_METHOD_GET, "/half-open", HTTP_ON_ANY, .scope = 1, .open_on = HTTP_ON_LOOPBACK,
     .on_request = on_secret},
    {HTTP_METHOD_GET, "/v1/private", HTTP_ON_ANY, .scope = 1, .websocket = true,
     .on_request = on_socket},
    {HTTP_METHOD_GET, "/headers", HTTP_ON_ANY, .on_request = on_headers},
    {HTTP_METHOD_GET, "/v1/stream", HTTP_ON_ANY, .websocket = true, .on_request = on_socket},
};

static void on_open(struct conn *c, const char *alpn, void *owner)
{
    (void)owner;
    if (alpn && strcmp(alpn, "http/1.1") != 0) return; // nobody here speaks it
    http_server_accept(server, c, where);
}

static const char *const origins[] = {"https://game.example", NULL};

static void begin(bool tls, struct http_server_options o)
{
    late_id = 0;
    data_freed = 0;
    streamed_bytes = 0;
    memset(&socket_seat, 0, sizeof socket_seat);
    o.routes = routes;
    o.route_count = sizeof routes / sizeof routes[0];
    o.authorise = authorise;
    o.allowed_origins = origins;
    rig_open(&rig, NULL);
    server = http_server_create(&o);
    EXPECT(server != NULL);
    listener = rig_listen(&rig, tls, (struct conn_options){.on_open = on_open, .linger_ms = 300});
}

static void end(struct peer *p)
{
    if (p) peer_close(p);
    listener_close(listener);
    rig_close(&rig);
    http_server_free(server);
}

static void ask(struct peer *p, const char *text)
{
    peer_open(p, listener_port(listener), NULL);
    peer_say(p, text);
}

// One request on a connection of its own, until the answer has text in it.
static void expect_answer(const char *request, const char *status_line, const char *text)
{
    struct peer p;
    ask(&p, request);
    RIG_UNTIL(&rig, peer_has(&p, "\r\n\r\n"), 2000);
    bool ok = strncmp((char *)p.got, status_line, strlen(status_line)) == 0;
    EXPECT(ok);
    if (text) RIG_UNTIL(&rig, peer_has(&p, text), 1000);
    if (!ok || (text && !peer_has(&p, text))) printf("  %s  -> %s\n", request, (char *)p.got);
    peer_close(&p);
}

#define HOST "Host: localhost\r\n"

static void answers_requests_with_parameters_and_headers(void)
{
    begin(false, (struct http_server_options){0});
    expect_answer("GET /m/fox%20one/v/7?a=1&q=x%2By+z HTTP/1.1\r\n" HOST
                  "User-Agent: \t test \r\n\r\n",
                  "HTTP/1.1 200 OK\r\n", "id=fox one n=7 q=x+y z agent=test");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
                  "HTTP/1.1 200 OK\r\n", "\r\n\r\nhello");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST
                  "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                  "HTTP/1.1 200 OK\r\n", "\r\n\r\nabcde");
    struct peer p;
    ask(&p, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, peer_has(&p, "\r\n\r\n"), 1000);
    static const char *const headers[] = {"X-Request-Id: ",
                                          "X-Content-Type-Options: nosniff\r\n",
                                          "Content-Length: 0\r\n",
                                          "Cache-Control: no-store\r\n",
                                          "Content-Security-Policy: default-src 'none'",
                                          "Referrer-Policy: no-referrer\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        EXPECT(peer_has(&p, headers[i]));
    EXPECT(!peer_has(&p, "Connection: close"));
    end(&p);
}

static void pipelined_requests_are_answered_in_order(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    ask(&p, "GET /m/a/v/1 HTTP/1.1\r\n" HOST "\r\n"
            "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\ntwo"
            "GET /big HTTP/1.1\r\n" HOST "\r\n"
            "GET /late HTTP/1.1\r\n" HOST "\r\n"
            "GET /m/b/v/4 HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, (peer_read(&p), late_id != 0), 3000);
    EXPECT(http_server_stats(server)->requests == 4);
    rig_run(&rig, 20);
    EXPECT(!peer_has(&p, "id=b")); // waits for the late one
    http_answer(http_exchange_find(server, late_id), 200, "text/plain", "at last", 7);
    RIG_UNTIL(&rig, peer_has(&p, "id=b n=4"), 3000);
    const char *at = (const char *)p.got;
    static const char *const order[] = {"id=a n=1", "\r\n\r\ntwo", "Content-Length: 3000000\r\n",
                                        "zzz",      "at last",     "id=b n=4"};
    for (size_t i = 0; at && i < sizeof order / sizeof order[0]; i++) {
        at = memmem(at, p.got_bytes - (size_t)(at - (char *)p.got), order[i], strlen(order[i]));
        EXPECT(at != NULL);
    }
    EXPECT(http_exchange_find(server, late_id) == NULL && data_freed == 1);
    end(&p);
}

static void a_thousand_pipelined_requests_cost_no_memory(void)
{
    struct peer p;
    static char text[70000];
    size_t n = 0, count = 0;
    while (n + 64 < sizeof text) {
        n += (size_t)snprintf(text + n, sizeof text - n, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
        count++;
    }
    begin(false, (struct http_server_options){0});
    ask(&p, text); // and reads nothing for a while
    rig_run(&rig, 100);
    RIG_UNTIL(&rig, (peer_read(&p), http_server_stats(server)->requests == count), 5000);
    end(&p);
}

static void bodies_larger_than_the_buffers_arrive_whole_and_reading_slowly_is_fine(void)
{
    struct peer p;
    begin(true, (struct http_server_options){0});
    static const char *const alpn[] = {"http/1.1", NULL};
    struct peer_options o = {.rig = &rig, .alpn = alpn, .receive_buffer_bytes = 8192};
    peer_open(&p, listener_port(listener), &o);
    peer_shake(&p, &rig);
    EXPECT(p.open);
    peer_say(&p, "GET /big HTTP/1.1\r\n" HOST "\r\nGET /m/x/v/2 HTTP/1.1\r\n" HOST "\r\n");
    rig_run(&rig, 50);
    RIG_UNTIL(&rig, peer_has(&p, "id=x n=2"), 8000);
    EXPECT(p.got_bytes > 3000000);
    end(&p);
}

static void methods_are_told_apart(void)
{
    begin(false, (struct http_server_options){0});
    expect_answer("DELETE /echo HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 405 ",
                  "Allow: GET, HEAD, POST, OPTIONS\r\n");
    expect_answer("BREW /echo HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 4", NULL);
    expect_answer("OPTIONS /echo HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 204 ",
                  "Allow: GET, HEAD, POST, OPTIONS\r\n");
    expect_answer("GET /nowhere HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404 ",
                  "application/problem+json");
    struct peer p;
    ask(&p, "HEAD /m/a/v/1 HTTP/1.1\r\n" HOST "\r\nGET /echo HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, peer_has(&p, "Content-Length: 0"), 1000);
    EXPECT(peer_has(&p, "Content-Type: text/plain\r\nContent-Length: 20\r\n"));
    EXPECT(!peer_has(&p, "id=a"));
    end(&p);
}

static void every_refusal_is_a_problem_with_a_stable_type(void)
{
    static char long_uri[4000], long_head[12000];
    memset(long_uri, 'a', sizeof long_uri - 1);
    memcpy(long_uri, "GET /", 5);
    memset(long_head, 'b', sizeof long_head - 1);
    memcpy(long_head, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ", 36);
    begin(false, (struct http_server_options){0});
    expect_answer(long_uri, "HTTP/1.1 414 ", "/problems/uri-too-long");
    expect_answer(long_head, "HTTP/1.1 431 ", "/problems/head-too-large");
    expect_answer("GET / HTTP/2.7\r\n" HOST "\r\n", "HTTP/1.1 505 ", "/problems/http-version");
    expect_answer("GET /echo HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", "/problems/bad-request");
    expect_answer("GET / HTTP/1.1\r\n" HOST
                  "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                  "HTTP/1.1 400 ", "/problems/bad-request");
    expect_answer("\x01\x02\x03\r\n\r\n", "HTTP/1.1 400 ", "/problems/bad-request");
    expect_answer("GET /a/%2e%2e/b HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 ",
                  "/problems/bad-path");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1001\r\n\r\n", "HTTP/1.1 413 ",
                  "/problems/body-too-large");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3e9\r\n",
                  "HTTP/1.1 413 ", "/problems/body-too-large");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nx\r\n",
                  "HTTP/1.1 400 ", "/problems/bad-body");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST "Expect: magic\r\nContent-Length: 1\r\n\r\n",
                  "HTTP/1.1 417 ", "/problems/expectation");
    struct peer p;
    ask(&p, "GET /nowhere HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, peer_has(&p, "}"), 1000);
    const char *body = strstr((char *)p.got, "\r\n\r\n");
    cJSON *json = body ? cJSON_Parse(body) : NULL;
    EXPECT(cJSON_IsString(cJSON_GetObjectItem(json, "type")));
    EXPECT(cJSON_IsString(cJSON_GetObjectItem(json, "title")));
    EXPECT(cJSON_GetNumberValue(cJSON_GetObjectItem(json, "status")) == 404);
    EXPECT(cJSON_IsString(cJSON_GetObjectItem(json, "request_id")));
    cJSON_Delete(json);
    end(&p);
}

static void continue_is_said_before_a_body_that_waits_for_it(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    ask(&p, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    RIG_UNTIL(&rig, peer_has(&p, "HTTP/1.1 100 Continue\r\n\r\n"), 1000);
    peer_say(&p, "ok");
    RIG_UNTIL(&rig, peer_has(&p, "\r\n\r\nok"), 1000);
    end(&p);
}

// --- Deadlines (S6) -----------------------------------------------------------------------------

static void a_head_byte_by_byte_meets_an_absolute_deadline(void)
{
    struct peer p;
    begin(false, (struct http_server_options){.head_ms = 250});
    ask(&p, "GET / HTTP/1.1\r\nX: ");
    uint64_t start = clock_ns();
    for (int i = 0; i < 200 && !peer_gone(&p); i++) {
        peer_say(&p, "a");
        rig_run(&rig, 10);
    }
    uint64_t ms = (clock_ns() - start) / 1000000;
    EXPECT(ms >= 200 && ms < 2500);
    EXPECT(peer_has(&p, "HTTP/1.1 408 ") && peer_has(&p, "/problems/timeout"));
    end(&p);
}

static void a_body_byte_by_byte_meets_an_absolute_deadline(void)
{
    struct peer p;
    begin(false, (struct http_server_options){.body_ms = 250});
    ask(&p, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 900\r\n\r\n");
    uint64_t start = clock_ns();
    for (int i = 0; i < 200 && !peer_gone(&p); i++) {
        peer_say(&p, "a");
        rig_run(&rig, 10);
    }
    uint64_t ms = (clock_ns() - start) / 1000000;
    EXPECT(ms >= 200 && ms < 2500 && peer_has(&p, "HTTP/1.1 408 "));
    end(&p);
}

static void an_idle_connection_is_closed_quietly(void)
{
    struct peer p;
    begin(false, (struct http_server_options){.idle_ms = 150});
    ask(&p, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, peer_has(&p, "Content-Length: 0"), 1000);
    size_t before = p.got_bytes;
    RIG_UNTIL(&rig, peer_gone(&p), 1000);
    EXPECT(p.got_bytes == before && p.ended && !p.reset);
    end(&p);
}

static void a_peer_that_leaves_makes_the_late_answer_find_nothing(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    ask(&p, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, late_id != 0, 1000);
    conn_close(http_exchange_conn(http_exchange_find(server, late_id)), CONN_REASON_SHUTDOWN);
    RIG_UNTIL(&rig, http_server_stats(server)->open == 0, 1000);
    EXPECT(http_exchange_find(server, late_id) == NULL && data_freed == 1);
    end(&p);
}

static void http_1_0_and_connection_close_are_obeyed(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    ask(&p, "GET /echo HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    RIG_UNTIL(&rig, peer_gone(&p), 1000);
    EXPECT(peer_has(&p, "200 OK") && peer_has(&p, "Connection: close\r\n") && p.ended && !p.reset);
    peer_close(&p);
    ask(&p, "GET /echo HTTP/1.0\r\n\r\n");
    RIG_UNTIL(&rig, peer_gone(&p), 1000);
    EXPECT(peer_has(&p, "200 OK") && p.ended && !p.reset);
    end(&p);
}

static void an_early_answer_to_an_upload_gets_through(void)
{
    struct peer p;
    static char bytes[100000];
    begin(false, (struct http_server_options){0});
    ask(&p, "PATCH /stream HTTP/1.1\r\n" HOST "Content-Length: 5000000\r\n\r\n!");
    for (int i = 0; i < 20; i++) {
        peer_send(&p, bytes, sizeof bytes);
        rig_run(&rig, 2);
    }
    RIG_UNTIL(&rig, peer_has(&p, "/problems/conflict"), 1000);
    EXPECT(peer_has(&p, "HTTP/1.1 409 "));
    end(&p);
}

static void uploads_stream_to_their_handler(void)
{
    struct peer p;
    static char bytes[100000];
    begin(false, (struct http_server_options){0});
    ask(&p, "PATCH /stream HTTP/1.1\r\n" HOST "Content-Length: 2000000\r\n\r\n");
    for (int i = 0; i < 20; i++) {
        peer_send(&p, bytes, sizeof bytes);
        rig_run(&rig, 2);
    }
    RIG_UNTIL(&rig, peer_has(&p, "HTTP/1.1 204 "), 2000);
    EXPECT(streamed_bytes == 2000000);
    end(&p);
}

// --- Who may ------------------------------------------------------------------------------------

static void tokens_open_routes_and_wrong_ones_cost(void)
{
    begin(false, (struct http_server_options){.auth_failures_burst = 3});
    expect_answer("GET /secret HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 401 ",
                  "WWW-Authenticate: Bearer\r\n");
    expect_answer("GET /secret HTTP/1.1\r\n" HOST "Authorization: Bearer good\r\n\r\n",
                  "HTTP/1.1 200 ", "secret");
    expect_answer("GET /secret HTTP/1.1\r\n" HOST "Authorization: Bearer poor\r\n\r\n",
                  "HTTP/1.1 403 ", "/problems/forbidden");
    expect_answer("GET /secret HTTP/1.1\r\n" HOST "Authorization: Bearer hidden\r\n\r\n",
                  "HTTP/1.1 404 ", "/problems/not-found");
    expect_answer("GET /half-open HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "secret");
    for (int i = 0; i < 3; i++)
        expect_answer("GET /secret HTTP/1.1\r\n" HOST "Authorization: Bearer guess\r\n\r\n",
                      "HTTP/1.1 401 ", "/problems/unauthorised");
    expect_answer("GET /secret HTTP/1.1\r\n" HOST "Authorization: Bearer guess\r\n\r\n",
                  "HTTP/1.1 429 ", "Retry-After: ");
    EXPECT(http_server_stats(server)->auth_failures == 3);
    EXPECT(http_server_stats(server)->throttled == 1);
    end(NULL);
}

static void a_token_may_be_looked_up_elsewhere(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    ask(&p, "POST /secret HTTP/1.1\r\n" HOST
            "Authorization: Bearer later\r\nContent-Length: 4\r\n\r\nbody");
    RIG_UNTIL(&rig, late_id != 0, 1000);
    rig_run(&rig, 10);
    http_server_authorised(http_exchange_find(server, late_id), HTTP_AUTH_OK);
    RIG_UNTIL(&rig, peer_has(&p, "\r\n\r\nbody"), 1000);
    late_id = 0;
    peer_say(&p, "GET /secret HTTP/1.1\r\n" HOST "Authorization: Bearer later\r\n\r\n");
    RIG_UNTIL(&rig, late_id != 0, 1000);
    http_server_authorised(http_exchange_find(server, late_id), HTTP_AUTH_FORBIDDEN);
    RIG_UNTIL(&rig, peer_has(&p, "HTTP/1.1 403 "), 1000);
    end(&p);
}

static void foreign_names_and_pages_are_turned_away(void)
{
    begin(false, (struct http_server_options){0});
    expect_answer("GET /echo HTTP/1.1\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 403 ",
                  "/problems/host-not-allowed");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST
                  "Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n",
                  "HTTP/1.1 403 ", "/problems/origin-not-allowed");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST "Origin: null\r\nContent-Length: 0\r\n\r\n",
                  "HTTP/1.1 403 ", "/problems/origin-not-allowed");
    expect_answer("POST /echo HTTP/1.1\r\n" HOST
                  "Origin: http://localhost\r\nContent-Length: 0\r\n\r\n",
                  "HTTP/1.1 200 ", NULL);
    expect_answer("POST /echo HTTP/1.1\r\n" HOST
                  "Origin: https://game.example\r\nContent-Length: 0\r\n\r\n",
                  "HTTP/1.1 200 ", "Access-Control-Allow-Origin: https://game.example\r\n");
    expect_answer("OPTIONS /echo HTTP/1.1\r\n" HOST "Origin: https://game.example\r\n\r\n",
                  "HTTP/1.1 204 ", "Access-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n");
    EXPECT(http_server_stats(server)->refused_host == 1);
    EXPECT(http_server_stats(server)->refused_origin == 2);
    end(NULL);
}

// --- WebSocket ----------------------------------------------------------------------------------

#define UPGRADE                                                                                    \
    "GET /v1/stream HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"             \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

static void the_first_message_may_come_with_the_upgrade(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    ask(&p, UPGRADE "Sec-WebSocket-Protocol: sinew.v1, ticket.abc123\r\n"
                    "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\nFIRST FRAME");
    RIG_UNTIL(&rig, peer_has(&p, "\r\n\r\n"), 1000);
    EXPECT(strncmp((char *)p.got, "HTTP/1.1 101 ", 13) == 0);
    EXPECT(peer_has(&p, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    EXPECT(peer_has(&p, "Sec-WebSocket-Protocol: sinew.v1\r\n"));
    EXPECT(!peer_has(&p, "Extensions"));
    RIG_UNTIL(&rig, socket_seat.got_bytes == 11, 1000);
    EXPECT(strcmp(socket_seat.got, "FIRST FRAME") == 0);
    EXPECT(strcmp(socket_seat.ticket, "abc123") == 0);
    EXPECT(http_server_stats(server)->open == 0 && http_server_stats(server)->upgrades == 1);
    EXPECT(conn_send(socket_seat.c, "pong", 4));
    conn_flush(socket_seat.c);
    RIG_UNTIL(&rig, peer_has(&p, "pong"), 1000);
    peer_close(&p);
    RIG_UNTIL(&rig, socket_seat.closed, 1000);
    end(NULL);
}

static void an_upgrade_may_wait_for_its_token(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    ask(&p, "GET /v1/private HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            "Authorization: Bearer later\r\nSec-WebSocket-Protocol: sinew.v1\r\n\r\nEARLY");
    RIG_UNTIL(&rig, late_id != 0, 1000);
    rig_run(&rig, 10);
    EXPECT(socket_seat.got_bytes == 0 && !peer_has(&p, "101"));
    http_server_authorised(http_exchange_find(server, late_id), HTTP_AUTH_OK);
    RIG_UNTIL(&rig, socket_seat.got_bytes == 5 && peer_has(&p, "HTTP/1.1 101 "), 1000);
    peer_say(&p, " AND LATE");
    RIG_UNTIL(&rig, socket_seat.got_bytes == 14, 1000);
    EXPECT(strcmp(socket_seat.got, "EARLY AND LATE") == 0);
    end(&p);
}

static void headers_from_a_peer_split_nothing(void)
{
    struct peer p;
    begin(false, (struct http_server_options){0});
    expect_answer("GET /headers HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "X-Value: plain\r\n");
    ask(&p, "GET /headers?v=a%0d%0aSet-Cookie:x HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, peer_gone(&p), 1000);
    EXPECT(!peer_has(&p, "Set-Cookie"));
    end(&p);
}

static void wrong_upgrades_are_refused_before_they_happen(void)
{
    begin(false, (struct http_server_options){0});
    expect_answer(UPGRADE "Origin: http://evil.example\r\nSec-WebSocket-Protocol: sinew.v1\r\n\r\n",
                  "HTTP/1.1 403 ", "/problems/origin-not-allowed");
    expect_answer(UPGRADE "\r\n", "HTTP/1.1 400 ", "/problems/websocket-protocol");
    expect_answer(UPGRADE "Sec-WebSocket-Protocol: other.v2\r\n\r\n", "HTTP/1.1 400 ",
                  "/problems/websocket-protocol");
    expect_answer("GET /v1/stream HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 426 ",
                  "Upgrade: websocket\r\n");
    expect_answer("GET /v1/stream HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n\r\n",
                  "HTTP/1.1 426 ", "Sec-WebSocket-Version: 13\r\n");
    expect_answer(UPGRADE "Origin: http://localhost\r\nSec-WebSocket-Protocol: sinew.v1\r\n\r\n",
                  "HTTP/1.1 101 ", NULL);
    end(NULL);
}

// --- Static files -------------------------------------------------------------------------------

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    EXPECT(f != NULL);
    if (!f) return;
    (void)fputs(text, f);
    (void)fclose(f);
}

static void files_are_served_compressed_tagged_and_caged(void)
{
    char folder[] = "/tmp/sinew-http-XXXXXX", path[256], request[512];
    struct http_static *assets = NULL;
    EXPECT(mkdtemp(folder) != NULL);
    put_file(folder, "index.html", "<!doctype html>home");
    put_file(folder, "app-5F2A91C0.js", "plain script");
    put_file(folder, "app-5F2A91C0.js.gz", "zipped script");
    (void)snprintf(path, sizeof path, "%s/link", folder);
    EXPECT(symlink("/etc/hostname", path) == 0);
    EXPECT(static_load(folder, &assets, NULL) == ERR_OK);
    begin(false, (struct http_server_options){.assets = assets});
    expect_answer("GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "<!doctype html>home");
    expect_answer("GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "'wasm-unsafe-eval'");
    expect_answer("GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "Cache-Control: no-cache\r\n");
    expect_answer("GET /app-5F2A91C0.js HTTP/1.1\r\n" HOST "Accept-Encoding: gzip\r\n\r\n",
                  "HTTP/1.1 200 ", "zipped script");
    expect_answer("GET /app-5F2A91C0.js HTTP/1.1\r\n" HOST "Accept-Encoding: gzip\r\n\r\n",
                  "HTTP/1.1 200 ", "immutable");
    expect_answer("GET /app-5F2A91C0.js HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "plain script");
    const struct static_file *home = static_find(assets, "/");
    (void)snprintf(request, sizeof request,
                   "GET / HTTP/1.1\r\n" HOST "If-None-Match: \"x\", W/%s\r\n\r\n",
                   home ? home->etag[STATIC_IDENTITY] : "");
    expect_answer(request, "HTTP/1.1 304 ", "ETag: \"");
    static const char *const escapes[] = {
        "/../etc/passwd",   "/%2e%2e/etc/passwd", "//etc/passwd", "/..%2fetc/passwd",
        "/%2e%2e%5cpasswd", "/..\\etc\\passwd",   "/link",        "/index.html%00.js",
        "/./index.html",    "/app-5F2A91C0.js.gz"};
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", escapes[i]);
        expect_answer(request, "HTTP/1.1 40", "/problems/");
    }
    expect_answer("POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 405 ",
                  "Allow: GET, HEAD, OPTIONS\r\n");
    end(NULL);
    static_free(assets);
    (void)snprintf(path, sizeof path, "rm -r %s", folder);
    EXPECT(system(path) == 0);
}

// --- The end ------------------------------------------------------------------------------------

static void draining_finishes_what_is_asked_and_takes_no_more(void)
{
    struct peer idle, busy, fresh;
    begin(false, (struct http_server_options){0});
    ask(&idle, "GET /echo HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, peer_has(&idle, "Content-Length: 0"), 1000);
    ask(&busy, "GET /late HTTP/1.1\r\n" HOST "\r\n");
    RIG_UNTIL(&rig, late_id != 0, 1000);
    http_server_drain(server);
    RIG_UNTIL(&rig, peer_gone(&idle), 1000);
    EXPECT(!peer_gone(&busy));
    http_answer(http_exchange_find(server, late_id), 200, "text/plain", "done", 4);
    RIG_UNTIL(&rig, peer_gone(&busy), 1000);
    EXPECT(peer_has(&busy, "Connection: close\r\n") && peer_has(&busy, "done"));
    peer_open(&fresh, listener_port(listener), NULL);
    RIG_UNTIL(&rig, peer_gone(&fresh), 1000);
    peer_close(&fresh);
    peer_close(&idle);
    end(&busy);
}

int main(void)
{
    RUN(answers_requests_with_parameters_and_headers);
    RUN(pipelined_requests_are_answered_in_order);
    RUN(a_thousand_pipelined_requests_cost_no_memory);
    RUN(bodies_larger_than_the_buffers_arrive_whole_and_reading_slowly_is_fine);
    RUN(methods_are_told_apart);
    RUN(every_refusal_is_a_problem_with_a_stable_type);
    RUN(continue_is_said_before_a_body_that_waits_for_it);
    RUN(a_head_byte_by_byte_meets_an_absolute_deadline);
    RUN(a_body_byte_by_byte_meets_an_absolute_deadline);
    RUN(an_idle_connection_is_closed_quietly);
    RUN(a_peer_that_leaves_makes_the_late_answer_find_nothing);
    RUN(http_1_0_and_connection_close_are_obeyed);
    RUN(an_early_answer_to_an_upload_gets_through);
    RUN(uploads_stream_to_their_handler);
    RUN(tokens_open_routes_and_wrong_ones_cost);
    RUN(a_token_may_be_looked_up_elsewhere);
    RUN(foreign_names_and_pages_are_turned_away);
    RUN(the_first_message_may_come_with_the_upgrade);
    RUN(an_upgrade_may_wait_for_its_token);
    RUN(headers_from_a_peer_split_nothing);
    RUN(wrong_upgrades_are_refused_before_they_happen);
    RUN(files_are_served_compressed_tagged_and_caged);
    RUN(draining_finishes_what_is_asked_and_takes_no_more);
    TESTING_MAIN_END;
}
