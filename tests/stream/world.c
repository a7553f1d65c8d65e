#include "tests/stream/world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "tests/support/sample.h"
#include "tests/testing.h"

bool world_in_loop;

static void on_ready(void *owner)
{
    ((struct world *)owner)->ready = true;
}

static void on_stopped(void *owner)
{
    ((struct world *)owner)->stopped = true;
}

static bool is_ready(void *ctx)
{
    return ((struct world *)ctx)->ready;
}

static bool is_stopped(void *ctx)
{
    return ((struct world *)ctx)->stopped;
}

bool world_until(struct world *w, bool (*done)(void *ctx), void *ctx, int timeout_ms)
{
    uint64_t end_ns = clock_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        world_in_loop = true;
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
        world_in_loop = false;
        for (size_t i = 0; i < w->client_count; i++)
            client_pump(w->clients[i]);
        if (done && done(ctx)) return true;
        if (clock_ns() > end_ns) return false;
        (void)usleep(300);
    }
}

void world_run(struct world *w, int ms)
{
    (void)world_until(w, NULL, NULL, ms);
}

int world_ask(struct world *w, uint16_t port, const char *method, const char *path,
              const char *head_rest, char *answer, size_t answer_bytes)
{
    char request[4096];
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;
    size_t used = 0;
    bool over = false;
    EXPECT(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    EXPECT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    int n = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nConnection: close\r\n%s", method,
                     path, head_rest);
    EXPECT(n > 0 && n < (int)sizeof request && send(fd, request, (size_t)n, MSG_NOSIGNAL) == n);
    for (int i = 0; i < 5000 && !over; i++) {
        world_run(w, 1);
        ssize_t got = recv(fd, answer + used, answer_bytes - 1 - used, 0);
        if (got > 0) used += (size_t)got;
        over = got == 0;
    }
    answer[used] = '\0';
    close(fd);
    EXPECT(over);
    return sscanf(answer, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

static void write_sample(struct world *w)
{
    size_t size;
    char *text = sample_gltf(&size);
    (void)snprintf(w->model, sizeof w->model, "%s/bar.gltf", w->folder);
    FILE *f = fopen(w->model, "wb");
    CHECK(text && f && fwrite(text, 1, size, f) == size);
    CHECK(fclose(f) == 0);
    free(text);
}

bool world_open(struct world *w, const char *model_path, void (*tune)(struct config *c))
{
    struct fault fault = {0};
    *w = (struct world){.folder = "/tmp/sinew-test-XXXXXX"};
    CHECK(mkdtemp(w->folder));
    CHECK(uv_loop_init(&w->loop) == 0);
    (void)signal(SIGPIPE, SIG_IGN); // as the program does
    if (!model_path) write_sample(w);
    config_init(&w->config);
    w->config.http.port = w->config.tls.port = 0;
    (void)snprintf(w->config.tls.host, sizeof w->config.tls.host, "127.0.0.1");
    (void)snprintf(w->config.data, sizeof w->config.data, "%s/data", w->folder);
    CHECK(config_parse_model(model_path ? model_path : w->model, &w->config.models[0], &fault) ==
          ERR_OK);
    w->config.model_count = 1;
    if (tune) tune(&w->config);
    const struct log_options log = {.path = "/dev/null"};
    CHECK(log_open(&log, &fault) == ERR_OK);
    const struct serve_events events = {.on_ready = on_ready, .on_stopped = on_stopped, .owner = w};
    if (serve_open(&w->loop, &w->config, &events, &w->serve, &fault) != ERR_OK) {
        printf("  %s\n", fault.line);
        return false;
    }
    return world_until(w, is_ready, w, 60000);
}

void world_close(struct world *w)
{
    char command[128];
    while (w->client_count > 0)
        world_remove(w, w->clients[0]);
    if (w->serve && !w->stopped) {
        serve_stop(w->serve, 0);
        (void)world_until(w, is_stopped, w, 5000);
    }
    serve_close(w->serve);
    while (uv_loop_close(&w->loop) == UV_EBUSY)
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    log_close();
    (void)snprintf(command, sizeof command, "rm -rf %s", w->folder);
    (void)!system(command);
}

void world_add(struct world *w, struct client *c)
{
    CHECK(w->client_count < WORLD_CLIENTS_MAX);
    w->clients[w->client_count++] = c;
}

void world_remove(struct world *w, struct client *c)
{
    for (size_t i = 0; i < w->client_count; i++)
        if (w->clients[i] == c) w->clients[i] = w->clients[--w->client_count];
    client_close(c);
}

uint16_t world_port(const struct world *w, enum client_kind kind)
{
    return serve_port(w->serve, kind == CLIENT_WS ? SERVE_HTTP : SERVE_TLS);
}

struct waiting {
    struct client *client;
    uint32_t frames;
};

static bool has_frames(void *ctx)
{
    const struct waiting *wait = ctx;
    const struct client_actor *own = client_own(wait->client);
    return wait->client->eof || (own && own->frame_count >= wait->frames);
}

static bool is_open(void *ctx)
{
    const struct client *c = ctx;
    return c->eof || (c->open && (c->kind == CLIENT_NATIVE || c->upgraded));
}

static bool is_over(void *ctx)
{
    return ((struct client *)ctx)->eof;
}

bool world_wait_frames(struct world *w, struct client *c, uint32_t frames, int timeout_ms)
{
    struct waiting wait = {c, frames};
    return world_until(w, has_frames, &wait, timeout_ms) && !c->eof;
}

bool world_wait_end(struct world *w, struct client *c, int timeout_ms)
{
    return world_until(w, is_over, c, timeout_ms);
}

bool world_join(struct world *w, struct client *c, enum client_kind kind, const struct hello *hello,
                uint32_t frames)
{
    static const struct hello plain = {0};
    if (!client_open(c, kind, world_port(w, kind))) return false;
    world_add(w, c);
    if (!world_until(w, is_open, c, 10000) || c->eof) return false;
    client_hello(c, hello ? hello : &plain);
    return world_wait_frames(w, c, frames, 10000);
}

struct hub_snapshot world_snapshot(struct world *w)
{
    struct hub_snapshot snapshot;
    hub_snapshot(serve_hub(w->serve), &snapshot);
    return snapshot;
}

const struct hub_counts *world_counts(struct world *w)
{
    return world_snapshot(w).counts;
}

size_t world_resident_bytes(void)
{
    unsigned long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &pages, &resident) != 2) resident = 0;
    (void)fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}
