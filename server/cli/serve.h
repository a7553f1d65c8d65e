#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "common/err.h"
#include "server/cli/config.h"

// A whole server put together on one loop: stage, sessions, HTTP, listeners, models. Used by
// `sinewd serve` and, in-process, by tests. Loop thread only.
struct serve;
struct hub;
struct api;
struct models;
struct models_row;

enum serve_listener { SERVE_HTTP, SERVE_TLS, SERVE_ADMIN, SERVE_LISTENERS };

struct serve_events {                                            // any may be NULL
    void (*on_ready)(void *owner);                               // no character is loading any more
    void (*on_model)(const struct models_row *row, void *owner); // READY or FAILED
    void (*on_stopped)(void *owner); // after serve_stop: nothing is open any more
    void *owner;
};

// Listens and begins to load the characters. On failure everything is given back; the loop may
// have to run once more. `config` is copied.
MUST_CHECK enum err serve_open(uv_loop_t *loop, const struct config *config,
                               const struct serve_events *events, struct serve **out,
                               struct fault *fault);
// The orderly end: no new sessions, those there are closed over `window_ms`, then everything else;
// on_stopped comes when only serve_close is left to do. Idempotent.
void serve_stop(struct serve *s, uint32_t window_ms);
// After on_stopped: gives everything back. The loop has nothing of ours left when it returns.
void serve_close(struct serve *s); // NULL is fine

// Reads certificate and limits again from `config`; on failure what stands goes on.
MUST_CHECK enum err serve_reload(struct serve *s, const struct config *config, struct fault *fault);

uint16_t serve_port(const struct serve *s, enum serve_listener which); // 0: not there
bool serve_pin(const struct serve *s, char *text, size_t text_bytes);  // of the certificate
struct hub *serve_hub(struct serve *s);
struct api *serve_api(struct serve *s);
struct models *serve_models(struct serve *s);
