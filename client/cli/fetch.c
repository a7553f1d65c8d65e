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

enum { WIRE_BYTES = 65536, HEAD_BYTES = 8192 };

struct pipe {
    intptr_t socket;
    uint64_t quiet_us, until_us; // the end of patience moves with every byte
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

static void pipe_moved(struct pipe *p)
{
    p->until_us = sinew_now_us() + p->quiet_us;
}

static bool pipe_flush(struct pipe *p)
{
    while (queue_used(&p->out) > 0) {
        size_t sent;
        enum net_status s = net_send(p->socket, queue_head(&p->out), queue_used(&p->out), &sent);
        if (s == NET_AGAIN && pipe_wait(p, true)) continue;
        if (s != NET_OK) return false;
        queue_drop(&p->out, sent);
        pipe_moved(p);
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
        pipe_moved(p);
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

static bool send_bytes(struct pipe *p, const uint8_t *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        size_t part = size_bytes < TLS_RECORD_BYTES_MAX ? size_bytes : TLS_RECORD_BYTES_MAX;
        queue_compact(&p->out);
        bool put =
            p->tls ? tls_write(p->tls, bytes, part) == TLS_OK : queue_put_all(&p->out, bytes, part);
        if (!put || !pipe_flush(p)) return false;
        bytes += part;
        size_bytes -= part;
    }
    return true;
}

static enum err make_head(struct wire_writer *w, const struct url *url, const struct fetch_ask *ask,
                          const struct sinew_options *o, struct fault *fault)
{
    char bearer[160];
    http_head_begin_request(w, ask->method, ask->target, url->origin);
    http_head_put(w, "Accept", "application/json, */*");
    http_head_put(w, "Connection", "close");
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", o->token ? o->token : "");
    if (o->token) http_head_put(w, "Authorization", bearer);
    for (size_t i = 0; i < ask->header_count; i++)
        http_head_put(w, ask->headers[i].name, ask->headers[i].value);
    if (ask->body_bytes > 0 || strcmp(ask->method, "GET") != 0)
        http_head_put_number(w, "Content-Length", ask->body_bytes);
    http_head_end(w);
    if (!w->failed) return ERR_OK;
    return fault_set(fault, ERR_USAGE, "a name or the token cannot be sent: control characters?");
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

static enum err read_reply(struct pipe *p, const struct url *url, const struct fetch_ask *ask,
                           struct fetch *out, struct fault *fault)
{
    size_t capacity = 65536, have = 0, scanned = 0, got;
    size_t most = ask->reply_bytes_max ? ask->reply_bytes_max : FETCH_BYTES_MAX;
    char *bytes = malloc(capacity + 1);
    while (bytes && (got = read_plain(p, (uint8_t *)bytes + have, capacity - have)) > 0) {
        have += got;
        if (have < capacity) continue;
        char *grown = capacity < most ? realloc(bytes, capacity * 2 + 1) : NULL;
        if (!grown) break;
        bytes = grown;
        capacity *= 2;
    }
    struct http_head head;
    struct http_limits limits = http_head_limits();
    enum err e =
        bytes ? http_head_response((uint8_t *)bytes, have, &limits, &scanned, &head) : ERR_MEMORY;
    if (e == ERR_OK && head.has_length && have - head.head_bytes < head.content_length &&
        strcmp(ask->method, "HEAD") != 0)
        e = ERR_TRUNCATED;
    if (e) {
        free(bytes);
        if (have == 0 && e == ERR_TRUNCATED)
            return fault_set(fault, e, "%.100s: no answer; is sinewd running there?", url->origin);
        return fault_set(fault, e, "%.100s: no whole HTTP reply", url->origin);
    }
    char *body = bytes + head.head_bytes;
    size_t size = have - head.head_bytes;
    bytes[have] = 0;
    if (head.chunked && !unchunk(body, &size)) {
        free(bytes);
        return fault_set(fault, ERR_MALFORMED, "%.100s: a broken HTTP reply", url->origin);
    }
    *out = (struct fetch){.status = head.status, .reply = bytes, .body = body, .body_bytes = size};
    return ERR_OK;
}

// What the server said when it would not take the whole body is worth more than a broken pipe.
static enum err exchange(struct pipe *p, const struct url *url, const struct sinew_options *options,
                         const struct fetch_ask *ask, struct fetch *out, struct fault *fault)
{
    char head[HEAD_BYTES];
    struct wire_writer w = wire_write(head, sizeof head);
    enum err e = make_head(&w, url, ask, options, fault);
    if (e) return e;
    struct fault cut = {0};
    bool sent = send_bytes(p, (const uint8_t *)head, wire_size(&w)) &&
                send_bytes(p, ask->body, ask->body_bytes);
    e = read_reply(p, url, ask, out, sent ? fault : &cut);
    if (sent || (e == ERR_OK && out->status >= 400)) return e;
    if (e == ERR_OK) fetch_free(out);
    return fault_set(fault, ERR_IO, "%.100s: the connection was cut", url->origin);
}

enum err fetch_run(const struct url *url, const struct sinew_options *options,
                   const struct fetch_ask *ask, struct fetch *out, struct fault *fault)
{
    struct pipe p = {.socket = NET_NONE};
    p.quiet_us = 1000000ull * (ask->quiet_s ? ask->quiet_s : FETCH_QUIET_S);
    pipe_moved(&p);
    enum err e = queue_create(&p.in, WIRE_BYTES) && queue_create(&p.out, WIRE_BYTES)
                     ? connect_any(&p, url, fault)
                     : fault_set(fault, ERR_MEMORY, "no memory");
    if (e == ERR_OK && url_has_tls(url)) e = start_tls(&p, url, options, fault);
    if (e == ERR_OK) e = exchange(&p, url, options, ask, out, fault);
    net_close(p.socket);
    tls_free(p.tls);
    tls_config_free(p.config);
    queue_free(&p.in);
    queue_free(&p.out);
    return e;
}

bool fetch_header(const struct fetch *f, const char *name, char *out, size_t out_bytes)
{
    struct http_head head;
    struct http_limits limits = http_head_limits();
    size_t scanned = 0;
    if (!f->reply || http_head_response((const uint8_t *)f->reply, (size_t)(f->body - f->reply),
                                        &limits, &scanned, &head) != ERR_OK)
        return false;
    const struct http_text *text = http_head_find(&head, name);
    if (!text || text->size_bytes >= out_bytes) return false;
    memcpy(out, text->at, text->size_bytes);
    out[text->size_bytes] = 0;
    return true;
}

void fetch_free(struct fetch *f)
{
    free(f->reply);
    *f = (struct fetch){0};
}
