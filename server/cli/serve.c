#include "server/cli/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/tls.h"
#include "common/tls_cert.h"
#include "server/api/api.h"
#include "server/api/authority.h"
#include "server/api/library.h"
#include "server/http/static.h"
#include "server/net/background.h"
#include "server/net/listener.h"
#include "server/net/notify.h"
#include "server/plugins/plugins.h"

enum { BACKGROUND_QUEUE_MAX = 2048, LINGER_MS = 300, OLD_CONFIGS_MAX = 32 };

struct serve {
    uv_loop_t *loop;
    struct config config;
    struct serve_events events;
    struct background *background;
    struct plugin_host *plugins;
    struct stage *stage;
    struct hub *hub;
    struct models *models;
    struct store *store;
    struct library library;
    struct authority authority;
    struct api *api;
    struct http_static *viewer;
    struct listener_hub *connections;
    struct listener *listeners[SERVE_LISTENERS];
    struct tls_config *tls[OLD_CONFIGS_MAX]; // the last one is used; sessions may still use others
    size_t tls_count;
    const char *origins[CONFIG_ORIGINS_MAX + 1], *hosts[CONFIG_ORIGINS_MAX + 1];
    uv_timer_t timer; // the end: when connections had their time
    uint64_t watchdog_ns, watchdog_told_ns, lingered_ms;
    bool loaded, stopping;
};

// --- Pieces -------------------------------------------------------------------------------------

static enum err load_tls(struct serve *s, const struct config *c, struct fault *fault)
{
    static const char *const alpn[] = {"sinew/1", "http/1.1", NULL};
    char certificate[1024], key[1024];
    enum err e = ERR_OK;
    if (s->tls_count == OLD_CONFIGS_MAX)
        return fault_set(fault, ERR_LIMIT, "the certificate was reloaded too often: restart");
    (void)snprintf(certificate, sizeof certificate, "%s", c->certificate);
    (void)snprintf(key, sizeof key, "%s", c->key);
    if (!certificate[0]) {
        struct tls_cert_names names = {0};
        tls_cert_machine_names(&names);
        for (size_t i = 0; i < c->host_count; i++)
            tls_cert_add_dns(&names, c->hosts[i]);
        e = tls_cert_ensure(c->data, &names, certificate, key, fault);
    }
    const struct tls_server_options options = {
        .certificate_path = certificate, .key_path = key, .alpn = alpn};
    if (e == ERR_OK) e = tls_config_server(&options, &s->tls[s->tls_count], fault);
    if (e == ERR_OK) s->tls_count++;
    return e;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

// The built viewer: as configured, else beside the program, in a build tree or installed.
static enum err load_viewer(struct serve *s, struct fault *fault)
{
    static const char *const places[] = {"../client/web/dist", "../share/sinew/viewer"};
    char program[CONFIG_PATH_BYTES], folder[CONFIG_PATH_BYTES + 64], index[CONFIG_PATH_BYTES + 80];
    size_t n = sizeof program;
    if (s->config.viewer[0]) return static_load(s->config.viewer, &s->viewer, fault);
    if (uv_exepath(program, &n) != 0) return ERR_OK;
    char *slash = strrchr(program, '/');
    if (!slash) return ERR_OK;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(folder, sizeof folder, "%s/%s", program, places[i]);
        (void)snprintf(index, sizeof index, "%s/index.html", folder);
        if (is_file(index)) return static_load(folder, &s->viewer, fault);
    }
    return ERR_OK;
}

static void on_tick(void *owner, uint64_t now_ns)
{
    struct serve *s = owner;
    if (s->watchdog_ns == 0 || now_ns - s->watchdog_told_ns < s->watchdog_ns) return;
    s->watchdog_told_ns = now_ns;
    (void)notify_send("WATCHDOG=1");
}

static void on_row(const struct models_row *row, void *owner)
{
    struct serve *s = owner;
    if (s->stopping) return;
    hub_set_loading(s->hub, models_in(s->models, MODELS_LOADING) > 0);
    if (s->events.on_model) s->events.on_model(row, s->events.owner);
    if (s->stopping || s->loaded || models_in(s->models, MODELS_LOADING) > 0) return;
    s->loaded = true;
    if (s->events.on_ready) s->events.on_ready(s->events.owner);
}

// --- Listening ----------------------------------------------------------------------------------

static void on_open_plain(struct conn *c, const char *alpn, void *owner)
{
    struct serve *s = owner;
    (void)alpn;
    bool local = conn_local(c)->loopback;
    http_server_accept(api_http(s->api), c, local ? HTTP_ON_LOOPBACK : HTTP_ON_PUBLIC);
}

static void on_open_tls(struct conn *c, const char *alpn, void *owner)
{
    struct serve *s = owner;
    if (alpn && strcmp(alpn, "sinew/1") == 0)
        hub_take_native(s->hub, c);
    else
        http_server_accept(api_http(s->api), c, HTTP_ON_PUBLIC);
}

static void on_open_admin(struct conn *c, const char *alpn, void *owner)
{
    struct serve *s = owner;
    (void)alpn;
    http_server_accept(api_http(s->api), c, HTTP_ON_ADMIN);
}

static enum err listen_on(struct serve *s, enum serve_listener which,
                          const struct config_endpoint *at, struct fault *fault)
{
    static void (*const on_open[])(struct conn *, const char *, void *) = {
        [SERVE_HTTP] = on_open_plain, [SERVE_TLS] = on_open_tls, [SERVE_ADMIN] = on_open_admin};
    const char *congestion = getenv("SINEW_CONGESTION"); // for measurements
    if (!at->set) return ERR_OK;
    struct listener_options o = {
        .host = at->host,
        .port = at->port,
        .loopback_only = which == SERVE_ADMIN || (which == SERVE_HTTP && !s->config.plain_anywhere),
        .conn = {.background = s->background,
                 .on_open = on_open[which],
                 .out_bytes = 96 * 1024,
                 .cubic = congestion && strcmp(congestion, "cubic") == 0,
                 .owner = s}};
    if (which == SERVE_TLS) o.conn.tls = s->tls[s->tls_count - 1];
    return listener_open(s->connections, &o, &s->listeners[which], fault);
}

static enum err listen_all(struct serve *s, struct fault *fault)
{
    enum err e = s->config.tls.set ? load_tls(s, &s->config, fault) : ERR_OK;
    if (e == ERR_OK) e = listen_on(s, SERVE_HTTP, &s->config.http, fault);
    if (e == ERR_OK) e = listen_on(s, SERVE_TLS, &s->config.tls, fault);
    if (e == ERR_OK) e = listen_on(s, SERVE_ADMIN, &s->config.admin, fault);
    return e;
}

// --- Putting together ---------------------------------------------------------------------------

static enum err make_plugins(struct serve *s, struct fault *fault)
{
    const struct config *c = &s->config;
    const struct plugin_host_options options = {.folder = *c->plugins ? c->plugins : NULL,
                                                .isolate = c->plugins_isolate,
                                                .budget_us = c->plugins_budget_us,
                                                .helper_mb = c->plugins_helper_mbytes,
                                                .clock_ns = clock_ns};
    return plugin_host_create(&options, &s->plugins, fault);
}

static enum err make_stage(struct serve *s, struct fault *fault)
{
    const struct config *c = &s->config;
    uint32_t threads = c->workers ? c->workers : uv_available_parallelism();
    if (threads > WORKERS_MAX + 1) threads = WORKERS_MAX + 1;
    const struct stage_options options = {
        .tick_hz = c->tick_hz,
        .worker_count = threads - 1, // the loop takes part
        .level = simd_best(),
        .plugins = s->plugins,
        .clock_ns = clock_ns,
        .limits = {.scenes_max = c->scenes_max,
                   .actors_max = c->actors_max,
                   .actors_per_scene_max = c->actors_per_scene_max,
                   .views_max = c->sessions_max}};
    return stage_create(&options, &s->stage, fault);
}

static void on_tokens(void *owner)
{
    struct serve *s = owner;
    if (s->hub) hub_check_tokens(s->hub);
}

static void on_draft(void *owner, uint64_t token, const struct library_model *m, struct role *role)
{
    struct serve *s = owner;
    if (s->hub) hub_show_draft(s->hub, token, m->name, role);
}

static struct role *find_draft(void *owner, uint64_t token, const char *character)
{
    struct serve *s = owner;
    return library_draft_role(&s->library, token, character);
}

static enum err open_store(struct serve *s, struct fault *fault)
{
    const struct store_options options = {
        .loop = s->loop, .folder = s->config.data, .on_tokens = on_tokens, .owner = s};
    enum err e = store_open(&options, &s->store, fault);
    if (e != ERR_OK) return e;
    s->authority.store = s->store;
    s->library.on_draft = on_draft;
    s->library.owner = s;
    return library_open(&s->library, s->store, s->stage, fault);
}

static bool make_rest(struct serve *s)
{
    const struct config *c = &s->config;
    const struct auth auth = {.find = authority_find,
                              .may = authority_may,
                              .owner = &s->authority,
                              .loopback_open = true};
    const struct listener_limits limits = {.connections_max = c->connections_max,
                                           .per_address_max = c->connections_per_address_max};
    const struct hub_options hub = {.loop = s->loop,
                                    .stage = s->stage,
                                    .tick_hz = c->tick_hz,
                                    .auth = auth,
                                    .sessions_max = c->sessions_max,
                                    .sessions_per_address_max = c->sessions_per_address_max,
                                    .batch_bytes_max = (size_t)c->session_kbytes_max * 1024,
                                    .on_tick = on_tick,
                                    .find_draft = find_draft,
                                    .owner = s};
    const struct models_options models = {.background = s->background,
                                          .stage = s->stage,
                                          .library = &s->library,
                                          .data_folder = s->config.data,
                                          .file_bytes_max = (size_t)c->model_mbytes_max << 20,
                                          .on_row = on_row,
                                          .owner = s};
    s->connections = listener_hub_create(s->loop, &limits);
    s->hub = hub_create(&hub);
    s->models = models_create(&models);
    if (!s->connections || !s->hub || !s->models) return false;
    if (c->osc.set) hub_set_osc(s->hub, c->osc.host, c->osc.port, c->osc.port_last);
    for (size_t i = 0; i < c->origin_count; i++)
        s->origins[i] = s->config.origins[i];
    for (size_t i = 0; i < c->host_count; i++)
        s->hosts[i] = s->config.hosts[i];
    const struct api_options api = {.hub = s->hub,
                                    .models = s->models,
                                    .library = &s->library,
                                    .background = s->background,
                                    .stage = s->stage,
                                    .listeners = s->connections,
                                    .auth = auth,
                                    .origins = s->origins,
                                    .hosts = s->hosts,
                                    .viewer = s->viewer,
                                    .admin = c->admin.set};
    s->api = api_create(&api);
    return s->api != NULL;
}

static enum err assemble(struct serve *s, struct fault *fault)
{
    const struct config *c = &s->config;
    enum err e = config_make_folder(c->data, fault);
    if (e == ERR_OK) e = load_viewer(s, fault);
    if (e == ERR_OK) e = make_plugins(s, fault);
    if (e == ERR_OK) e = make_stage(s, fault);
    if (e != ERR_OK) return e;
    s->background = background_create(s->loop, (int)c->handshake_threads, BACKGROUND_QUEUE_MAX);
    if (!s->background || !make_rest(s))
        return fault_set(fault, ERR_MEMORY, "not enough memory or threads to start");
    e = open_store(s, fault);
    if (e == ERR_OK) e = listen_all(s, fault);
    for (size_t i = 0; i < c->model_count && e == ERR_OK; i++)
        e = models_add(s->models, c->models[i].name, c->models[i].path, fault);
    if (e == ERR_OK) e = models_add_kept(s->models, fault);
    hub_set_loading(s->hub, models_in(s->models, MODELS_LOADING) > 0);
    return e;
}

enum err serve_open(uv_loop_t *loop, const struct config *config, const struct serve_events *events,
                    struct serve **out, struct fault *fault)
{
    struct serve *s = calloc(1, sizeof *s);
    if (!s) return fault_set(fault, ERR_MEMORY, "not enough memory to start");
    s->loop = loop;
    s->config = *config;
    s->events = *events;
    s->watchdog_ns = (uint64_t)notify_watchdog_ms() * 1000000u;
    CHECK(uv_timer_init(loop, &s->timer) == 0);
    s->timer.data = s;
    enum err e = assemble(s, fault);
    if (e != ERR_OK) {
        serve_close(s);
        return e;
    }
    hub_start(s->hub);
    *out = s;
    return ERR_OK;
}

// --- The end ------------------------------------------------------------------------------------

static void close_one(struct conn *c, void *ctx)
{
    (void)ctx;
    conn_close(c, CONN_REASON_SHUTDOWN);
}

static void on_end_timer(uv_timer_t *timer)
{
    struct serve *s = timer->data;
    static const uint64_t look_ms = 20;
    // Goodbyes that are on their way get a little time; then nobody is waited for.
    s->lingered_ms += look_ms;
    if (listener_hub_stats(s->connections)->open > 0 && s->lingered_ms < LINGER_MS) return;
    (void)uv_timer_stop(timer);
    listener_hub_each(s->connections, close_one, NULL);
    if (s->events.on_stopped) s->events.on_stopped(s->events.owner);
}

static void on_drained(void *owner)
{
    struct serve *s = owner;
    for (int i = 0; i < SERVE_LISTENERS; i++) {
        listener_close(s->listeners[i]);
        s->listeners[i] = NULL;
    }
    http_server_drain(api_http(s->api));
    hub_stop(s->hub);
    CHECK(uv_timer_start(&s->timer, on_end_timer, 0, 20) == 0);
}

void serve_stop(struct serve *s, uint32_t window_ms)
{
    if (s->stopping) return;
    s->stopping = true;
    hub_drain(s->hub, window_ms, on_drained, s);
}

// Runs the loop until what was closed is gone: close callbacks free what they belong to.
static void settle(struct serve *s)
{
    for (int i = 0; i < 1000; i++) {
        bool more = uv_run(s->loop, UV_RUN_NOWAIT) != 0;
        bool open = s->connections && listener_hub_stats(s->connections)->open > 0;
        if (!more || (!open && i > 8)) return;
    }
}

void serve_close(struct serve *s)
{
    if (!s) return;
    s->stopping = true; // on_row is quiet from here
    for (int i = 0; i < SERVE_LISTENERS; i++)
        listener_close(s->listeners[i]);
    if (s->connections) listener_hub_each(s->connections, close_one, NULL);
    if (s->hub) hub_stop(s->hub);
    if (s->api) api_stop(s->api);
    background_destroy(s->background);
    store_close(s->store);
    s->authority.store = NULL;
    uv_close((uv_handle_t *)&s->timer, NULL);
    settle(s);
    api_destroy(s->api);
    listener_hub_free(s->connections);
    hub_destroy(s->hub);
    models_destroy(s->models);
    library_close(&s->library);
    stage_destroy(s->stage);
    plugin_host_destroy(s->plugins);
    static_free(s->viewer);
    for (size_t i = 0; i < s->tls_count; i++)
        tls_config_free(s->tls[i]);
    free(s);
}

// --- Asking -------------------------------------------------------------------------------------

enum err serve_reload(struct serve *s, const struct config *config, struct fault *fault)
{
    if (s->listeners[SERVE_TLS]) {
        enum err e = load_tls(s, config, fault);
        if (e != ERR_OK) return e;
        listener_set_tls(s->listeners[SERVE_TLS], s->tls[s->tls_count - 1]);
    }
    hub_reload(s->hub, config->sessions_max, config->sessions_per_address_max);
    return ERR_OK;
}

uint16_t serve_port(const struct serve *s, enum serve_listener which)
{
    return s->listeners[which] ? listener_port(s->listeners[which]) : 0;
}

bool serve_pin(const struct serve *s, char *text, size_t text_bytes)
{
    uint8_t pin[TLS_PIN_BYTES];
    char full[TLS_CERT_PIN_TEXT_BYTES];
    if (s->tls_count == 0) return false;
    tls_config_pin(s->tls[s->tls_count - 1], pin);
    tls_cert_pin_text(pin, full);
    (void)snprintf(text, text_bytes, "%s", full);
    return true;
}

struct hub *serve_hub(struct serve *s)
{
    return s->hub;
}

struct api *serve_api(struct serve *s)
{
    return s->api;
}

struct models *serve_models(struct serve *s)
{
    return s->models;
}
