#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/lib/net.h"
#include "common/check.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum { WAIT_MAX = 4096 };

enum err net_resolve(const char *host, const char *port, struct net_addresses *out,
                     struct fault *fault)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    int status = getaddrinfo(host, port, &hints, &list);
    if (status != 0)
        return fault_set(fault, ERR_NOT_FOUND, "cannot find the host \"%.100s\": %s", host,
                         gai_strerror(status));
    *out = (struct net_addresses){0};
    for (const struct addrinfo *a = list; a && out->count < NET_ADDRESSES_MAX; a = a->ai_next) {
        if (a->ai_addrlen > NET_ADDRESS_BYTES) continue;
        memcpy(out->items[out->count].bytes, a->ai_addr, a->ai_addrlen);
        out->items[out->count].size_bytes = (uint32_t)a->ai_addrlen;
        out->items[out->count++].family = a->ai_family;
    }
    freeaddrinfo(list);
    if (out->count > 0) return ERR_OK;
    return fault_set(fault, ERR_NOT_FOUND, "the host \"%.100s\" has no address", host);
}

static enum err fault_errno(struct fault *fault, const char *what, int number)
{
    char text[ERR_SYSTEM_BYTES];
    return fault_set(fault, ERR_IO, "%s: %s", what, err_system(number, text));
}

static bool make_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

intptr_t net_connect(const struct net_addresses *addresses, size_t index, struct fault *fault)
{
    int fd = socket(addresses->items[index].family, SOCK_STREAM, 0);
    if (fd < 0) {
        (void)fault_errno(fault, "no socket", errno);
        return NET_NONE;
    }
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // input is small and urgent
#ifdef SO_NOSIGPIPE
    (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    struct sockaddr_storage address;
    memcpy(&address, addresses->items[index].bytes, addresses->items[index].size_bytes);
    if (make_nonblocking(fd) && (connect(fd, (const struct sockaddr *)&address,
                                         (socklen_t)addresses->items[index].size_bytes) == 0 ||
                                 errno == EINPROGRESS || errno == EINTR))
        return fd;
    (void)fault_errno(fault, "cannot connect", errno);
    (void)close(fd);
    return NET_NONE;
}

enum net_status net_connected(intptr_t s, struct fault *fault)
{
    struct pollfd p = {.fd = (int)s, .events = POLLOUT};
    if (poll(&p, 1, 0) <= 0) return NET_AGAIN;
    int status = 0;
    socklen_t size = sizeof status;
    if (getsockopt((int)s, SOL_SOCKET, SO_ERROR, &status, &size) != 0) status = errno;
    if (status == 0) return NET_OK;
    (void)fault_errno(fault, "cannot connect", status);
    return NET_FAILED;
}

static enum net_status from_errno(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? NET_AGAIN : NET_FAILED;
}

enum net_status net_send(intptr_t s, const void *bytes, size_t size_bytes, size_t *sent)
{
    *sent = 0;
    ssize_t n = send((int)s, bytes, size_bytes, MSG_NOSIGNAL);
    if (n < 0) return from_errno();
    *sent = (size_t)n;
    return NET_OK;
}

enum net_status net_receive(intptr_t s, void *bytes, size_t room_bytes, size_t *got)
{
    *got = 0;
    ssize_t n = recv((int)s, bytes, room_bytes, 0);
    if (n < 0) return from_errno();
    *got = (size_t)n;
    return n == 0 ? NET_CLOSED : NET_OK;
}

void net_close(intptr_t s)
{
    if (s != NET_NONE) (void)close((int)s);
}

bool net_wait(struct net_wait *items, size_t count, uint32_t timeout_ms)
{
    CHECK(count <= WAIT_MAX);
    struct pollfd few[8], *list = few;
    if (count > sizeof few / sizeof few[0]) list = malloc(count * sizeof *list);
    if (!list) return false;
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct pollfd){.fd = (int)items[i].socket, .events = POLLIN};
        if (items[i].want_write) list[i].events |= POLLOUT;
    }
    int ready = poll(list, (nfds_t)count, timeout_ms > 600000 ? 600000 : (int)timeout_ms);
    for (size_t i = 0; i < count; i++)
        items[i].ready = ready > 0 && list[i].revents != 0;
    if (list != few) free(list);
    return ready > 0;
}

bool net_wake_create(struct net_wake *wake)
{
    int fds[2];
    if (pipe(fds) != 0) return false;
    wake->reads = fds[0];
    wake->writes = fds[1];
    if (make_nonblocking(fds[0]) && make_nonblocking(fds[1])) return true;
    net_wake_free(wake);
    return false;
}

void net_wake_signal(const struct net_wake *wake)
{
    ssize_t n;
    do
        n = write((int)wake->writes, "", 1); // a full pipe wakes as well
    while (n < 0 && errno == EINTR);
}

void net_wake_drain(const struct net_wake *wake)
{
    char bytes[64];
    while (read((int)wake->reads, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        ;
}

void net_wake_free(struct net_wake *wake)
{
    net_close(wake->reads);
    net_close(wake->writes);
    wake->reads = wake->writes = NET_NONE;
}

bool net_random(void *out, size_t size_bytes)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, out, size_bytes);
    (void)close(fd);
    return n == (ssize_t)size_bytes;
}

const char *net_system_ca(void)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", "/usr/local/etc/ssl/cert.pem"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (access(places[i], R_OK) == 0) return places[i];
    return NULL;
}

struct net_lock {
    pthread_mutex_t mutex;
};

struct net_lock *net_lock_create(void)
{
    struct net_lock *lock = malloc(sizeof *lock);
    if (lock) CHECK(pthread_mutex_init(&lock->mutex, NULL) == 0);
    return lock;
}

void net_lock_take(struct net_lock *lock)
{
    CHECK(pthread_mutex_lock(&lock->mutex) == 0);
}

void net_lock_give(struct net_lock *lock)
{
    CHECK(pthread_mutex_unlock(&lock->mutex) == 0);
}

void net_lock_free(struct net_lock *lock)
{
    if (!lock) return;
    CHECK(pthread_mutex_destroy(&lock->mutex) == 0);
    free(lock);
}

struct net_thread {
    pthread_t id;
    void (*run)(void *owner);
    void *owner;
};

static void *thread_main(void *opaque)
{
    struct net_thread *thread = opaque;
    thread->run(thread->owner);
    return NULL;
}

struct net_thread *net_thread_start(void (*run)(void *owner), void *owner)
{
    struct net_thread *thread = malloc(sizeof *thread);
    if (!thread) return NULL;
    *thread = (struct net_thread){.run = run, .owner = owner};
    if (pthread_create(&thread->id, NULL, thread_main, thread) == 0) return thread;
    free(thread);
    return NULL;
}

void net_thread_join(struct net_thread *thread)
{
    CHECK(pthread_join(thread->id, NULL) == 0);
    free(thread);
}
