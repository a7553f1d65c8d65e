// Caps, descriptors, addresses, and thousands of connections that come and go.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "server/net/notify.h"
#include "server/net/signals.h"
#include "tests/net/rig.h"
#include "tests/testing.h"

int testing_failures;

static const char *const stream_alpn[] = {"sinew/1", NULL};
static struct rig rig;
static int opened, closed;

static ptrdiff_t echo(struct conn *c, uint8_t *bytes, size_t size_bytes, void *owner)
{
    (void)owner;
    (void)conn_send(c, bytes, size_bytes);
    return (ptrdiff_t)size_bytes;
}

static void on_closed(struct conn *c, enum conn_reason reason, void *owner)
{
    (void)c;
    (void)reason;
    (void)owner;
    closed++;
}

static const struct conn_events events = {.on_bytes = echo, .on_closed = on_closed};

static void on_open(struct conn *c, const char *alpn, void *owner)
{
    (void)alpn;
    (void)owner;
    opened++;
    conn_take(c, &events, NULL);
}

static struct listener *begin(bool tls, const struct listener_limits *limits)
{
    opened = closed = 0;
    rig_open(&rig, limits);
    return rig_listen(&rig, tls, (struct conn_options){.on_open = on_open});
}

static void finish(struct listener *l)
{
    listener_close(l);
    rig_close(&rig);
}

static void the_total_is_capped(void)
{
    struct listener *l = begin(false, &(struct listener_limits){.connections_max = 5});
    struct peer peers[8];
    for (int i = 0; i < 8; i++)
        peer_open(&peers[i], listener_port(l), NULL);
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->refused_total == 3, 2000);
    EXPECT(listener_hub_stats(rig.hub)->open == 5 && opened == 5);
    for (int i = 0; i < 8; i++)
        EXPECT(peer_gone(&peers[i]) == (i >= 5));
    for (int i = 0; i < 8; i++)
        peer_close(&peers[i]);
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->open == 0, 2000);
    peer_open(&peers[0], listener_port(l), NULL); // room again
    RIG_UNTIL(&rig, opened == 6, 2000);
    peer_close(&peers[0]);
    finish(l);
}

static void each_address_is_capped(void)
{
    struct listener *l =
        begin(false, &(struct listener_limits){.per_address_max = 3, .loopback_counts = true});
    struct peer peers[5];
    for (int i = 0; i < 5; i++)
        peer_open(&peers[i], listener_port(l), NULL);
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->refused_address == 2, 2000);
    // Another address still gets in.
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(listener_port(l))};
    EXPECT(inet_pton(AF_INET, "127.0.0.9", &from.sin_addr) == 1);
    EXPECT(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr) == 1);
    EXPECT(bind(fd, (struct sockaddr *)&from, sizeof from) == 0);
    EXPECT(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    RIG_UNTIL(&rig, opened == 4, 2000);
    (void)close(fd);
    for (int i = 0; i < 5; i++)
        peer_close(&peers[i]);
    finish(l);
}

static void handshakes_in_progress_are_capped(void)
{
    struct listener *l = begin(true, &(struct listener_limits){.handshakes_max = 2});
    struct peer peers[4];
    for (int i = 0; i < 4; i++)
        peer_open(&peers[i], listener_port(l), NULL); // say nothing
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->refused_handshakes == 2, 2000);
    for (int i = 0; i < 4; i++)
        peer_close(&peers[i]);
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->handshaking == 0, 2000);
    finish(l);
}

// S11: descriptors run out; the client that is there notices nothing and the loop does not spin.
static void running_out_of_descriptors_leaves_old_clients_alone(void)
{
    struct listener *l = begin(false, NULL);
    struct peer old, crowd[24];
    peer_open(&old, listener_port(l), NULL);
    RIG_UNTIL(&rig, opened == 1, 2000);
    int fds[24], count = 0;
    for (; count < 24; count++)
        fds[count] = socket(AF_INET, SOCK_STREAM, 0);
    struct rlimit before, tight;
    EXPECT(getrlimit(RLIMIT_NOFILE, &before) == 0);
    tight = before;
    tight.rlim_cur = (rlim_t)rig_open_descriptors();
    EXPECT(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(listener_port(l)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < count; i++)
        EXPECT(connect(fds[i], (struct sockaddr *)&to, sizeof to) == 0);
    struct rusage use;
    EXPECT(getrusage(RUSAGE_SELF, &use) == 0);
    for (int i = 0; i < 50; i++) {
        peer_say(&old, "tick");
        rig_run(&rig, 4);
    }
    RIG_UNTIL(&rig, (peer_read(&old), old.got_bytes == 200), 2000);
    EXPECT(opened + (int)listener_hub_stats(rig.hub)->accept_failed >= 1);
    EXPECT(setrlimit(RLIMIT_NOFILE, &before) == 0);
    for (int i = 0; i < count; i++)
        (void)close(fds[i]);
    rig_run(&rig, 50);
    peer_open(&crowd[0], listener_port(l), NULL); // serves again
    peer_say(&crowd[0], "back");
    RIG_UNTIL(&rig, peer_has(&crowd[0], "back"), 2000);
    peer_close(&crowd[0]);
    peer_close(&old);
    finish(l);
}

// S12: connections of every kind; descriptors and memory come back.
static void thousands_come_and_go_and_leave_nothing(void)
{
    struct listener *l = begin(false, NULL);
    struct listener *t = rig_listen(&rig, true, (struct conn_options){.on_open = on_open});
    int descriptors = rig_open_descriptors();
    size_t resident = 0;
    for (int i = 0; i < (RIG_SANITIZED ? 900 : 3000); i++) {
        struct peer p;
        if (i == 300) resident = rig_resident_bytes(); // allocators have warmed up
        peer_open(&p, listener_port(i % 3 ? l : t), NULL);
        if (i % 4 == 0) peer_say(&p, "bytes");
        if (i % 4 == 1) (void)shutdown(p.fd, SHUT_WR);
        if (i % 8 == 2) {
            struct linger hard = {.l_onoff = 1};
            (void)setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        }
        (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
        peer_close(&p);
        (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < 40; i++) {
        struct peer p;
        struct peer_options o = {.rig = &rig, .alpn = stream_alpn};
        peer_open(&p, listener_port(t), &o);
        peer_shake(&p, &rig);
        EXPECT(p.open);
        peer_close(&p);
    }
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->open == 0, 5000);
    EXPECT(opened == closed);
    EXPECT(rig_open_descriptors() == descriptors);
    size_t now = rig_resident_bytes();
    if (!RIG_SANITIZED) EXPECT(now < resident + 2 * 1024 * 1024); // sanitizers keep what is freed
    printf("  resident after 300: %zu kB, at the end: %zu kB\n", resident / 1024, now / 1024);
    listener_close(t);
    finish(l);
}

static void the_memory_of_a_crowd_goes_back(void)
{
    enum { CROWD = RIG_SANITIZED ? 40 : 200 };
    static struct peer peers[CROWD];
    static uint8_t bytes[60000];
    struct listener *l = begin(true, NULL);
    struct peer_options o = {.rig = &rig, .alpn = stream_alpn};
    size_t before = rig_resident_bytes();
    for (int i = 0; i < CROWD; i++) {
        peer_open(&peers[i], listener_port(l), &o);
        peer_shake(&peers[i], &rig);
        peer_send(&peers[i], bytes, 16000);
    }
    RIG_UNTIL(&rig, opened == CROWD, 5000);
    size_t with = rig_resident_bytes();
    for (int i = 0; i < CROWD; i++)
        peer_close(&peers[i]);
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->open == 0, 5000);
    rig_run(&rig, 100);
    size_t after = rig_resident_bytes();
    printf("  resident before %zu kB, with %d connections and their peers %zu kB, after %zu kB\n",
           before / 1024, CROWD, with / 1024, after / 1024);
    if (!RIG_SANITIZED) EXPECT(after < before + 4 * 1024 * 1024);
    finish(l);
}

static void hosts_are_resolved_and_refused_with_a_line_to_act_on(void)
{
    struct listener *l = begin(false, NULL), *other = NULL;
    struct fault f = {0};
    struct listener_options o = {
        .host = "127.0.0.1", .port = listener_port(l), .conn = {.on_open = on_open}};
    EXPECT(listener_open(rig.hub, &o, &other, &f) == ERR_BUSY);
    EXPECT(strstr(f.line, "taken") != NULL);
    f = (struct fault){0};
    o.host = "198.51.100.1";
    o.port = 0;
    EXPECT(listener_open(rig.hub, &o, &other, &f) == ERR_NOT_FOUND);
    EXPECT(strstr(f.line, "not an address of this machine") != NULL);
    f = (struct fault){0};
    o.host = "0.0.0.0";
    o.loopback_only = true;
    EXPECT(listener_open(rig.hub, &o, &other, &f) == ERR_DENIED);
    EXPECT(strstr(f.line, "--plain-anywhere") != NULL);
    o.host = "localhost";
    EXPECT(listener_open(rig.hub, &o, &other, NULL) == ERR_OK);
    EXPECT(other && listener_port(other) != 0);
    struct peer p;
    peer_open(&p, listener_port(other), NULL);
    RIG_UNTIL(&rig, opened == 1, 2000);
    peer_close(&p);
    listener_close(other);
    finish(l);
}

static void every_address_means_both_families(void)
{
    struct listener *l = begin(false, NULL), *all = NULL;
    struct listener_options o = {.host = "", .conn = {.on_open = on_open}};
    EXPECT(listener_open(rig.hub, &o, &all, NULL) == ERR_OK);
    struct peer p;
    peer_open(&p, listener_port(all), NULL); // IPv4 on a dual-stack socket
    RIG_UNTIL(&rig, opened == 1, 2000);
    peer_close(&p);
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons(listener_port(all)),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        RIG_UNTIL(&rig, opened == 2, 2000);
    if (fd >= 0) (void)close(fd);
    listener_close(all);
    finish(l);
}

static void a_closed_listener_keeps_its_connections(void)
{
    struct listener *l = begin(false, NULL);
    struct peer p;
    peer_open(&p, listener_port(l), NULL);
    RIG_UNTIL(&rig, opened == 1, 2000);
    listener_close(l);
    rig_run(&rig, 20);
    peer_say(&p, "still here");
    RIG_UNTIL(&rig, peer_has(&p, "still here"), 2000);
    peer_close(&p);
    rig_close(&rig);
}

static void systemd_is_told(void)
{
    char path[] = "/tmp/sinew-notify-XXXXXX", text[64] = "";
    EXPECT(!notify_send("READY=1")); // not run by systemd
    EXPECT(mkdtemp(path) != NULL);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    (void)snprintf(a.sun_path, sizeof a.sun_path, "%s/s", path);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    EXPECT(bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    EXPECT(setenv("NOTIFY_SOCKET", a.sun_path, 1) == 0);
    EXPECT(notify_send("READY=1\nSTATUS=serving"));
    EXPECT(recv(fd, text, sizeof text - 1, 0) > 0 && strcmp(text, "READY=1\nSTATUS=serving") == 0);
    EXPECT(setenv("WATCHDOG_USEC", "3000000", 1) == 0);
    EXPECT(notify_watchdog_ms() == 1500);
    EXPECT(setenv("WATCHDOG_PID", "1", 1) == 0);
    EXPECT(notify_watchdog_ms() == 0); // meant for another process
    (void)unsetenv("NOTIFY_SOCKET");
    (void)close(fd);
    (void)unlink(a.sun_path);
    (void)rmdir(path);
}

static int stops, reloads;

static void on_stop(void *owner)
{
    (void)owner;
    stops++;
}

static void on_reload(void *owner)
{
    (void)owner;
    reloads++;
}

static void on_busy(uv_timer_t *timer)
{
    (void)timer;
}

static void the_first_signal_stops_in_order(void)
{
    uv_loop_t loop;
    uv_timer_t busy; // waiting for signals alone does not keep a loop going
    struct signals s;
    EXPECT(uv_loop_init(&loop) == 0 && uv_timer_init(&loop, &busy) == 0);
    EXPECT(uv_timer_start(&busy, on_busy, 10, 10) == 0);
    signals_start(&s, &loop, on_stop, on_reload, NULL);
    EXPECT(kill(getpid(), SIGHUP) == 0 && kill(getpid(), SIGTERM) == 0);
    EXPECT(kill(getpid(), SIGPIPE) == 0);
    for (int i = 0; i < 100 && (stops == 0 || reloads == 0); i++) {
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        (void)usleep(1000);
    }
    EXPECT(stops == 1 && reloads == 1);
    signals_stop(&s);
    uv_close((uv_handle_t *)&busy, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT(uv_loop_close(&loop) == 0);
}

int main(void)
{
    RUN(the_total_is_capped);
    RUN(each_address_is_capped);
    RUN(handshakes_in_progress_are_capped);
    RUN(running_out_of_descriptors_leaves_old_clients_alone);
    RUN(thousands_come_and_go_and_leave_nothing);
    RUN(the_memory_of_a_crowd_goes_back);
    RUN(hosts_are_resolved_and_refused_with_a_line_to_act_on);
    RUN(every_address_means_both_families);
    RUN(a_closed_listener_keeps_its_connections);
    RUN(systemd_is_told);
    RUN(the_first_signal_stops_in_order);
    TESTING_MAIN_END;
}
