#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "server/api/models.h"
#include "server/http/server.h"
#include "server/net/listener.h"
#include "server/stream/hub.h"

// What the server answers over HTTP besides the viewer's files: state for machines and people,
// tickets, the stream's upgrade. Loop thread only.
struct api;

struct api_options {
    struct hub *hub; // borrowed, as all here
    struct models *models;
    struct library *library; // NULL: no modellers' endpoint
    struct background *background;
    struct stage *stage;
    struct listener_hub *listeners;
    struct auth auth;
    const char *const *origins; // http_server_options.allowed_origins
    const char *const *hosts;
    struct http_static *viewer; // NULL: a page that says how to build it
    bool admin;                 // /status, /metrics, /ops only on the admin listener
};

struct api *api_create(const struct api_options *options); // NULL: memory
void api_destroy(struct api *a); // after the last connection; NULL is fine
struct http_server *api_http(struct api *a);
// The table as it stands, for tests that must not forget a row.
const struct http_route *api_routes(const struct api *a, size_t *count);

// Nothing slow begins any more: call it before the background pool and the store are closed.
void api_stop(struct api *a);

// Why not every request may be sent here yet; "" when it may.
const char *api_not_ready(const struct api *a);
