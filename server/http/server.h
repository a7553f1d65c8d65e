#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/http/router.h"
#include "server/net/conn.h"

// The server side of HTTP/1.1 over connections that server/net accepted. Keep-alive; requests on
// one connection are answered one after the other. Loop thread only. Deadlines are absolute:
// request head 5 s, body 30 s, idle between requests 60 s.
struct http_static;

enum http_auth {
    HTTP_AUTH_OK,
    HTTP_AUTH_PENDING,   // http_server_authorised comes later; the body waits
    HTTP_AUTH_MISSING,   // 401: no token, or one that is not valid; counts against the address
    HTTP_AUTH_FORBIDDEN, // 403: a valid token without the scope
    HTTP_AUTH_HIDDEN,    // 404: not even that it exists
};

struct http_server_options {
    const struct http_route *routes; // static
    size_t route_count;
    // Asked when a route wants a scope; may keep the identity by http_exchange_set_data.
    enum http_auth (*authorise)(struct http_exchange *x, const struct http_route *route,
                                void *owner);
    void *owner;
    struct http_static *assets; // borrowed; answers GET of paths that no route has. May be NULL
    const char *const *allowed_origins; // NULL-terminated, "https://host[:port]"; may be NULL
    const char *const *allowed_hosts;   // further names for the Host check; may be NULL
    size_t exchanges_max;               // 0: 4096 connections that speak HTTP at once
    uint32_t head_ms, body_ms, idle_ms; // 0: 5000, 30000, 60000
    size_t head_bytes_max;              // 0: 8 kB; more is 431
    size_t buffered_body_total_max;     // 0: 64 MB over all connections; more is 503
    uint32_t auth_failures_burst;       // 0: 10 an address, then
    uint32_t auth_failures_per_minute;  // 0: 10; above: 429
};

struct http_stats {
    uint64_t requests, upgrades, refused_origin, refused_host, auth_failures, throttled;
    uint64_t by_class[6]; // answers 1xx … 5xx, index = status / 100
    size_t open;          // connections that speak HTTP
};

struct http_server *http_server_create(const struct http_server_options *options); // NULL: memory
void http_server_free(struct http_server *server); // after its connections; NULL is fine
const struct http_stats *http_server_stats(const struct http_server *server);

// Takes an open connection (from conn_options.on_open). `listener` is one bit.
void http_server_accept(struct http_server *server, struct conn *c, enum http_listener listener);
// The end of HTTP_AUTH_PENDING.
void http_server_authorised(struct http_exchange *x, enum http_auth result);
// Draining: the answer in progress is the last of its connection, idle ones close.
void http_server_drain(struct http_server *server);
