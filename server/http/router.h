#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/exchange.h"

// The routes of a server: ONE static table, given by its owner (server/api). The first row whose
// method and pattern fit wins. HEAD is answered by the GET row; OPTIONS and 405 with Allow come
// from the table.
enum http_listener {      // where a route exists at all; elsewhere it is 404
    HTTP_ON_PUBLIC = 1,   // TLS, and the plain listener when it is not loopback
    HTTP_ON_LOOPBACK = 2, // the plain loopback listener
    HTTP_ON_ADMIN = 4,
    HTTP_ON_ANY = 7,
    HTTP_ON_LOOPBACK_PEER = 8 // open_on only: any listener, when the peer is this machine
};

struct http_route {
    enum http_method method;
    const char
        *pattern;       // "/v1/models/{id}/versions/{n}"; {name} is one segment, {name...} the rest
    uint32_t listeners; // enum http_listener bits
    uint32_t scope;     // the owner's own bits; 0: open to all
    uint32_t open_on;   // where no scope is asked for: enum http_listener bits
    bool websocket;     // an upgrade: Origin is checked first, plain requests get 426
    uint64_t body_max;  // bytes; more is 413. 0: no body
    // Complete request (without on_body), or its end (with).
    void (*on_request)(struct http_exchange *x, void *owner);
    // Streaming: pieces as they come. http_exchange_body is empty then. The handler may answer
    // early (the connection closes after it). NULL: the body is buffered.
    void (*on_body)(struct http_exchange *x, const uint8_t *bytes, size_t size_bytes, void *owner);
};

enum { ROUTER_PARAMS_MAX = 6 };

struct router_param {
    const char *name; // in the pattern, not NUL-terminated
    size_t name_bytes;
    const char *value; // into the decoded path
    size_t value_bytes;
};

struct router_match {
    const struct http_route *route; // NULL: none
    bool path_known;                // some method has it: 405, not 404
    uint32_t allowed; // 1 << enum http_method, of rows with this path on this listener
    size_t param_count;
    struct router_param params[ROUTER_PARAMS_MAX];
};

// Pure: `path` is decoded and clean (router_path_decode). `listener` is one bit.
void router_find(const struct http_route *routes, size_t route_count, enum http_method method,
                 const char *path, enum http_listener listener, struct router_match *out);
// CHECKs the table once at start: patterns well formed, rows reachable, handlers there.
void router_validate(const struct http_route *routes, size_t route_count);

// "%41" at the front of `at`: its octet; -1 when there are no two hex digits behind the sign.
int router_percent(const char *at, size_t left_bytes);
// Decodes the path of a request target into `out`. False for bad escapes, NUL, control bytes,
// backslash, "//", "." or ".." segments, encoded '/' or anything that is not UTF-8: nothing that
// a file system or a proxy could read differently gets further.
bool router_path_decode(const char *raw, size_t raw_bytes, char *out, size_t out_bytes);
