#include "server/net/listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "common/check.h"
#include "common/log.h"
#include "common/slots.h"
#include "common/tls.h"
#include "server/net/background.h"

enum {
    SOCKETS_MAX = 16, // addresses of one host name
    BACKLOG = 512,
    CONNECTIONS_MAX = 1024,
    PER_ADDRESS_MAX = 64,
    HANDSHAKES_MAX = 512,
    DESCRIPTORS_RESERVED = 48 // files, databases, listeners, pipes
};

// How many connections an address has. Open addressing; a row lives while its count is above 0.
struct address_row {
    uint8_t key[16];
    uint32_t count;
};

struct listener_hub {
    uv_loop_t *loop;
    struct listener_limits limits;
    struct listener_stats stats;
    struct slots conns;
    struct address_row *rows;
    size_t row_count; // a power of two, twice connections_max
    struct background *background;
    struct background_job trim;
    bool trim_held;
    size_t gone_since_trim;
};

struct listener {
    struct listener_hub *hub;
    struct conn_options conn;   // what connections get: with our own callbacks
    struct conn_options wanted; // the owner's
    char host[256];
    uint16_t port;
    size_t socket_count, sockets_open, conns_open;
    bool closing;
    uv_tcp_t sockets[SOCKETS_MAX];
};

// --- Counting -----------------------------------------------------------------------------------

static size_t hash_key(const uint8_t key[16])
{
    uint64_t h = 14695981039346656037u; // FNV-1a
    for (size_t i = 0; i < 16; i++)
        h = (h ^ key[i]) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

// The row of `key`, or the free row where it would go. There is always a free one.
static size_t find_row(const struct listener_hub *hub, const uint8_t key[16])
{
    size_t i = hash_key(key) & (hub->row_count - 1);
    while (hub->rows[i].count > 0 && memcmp(hub->rows[i].key, key, 16) != 0)
        i = (i + 1) & (hub->row_count - 1);
    return i;
}

// Removes a row; those that were pushed past it move up, so that no search ends too early.
static void clear_row(struct listener_hub *hub, size_t gap)
{
    size_t mask = hub->row_count - 1;
    hub->rows[gap].count = 0;
    for (size_t i = (gap + 1) & mask; hub->rows[i].count > 0; i = (i + 1) & mask) {
        size_t home = hash_key(hub->rows[i].key) & mask;
        if (((i - home) & mask) < ((i - gap) & mask)) continue;
        hub->rows[gap] = hub->rows[i];
        hub->rows[i].count = 0;
        gap = i;
    }
}

static bool counts_address(const struct listener_hub *hub, const struct conn_address *a)
{
    return !a->loopback || hub->limits.loopback_counts;
}

static bool admit_address(struct listener_hub *hub, const struct conn_address *a)
{
    if (!counts_address(hub, a)) return true;
    struct address_row *row = &hub->rows[find_row(hub, a->key)];
    if (row->count >= hub->limits.per_address_max) return false;
    memcpy(row->key, a->key, sizeof row->key);
    row->count++;
    return true;
}

static void forget_address(struct listener_hub *hub, const struct conn_address *a)
{
    if (!counts_address(hub, a)) return;
    size_t i = find_row(hub, a->key);
    CHECK(hub->rows[i].count > 0);
    if (hub->rows[i].count > 1)
        hub->rows[i].count--;
    else
        clear_row(hub, i);
}

static void fill_limits(struct listener_limits *l)
{
    if (l->connections_max == 0) l->connections_max = CONNECTIONS_MAX;
    if (l->per_address_max == 0) l->per_address_max = PER_ADDRESS_MAX;
    if (l->handshakes_max == 0) l->handshakes_max = HANDSHAKES_MAX;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return;
    // Descriptors for the rest of the server come first: a full house must not break the store.
    size_t all = (size_t)files.rlim_cur;
    size_t left = all > (size_t)2 * DESCRIPTORS_RESERVED ? all - DESCRIPTORS_RESERVED : all / 2 + 1;
    if (l->connections_max <= left) return;
    log_event(LOG_LEVEL_WARN, "listener.descriptors", LOG_I("wanted", l->connections_max),
              LOG_I("possible", left), LOG_T("hint", "raise LimitNOFILE or ulimit -n"));
    l->connections_max = left;
}

struct listener_hub *listener_hub_create(uv_loop_t *loop, const struct listener_limits *limits)
{
    struct listener_hub *hub = calloc(1, sizeof *hub);
    if (!hub) return NULL;
    hub->loop = loop;
    if (limits) hub->limits = *limits;
    fill_limits(&hub->limits);
    hub->row_count = 16;
    while (hub->row_count < 2 * hub->limits.connections_max)
        hub->row_count *= 2;
    hub->rows = calloc(hub->row_count, sizeof *hub->rows);
    if (!hub->rows || !slots_create(&hub->conns, hub->limits.connections_max)) {
        free(hub->rows);
        free(hub);
        return NULL;
    }
    return hub;
}

void listener_hub_free(struct listener_hub *hub)
{
    if (!hub) return;
    CHECK(hub->stats.open == 0);
    CHECK(!hub->trim_held);
    slots_free(&hub->conns);
    free(hub->rows);
    free(hub);
}

const struct listener_stats *listener_hub_stats(const struct listener_hub *hub)
{
    return &hub->stats;
}

struct conn *listener_hub_find(struct listener_hub *hub, uint64_t id)
{
    return slots_find(&hub->conns, id);
}

void listener_hub_each(struct listener_hub *hub, void (*visit)(struct conn *c, void *ctx),
                       void *ctx)
{
    for (size_t i = 0; i < hub->conns.capacity; i++) {
        struct conn *c = slots_at(&hub->conns, i);
        if (c) visit(c, ctx);
    }
}

// --- Memory after a crowd -----------------------------------------------------------------------

enum { TRIM_CONNECTIONS_MIN = 64 };

static void run_trim(struct background_job *job) // on a pool thread: it takes milliseconds
{
    (void)job;
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

static void on_trimmed(struct background_job *job);

// When a crowd has left, the heap that it needed goes back to the system: else one storm would be
// paid for until the next restart. Only when enough have gone that it is worth the walk.
static void trim_after_crowd(struct listener_hub *hub)
{
    size_t open = hub->stats.open;
    bool crowd_left =
        hub->gone_since_trim >= TRIM_CONNECTIONS_MIN && open <= hub->gone_since_trim / 4;
    bool all_left = hub->gone_since_trim >= TRIM_CONNECTIONS_MIN / 4 && open == 0;
    if (hub->trim_held || !hub->background || (!crowd_left && !all_left)) return;
    hub->trim = (struct background_job){.run = run_trim, .done = on_trimmed, .owner = hub};
    hub->trim_held = background_submit(hub->background, BACKGROUND_SLOW, &hub->trim);
    if (hub->trim_held) hub->gone_since_trim = 0;
}

static void on_trimmed(struct background_job *job)
{
    struct listener_hub *hub = job->owner;
    hub->trim_held = false;
    trim_after_crowd(hub); // those that left meanwhile
}

// --- Accepting ----------------------------------------------------------------------------------

static void free_if_unused(struct listener *l)
{
    if (l->closing && l->sockets_open == 0 && l->conns_open == 0) free(l);
}

static void on_conn_open(struct conn *c, const char *alpn, void *owner)
{
    struct listener *l = owner;
    if (conn_is_tls(c)) {
        CHECK(l->hub->stats.handshaking > 0);
        l->hub->stats.handshaking--;
        if (tls_resumed(conn_tls(c)))
            l->hub->stats.handshakes_resumed++;
        else
            l->hub->stats.handshakes_ok++;
    }
    l->wanted.on_open(c, alpn, l->wanted.owner);
}

static void on_conn_gone(struct conn *c, enum conn_reason reason, void *owner)
{
    struct listener *l = owner;
    struct listener_hub *hub = l->hub;
    struct conn_stats stats;
    conn_stats(c, &stats);
    hub->stats.received_bytes += stats.received_bytes;
    hub->stats.sent_bytes += stats.sent_bytes;
    hub->stats.closed[reason]++;
    if (conn_id(c) != 0) { // else refused before it was counted
        CHECK(slots_remove(&hub->conns, conn_id(c)) == c);
        forget_address(hub, conn_peer(c));
        hub->stats.open--;
        hub->gone_since_trim++;
        trim_after_crowd(hub);
        if (l->conn.tls && !conn_was_open(c)) {
            hub->stats.handshaking--;
            hub->stats.handshakes_failed++;
            if (reason == CONN_REASON_TLS && conn_tls(c))
                log_event(LOG_LEVEL_INFO, "tls.refused", LOG_T("peer", conn_peer(c)->text),
                          LOG_T("why", tls_failure(conn_tls(c))));
        }
    }
    l->conns_open--;
    free_if_unused(l);
}

// Why a connection is not taken: a counter, or NULL when it is.
static uint64_t *refuse(struct listener *l, struct conn *c)
{
    struct listener_hub *hub = l->hub;
    if (hub->conns.used >= hub->limits.connections_max) return &hub->stats.refused_total;
    if (l->conn.tls && hub->stats.handshaking >= hub->limits.handshakes_max)
        return &hub->stats.refused_handshakes;
    if (!admit_address(hub, conn_peer(c))) return &hub->stats.refused_address;
    return NULL;
}

static void on_connection(uv_stream_t *socket, int status)
{
    struct listener *l = socket->data;
    struct listener_hub *hub = l->hub;
    if (l->closing) return;
    if (status != 0) { // EMFILE: libuv has turned the peer away by its spare descriptor
        hub->stats.accept_failed++;
        log_event(LOG_LEVEL_WARN, "listener.accept", LOG_T("why", uv_strerror(status)));
        return;
    }
    struct conn *c = conn_accept(socket, &l->conn);
    CHECK(c); // a machine without 30 kB has stopped working long before
    l->conns_open++;
    if (conn_is_closing(c)) {
        hub->stats.accept_failed++;
        return;
    }
    uint64_t *counter = refuse(l, c);
    if (counter) {
        ++*counter;
        log_event(LOG_LEVEL_INFO, "listener.refused", LOG_T("peer", conn_peer(c)->text));
        conn_close(c, CONN_REASON_REFUSED);
        return;
    }
    hub->stats.accepted++;
    hub->stats.open++;
    if (l->conn.tls) hub->stats.handshaking++;
    conn_set_id(c, slots_add(&hub->conns, c));
    conn_start(c);
}

// --- Binding ------------------------------------------------------------------------------------

static void on_socket_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    l->sockets_open--;
    free_if_unused(l);
}

void listener_close(struct listener *l)
{
    if (!l || l->closing) return;
    l->closing = true;
    for (size_t i = 0; i < l->socket_count; i++)
        uv_close((uv_handle_t *)&l->sockets[i], on_socket_closed);
    free_if_unused(l);
}

void listener_set_tls(struct listener *l, const struct tls_config *tls)
{
    CHECK(l->conn.tls && tls);
    l->conn.tls = tls; // a connection looks at it once, when it is accepted
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, a, sizeof v4);
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 v6;
    memcpy(&v6, a, sizeof v6);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

static uint16_t bound_port(const uv_tcp_t *socket)
{
    struct sockaddr_storage a;
    int size = sizeof a;
    memset(&a, 0, sizeof a);
    if (uv_tcp_getsockname(socket, (struct sockaddr *)&a, &size) != 0) return 0;
    if (a.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&a)->sin_port);
    return ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
}

// Binds one address. libuv sets SO_REUSEADDR; an IPv6 wildcard takes IPv4 as well.
static int bind_one(struct listener *l, const struct sockaddr *address)
{
    struct sockaddr_storage a;
    memset(&a, 0, sizeof a);
    memcpy(&a, address,
           address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                         : sizeof(struct sockaddr_in6));
    if (a.ss_family == AF_INET)
        ((struct sockaddr_in *)&a)->sin_port = htons(l->port);
    else
        ((struct sockaddr_in6 *)&a)->sin6_port = htons(l->port);
    uv_tcp_t *socket = &l->sockets[l->socket_count];
    CHECK(uv_tcp_init(l->hub->loop, socket) == 0);
    socket->data = l;
    l->socket_count++;
    l->sockets_open++;
    int status = uv_tcp_bind(socket, (const struct sockaddr *)&a, 0);
    if (status == 0) status = uv_listen((uv_stream_t *)socket, BACKLOG, on_connection);
    if (status == 0 && l->port == 0) l->port = bound_port(socket); // the others take the same
    return status;
}

static enum err fault_bind(struct fault *fault, const struct listener *l, int status)
{
    if (status == UV_EADDRINUSE)
        return fault_set(
            fault, ERR_BUSY,
            "port %u on %s is taken by another program: choose another port or stop it", l->port,
            l->host);
    if (status == UV_EACCES)
        return fault_set(fault, ERR_DENIED, "port %u on %s needs privileges: choose one above 1023",
                         l->port, l->host);
    if (status == UV_EADDRNOTAVAIL)
        return fault_set(fault, ERR_NOT_FOUND, "%s is not an address of this machine", l->host);
    return fault_set(fault, ERR_IO, "cannot listen on %s port %u: %s", l->host, l->port,
                     uv_strerror(status));
}

// Every address of the host. An address family that the machine lacks is passed over as long as
// another one works.
static enum err bind_all(struct listener *l, const struct addrinfo *list, bool loopback_only,
                         struct fault *fault)
{
    int bound = 0, failure = UV_EADDRNOTAVAIL;
    for (const struct addrinfo *i = list; i && l->socket_count < SOCKETS_MAX; i = i->ai_next) {
        if (i->ai_family != AF_INET && i->ai_family != AF_INET6) continue;
        if (loopback_only && !is_loopback(i->ai_addr))
            return fault_set(fault, ERR_DENIED,
                             "plain HTTP listens on loopback only, and %s is not: use --tls, or "
                             "--plain-anywhere if the network is trusted",
                             l->host);
        int status = bind_one(l, i->ai_addr);
        if (status == 0)
            bound++;
        else
            failure = status;
        if (status != 0 && status != UV_EADDRNOTAVAIL && status != UV_EAFNOSUPPORT)
            return fault_bind(fault, l, status);
    }
    return bound > 0 ? ERR_OK : fault_bind(fault, l, failure);
}

static enum err resolve_and_bind(struct listener *l, bool loopback_only, struct fault *fault)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    uv_getaddrinfo_t request;
    // Every address: one dual-stack socket where IPv6 exists, else IPv4.
    const char *host = l->host[0] ? l->host : "::";
    int status = uv_getaddrinfo(l->hub->loop, &request, NULL, host, NULL, &hints);
    if (status != 0)
        return fault_set(fault, ERR_NOT_FOUND, "no address for %s: %s", host, uv_strerror(status));
    enum err e = bind_all(l, request.addrinfo, loopback_only, l->host[0] ? fault : NULL);
    uv_freeaddrinfo(request.addrinfo);
    if (e == ERR_OK || l->host[0]) return e;
    struct sockaddr_in any;
    CHECK(uv_ip4_addr("0.0.0.0", l->port, &any) == 0);
    struct addrinfo one = {.ai_family = AF_INET, .ai_addr = (struct sockaddr *)&any};
    return bind_all(l, &one, loopback_only, fault);
}

enum err listener_open(struct listener_hub *hub, const struct listener_options *options,
                       struct listener **out, struct fault *fault)
{
    CHECK(options->conn.on_open);
    struct listener *l = calloc(1, sizeof *l);
    if (!l) return fault_set(fault, ERR_MEMORY, "no memory for a listener");
    l->hub = hub;
    l->wanted = l->conn = options->conn;
    l->conn.on_open = on_conn_open;
    l->conn.on_gone = on_conn_gone;
    l->conn.owner = l;
    l->port = options->port;
    if (options->conn.background) hub->background = options->conn.background;
    if (options->host) (void)snprintf(l->host, sizeof l->host, "%s", options->host);
    enum err e = resolve_and_bind(l, options->loopback_only, fault);
    if (e != ERR_OK) {
        listener_close(l);
        return e;
    }
    *out = l;
    return ERR_OK;
}

uint16_t listener_port(const struct listener *l)
{
    return l->port;
}
