#pragma once
#include <uv.h>

#include "server/api/api.h"
#include "server/cli/config.h"
#include "server/cli/serve.h"
#include "server/stream/hub.h"
#include "tests/stream/client.h"

// A whole server in this process on ports of the system's choice, and the clients that are pumped
// beside its loop.
enum { WORLD_CLIENTS_MAX = 128 };
extern bool world_in_loop; // the server's loop runs now, not a client
struct world {
    uv_loop_t loop;
    struct serve *serve;
    struct config config;
    char folder[64], model[128];
    bool ready, stopped;
    struct client *clients[WORLD_CLIENTS_MAX];
    size_t client_count;
};

// `model_path` NULL: the sample bar. `tune` may change the configuration; may be NULL.
bool world_open(struct world *w, const char *model_path, void (*tune)(struct config *c));
void world_close(struct world *w);
void world_add(struct world *w, struct client *c);
void world_remove(struct world *w, struct client *c); // and closes it
uint16_t world_port(const struct world *w, enum client_kind kind);

// Runs loop and clients until `done` is true or time is over; what `done` said last.
bool world_until(struct world *w, bool (*done)(void *ctx), void *ctx, int timeout_ms);
void world_run(struct world *w, int ms);
// One HTTP request over loopback while the server runs; the status, or 0. `head_rest`: header lines
// after the first, each with its CRLF, then an empty line's CRLF and the body. The answer, head and
// body, lies in `answer`.
int world_ask(struct world *w, uint16_t port, const char *method, const char *path,
              const char *head_rest, char *answer, size_t answer_bytes);

// Opens, says HELLO with scene and character "" and waits for `frames` frames of its own actor.
bool world_join(struct world *w, struct client *c, enum client_kind kind, const struct hello *hello,
                uint32_t frames);
bool world_wait_frames(struct world *w, struct client *c, uint32_t frames, int timeout_ms);
bool world_wait_end(struct world *w, struct client *c, int timeout_ms); // of the connection
const struct hub_counts *world_counts(struct world *w);
struct hub_snapshot world_snapshot(struct world *w);
size_t world_resident_bytes(void);
