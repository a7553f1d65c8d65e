#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/http_head.h"
#include "server/net/chunk.h"
#include "server/net/conn.h"

// One HTTP request and its answer. Loop thread only. A handler may answer inside its call or
// later: then it keeps the id (http_exchange_id) and asks http_exchange_find when its result is
// there; NULL means that the peer is gone. Exactly one answer a request; answering twice is a
// CHECK. Pointers into the request are good until the answer.
struct http_exchange;
struct http_server;
struct http_route;

// What was asked.
enum http_method http_exchange_method(const struct http_exchange *x);
const struct http_route *http_exchange_route(const struct http_exchange *x);
const char *http_exchange_path(const struct http_exchange *x);  // decoded
const char *http_exchange_query(const struct http_exchange *x); // raw, without '?'; "" if none
// The decoded value of a query key into `out`; false: absent, too long or badly encoded.
bool http_exchange_query_value(const struct http_exchange *x, const char *key, char *out,
                               size_t out_bytes);
// The value of {name} in the route's pattern, decoded; NULL: the pattern has none.
const char *http_exchange_param(const struct http_exchange *x, const char *name);
// First header of that name (any case), NULL without. *size_bytes may be NULL; the text ends with
// NUL and holds no other.
const char *http_exchange_header(const struct http_exchange *x, const char *name);
// The token of "Authorization: Bearer …", or NULL. Never log it.
const char *http_exchange_bearer(const struct http_exchange *x);
// The whole body (routes without on_body); NUL-terminated, NUL not counted.
const uint8_t *http_exchange_body(const struct http_exchange *x, size_t *size_bytes);
struct conn *http_exchange_conn(const struct http_exchange *x);

// A value for the owner of the routes (an identity, an upload): set in authorise or a handler;
// `on_free` is called when the exchange ends, however it ends. NULL on_free: nothing to free.
void http_exchange_set_data(struct http_exchange *x, void *data, void (*on_free)(void *data));
void *http_exchange_data(const struct http_exchange *x);

uint64_t http_exchange_id(const struct http_exchange *x);
struct http_exchange *http_exchange_find(struct http_server *server, uint64_t id);

// Answers. Headers first (at most 16; what does not fit into 2 kB together is left out and logged;
// a line break in a value closes the connection), then exactly one http_answer*.
void http_answer_header(struct http_exchange *x, const char *name, const char *value);
void http_answer(struct http_exchange *x, int status, const char *content_type, const void *body,
                 size_t size_bytes);
// The bytes are sent as the peer takes them, from the chunk; its reference is taken over.
void http_answer_chunk(struct http_exchange *x, int status, const char *content_type,
                       struct chunk *chunk);
struct cJSON;
void http_answer_json(struct http_exchange *x, int status, const struct cJSON *json); // borrows
void http_answer_empty(struct http_exchange *x, int status); // 204, 304, …

// application/problem+json (RFC 9457). `type` is a stable short name: "/problems/<type>" goes out
// as the type. `detail` says what to do; may be NULL.
void http_answer_problem(struct http_exchange *x, int status, const char *type, const char *title,
                         const char *detail);
// The same with more members: those of `more`, an object, which is taken over. NULL: none.
void http_answer_problem_with(struct http_exchange *x, int status, const char *type,
                              const char *title, const char *detail, struct cJSON *more);

// WebSocket: answers 101 with `sinew.v1` echoed and hands the connection over; its bytes, those
// that came behind the request included, go to `events`. The exchange is gone after it. False: the
// handshake was wrong and has been refused (400, 426).
bool http_exchange_upgrade(struct http_exchange *x, const struct conn_events *events, void *owner);
// Walks the further sub-protocols offered besides sinew.v1 (a ticket may be one): the value behind
// `prefix` into `out`. False: none.
bool http_exchange_subprotocol(const struct http_exchange *x, const char *prefix, char *out,
                               size_t out_bytes);
