#include "server/net/udp.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATAGRAM_BYTES = 65536, KERNEL_BYTES = 1 << 20 };

struct udp {
    struct udp_options options;
    uv_udp_t socket;
    uint16_t port;
    uint32_t budget;
    uint64_t paused;
    bool receiving, closing;
    char bytes[DATAGRAM_BYTES];
};

static void on_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct udp *u = handle->data;
    (void)suggested;
    *out = uv_buf_init(u->bytes, sizeof u->bytes);
}

static void on_received(uv_udp_t *socket, ssize_t size, const uv_buf_t *buffer,
                        const struct sockaddr *from, unsigned flags)
{
    struct udp *u = socket->data;
    if (u->closing || size < 0 || !from) return; // errors of one datagram; nothing more to read
    if (size > 0 && !(flags & UV_UDP_PARTIAL))
        u->options.on_datagram(u->options.owner, from, (const uint8_t *)buffer->base, (size_t)size);
    if (u->closing || --u->budget > 0) return;
    u->paused++;
    u->receiving = false;
    (void)uv_udp_recv_stop(socket);
}

static bool address_of(const struct udp_options *o, struct sockaddr_storage *out)
{
    const char *host = !o->host[0]                         ? "::"
                       : strcmp(o->host, "localhost") == 0 ? "127.0.0.1"
                                                           : o->host;
    return uv_ip4_addr(host, o->port, (struct sockaddr_in *)out) == 0 ||
           uv_ip6_addr(host, o->port, (struct sockaddr_in6 *)out) == 0;
}

static enum err bind_socket(struct udp *u, const struct sockaddr_storage *at, struct fault *fault)
{
    int status = uv_udp_bind(&u->socket, (const struct sockaddr *)at, 0);
    if (status != 0)
        return fault_set(fault, status == UV_EADDRINUSE ? ERR_BUSY : ERR_IO,
                         "cannot listen on UDP %s:%u: %s", u->options.host, u->options.port,
                         uv_strerror(status));
    int kernel = KERNEL_BYTES; // what comes in one tick; less is fine
    (void)uv_recv_buffer_size((uv_handle_t *)&u->socket, &kernel);
    struct sockaddr_storage bound = {0};
    int size = sizeof bound;
    (void)uv_udp_getsockname(&u->socket, (struct sockaddr *)&bound, &size);
    u->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                : ((struct sockaddr_in *)&bound)->sin_port);
    return ERR_OK;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

enum err udp_open(const struct udp_options *options, struct udp **out, struct fault *fault)
{
    struct sockaddr_storage at = {0};
    if (!address_of(options, &at))
        return fault_set(fault, ERR_NOT_FOUND,
                         "\"%.80s\" is no address: give one, like 127.0.0.1 or [::1]",
                         options->host);
    struct udp *u = calloc(1, sizeof *u);
    if (!u) return fault_set(fault, ERR_MEMORY, "no memory for a socket");
    u->options = *options;
    u->socket.data = u;
    if (uv_udp_init(options->loop, &u->socket) != 0) {
        free(u);
        return fault_set(fault, ERR_IO, "no socket is left");
    }
    enum err e = bind_socket(u, &at, fault);
    if (e != ERR_OK) {
        udp_close(u);
        return e;
    }
    udp_refill(u);
    *out = u;
    return ERR_OK;
}

uint16_t udp_port(const struct udp *u)
{
    return u->port;
}

void udp_refill(struct udp *u)
{
    u->budget = u->options.budget_max;
    if (u->receiving || u->closing) return;
    u->receiving = uv_udp_recv_start(&u->socket, on_buffer, on_received) == 0;
}

uint64_t udp_paused(const struct udp *u)
{
    return u->paused;
}

void udp_close(struct udp *u)
{
    if (!u || u->closing) return;
    u->closing = true;
    uv_close((uv_handle_t *)&u->socket, on_closed);
}

bool udp_same_sender(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family) return false;
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *x = (const void *)a, *y = (const void *)b;
        return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const void *)a, *y = (const void *)b;
    return x->sin6_port == y->sin6_port &&
           memcmp(&x->sin6_addr, &y->sin6_addr, sizeof x->sin6_addr) == 0;
}

void udp_sender_text(const struct sockaddr *a, char out[80])
{
    char host[64] = "";
    bool six = a->sa_family == AF_INET6;
    const struct sockaddr_in *four = (const void *)a;
    const struct sockaddr_in6 *sixes = (const void *)a;
    if (six)
        (void)uv_ip6_name(sixes, host, sizeof host);
    else
        (void)uv_ip4_name(four, host, sizeof host);
    (void)snprintf(out, 80, six ? "[%s]:%u" : "%s:%u", host,
                   ntohs(six ? sixes->sin6_port : four->sin_port));
}
