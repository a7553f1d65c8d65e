#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif

#include "server/net/conn_internal.h"

enum { KEEPALIVE_S = 15, UNSENT_BYTES = 16 * 1024, USER_TIMEOUT_MS = 8000 };

static void set_option(int fd, int level, int name, int value)
{
    // Each is a wish: a system without it serves all the same.
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

void conn_socket_tune(struct conn *c)
{
    uv_os_fd_t fd;
    (void)uv_tcp_nodelay(&c->tcp, 1);
    (void)uv_tcp_keepalive(&c->tcp, 1, KEEPALIVE_S);
    if (uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0) return;
        // The kernel is given only what the wire takes soon: what waits there cannot be replaced by
        // a newer frame any more.
#ifdef TCP_NOTSENT_LOWAT
    set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES);
#endif
    // A peer that vanished is noticed by data it does not acknowledge.
#ifdef TCP_USER_TIMEOUT
    uint32_t timeout_ms = c->options->user_timeout_ms;
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_ms ? (int)timeout_ms : USER_TIMEOUT_MS);
#endif
    if (c->options->send_buffer_bytes)
        set_option(fd, SOL_SOCKET, SO_SNDBUF, (int)c->options->send_buffer_bytes);
#ifdef TCP_CONGESTION
    if (c->options->cubic) (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
#endif
}

size_t conn_socket_unsent(const struct conn *c)
{
    int unsent = 0;
#ifdef SIOCOUTQNSD
    // TCP_NOTSENT_LOWAT alone does not bound it: the kernel asks before it begins a buffer, and
    // then fills that up to 64 kB.
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0 || ioctl(fd, SIOCOUTQNSD, &unsent) != 0)
        return 0;
#else
    (void)c;
#endif
    return unsent > 0 ? (size_t)unsent : 0;
}

static void fill_v4(struct conn_address *out, const struct in_addr *address, uint16_t port)
{
    (void)inet_ntop(AF_INET, address, out->text, sizeof out->text);
    out->port = ntohs(port);
    memset(out->key + 10, 0xff, 2);
    memcpy(out->key + 12, address, 4);
    out->loopback = (ntohl(address->s_addr) >> 24) == 127;
}

static void fill(struct conn_address *out, const struct sockaddr_storage *from)
{
    memset(out, 0, sizeof *out);
    if (from->ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, from, sizeof v4);
        fill_v4(out, &v4.sin_addr, v4.sin_port);
        return;
    }
    struct sockaddr_in6 v6;
    memcpy(&v6, from, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) { // a dual-stack listener
        struct in_addr v4;
        memcpy(&v4, v6.sin6_addr.s6_addr + 12, sizeof v4);
        fill_v4(out, &v4, v6.sin6_port);
        return;
    }
    (void)inet_ntop(AF_INET6, &v6.sin6_addr, out->text, sizeof out->text);
    out->port = ntohs(v6.sin6_port);
    // One household or one attacker has a whole /64.
    memcpy(out->key, &v6.sin6_addr, 8);
    out->loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    if (out->loopback) out->key[15] = 1;
}

void conn_socket_addresses(struct conn *c)
{
    struct sockaddr_storage address;
    int size = sizeof address;
    memset(&address, 0, sizeof address);
    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&address, &size) == 0)
        fill(&c->peer, &address);
    size = sizeof address;
    memset(&address, 0, sizeof address);
    if (uv_tcp_getsockname(&c->tcp, (struct sockaddr *)&address, &size) == 0)
        fill(&c->local, &address);
}
