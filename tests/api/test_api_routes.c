#include <cjson/cJSON.h>
#include <stdio.h>

#include "tests/stream/world.h"
#include "tests/testing.h"

int testing_failures;

static struct world w;
static char answer[256 * 1024];

// One request over plain HTTP; the status, or 0. The answer (head and body) lies in `answer`.
static int ask_on(uint16_t port, const char *method, const char *path, const char *headers)
{
    char rest[1024];
    (void)snprintf(rest, sizeof rest, "%s\r\n", headers);
    return world_ask(&w, port, method, path, rest, answer, sizeof answer);
}

static int ask(const char *method, const char *path)
{
    return ask_on(serve_port(w.serve, SERVE_HTTP), method, path, "Host: localhost\r\n");
}

static const char *body(void)
{
    const char *at = strstr(answer, "\r\n\r\n");
    return at ? at + 4 : "";
}

static void health_follows_the_server(void)
{
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(ask("GET", "/livez") == 200);
    EXPECT(ask("GET", "/readyz") == 200 && strcmp(body(), "ok\n") == 0);
    EXPECT(ask("GET", "/healthz") == 200);
    EXPECT(ask("GET", "/readyz?verbose") == 200 && strstr(body(), "[+] ticking"));
    static struct client c;
    EXPECT(world_join(&w, &c, CLIENT_WS, NULL, 2));
    serve_stop(w.serve, 3000);
    EXPECT(ask("GET", "/readyz") == 503 && strstr(body(), "draining"));
    EXPECT(strstr(answer, "Retry-After:"));
    EXPECT(ask("GET", "/livez") == 200);
    EXPECT(ask("POST", "/v1/sessions") == 503);
    world_close(&w);
}

static void status_is_json_that_says_it_all(void)
{
    static struct client c;
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(world_join(&w, &c, CLIENT_NATIVE, NULL, 20));
    EXPECT(ask("GET", "/status") == 200);
    cJSON *status = cJSON_Parse(body());
    EXPECT(status);
    static const char *const keys[] = {"version", "uptime_s",     "sessions", "tick",   "frame_age",
                                       "frames",  "connections",  "stage",    "scenes", "models",
                                       "process", "session_list", "draining"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        EXPECT(cJSON_HasObjectItem(status, keys[i]));
    const cJSON *live = cJSON_GetObjectItem(cJSON_GetObjectItem(status, "sessions"), "live");
    EXPECT(cJSON_IsNumber(live) && live->valueint == 1);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(status, "session_list"), 0);
    EXPECT(row && strcmp(cJSON_GetObjectItem(row, "link")->valuestring, "sinew") == 0);
    EXPECT(row && strcmp(cJSON_GetObjectItem(row, "character")->valuestring, "bar") == 0);
    EXPECT(!strstr(body(), c.welcome.resume)); // no secret
    cJSON_Delete(status);
    world_close(&w);
}

static void metrics_stay_small_and_well_formed(void)
{
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(ask("GET", "/metrics") == 200);
    EXPECT(strstr(answer, "Content-Type: text/plain; version=0.0.4"));
    size_t series = 0;
    static const char *const musts[] = {"sinew_tick_seconds_bucket",
                                        "sinew_tick_late_total",
                                        "sinew_frame_age_seconds_bucket",
                                        "sinew_frames_sent_total",
                                        "sinew_send_queue_bytes",
                                        "sinew_frames_skipped_total{",
                                        "sinew_sessions{",
                                        "sinew_build_info{",
                                        "sinew_tls_handshakes_total{",
                                        "sinew_input_packets_total{",
                                        "process_open_fds",
                                        "process_cpu_seconds_total"};
    for (size_t i = 0; i < sizeof musts / sizeof musts[0]; i++)
        EXPECT(strstr(body(), musts[i]));
    for (const char *at = body(); *at; at = strchr(at, '\n') + 1)
        series += *at != '#';
    printf("  %zu series\n", series);
    EXPECT(series <= 200 && answer[strlen(answer) - 1] == '\n');
    world_close(&w);
}

static void pages_live_under_a_strict_policy(void)
{
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(ask("GET", "/ops") == 200 && strstr(body(), "<!doctype html>"));
    EXPECT(strstr(answer, "default-src 'none'") && !strstr(answer, "unsafe-inline"));
    EXPECT(!strstr(body(), "style=") && !strstr(body(), "onclick"));
    EXPECT(ask("GET", "/ops/ops.js") == 200 && strstr(answer, "text/javascript"));
    EXPECT(ask("GET", "/ops/ops.css") == 200);
    EXPECT(ask("GET", "/") == 200);
    EXPECT(ask("GET", "/nothing") == 404);
    EXPECT(ask("POST", "/status") == 405);
    world_close(&w);
}

static void a_ticket_opens_one_session(void)
{
    static struct client c, again;
    struct hello hello = {0};
    EXPECT(world_open(&w, NULL, NULL));
    EXPECT(ask("POST", "/v1/sessions") == 201);
    cJSON *json = cJSON_Parse(body());
    const cJSON *ticket = cJSON_GetObjectItem(json, "ticket");
    EXPECT(cJSON_IsString(ticket) && strlen(ticket->valuestring) == 43);
    if (cJSON_IsString(ticket))
        snprintf(hello.ticket, sizeof hello.ticket, "%s", ticket->valuestring);
    cJSON_Delete(json);
    EXPECT(world_join(&w, &c, CLIENT_WS, &hello, 2));
    EXPECT(!world_join(&w, &again, CLIENT_WS, &hello, 1));
    EXPECT(again.bye.code == STREAM_UNAUTHORISED && again.close_code == 4003);
    EXPECT(ask("GET", "/v1/characters") == 200 && strstr(body(), "\"bar\""));
    world_close(&w);
}

static void pages_of_others_are_kept_out(void)
{
    static const char upgrade[] =
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: sinew.v1\r\n";
    char headers[512];
    EXPECT(world_open(&w, NULL, NULL));
    uint16_t port = serve_port(w.serve, SERVE_HTTP);
    snprintf(headers, sizeof headers, "Host: localhost\r\nOrigin: https://evil.example\r\n%s",
             upgrade);
    EXPECT(ask_on(port, "GET", "/v1/stream", headers) == 403);
    EXPECT(ask_on(port, "GET", "/status", "Host: evil.example\r\n") != 200);
    EXPECT(ask_on(port, "POST", "/v1/sessions",
                  "Host: localhost\r\nOrigin: https://evil.example\r\n") == 403);
    EXPECT(ask("GET", "/v1/stream") == 426);
    world_close(&w);
}

static void admin_of_its_own(struct config *c)
{
    snprintf(c->admin.host, sizeof c->admin.host, "127.0.0.1");
    c->admin.set = true;
    c->admin.port = 0;
}

static void an_admin_listener_takes_the_state_along(void)
{
    EXPECT(world_open(&w, NULL, admin_of_its_own));
    uint16_t admin = serve_port(w.serve, SERVE_ADMIN);
    EXPECT(admin != 0);
    EXPECT(ask("GET", "/status") == 404 && ask("GET", "/metrics") == 404);
    EXPECT(ask("GET", "/readyz") == 200);
    EXPECT(ask_on(admin, "GET", "/status", "Host: localhost\r\n") == 200);
    EXPECT(ask_on(admin, "GET", "/ops", "Host: localhost\r\n") == 200);
    EXPECT(ask_on(admin, "GET", "/v1/characters", "Host: localhost\r\n") == 404);
    world_close(&w);
}

int main(void)
{
    RUN(health_follows_the_server);
    RUN(status_is_json_that_says_it_all);
    RUN(metrics_stay_small_and_well_formed);
    RUN(pages_live_under_a_strict_policy);
    RUN(a_ticket_opens_one_session);
    RUN(pages_of_others_are_kept_out);
    RUN(an_admin_listener_takes_the_state_along);
    TESTING_MAIN_END;
}
