#pragma once
#include "common/slots.h"
#include "proto/http_head.h"
#include "server/http/body.h"
#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/http/server.h"
#include "server/http/static.h"
#include "server/http/throttle.h"

// The inside of an exchange, shared by server.c (the life of a connection), exchange.c (what was
// asked), answer.c (what is said) and upgrade.c. Nobody else includes this.
//
//   IDLE -> HEAD -> [AUTH] -> [BODY] -> WAITING -> SENDING -> IDLE …
//             \________\_________\_________\__ answer and close
enum http_phase {
    PHASE_IDLE,    // between requests
    PHASE_HEAD,    // part of a head is there
    PHASE_AUTH,    // the owner looks a token up
    PHASE_BODY,    // the body comes
    PHASE_WAITING, // the handler has it
    PHASE_SENDING  // the answer goes out
};

enum {
    HTTP_HEAD_BYTES = 8 * 1024,
    HTTP_PATH_BYTES = 2048,
    HTTP_EXTRA_BYTES = 2048, // headers given by http_answer_header
    HTTP_EXTRA_MAX = 16,
    HTTP_REQUEST_ID_BYTES = 24
};

// One for each connection, used for one request after the other.
struct http_exchange {
    struct http_server *server;
    struct conn *conn;
    enum http_listener listener;
    enum http_phase phase;
    uint64_t id; // changes with each request: a late answer finds nothing
    char request_id[HTTP_REQUEST_ID_BYTES];
    // The request. `head` points into head_bytes, whose separators have been made NUL.
    uint8_t *head_bytes; // head_bytes_max + 1
    size_t scanned_bytes;
    struct http_head head;
    char path[HTTP_PATH_BYTES];
    char query[HTTP_PATH_BYTES];
    char params[HTTP_PATH_BYTES]; // values, NUL-terminated, in the order of match.params
    struct router_match match;
    bool origin_listed;
    struct body body;
    uint8_t *body_bytes; // buffered; counted in the server's total
    size_t body_size, body_capacity;
    void *data;
    void (*on_data_free)(void *data);
    uint64_t began_ns;
    // The answer.
    bool answered, close_after, wants_room;
    size_t extra_count, extra_used;
    char extra[HTTP_EXTRA_BYTES]; // "name\0value\0" …
    uint64_t sending_tag, sent_seen_bytes;
    bool in_bytes; // inside on_bytes: it carries on by itself after an answer
    bool *gone;    // set when the exchange is freed inside on_bytes
};

struct http_server {
    struct http_server_options options;
    struct http_stats stats;
    struct slots exchanges;
    struct throttle throttle;
    size_t buffered_bytes;
    uint64_t request_count;
    uint32_t boot_random[2];
    bool draining;
};

// server.c
void http_exchange_answered(struct http_exchange *x, bool bulk); // the answer is queued
void http_exchange_release(struct http_exchange *x); // upgrade: the connection has a new owner
bool http_exchange_body_complete(const struct http_exchange *x);

// assets.c
bool http_assets_answer(struct http_exchange *x, const char *path); // false: no such file
