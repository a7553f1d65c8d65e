#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/check.h"
#include "common/log.h"
#include "common/tls_cert.h"
#include "server/api/models.h"
#include "server/cli/command.h"
#include "server/cli/config.h"
#include "server/cli/serve.h"
#include "server/net/notify.h"
#include "server/net/signals.h"

static const char help[] =
    "usage: sinewd serve [--config FILE] [--data DIR] [--model [NAME=]FILE]... [--http HOST:PORT]\n"
    "                    [--tls HOST:PORT] [--admin HOST:PORT] [--plain-anywhere] [...]\n"
    "\n"
    "Serves characters to thin clients and browsers. FILE is a .sinew, or a .glb, .gltf, .vrm or\n"
    "rig file, which is baked once and kept in the data folder. Prints the addresses when it is\n"
    "ready; logs JSON lines to stderr.\n"
    "\n"
    "  SIGTERM   stops in order: /readyz answers 503, sessions are closed over --drain seconds;\n"
    "            exit status 0. A second one stops at once: 130\n"
    "  SIGHUP    reads the certificate and the limits again\n"
    "\n"
    "'sinewd check-config --schema' lists every flag and key of the configuration file.\n"
    "\n"
    "examples:\n"
    "  sinewd serve --model Fox.glb\n"
    "  sinewd serve --config /etc/sinew/sinew.json\n"
    "  sinewd serve --model hero=knight.vrm --http 127.0.0.1:0 --tls 0.0.0.0:7443\n";

struct run {
    struct config config;
    int argc;
    char *const *argv;
    uv_loop_t loop;
    struct signals signals;
    struct serve *serve;
    struct fault fault; // a character that cannot be loaded ends a start
    bool ready;
};

// --- What is printed ----------------------------------------------------------------------------

// The first address that other machines may reach; "" without one.
static void lan_address(char *out, size_t out_bytes)
{
    uv_interface_address_t *list;
    int count;
    *out = '\0';
    if (uv_interface_addresses(&list, &count) != 0) return;
    for (int i = 0; i < count && !*out; i++)
        if (!list[i].is_internal && list[i].address.address4.sin_family == AF_INET)
            (void)uv_ip4_name(&list[i].address.address4, out, out_bytes);
    uv_free_interface_addresses(list, count);
}

static bool is_every_address(const char *host)
{
    return !*host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void print_url(const char *scheme, const char *host, uint16_t port)
{
    bool v6 = strchr(host, ':') != NULL;
    (void)printf("  %s://%s%s%s:%u/\n", scheme, v6 ? "[" : "", host, v6 ? "]" : "", port);
}

static void print_addresses(const struct run *r)
{
    char host[256], pin[TLS_CERT_PIN_TEXT_BYTES];
    uint16_t http = serve_port(r->serve, SERVE_HTTP), tls = serve_port(r->serve, SERVE_TLS);
    uint16_t admin = serve_port(r->serve, SERVE_ADMIN);
    if (http) {
        (void)snprintf(host, sizeof host, "%s", r->config.http.host);
        print_url("http", is_every_address(host) ? "127.0.0.1" : host, http);
    }
    if (tls) {
        (void)snprintf(host, sizeof host, "%s", r->config.tls.host);
        if (is_every_address(host)) lan_address(host, sizeof host);
        print_url("https", *host ? host : "127.0.0.1", tls);
        if (serve_pin(r->serve, pin, sizeof pin)) (void)printf("  certificate SHA-256 %s\n", pin);
    }
    if (admin) print_url("http", r->config.admin.host, admin);
    char program[1024] = "sinewd";
    size_t n = sizeof program;
    if (uv_exepath(program, &n) != 0) (void)snprintf(program, sizeof program, "sinewd");
    (void)printf("  a modeller's token: %s token add --data %s --name NAME --scope modeller\n",
                 program, r->config.data);
}

static void on_ready(void *owner)
{
    struct run *r = owner;
    const struct models *models = serve_models(r->serve);
    if (r->fault.code) return;
    r->ready = true;
    (void)printf("sinewd %s serves", SINEW_VERSION);
    for (size_t i = 0; i < models_count(models); i++)
        (void)printf("%s %s", i ? "," : "", models_at(models, i)->name);
    (void)printf("%s\n", models_count(models) ? "" : " no characters yet: give --model FILE");
    print_addresses(r);
    (void)fflush(stdout);
    (void)notify_send("READY=1\nSTATUS=serving");
}

static void on_model(const struct models_row *row, void *owner)
{
    struct run *r = owner;
    if (row->state == MODELS_FAILED) {
        // A running server goes on with what it has; a start with a wrong file ends here.
        if (!r->ready) (void)fault_set(&r->fault, ERR_IO, "%s", row->line);
        log_event(LOG_LEVEL_ERROR, "model.failed", LOG_T("name", row->name),
                  LOG_T("why", row->line));
        if (!r->ready) serve_stop(r->serve, 0);
        return;
    }
    log_event(LOG_LEVEL_INFO, "model.ready", LOG_T("name", row->name),
              LOG_B("from_cache", row->from_cache), LOG_F("seconds", row->load_s));
    if (row->line[0]) {
        (void)printf("%s: %s\n", row->name, row->line);
        (void)fflush(stdout);
    }
}

// --- Signals ------------------------------------------------------------------------------------

static void on_stop(void *owner)
{
    struct run *r = owner;
    (void)notify_send("STOPPING=1\nSTATUS=draining");
    log_event(LOG_LEVEL_INFO, "serve.stop", LOG_I("drain_s", r->config.drain_s));
    serve_stop(r->serve, r->config.drain_s * 1000);
}

static void on_reload(void *owner)
{
    struct run *r = owner;
    struct config fresh;
    struct fault fault = {0};
    (void)notify_send("RELOADING=1");
    config_init(&fresh);
    enum err e = config_read_flags(&fresh, r->argc, r->argv, &fault);
    if (e == ERR_OK) e = serve_reload(r->serve, &fresh, &fault);
    if (e == ERR_OK)
        log_event(LOG_LEVEL_INFO, "serve.reload", LOG_B("done", true));
    else // what stands goes on
        log_event(LOG_LEVEL_ERROR, "serve.reload", LOG_B("done", false), LOG_T("why", fault.line));
    (void)notify_send("READY=1");
}

static void on_stopped(void *owner)
{
    struct run *r = owner;
    signals_stop(&r->signals);
    uv_stop(&r->loop);
}

// --- The command --------------------------------------------------------------------------------

static enum err open_log(const struct config *c, struct fault *fault)
{
    struct log_options options = {.path = c->log_file[0] ? c->log_file : NULL};
    enum err e = log_level_from_name(c->log_level, &options.level_min);
    if (e != ERR_OK) return fault_set(fault, ERR_USAGE, "log.level: debug, info, warn or error");
    return log_open(&options, fault);
}

static enum err serve_until_stopped(struct run *r)
{
    const struct serve_events events = {
        .on_ready = on_ready, .on_model = on_model, .on_stopped = on_stopped, .owner = r};
    enum err e = serve_open(&r->loop, &r->config, &events, &r->serve, &r->fault);
    if (e != ERR_OK) return e;
    signals_start(&r->signals, &r->loop, on_stop, on_reload, r);
    if (models_count(serve_models(r->serve)) == 0) on_ready(r); // none given, none kept
    (void)uv_run(&r->loop, UV_RUN_DEFAULT);
    serve_close(r->serve);
    return r->fault.code;
}

static int run(int argc, char **argv)
{
    struct run *r = calloc(1, sizeof *r);
    if (!r) return 1;
    r->argc = argc - 1;
    r->argv = argv + 1;
    config_init(&r->config);
    enum err e = config_read_flags(&r->config, r->argc, r->argv, &r->fault);
    if (e == ERR_OK) e = open_log(&r->config, &r->fault);
    if (e == ERR_OK) {
        CHECK(uv_loop_init(&r->loop) == 0);
        e = serve_until_stopped(r);
        while (uv_loop_close(&r->loop) == UV_EBUSY)
            (void)uv_run(&r->loop, UV_RUN_NOWAIT);
        log_close();
    }
    int status = e == ERR_OK ? 0 : command_fail("serve", &r->fault);
    free(r);
    return status;
}

const struct command command_serve = {"serve", "characters to thin clients and browsers", help,
                                      run};
