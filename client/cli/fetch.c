#include "client/cli/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/net.h"
#include "common/queue.h"
#include "common/tls.h"
#include "common/tls_cert.h"
#include "proto/http_head.h"
#include "proto/wire.h"

enum { DEADLINE_US = 10000000, WIRE_BYTES = 65536 };

struct pipe {
    intptr_t socket;
    uint64_t until_us;
    struct tls_config *config;
    struct tls *tls;
    struct queue in, out;
};

static bool pipe_wait(const struct pipe *p, bool write)
{
    struct net_wait item = {.socket = p->socket, .want_write = write};
    uint64_t now_us = sinew_now_us();
    if (now_us >= p->until_us) return false;
    return net_wait(&item, 1, (uint32_t)((p->until_us - now_us) / 1000) + 1);
}

static bool pipe_flush(struct pipe *p)
{
    while (queue_used(&p->out) > 0) {
        size_t sent;
        enum net_status s = net_send(p->socket, queue_head(&p->out), queue_used(&p->out), &sent);
        if (s == NET_AGAIN && pipe_wait(p, true)) continue;
        if (s != NET_OK) return false;
        queue_drop(&p->out, sent);
    }
    return true;
}

// More bytes from the socket into `in`; false: closed, or too late.
static bool pipe_fill(struct pipe *p)
{
    size_t got;
    queue_compact(&p->in);
    for (;;) {
        enum net_status s =
            net_receive(p->socket, p->in.bytes + p->in.tail, queue_tail_space(&p->in), &got);
        if (s == NET_AGAIN && pipe_wait(p, false)) continue;
        if (s != NET_OK) return false;
        queue_grow_tail(&p->in, got);
        return true;
    }
}

static enum err connect_any(struct pipe *p, const struct url *url, struct fault *fault)
{
    struct net_addresses addresses;
    struct fault last = {0};
    enum err e = net_resolve(url->host, url->port, &addresses, fault);
    for (size_t i = 0; e == ERR_OK && i < addresses.count; i++) {
        last = (struct fault){0};
        p->socket = net_connect(&addresses, i, &last);
        enum net_status s = p->socket == NET_NONE ? NET_FAILED : NET_AGAIN;
        while (s == NET_AGAIN && pipe_wait(p, true))
            s = net_connected(p->socket, &last);
        if (s == NET_OK) return ERR_OK;
        net_close(p->socket);
        p->socket = NET_NONE;
    }
    if (e) return e;
    return fault_set(fault, ERR_IO, "%.100s: %.100s; is sinewd running there?", url->origin,
                     last.line[0] ? last.line : "no answer");
}

static enum err start_tls(struct pipe *p, const struct url *url, const struct sinew_options *o,
                          struct fault *fault)
{
    static const char *const web[] = {"http/1.1", NULL};
    uint8_t pin[TLS_PIN_BYTES];
    if (o->pin && tls_cert_pin_parse(o->pin, pin) != ERR_OK)
        return fault_set(fault, ERR_USAGE, "--pin is the 64 hex digits of a SHA-256");
    const struct tls_client_options options = {
        .ca_path = o->ca_file || o->pin || o->insecure ? o->ca_file : net_system_ca(),
        .pin = o->pin ? pin : NULL,
        .insecure = o->insecure != 0,
        .alpn = web};
    enum err e = tls_config_client(&options, &p->config, fault);
    if (e) return e;
    p->tls = tls_create(p->config, &p->in, &p->out, url->host);
    if (!p->tls) return fault_set(fault, ERR_MEMORY, "no memory for TLS");
    enum tls_status s;
    while ((s = tls_handshake(p->tls)) != TLS_OK) {
        bool alive = pipe_flush(p) && s != TLS_FAILED && s != TLS_CLOSED;
        if (alive && s == TLS_WANT_INPUT) alive = pipe_fill(p);
        if (!alive)
            return fault_set(fault, ERR_IO,
                             "%.100s: %.120s; give --ca FILE or --pin SHA256, or --insecure for a "
                             "trial",
                             url->origin,
                             tls_failure(p->tls)[0] ? tls_failure(p->tls) : "the handshake failed");
    }
    return ERR_OK;
}

static bool send_request(struct pipe *p, const struct url *url, const char *target,
                         const struct sinew_options *o)
{
    char request[2048], bearer[160];
    struct wire_writer w = wire_write(request, sizeof request);
    http_head_begin_request(&w, "GET", target, url->origin);
    http_head_put(&w, "Accept", "application/json");
    http_head_put(&w, "Connection", "close");
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", o->token ? o->token : "");
    if (o->token) http_head_put(&w, "Authorization", bearer);
    http_head_end(&w);
    if (w.failed) return false;
    if (!p->tls) return queue_put_all(&p->out, request, wire_size(&w)) && pipe_flush(p);
    queue_compact(&p->out);
    return tls_write(p->tls, (const uint8_t *)request, wire_size(&w)) == TLS_OK && pipe_flush(p);
}

// The next plain bytes; 0 at the end.
static size_t read_plain(struct pipe *p, uint8_t *out, size_t room)
{
    for (;;) {
        size_t got = 0;
        if (!p->tls) {
            got = queue_take(&p->in, out, room);
            if (got > 0) return got;
        } else {
            enum tls_status s = tls_read(p->tls, out, room, &got);
            if (s == TLS_OK) return got;
            if (s != TLS_WANT_INPUT) return 0;
        }
        if (!pipe_fill(p)) return 0;
    }
}

// Chunked bodies in place; false when they are broken.
static bool unchunk(char *body, size_t *size)
{
    size_t from = 0, to = 0;
    for (;;) {
        char *end;
        unsigned long part = strtoul(body + from, &end, 16);
        size_t head = (size_t)(end - body);
        if (end == body + from || head + 2 > *size || part > *size) return false;
        const char *line = memchr(end, '\n', *size - head);
        if (!line) return false;
        from = (size_t)(line - body) + 1;
        if (part == 0) break;
        if (part > *size - from) return false;
        memmove(body + to, body + from, part);
        to += part;
        from += part + 2;
        if (from > *size) return false;
    }
    *size = to;
    body[to] = 0;
    return true;
}

static enum err read_reply(struct pipe *p, const struct url *url, struct fetch *out,
                           struct fault *fault)
{
    size_t capacity = 65536, have = 0, scanned = 0, got;
    char *bytes = malloc(capacity + 1);
    while (bytes && (got = read_plain(p, (uint8_t *)bytes + have, capacity - have)) > 0) {
        have += got;
        if (have < capacity) continue;
        char *grown = capacity < FETCH_BYTES_MAX ? realloc(bytes, capacity * 2 + 1) : NULL;
        if (!grown) break;
        bytes = grown;
        capacity *= 2;
    }
    struct http_head head;
    struct http_limits limits = http_head_limits();
    enum err e =
        bytes ? http_head_response((uint8_t *)bytes, have, &limits, &scanned, &head) : ERR_MEMORY;
    if (e == ERR_OK && head.has_length && have - head.head_bytes < head.content_length)
        e = ERR_TRUNCATED;
    if (e) {
        free(bytes);
        return fault_set(fault, e, "%.100s: no whole HTTP reply", url->origin);
    }
    size_t size = have - head.head_bytes;
    memmove(bytes, bytes + head.head_bytes, size);
    bytes[size] = 0;
    if (head.chunked && !unchunk(bytes, &size)) {
        free(bytes);
        return fault_set(fault, ERR_MALFORMED, "%.100s: a broken HTTP reply", url->origin);
    }
    *out = (struct fetch){.status = head.status, .body = bytes, .body_bytes = size};
    return ERR_OK;
}

enum err fetch_get(const struct url *url, const char *target, const struct sinew_options *options,
                   struct fetch *out, struct fault *fault)
{
    struct pipe p = {.socket = NET_NONE, .until_us = sinew_now_us() + DEADLINE_US};
    enum err e = queue_create(&p.in, WIRE_BYTES) && queue_create(&p.out, WIRE_BYTES)
                     ? connect_any(&p, url, fault)
                     : fault_set(fault, ERR_MEMORY, "no memory");
    if (e == ERR_OK && url_has_tls(url)) e = start_tls(&p, url, options, fault);
    if (e == ERR_OK && !send_request(&p, url, target, options))
        e = fault_set(fault, ERR_IO, "%.100s: the connection was cut", url->origin);
    if (e == ERR_OK) e = read_reply(&p, url, out, fault);
    net_close(p.socket);
    tls_free(p.tls);
    tls_config_free(p.config);
    queue_free(&p.in);
    queue_free(&p.out);
    return e;
}
