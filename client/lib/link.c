#include "client/lib/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/http_head.h"

enum {
    WIRE_BYTES = 64 * 1024,
    PLAIN_BYTES = 512 * 1024,
    SCRATCH_BYTES = TLS_RECORD_BYTES_MAX,
    HEAD_BYTES = 16 * 1024,
    STEP_READS_MAX = 32, // a fast server must not keep the application waiting
    WS_MESSAGE_BYTES_MAX = 4 << 20,
    WS_TICK_US = 1000000
};

void link_init(struct link *l)
{
    *l = (struct link){.socket = NET_NONE};
}

static void link_end(struct link *l, enum link_end end, const char *line)
{
    if (l->state == LINK_CLOSED) return;
    if (line) (void)fault_set(&l->fault, ERR_IO, "%s", line);
    l->end = end;
    l->refused = l->tls && tls_peer_refused(l->tls);
    l->state = LINK_CLOSED;
    net_close(l->socket);
    l->socket = NET_NONE;
}

static void link_next_address(struct link *l)
{
    while (l->address_at < l->addresses.count) {
        l->fault = (struct fault){0}; // the last address says why
        l->socket = net_connect(&l->addresses, l->address_at++, &l->fault);
        if (l->socket != NET_NONE) return;
    }
    char line[sizeof l->fault.line];
    (void)snprintf(line, sizeof line, "%.280s:%.6s: %.90s", l->url.host, l->url.port,
                   l->fault.line[0] ? l->fault.line : "no address answers");
    l->fault = (struct fault){0};
    link_end(l, LINK_END_NETWORK, line);
}

enum err link_open(struct link *l, const struct tls_config *config)
{
    CHECK(l->state == LINK_CLOSED);
    if (l->tls && tls_is_open(l->tls)) { // with its ticket the next handshake is short
        tls_ticket_free(l->ticket);
        l->ticket = tls_ticket_take(l->tls);
    }
    struct link fresh = {.socket = NET_NONE,
                         .state = LINK_CONNECTING,
                         .url = l->url,
                         .addresses = l->addresses,
                         .ticket = l->ticket,
                         .bytes_in = l->bytes_in,
                         .bytes_out = l->bytes_out};
    l->ticket = NULL;
    link_free(l);
    *l = fresh;
    l->inbox_bytes = malloc(INBOX_BYTES);
    l->scratch = malloc(SCRATCH_BYTES);
    l->head = malloc(HEAD_BYTES);
    bool fine = l->inbox_bytes && l->scratch && l->head && queue_create(&l->wire_in, WIRE_BYTES) &&
                queue_create(&l->wire_out, WIRE_BYTES) && queue_create(&l->plain_out, PLAIN_BYTES);
    if (fine && url_has_tls(&l->url)) {
        l->tls = tls_create(config, &l->wire_in, &l->wire_out, l->url.host);
        fine = l->tls != NULL;
        if (fine && l->ticket) tls_ticket_offer(l->tls, l->ticket);
    }
    if (!fine) {
        link_free(l);
        return ERR_MEMORY;
    }
    inbox_init(&l->inbox, l->inbox_bytes, INBOX_BYTES, MESSAGES_FROM_SERVER);
    const struct ws_limits limits = {
        .message_bytes_max = WS_MESSAGE_BYTES_MAX, .fragments_max = 4096, .controls_max = 100};
    ws_init(&l->ws, WS_CLIENT, &limits);
    link_next_address(l);
    return ERR_OK;
}

// ---- out ----

static void flush_socket(struct link *l, struct queue *q)
{
    while (l->state != LINK_CLOSED && queue_used(q) > 0) {
        size_t sent;
        enum net_status s = net_send(l->socket, queue_head(q), queue_used(q), &sent);
        if (s == NET_AGAIN) return;
        if (s != NET_OK) {
            link_end(l, LINK_END_NETWORK, "the connection was cut");
            return;
        }
        l->bytes_out += sent;
        queue_drop(q, sent);
    }
}

static void link_flush(struct link *l)
{
    if (!l->tls) {
        flush_socket(l, &l->plain_out);
        return;
    }
    flush_socket(l, &l->wire_out);
    while (l->state != LINK_CLOSED && tls_is_open(l->tls) && queue_used(&l->plain_out) > 0) {
        size_t size = queue_used(&l->plain_out);
        if (size > TLS_RECORD_BYTES_MAX) size = TLS_RECORD_BYTES_MAX;
        queue_compact(&l->wire_out);
        enum tls_status s = tls_write(l->tls, queue_head(&l->plain_out), size);
        if (s == TLS_WANT_ROOM) return;
        if (s != TLS_OK) {
            link_end(l, LINK_END_TLS, tls_failure(l->tls));
            return;
        }
        queue_drop(&l->plain_out, size);
        flush_socket(l, &l->wire_out);
    }
}

static bool is_websocket(const struct link *l)
{
    return l->url.scheme == URL_WS || l->url.scheme == URL_WSS;
}

bool link_send(struct link *l, const void *bytes, size_t size_bytes)
{
    if (l->state != LINK_OPEN) return false;
    struct queue *q = &l->plain_out;
    if (!is_websocket(l)) return queue_put_all(q, bytes, size_bytes);
    if (queue_space(q) < size_bytes + WS_HEADER_BYTES_MAX) return false;
    uint8_t mask[4], header[WS_HEADER_BYTES_MAX];
    if (!net_random(mask, sizeof mask)) return false;
    size_t header_bytes = ws_header_write(header, WS_BINARY, true, size_bytes, mask);
    bool put = queue_put_all(q, header, header_bytes) && queue_put_all(q, bytes, size_bytes);
    CHECK(put);
    ws_mask(q->bytes + q->tail - size_bytes, size_bytes, mask, 0);
    return true;
}

static void send_control(struct link *l, uint8_t opcode, const uint8_t *bytes, size_t size_bytes)
{
    uint8_t frame[WS_CLOSE_BYTES_MAX], mask[4];
    if (!net_random(mask, sizeof mask)) return;
    size_t size = ws_control_write(frame, opcode, bytes, size_bytes, mask);
    (void)queue_put_all(&l->plain_out, frame, size);
}

// ---- in ----

static void feed_inbox(struct link *l, const uint8_t *bytes, size_t size_bytes,
                       const struct link_handler *handler)
{
    while (l->state == LINK_OPEN) {
        size_t taken = inbox_put(&l->inbox, bytes, size_bytes);
        bytes += taken;
        size_bytes -= taken;
        struct message m;
        enum err e;
        while (l->state == LINK_OPEN && (e = inbox_next(&l->inbox, &m)) != ERR_TRUNCATED) {
            if (e != ERR_OK) {
                link_end(l, LINK_END_PROTOCOL, "the server sent what is no message");
                return;
            }
            e = handler->on_message(handler->owner, &m);
            if (e != ERR_OK) link_end(l, LINK_END_HANDLER, NULL);
        }
        if (size_bytes == 0) return;
    }
}

static void on_ws_event(struct link *l, const struct ws_event *event,
                        const struct link_handler *handler)
{
    switch (event->kind) {
    case WS_DATA:
        feed_inbox(l, event->bytes, event->size_bytes, handler);
        if (l->state == LINK_OPEN && event->message_end && !inbox_at_boundary(&l->inbox))
            link_end(l, LINK_END_PROTOCOL, "a WebSocket message ends inside an envelope");
        break;
    case WS_GOT_PING:
        send_control(l, WS_PONG, event->bytes, event->size_bytes);
        break;
    case WS_GOT_CLOSE: {
        uint8_t frame[WS_CLOSE_BYTES_MAX], mask[4];
        l->close_code = event->code;
        if (net_random(mask, sizeof mask)) {
            size_t size = ws_close_write(frame, event->code, NULL, mask);
            (void)queue_put_all(&l->plain_out, frame, size);
            link_flush(l);
        }
        char line[WS_CONTROL_BYTES_MAX + 1] = "the server closed the connection";
        if (event->size_bytes > 0) // UTF-8: proto/ws has checked it
            (void)snprintf(line, sizeof line, "%.*s", (int)event->size_bytes,
                           (const char *)event->bytes);
        link_end(l, LINK_END_PEER, line);
        break;
    }
    case WS_FAIL:
        link_end(l, LINK_END_PROTOCOL, "the server breaks the WebSocket protocol");
        break;
    case WS_GOT_PONG:
    case WS_NEED_MORE:
        break;
    }
}

static void feed_ws(struct link *l, uint8_t *bytes, size_t size_bytes,
                    const struct link_handler *handler)
{
    struct ws_event event = {.kind = WS_DATA};
    while (l->state == LINK_OPEN && event.kind != WS_NEED_MORE) {
        size_t used;
        ws_next(&l->ws, bytes, size_bytes, &used, &event);
        bytes += used;
        size_bytes -= used;
        on_ws_event(l, &event, handler);
    }
}

static bool upgrade_is_right(struct link *l, const struct http_head *head)
{
    const struct http_text *accept = http_head_find(head, "Sec-WebSocket-Accept");
    const struct http_text *protocol = http_head_find(head, "Sec-WebSocket-Protocol");
    l->http_status = head->status;
    if (head->status != 101) {
        char line[96];
        (void)snprintf(line, sizeof line, "the server answered %u %s instead of a stream",
                       head->status, http_head_reason(head->status));
        link_end(l, LINK_END_HTTP, line);
        return false;
    }
    bool right = head->upgrade && http_head_has_token(head, "Upgrade", "websocket") && accept &&
                 accept->size_bytes == WS_ACCEPT_BYTES &&
                 memcmp(accept->at, l->accept, WS_ACCEPT_BYTES) == 0 && protocol &&
                 protocol->size_bytes == 8 && memcmp(protocol->at, "sinew.v1", 8) == 0;
    if (!right) link_end(l, LINK_END_PROTOCOL, "this is no sinew server: its WebSocket is another");
    return right;
}

// Returns how many of the bytes belong to the head.
static void feed_head(struct link *l, uint8_t *bytes, size_t size_bytes,
                      const struct link_handler *handler)
{
    size_t room = HEAD_BYTES - l->head_bytes, had = l->head_bytes;
    size_t taken = size_bytes < room ? size_bytes : room;
    memcpy(l->head + had, bytes, taken);
    l->head_bytes += taken;
    struct http_head head;
    struct http_limits limits = http_head_limits();
    enum err e = http_head_response(l->head, l->head_bytes, &limits, &l->head_scanned, &head);
    if (e == ERR_TRUNCATED && l->head_bytes < HEAD_BYTES) return;
    if (e != ERR_OK) {
        link_end(l, LINK_END_PROTOCOL, "this is no web server: its reply is malformed");
        return;
    }
    if (!upgrade_is_right(l, &head)) return;
    l->state = LINK_OPEN;
    // The first frames may have come in the same packet.
    size_t used = head.head_bytes - had;
    feed_ws(l, bytes + used, size_bytes - used, handler);
}

static void link_feed(struct link *l, uint8_t *bytes, size_t size_bytes,
                      const struct link_handler *handler)
{
    if (l->state == LINK_UPGRADE)
        feed_head(l, bytes, size_bytes, handler);
    else if (is_websocket(l))
        feed_ws(l, bytes, size_bytes, handler);
    else
        feed_inbox(l, bytes, size_bytes, handler);
}

// ---- states ----

static void start_stream(struct link *l)
{
    if (!is_websocket(l)) {
        l->state = LINK_OPEN;
        return;
    }
    uint8_t random[16];
    char key[WS_KEY_BYTES + 1], request[1024];
    if (!net_random(random, sizeof random)) {
        link_end(l, LINK_END_NETWORK, "the system gives no random bytes");
        return;
    }
    ws_key(random, key);
    enum err e = ws_accept(key, WS_KEY_BYTES, l->accept);
    CHECK(e == ERR_OK);
    struct wire_writer w = wire_write(request, sizeof request);
    http_head_begin_request(&w, "GET", l->url.path[0] ? l->url.path : "/v1/stream", l->url.origin);
    http_head_put(&w, "Upgrade", "websocket");
    http_head_put(&w, "Connection", "Upgrade");
    http_head_put(&w, "Sec-WebSocket-Version", "13");
    http_head_put(&w, "Sec-WebSocket-Key", key);
    http_head_put(&w, "Sec-WebSocket-Protocol", "sinew.v1");
    http_head_end(&w);
    CHECK(!w.failed);
    bool put = queue_put_all(&l->plain_out, request, wire_size(&w));
    CHECK(put);
    l->state = LINK_UPGRADE;
}

static void step_connecting(struct link *l)
{
    enum net_status s = net_connected(l->socket, &l->fault);
    if (s == NET_AGAIN) return;
    if (s == NET_OK) {
        if (l->tls)
            l->state = LINK_TLS;
        else
            start_stream(l);
        return;
    }
    net_close(l->socket);
    l->socket = NET_NONE;
    if (l->address_at == l->addresses.count) {
        char line[sizeof l->fault.line];
        (void)snprintf(line, sizeof line, "%.280s:%.6s: %.90s", l->url.host, l->url.port,
                       l->fault.line);
        l->fault = (struct fault){0};
        link_end(l, LINK_END_NETWORK, line);
        return;
    }
    link_next_address(l);
}

static void step_tls(struct link *l)
{
    enum tls_status s;
    do {
        queue_compact(&l->wire_out);
        s = tls_handshake(l->tls);
        flush_socket(l, &l->wire_out);
    } while (s == TLS_WANT_ROOM && l->state != LINK_CLOSED && queue_used(&l->wire_out) == 0);
    if (l->state == LINK_CLOSED) return;
    if (s == TLS_FAILED || s == TLS_CLOSED) {
        link_end(l, LINK_END_TLS, tls_failure(l->tls));
    } else if (s == TLS_OK) {
        const char *alpn = tls_alpn(l->tls);
        const char *want = is_websocket(l) ? "http/1.1" : "sinew/1";
        // A server that does not know ALPN may still be a WebSocket server behind a proxy.
        if (alpn ? strcmp(alpn, want) != 0 : !is_websocket(l))
            link_end(l, LINK_END_PROTOCOL, "the server does not speak the sinew stream here");
        else
            start_stream(l);
    }
}

static bool read_tls(struct link *l, const struct link_handler *handler)
{
    while (l->state >= LINK_UPGRADE) {
        size_t got;
        enum tls_status s = tls_read(l->tls, l->scratch, SCRATCH_BYTES, &got);
        if (s == TLS_OK) {
            link_feed(l, l->scratch, got, handler);
        } else if (s == TLS_CLOSED) {
            link_end(l, LINK_END_PEER, "the server closed the connection");
        } else if (s == TLS_FAILED) {
            link_end(l, LINK_END_TLS, tls_failure(l->tls));
        } else {
            return true;
        }
    }
    return false;
}

// False when the socket has no more for now.
static bool read_some(struct link *l, uint64_t now_us, const struct link_handler *handler)
{
    size_t got = 0;
    enum net_status s;
    if (l->tls) {
        queue_compact(&l->wire_in);
        s = net_receive(l->socket, l->wire_in.bytes + l->wire_in.tail,
                        queue_tail_space(&l->wire_in), &got);
        queue_grow_tail(&l->wire_in, got);
    } else {
        s = net_receive(l->socket, l->scratch, SCRATCH_BYTES, &got);
    }
    l->bytes_in += got;
    if (s == NET_AGAIN) return false;
    if (s == NET_CLOSED || s == NET_FAILED) {
        link_end(l, LINK_END_PEER,
                 s == NET_CLOSED ? "the server closed the connection" : "the connection was cut");
        return false;
    }
    l->read_at_us = now_us;
    if (!l->tls) {
        link_feed(l, l->scratch, got, handler);
    } else {
        if (l->state == LINK_TLS) step_tls(l);
        if (l->state >= LINK_UPGRADE) (void)read_tls(l, handler);
    }
    return l->state != LINK_CLOSED;
}

void link_step(struct link *l, uint64_t now_us, const struct link_handler *handler)
{
    if (l->state == LINK_CONNECTING) step_connecting(l);
    if (l->state == LINK_CONNECTING || l->state == LINK_CLOSED) return;
    if (l->state == LINK_TLS) step_tls(l);
    if (now_us - l->ws_tick_us >= WS_TICK_US) {
        l->ws_tick_us = now_us;
        ws_tick(&l->ws);
    }
    link_flush(l);
    for (int i = 0; i < STEP_READS_MAX && l->state != LINK_CLOSED; i++)
        if (!read_some(l, now_us, handler)) break;
    link_flush(l);
}

size_t link_unsent_bytes(const struct link *l)
{
    return queue_used(&l->plain_out) + (l->tls ? queue_used(&l->wire_out) : 0);
}

intptr_t link_socket(const struct link *l)
{
    return l->socket;
}

bool link_wants_write(const struct link *l)
{
    return l->state == LINK_CONNECTING || link_unsent_bytes(l) > 0;
}

void link_close(struct link *l, uint16_t code, const char *reason)
{
    if (l->state == LINK_OPEN) {
        uint8_t frame[WS_CLOSE_BYTES_MAX], mask[4];
        if (is_websocket(l) && net_random(mask, sizeof mask)) {
            size_t size = ws_close_write(frame, code, reason, mask);
            (void)queue_put_all(&l->plain_out, frame, size);
        }
        link_flush(l);
        if (l->tls && l->state == LINK_OPEN) {
            tls_close_notify(l->tls);
            flush_socket(l, &l->wire_out);
        }
    }
    link_end(l, LINK_END_HANDLER, NULL);
}

void link_free(struct link *l)
{
    net_close(l->socket);
    tls_free(l->tls);
    tls_ticket_free(l->ticket);
    queue_free(&l->wire_in);
    queue_free(&l->wire_out);
    queue_free(&l->plain_out);
    free(l->inbox_bytes);
    free(l->scratch);
    free(l->head);
    *l = (struct link){.socket = NET_NONE};
}
