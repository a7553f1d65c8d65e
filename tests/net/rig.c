#include "tests/net/rig.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/tls_cert.h"
#include "tests/testing.h"

static const char *const server_alpn[] = {"sinew/1", "http/1.1", NULL};

void rig_open(struct rig *r, const struct listener_limits *limits)
{
    *r = (struct rig){.folder = "/tmp/sinew-net-XXXXXX"};
    struct tls_cert_names names = {0};
    struct fault f = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    EXPECT(log_open(&(struct log_options){.level_min = LOG_LEVEL_ERROR}, NULL) == ERR_OK);
    EXPECT(mkdtemp(r->folder) != NULL);
    tls_cert_add_dns(&names, "localhost");
    tls_cert_add_address(&names, "127.0.0.1");
    EXPECT(tls_cert_ensure(r->folder, &names, r->certificate_path, r->key_path, &f) == ERR_OK);
    struct tls_server_options o = {r->certificate_path, r->key_path, server_alpn, 0};
    EXPECT(tls_config_server(&o, &r->tls, &f) == ERR_OK);
    EXPECT(uv_loop_init(&r->loop) == 0);
    r->background = background_create(&r->loop, 2, 256);
    r->hub = listener_hub_create(&r->loop, limits);
    EXPECT(r->background && r->hub);
}

void rig_close(struct rig *r)
{
    RIG_UNTIL(r, listener_hub_stats(r->hub)->open == 0, 8000);
    background_destroy(r->background);
    for (int i = 0; i < 1000 && uv_loop_alive(&r->loop); i++)
        (void)uv_run(&r->loop, UV_RUN_NOWAIT);
    EXPECT(uv_loop_close(&r->loop) == 0);
    listener_hub_free(r->hub);
    tls_config_free(r->tls);
    (void)unlink(r->certificate_path);
    (void)unlink(r->key_path);
    (void)rmdir(r->folder);
}

struct listener *rig_listen(struct rig *r, bool tls, struct conn_options conn)
{
    struct listener *l = NULL;
    struct fault f = {0};
    conn.tls = tls ? r->tls : NULL;
    conn.background = r->background;
    struct listener_options o = {.host = "127.0.0.1", .conn = conn};
    EXPECT(listener_open(r->hub, &o, &l, &f) == ERR_OK);
    if (f.code) printf("  %s\n", f.line);
    return l;
}

bool rig_step(struct rig *r, uint64_t deadline_ns)
{
    (void)uv_run(&r->loop, UV_RUN_NOWAIT);
    if (clock_ns() > deadline_ns) return false;
    (void)usleep(200);
    return true;
}

void rig_run(struct rig *r, uint32_t ms)
{
    uint64_t deadline = clock_ns() + (uint64_t)ms * 1000000u;
    while (rig_step(r, deadline))
        continue;
}

void peer_open(struct peer *p, uint16_t port, const struct peer_options *options)
{
    *p = (struct peer){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    EXPECT(p->fd >= 0);
    int one = 1;
    (void)setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (options && options->receive_buffer_bytes)
        (void)setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &options->receive_buffer_bytes, sizeof(int));
    EXPECT(connect(p->fd, (struct sockaddr *)&a, sizeof a) == 0);
    EXPECT(fcntl(p->fd, F_SETFL, O_NONBLOCK) == 0);
    p->got = malloc(PEER_BYTES_MAX + 1);
    p->open = true;
    if (!options || !options->alpn) return;
    p->open = false;
    struct tls_client_options o = {.ca_path = options->rig->certificate_path,
                                   .alpn = options->alpn};
    EXPECT(tls_config_client(&o, &p->config, NULL) == ERR_OK);
    EXPECT(queue_create(&p->in, 256 * 1024) && queue_create(&p->out, 256 * 1024));
    p->tls = tls_create(p->config, &p->in, &p->out, "localhost");
    if (options->ticket) tls_ticket_offer(p->tls, options->ticket);
}

static void send_raw(struct peer *p, const uint8_t *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        ssize_t n = send(p->fd, bytes, size_bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd poll_fd = {.fd = p->fd, .events = POLLOUT};
            if (poll(&poll_fd, 1, 50) <= 0) return; // the other side does not read now
            continue;
        }
        if (n < 0) {
            p->reset = true;
            return;
        }
        bytes += n;
        size_bytes -= (size_t)n;
    }
}

static void push_out(struct peer *p)
{
    if (!p->tls || queue_used(&p->out) == 0) return;
    send_raw(p, queue_head(&p->out), queue_used(&p->out));
    queue_drop(&p->out, queue_used(&p->out));
}

static void drive(struct peer *p)
{
    if (!p->tls) return;
    if (!p->open) {
        enum tls_status s = tls_handshake(p->tls);
        push_out(p);
        p->open = s == TLS_OK;
        if (s == TLS_FAILED) p->reset = true;
    }
    while (p->open && p->got_bytes < PEER_BYTES_MAX) {
        size_t got;
        enum tls_status s =
            tls_read(p->tls, p->got + p->got_bytes, PEER_BYTES_MAX - p->got_bytes, &got);
        p->got_bytes += got;
        if (s == TLS_CLOSED) p->ended = true;
        if (s == TLS_FAILED) p->reset = true;
        if (s != TLS_OK) break;
    }
    push_out(p);
}

void peer_read(struct peer *p)
{
    while (p->fd >= 0 && !p->ended && !p->reset) {
        uint8_t bytes[16384];
        size_t room = p->tls ? queue_space(&p->in) : PEER_BYTES_MAX - p->got_bytes;
        if (room > sizeof bytes) room = sizeof bytes;
        if (room == 0) break;
        ssize_t n = recv(p->fd, bytes, room, 0);
        if (n < 0 && errno == EAGAIN) break;
        if (n < 0) p->reset = true;
        if (n == 0) p->ended = true;
        if (n <= 0) break;
        if (p->tls) {
            EXPECT(queue_put_all(&p->in, bytes, (size_t)n));
            drive(p);
        } else {
            memcpy(p->got + p->got_bytes, bytes, (size_t)n);
            p->got_bytes += (size_t)n;
        }
    }
    p->got[p->got_bytes] = 0;
}

void peer_shake(struct peer *p, struct rig *r)
{
    uint64_t deadline = clock_ns() + 3000000000u;
    drive(p);
    while (!p->open && !p->reset && !p->ended && rig_step(r, deadline))
        peer_read(p);
}

void peer_send(struct peer *p, const void *bytes, size_t size_bytes)
{
    const uint8_t *at = bytes;
    if (!p->tls) {
        send_raw(p, at, size_bytes);
        return;
    }
    while (size_bytes > 0) {
        size_t n = size_bytes < TLS_RECORD_BYTES_MAX ? size_bytes : TLS_RECORD_BYTES_MAX;
        if (tls_write(p->tls, at, n) != TLS_OK) break;
        push_out(p);
        at += n;
        size_bytes -= n;
    }
}

void peer_say(struct peer *p, const char *text)
{
    peer_send(p, text, strlen(text));
}

bool peer_has(struct peer *p, const char *text)
{
    peer_read(p);
    return memmem(p->got, p->got_bytes, text, strlen(text)) != NULL;
}

bool peer_gone(struct peer *p)
{
    peer_read(p);
    return p->ended || p->reset;
}

void peer_close(struct peer *p)
{
    if (p->fd >= 0) (void)close(p->fd);
    p->fd = -1;
    tls_free(p->tls);
    tls_config_free(p->config);
    queue_free(&p->in);
    queue_free(&p->out);
    free(p->got);
    p->tls = NULL;
    p->config = NULL;
    p->got = NULL;
}

int rig_open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int count = -1; // the one of this folder
    if (!d) return 0;
    while (readdir(d))
        count++;
    (void)closedir(d);
    return count;
}

size_t rig_resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &total, &resident) != 2) resident = 0;
    (void)fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}
