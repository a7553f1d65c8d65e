#include "server/api/api.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "server/api/api_internal.h"
#include "server/api/pages.h"
#include "server/http/exchange.h"

enum { TICK_SILENT_S = 5 };

// --- Health -------------------------------------------------------------------------------------

static bool loop_ticks(const struct api *a)
{
    struct hub_snapshot hub;
    hub_snapshot(a->options.hub, &hub);
    return clock_ns() - hub.last_tick_ns < (uint64_t)TICK_SILENT_S * 1000000000u;
}

const char *api_not_ready(const struct api *a)
{
    if (hub_is_draining(a->options.hub)) return "draining: the server is stopping";
    if (models_in(a->options.models, MODELS_LOADING) > 0) return "loading characters";
    if (models_in(a->options.models, MODELS_READY) == 0)
        return "no characters: start it with --model FILE";
    return loop_ticks(a) ? "" : "the ticker stands still";
}

// The loop answers, so it lives: nothing else is asked here, or a slow disk would have the server
// killed.
static void on_livez(struct http_exchange *x, void *owner)
{
    (void)owner;
    http_answer_header(x, "Cache-Control", "no-store");
    http_answer(x, 200, "text/plain; charset=utf-8", "ok\n", 3);
}

static void on_readyz(struct http_exchange *x, void *owner)
{
    const struct api *a = owner;
    char text[1024], value[8];
    const char *why = api_not_ready(a);
    int n;
    bool verbose = strcmp(http_exchange_query(x), "verbose") == 0 ||
                   http_exchange_query_value(x, "verbose", value, sizeof value);
    if (verbose)
        n = snprintf(text, sizeof text,
                     "[%c] not draining\n[%c] characters loaded: %zu, loading: %zu, failed: %zu\n"
                     "[%c] ticking\n%s\n",
                     hub_is_draining(a->options.hub) ? '-' : '+',
                     models_in(a->options.models, MODELS_READY) > 0 ? '+' : '-',
                     models_in(a->options.models, MODELS_READY),
                     models_in(a->options.models, MODELS_LOADING),
                     models_in(a->options.models, MODELS_FAILED), loop_ticks(a) ? '+' : '-',
                     *why ? why : "ready");
    else
        n = snprintf(text, sizeof text, "%s\n", *why ? why : "ok");
    http_answer_header(x, "Cache-Control", "no-store");
    if (*why) http_answer_header(x, "Retry-After", "2");
    http_answer(x, *why ? 503 : 200, "text/plain; charset=utf-8", text, (size_t)n);
}

// --- Pages of the program itself ----------------------------------------------------------------

static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void answer_page(struct http_exchange *x, const char *name, const char *content_type)
{
    const struct page *p = pages;
    while (p->name && strcmp(p->name, name) != 0)
        p++;
    CHECK(p->name);
    http_answer_header(x, "Content-Security-Policy", page_policy);
    http_answer_header(x, "Cache-Control", "no-cache");
    http_answer(x, 200, content_type, p->bytes, p->size_bytes);
}

static void on_ops(struct http_exchange *x, void *owner)
{
    (void)owner;
    answer_page(x, "ops.html", "text/html; charset=utf-8");
}

static void on_ops_script(struct http_exchange *x, void *owner)
{
    (void)owner;
    answer_page(x, "ops.js", "text/javascript; charset=utf-8");
}

static void on_ops_style(struct http_exchange *x, void *owner)
{
    (void)owner;
    answer_page(x, "ops.css", "text/css; charset=utf-8");
}

static void on_no_viewer(struct http_exchange *x, void *owner)
{
    (void)owner;
    answer_page(x, "no_viewer.html", "text/html; charset=utf-8");
}

// --- Clients ------------------------------------------------------------------------------------

static void on_characters(struct http_exchange *x, void *owner)
{
    const struct api *a = owner;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "characters");
    for (size_t i = 0; i < models_count(a->options.models); i++) {
        const struct models_row *row = models_at(a->options.models, i);
        if (!row->role) continue;
        const struct model *m = row->role->model;
        cJSON *c = cJSON_CreateObject();
        cJSON_AddStringToObject(c, "name", row->name);
        cJSON_AddNumberToObject(c, "version", row->role->version);
        cJSON_AddNumberToObject(c, "vertices", row->role->details[0].vertex_count);
        cJSON_AddNumberToObject(c, "unit_m", (double)m->info->unit_m);
        cJSON_AddBoolToObject(c, "still", row->role->still);
        cJSON *clips = cJSON_AddArrayToObject(c, "clips");
        for (size_t k = 0; k < m->clips_count && k < 256; k++)
            cJSON_AddItemToArray(clips, cJSON_CreateString(model_text(m, m->clips[k].name)));
        cJSON_AddItemToArray(list, c);
    }
    http_answer_header(x, "Cache-Control", "no-store");
    http_answer_json(x, 200, root);
    cJSON_Delete(root);
}

static void on_sessions(struct http_exchange *x, void *owner)
{
    const struct api *a = owner;
    struct auth_identity identity = {.scopes = AUTH_VIEW, .name = "ticket"};
    char ticket[SECRET_TEXT_BYTES];
    if (hub_is_draining(a->options.hub)) {
        http_answer_header(x, "Retry-After", "2");
        http_answer_problem(x, 503, "draining", "The server is stopping", "Try again shortly.");
        return;
    }
    if (hub_is_full(a->options.hub) || !hub_issue_ticket(a->options.hub, &identity, ticket)) {
        http_answer_header(x, "Retry-After", "5");
        http_answer_problem(x, 503, "full", "The server is full", "Try again in some seconds.");
        return;
    }
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "ticket", ticket);
    cJSON_AddNumberToObject(root, "expires_s", TICKETS_LIFE_MS / 1000.0);
    cJSON_AddStringToObject(root, "stream", "/v1/stream");
    http_answer_header(x, "Cache-Control", "no-store");
    http_answer_json(x, 201, root);
    cJSON_Delete(root);
}

static void on_stream(struct http_exchange *x, void *owner)
{
    const struct api *a = owner;
    hub_take_websocket(a->options.hub, x);
}

// --- The table ----------------------------------------------------------------------------------

enum { PLAIN_OR_PUBLIC = HTTP_ON_PUBLIC | HTTP_ON_LOOPBACK, MOVES_TO_ADMIN = 1 << 30 };

static const struct http_route routes[] = {
    {.method = HTTP_METHOD_GET,
     .pattern = "/livez",
     .listeners = HTTP_ON_ANY,
     .on_request = on_livez},
    {.method = HTTP_METHOD_GET,
     .pattern = "/readyz",
     .listeners = HTTP_ON_ANY,
     .on_request = on_readyz},
    {.method = HTTP_METHOD_GET,
     .pattern = "/healthz",
     .listeners = HTTP_ON_ANY,
     .on_request = on_readyz},
    {.method = HTTP_METHOD_GET,
     .pattern = "/status",
     .listeners = MOVES_TO_ADMIN,
     .scope = AUTH_OPS,
     .open_on = HTTP_ON_LOOPBACK | HTTP_ON_ADMIN,
     .on_request = api_status},
    {.method = HTTP_METHOD_GET,
     .pattern = "/metrics",
     .listeners = MOVES_TO_ADMIN,
     .scope = AUTH_OPS,
     .open_on = HTTP_ON_LOOPBACK | HTTP_ON_ADMIN,
     .on_request = api_metrics},
    {.method = HTTP_METHOD_GET,
     .pattern = "/ops",
     .listeners = MOVES_TO_ADMIN,
     .scope = AUTH_OPS,
     .open_on = HTTP_ON_LOOPBACK | HTTP_ON_ADMIN,
     .on_request = on_ops},
    {.method = HTTP_METHOD_GET,
     .pattern = "/ops/ops.js",
     .listeners = HTTP_ON_ANY,
     .on_request = on_ops_script},
    {.method = HTTP_METHOD_GET,
     .pattern = "/ops/ops.css",
     .listeners = HTTP_ON_ANY,
     .on_request = on_ops_style},
    {.method = HTTP_METHOD_GET,
     .pattern = "/v1/characters",
     .listeners = PLAIN_OR_PUBLIC,
     .scope = AUTH_VIEW,
     .open_on = HTTP_ON_LOOPBACK | HTTP_ON_LOOPBACK_PEER,
     .on_request = on_characters},
    {.method = HTTP_METHOD_POST,
     .pattern = "/v1/sessions",
     .listeners = PLAIN_OR_PUBLIC,
     .scope = AUTH_VIEW,
     .open_on = HTTP_ON_LOOPBACK | HTTP_ON_LOOPBACK_PEER,
     .body_max = 4096,
     .on_request = on_sessions},
    // HELLO proves who it is: a browser cannot send a header with an upgrade.
    {.method = HTTP_METHOD_GET,
     .pattern = "/v1/stream",
     .listeners = PLAIN_OR_PUBLIC,
     .websocket = true,
     .on_request = on_stream},
    {.method = HTTP_METHOD_GET,
     .pattern = "/",
     .listeners = PLAIN_OR_PUBLIC,
     .on_request = on_no_viewer},
};
enum { ROUTE_COUNT = sizeof routes / sizeof routes[0] };

static void make_routes(struct api *a)
{
    CHECK(ROUTE_COUNT + api_v1_route_count <= API_ROUTES_MAX);
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        struct http_route r = routes[i];
        if (r.listeners == MOVES_TO_ADMIN)
            r.listeners = a->options.admin ? HTTP_ON_ADMIN : PLAIN_OR_PUBLIC;
        if (r.on_request == on_no_viewer && a->options.viewer) continue;
        a->routes[a->route_count++] = r;
    }
    for (size_t i = 0; a->options.library && i < api_v1_route_count; i++)
        a->routes[a->route_count++] = api_v1_routes[i];
}

const struct http_route *api_routes(const struct api *a, size_t *count)
{
    *count = a->route_count;
    return a->routes;
}

static enum http_auth authorise(struct http_exchange *x, const struct http_route *route,
                                void *owner)
{
    const struct api *a = owner;
    struct auth_identity who;
    const char *token = http_exchange_bearer(x);
    if (!token || !auth_find(&a->options.auth, token, &who)) return HTTP_AUTH_MISSING;
    if (!(who.scopes & route->scope)) return HTTP_AUTH_FORBIDDEN;
    const char *model = http_exchange_param(x, "model");
    if (model && !auth_may(&a->options.auth, &who, model)) return HTTP_AUTH_FORBIDDEN;
    struct auth_identity *kept = malloc(sizeof *kept);
    if (!kept) return HTTP_AUTH_FORBIDDEN;
    *kept = who;
    http_exchange_set_data(x, kept, free);
    return HTTP_AUTH_OK;
}

struct api *api_create(const struct api_options *options)
{
    struct api *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->options = *options;
    a->started_ns = clock_ns();
    a->started_wall_ns = clock_wall_ns();
    make_routes(a);
    const struct http_server_options http = {.routes = a->routes,
                                             .route_count = a->route_count,
                                             .authorise = authorise,
                                             .owner = a,
                                             .assets = options->viewer,
                                             .allowed_origins = options->origins,
                                             .allowed_hosts = options->hosts};
    a->http = http_server_create(&http);
    if (a->http) return a;
    free(a);
    return NULL;
}

void api_destroy(struct api *a)
{
    if (!a) return;
    http_server_free(a->http);
    free(a);
}

void api_stop(struct api *a)
{
    a->stopping = true;
}

struct http_server *api_http(struct api *a)
{
    return a->http;
}
