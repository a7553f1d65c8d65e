// Nobody in who should not be: every row of the router's own list, asked without proof and with
// every kind of wrong one. A new route is in the list, so it is asked too.
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "server/api/api_internal.h"
#include "server/store/store.h"
#include "server/stream/auth.h"
#include "server/stream/secret.h"
#include "tests/stream/world.h"
#include "tests/testing.h"

int testing_failures;

enum token_kind {
    VIEWER,
    MODELLER,
    ADMIN,
    OPS,
    ELSEWHERE_VIEWER, // good, but of another model
    ELSEWHERE_MODELLER,
    ELSEWHERE_ADMIN,
    EXPIRED,
    REVOKED,
    TOKENS
};
static char tokens[TOKENS][SECRET_TEXT_BYTES];
static struct world w;
static char answer[64 * 1024];

static void add(const char *folder, enum token_kind kind, const char *scope, const char *models,
                int64_t expires_ms)
{
    struct store_token t = {.expires_ms = expires_ms};
    struct fault fault = {0};
    snprintf(t.name, sizeof t.name, "token-%d", (int)kind);
    snprintf(t.scope, sizeof t.scope, "%s", scope);
    snprintf(t.models, sizeof t.models, "%s", models);
    EXPECT(secret_make(tokens[kind]));
    secret_hash(tokens[kind], t.hash);
    EXPECT(store_token_add(folder, &t, &fault) == ERR_OK);
    if (fault.line[0]) printf("  %s\n", fault.line);
}

static void tune(struct config *c)
{
    struct fault fault = {0};
    size_t count = 0;
    int64_t past = (int64_t)(clock_wall_ns() / 1000000u) - 1000;
    EXPECT(config_make_folder(c->data, &fault) == ERR_OK);
    add(c->data, VIEWER, "viewer", "", 0);
    add(c->data, MODELLER, "modeller", "bar", 0);
    add(c->data, ADMIN, "admin", "", 0);
    add(c->data, OPS, "ops", "", 0);
    add(c->data, ELSEWHERE_VIEWER, "viewer", "other", 0);
    add(c->data, ELSEWHERE_MODELLER, "modeller", "other\nthird", 0);
    add(c->data, ELSEWHERE_ADMIN, "admin", "other", 0);
    add(c->data, EXPIRED, "admin", "", past);
    add(c->data, REVOKED, "admin", "", 0);
    char name[16];
    snprintf(name, sizeof name, "token-%d", REVOKED);
    EXPECT(store_token_revoke(c->data, 0, name, &count, &fault) == ERR_OK && count == 1);
}

static int ask(const char *method, const char *path, const char *token, const char *body)
{
    char rest[2048], proof[128] = "";
    if (token) snprintf(proof, sizeof proof, "Authorization: Bearer %s\r\n", token);
    int n = snprintf(rest, sizeof rest, "Host: localhost\r\n%sContent-Length: %zu\r\n\r\n%s", proof,
                     strlen(body), body);
    EXPECT(n > 0 && n < (int)sizeof rest);
    return world_ask(&w, serve_port(w.serve, SERVE_HTTP), method, path, rest, answer,
                     sizeof answer);
}

// A path that fits the pattern; what it names need not be there.
static void fill_for(const char *model, const char *pattern, char *out, size_t out_bytes)
{
    size_t at = 0;
    for (const char *p = pattern; *p && at + 8 < out_bytes;) {
        if (*p != '{') {
            out[at++] = *p++;
            continue;
        }
        const char *value = strncmp(p, "{model}", 7) == 0 ? model : "1";
        at += (size_t)snprintf(out + at, out_bytes - at, "%s", value);
        p = strchr(p, '}') + 1;
    }
    out[at] = '\0';
}

static void fill(const char *pattern, char *out, size_t out_bytes)
{
    fill_for("bar", pattern, out, out_bytes);
}

static const char *method_name(enum http_method m)
{
    static const char *const names[] = {[HTTP_METHOD_GET] = "GET",
                                        [HTTP_METHOD_POST] = "POST",
                                        [HTTP_METHOD_PUT] = "PUT",
                                        [HTTP_METHOD_PATCH] = "PATCH",
                                        [HTTP_METHOD_DELETE] = "DELETE"};
    return names[m];
}

static enum token_kind too_little(uint32_t scope)
{
    return scope == AUTH_VIEW    ? OPS
           : scope == AUTH_MODEL ? VIEWER
           : scope == AUTH_ADMIN ? MODELLER
                                 : ADMIN;
}

static enum token_kind elsewhere(uint32_t scope)
{
    return scope == AUTH_VIEW    ? ELSEWHERE_VIEWER
           : scope == AUTH_MODEL ? ELSEWHERE_MODELLER
                                 : ELSEWHERE_ADMIN;
}

static enum token_kind enough(uint32_t scope)
{
    return scope == AUTH_VIEW    ? VIEWER
           : scope == AUTH_MODEL ? MODELLER
           : scope == AUTH_ADMIN ? ADMIN
                                 : OPS;
}

static void expect(int got, int want, const char *method, const char *path, const char *what)
{
    if (got != want) printf("  %s %s with %s: %d, not %d\n", method, path, what, got, want);
    EXPECT(got == want);
}

static void every_route_refuses_every_wrong_proof(void)
{
    size_t count = 0, closed = 0, of_model = 0;
    EXPECT(world_open(&w, NULL, tune));
    const struct http_route *routes = api_routes(serve_api(w.serve), &count);
    EXPECT(count >= 40);
    for (size_t i = 0; i < count; i++) {
        const struct http_route *r = &routes[i];
        char path[192], query[256];
        const char *method = method_name(r->method);
        fill(r->pattern, path, sizeof path);
        snprintf(query, sizeof query, "%s?token=%s", path, tokens[ADMIN]);
        expect(ask(method, query, NULL, ""), 400, method, query, "a token in the URL");
        EXPECT(strstr(answer, "/problems/token-in-query"));
        if (r->scope == 0 || r->open_on & HTTP_ON_LOOPBACK) {
            // What is open is what the contract says, and nothing of the modellers'.
            bool known =
                strncmp(r->pattern, "/v1/", 4) != 0 || strcmp(r->pattern, "/v1/characters") == 0 ||
                strcmp(r->pattern, "/v1/sessions") == 0 || strcmp(r->pattern, "/v1/stream") == 0;
            if (!known) printf("  open: %s %s\n", method, r->pattern);
            EXPECT(known);
            continue;
        }
        closed++;
        expect(ask(method, path, NULL, ""), 401, method, path, "nothing");
        expect(ask(method, path, tokens[too_little(r->scope)], ""), 403, method, path,
               "too small a scope");
        if (strstr(r->pattern, "{model}")) {
            of_model++;
            expect(ask(method, path, tokens[elsewhere(r->scope)], ""), 403, method, path,
                   "another model's");
        }
        int status = ask(method, path, tokens[enough(r->scope)], "");
        if (status == 401 || status == 403 || status >= 500)
            printf("  %s %s with a good token: %d\n%s\n", method, path, status, answer);
        EXPECT(status != 401 && status != 403 && status < 500);
    }
    printf("  %zu routes, %zu of them closed, %zu of a model\n", count, closed, of_model);
    EXPECT(closed >= 30 && of_model >= 25);
    world_close(&w);
    // Tokens that are not good count against the address: a fresh server for each few of them.
    for (size_t i = 0; i < count; i++) {
        EXPECT(world_open(&w, NULL, tune));
        routes = api_routes(serve_api(w.serve), &count);
        for (size_t end = i + 3; i < end && i < count; i++) {
            const struct http_route *r = &routes[i];
            char path[256];
            const char *method = method_name(r->method);
            if (r->scope == 0 || r->open_on & HTTP_ON_LOOPBACK) continue;
            fill(r->pattern, path, sizeof path);
            expect(ask(method, path, tokens[EXPIRED], ""), 401, method, path, "one that ran out");
            expect(ask(method, path, tokens[REVOKED], ""), 401, method, path, "a revoked one");
            expect(ask(method, path, "notatoken", ""), 401, method, path, "garbage");
        }
        i--;
        world_close(&w);
    }
}

static void guessing_is_slowed_down(void)
{
    EXPECT(world_open(&w, NULL, tune));
    char guess[64];
    int last = 0, tries = 0;
    for (; tries < 20 && last != 429; tries++) {
        snprintf(guess, sizeof guess, "guess%038d", tries);
        last = ask("GET", "/v1/models", guess, "");
    }
    printf("  429 after %d guesses\n", tries);
    EXPECT(last == 429 && tries >= 10 && tries <= 12);
    EXPECT(strstr(answer, "Retry-After"));
    world_close(&w);
}

static void bodies_and_paths_are_measured_before_anything_is_done(void)
{
    static const struct {
        const char *method, *path, *body;
        int status;
    } rows[] = {
        {"GET", "/v1/models/%2e%2e/examples", "", 400},
        {"GET", "/v1/models/bar/../../etc", "", 400},
        {"GET", "/v1/models/bar%2Fx", "", 400},
        {"GET", "/v1/models/bar%00", "", 400},
        {"GET", "/v1/models/%ff", "", 400},
        {"GET", "/v1/models/none", "", 403}, // what a token is not granted, it cannot look for
        {"GET", "/v1/models/bar/versions/0", "", 404},
        {"GET", "/v1/models/bar/versions/-1", "", 404},
        {"GET", "/v1/models/bar/versions/99999999999999999999", "", 404},
        {"GET", "/v1/models/bar/base/surface?format=exe", "", 400},
        {"POST", "/v1/models/bar/base/edit", "{", 400},
        {"POST", "/v1/models/bar/base/edit", "[1]", 400},
        {"POST", "/v1/models/bar/base/edit", "{\"force\": true}", 403},
        {"PUT", "/v1/models/bar/base/surface", "x", 428},
        {"POST", "/v1/models/bar/base/publish", "{}", 428},
        {"POST", "/v1/models/bar/versions/1/restore", "{}", 428},
        {"POST", "/v1/models/bar/examples", "{\"driver\": \"d\", \"name\": \"n\"}", 422},
        {"PATCH", "/v1/uploads/1", "x", 404},
        {"POST", "/v1/uploads", "", 400},
        {"TRACE", "/v1/models", "", 405},
    };
    EXPECT(world_open(&w, NULL, tune));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(ask(rows[i].method, rows[i].path, tokens[MODELLER], rows[i].body), rows[i].status,
               rows[i].method, rows[i].path, rows[i].body);
    world_close(&w);
}

// --- While a model loads ------------------------------------------------------------------------

enum { PLUGS_MAX = 16 };
static uv_sem_t plug;

static void wait_for_plug(struct background_job *job)
{
    (void)job;
    uv_sem_wait(&plug);
}

static void plug_is_out(struct background_job *job)
{
    (void)job;
}

// Every slow thread of the pool waits for the plug: what is to be loaded stays so.
static size_t plug_pool(struct background_job jobs[PLUGS_MAX])
{
    struct background *pool = serve_api(w.serve)->options.background;
    size_t count = 0;
    EXPECT(uv_sem_init(&plug, 0) == 0);
    for (; count < PLUGS_MAX && background_waiting(pool, BACKGROUND_SLOW) == 0; count++) {
        jobs[count] = (struct background_job){.run = wait_for_plug, .done = plug_is_out};
        EXPECT(background_submit(pool, BACKGROUND_SLOW, &jobs[count]));
        for (int i = 0; i < 50 && background_waiting(pool, BACKGROUND_SLOW); i++)
            uv_sleep(2);
    }
    return count;
}

static void what_is_being_loaded_is_waited_for(void)
{
    struct background_job jobs[PLUGS_MAX];
    struct fault fault = {0};
    size_t count = 0, asked = 0;
    EXPECT(world_open(&w, NULL, tune));
    size_t plugs = plug_pool(jobs);
    struct models *models = serve_api(w.serve)->options.models;
    EXPECT(models_add(models, "slow", w.model, &fault) == ERR_OK);
    const struct http_route *routes = api_routes(serve_api(w.serve), &count);
    for (size_t i = 0; i < count; i++) {
        const struct http_route *r = &routes[i];
        char path[192];
        if (!strstr(r->pattern, "{model}")) continue;
        fill_for("slow", r->pattern, path, sizeof path);
        expect(ask(method_name(r->method), path, tokens[ADMIN], ""), 503, method_name(r->method),
               path, "a model that is being loaded");
        EXPECT(strstr(answer, "Retry-After: ") && strstr(answer, "/problems/loading"));
        asked++;
    }
    EXPECT(asked >= 25);
    char rest[512];
    snprintf(rest, sizeof rest,
             "Host: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: model/gltf-binary\r\n"
             "Content-Length: 4\r\n\r\nglTF",
             tokens[ADMIN]);
    expect(world_ask(&w, serve_port(w.serve, SERVE_HTTP), "POST", "/v1/models?name=slow", rest,
                     answer, sizeof answer),
           503, "POST", "/v1/models?name=slow", "a model that is being loaded");
    EXPECT(ask("GET", "/v1/models", tokens[ADMIN], "") == 200);
    EXPECT(strstr(answer, "\"loading\":[\"slow\"]"));
    EXPECT(ask("GET", "/v1/models", tokens[MODELLER], "") == 200); // not its model
    EXPECT(strstr(answer, "\"loading\":[]"));
    EXPECT(ask("GET", "/v1/models/bar", tokens[ADMIN], "") == 200); // others go on
    for (size_t i = 0; i < plugs; i++)
        uv_sem_post(&plug);
    int status = 503;
    for (int i = 0; i < 1000 && status == 503; i++)
        status = ask("GET", "/v1/models/slow/base", tokens[ADMIN], "");
    EXPECT(status == 200);
    world_close(&w);
    uv_sem_destroy(&plug);
}

int main(void)
{
    RUN(every_route_refuses_every_wrong_proof);
    RUN(guessing_is_slowed_down);
    RUN(bodies_and_paths_are_measured_before_anything_is_done);
    RUN(what_is_being_loaded_is_waited_for);
    TESTING_MAIN_END;
}
