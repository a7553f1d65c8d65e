#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "proto/wire.h"
#include "server/http/http_internal.h"

static const char stream_protocol[] = "sinew.v1";

// RFC 6455 section 4.2: what is wrong with the handshake has been answered when this is false.
static bool accept_key(struct http_exchange *x, char accept[29])
{
    enum err e = http_head_websocket(&x->head, accept);
    if (e == ERR_OK) return true;
    if (e == ERR_VERSION) {
        http_answer_header(x, "Sec-WebSocket-Version", "13");
        http_answer_problem(x, 426, "websocket-version", "WebSocket version 13 is needed", NULL);
    } else if (e == ERR_UNSUPPORTED) {
        http_answer_header(x, "Upgrade", "websocket");
        http_answer_problem(x, 426, "upgrade-required", "This is a WebSocket",
                            "Connect with a WebSocket client and the sub-protocol sinew.v1.");
    } else {
        http_answer_problem(x, 400, "websocket-handshake", "The WebSocket handshake is wrong",
                            NULL);
    }
    return false;
}

bool http_exchange_upgrade(struct http_exchange *x, const struct conn_events *events, void *owner)
{
    char accept[29];
    CHECK(!x->answered);
    if (!accept_key(x, accept)) return false;
    if (!http_head_has_token(&x->head, "sec-websocket-protocol", stream_protocol)) {
        http_answer_problem(x, 400, "websocket-protocol", "The sub-protocol is missing",
                            "Offer the sub-protocol sinew.v1.");
        return false;
    }
    uint8_t bytes[512];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    http_head_begin(&w, 101);
    http_head_put(&w, "Upgrade", "websocket");
    http_head_put(&w, "Connection", "Upgrade");
    http_head_put(&w, "Sec-WebSocket-Accept", accept);
    http_head_put(&w, "Sec-WebSocket-Protocol", stream_protocol); // extensions: none, ever
    http_head_put(&w, "X-Request-Id", x->request_id);
    http_head_end(&w);
    CHECK(!w.failed);
    struct conn *c = x->conn;
    bool inside = x->in_bytes;
    x->server->stats.upgrades++;
    x->server->stats.by_class[1]++;
    (void)conn_send(c, bytes, wire_size(&w)); // an owner of a closing connection hears on_closed
    conn_deadline(c, 0);
    conn_take(c, events, owner);
    http_exchange_release(x);
    if (inside) return true; // what is left of the input goes to `events` by itself
    conn_resume(c);
    conn_flush(c);
    return true;
}

bool http_exchange_subprotocol(const struct http_exchange *x, const char *prefix, char *out,
                               size_t out_bytes)
{
    size_t prefix_bytes = strlen(prefix);
    for (size_t i = 0; i < x->head.header_count; i++) {
        if (!http_head_text_is(x->head.headers[i].name, "sec-websocket-protocol")) continue;
        const char *at = x->head.headers[i].value.at;
        while (*at) {
            at += strspn(at, " \t,");
            size_t n = strcspn(at, " \t,");
            if (n > prefix_bytes && memcmp(at, prefix, prefix_bytes) == 0 &&
                n - prefix_bytes < out_bytes) {
                (void)snprintf(out, out_bytes, "%.*s", (int)(n - prefix_bytes), at + prefix_bytes);
                return true;
            }
            at += n;
        }
    }
    return false;
}
