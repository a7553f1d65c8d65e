#include "server/stream/lease.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"

#define PIN_NS 2000000000U

enum {
    SOCKET_MAX = 4096,      // datagrams a tick that are received: to throw one away is cheap
    PARSED_MAX = 512,       // and looked into
    PARSED_BYTES = 1 << 19, // together
};

struct lease {
    struct lease_options options;
    struct udp *socket;
    struct osc_source *source;
    struct sockaddr_storage from;
    bool pinned;
    uint64_t heard_ns; // something useful from the source
    uint32_t parsed;   // in this tick
    size_t parsed_bytes;
    uint64_t paused; // as counted already
};

static bool is_pinned(const struct lease *l, uint64_t now_ns)
{
    return l->pinned && now_ns - l->heard_ns < PIN_NS;
}

static void add_counts(struct lease *l, uint64_t before[OSC_PROTOCOLS][OSC_RESULTS])
{
    for (int p = 0; p < OSC_PROTOCOLS; p++)
        for (int r = 0; r < OSC_RESULTS; r++)
            l->options.counts->messages[p][r] += l->source->counts[p][r] - before[p][r];
}

static void pin(struct lease *l, const struct sockaddr *from)
{
    char text[80];
    size_t size =
        from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    memset(&l->from, 0, sizeof l->from);
    memcpy(&l->from, from, size);
    l->pinned = true;
    udp_sender_text(from, text);
    log_event(LOG_LEVEL_INFO, "lease.source", LOG_T("source", text),
              LOG_I("port", udp_port(l->socket)));
}

static void on_datagram(void *owner, const struct sockaddr *from, const uint8_t *bytes,
                        size_t size_bytes)
{
    struct lease *l = owner;
    struct lease_counts *counts = l->options.counts;
    uint64_t now_ns = clock_ns(), before[OSC_PROTOCOLS][OSC_RESULTS];
    counts->datagrams++;
    counts->bytes += size_bytes;
    bool known = is_pinned(l, now_ns);
    if (known && !udp_same_sender(from, (const struct sockaddr *)&l->from)) {
        counts->foreign++;
        return;
    }
    if (l->parsed >= PARSED_MAX || l->parsed_bytes + size_bytes > PARSED_BYTES) {
        counts->dropped++;
        return;
    }
    l->parsed++;
    l->parsed_bytes += size_bytes;
    memcpy(before, l->source->counts, sizeof before);
    bool useful = osc_source_take(l->source, bytes, size_bytes, now_ns);
    add_counts(l, before);
    if (!useful) return;
    if (!known) pin(l, from);
    l->heard_ns = now_ns;
}

enum err lease_open(const struct lease_options *options, struct lease **out, struct fault *fault)
{
    struct lease *l = calloc(1, sizeof *l);
    struct osc_source *source = malloc(sizeof *source);
    enum err e = ERR_BUSY;
    if (!l || !source) {
        free(l);
        free(source);
        return fault_set(fault, ERR_MEMORY, "no memory for a lease");
    }
    osc_source_start(source);
    l->options = *options;
    l->source = source;
    struct udp_options socket = {.loop = options->loop,
                                 .host = options->host,
                                 .budget_max = SOCKET_MAX,
                                 .on_datagram = on_datagram,
                                 .owner = l};
    for (uint32_t port = options->port_first; e == ERR_BUSY && port <= options->port_last; port++) {
        socket.port = (uint16_t)port;
        e = udp_open(&socket, &l->socket, fault);
    }
    if (e == ERR_OK) {
        *out = l;
        return ERR_OK;
    }
    free(source);
    free(l);
    if (e != ERR_BUSY) return e;
    return fault_set(fault, e, "every port from %u to %u is taken", options->port_first,
                     options->port_last);
}

void lease_close(struct lease *l)
{
    if (!l) return;
    udp_close(l->socket);
    free(l->source);
    free(l);
}

uint16_t lease_port(const struct lease *l)
{
    return udp_port(l->socket);
}

void lease_tick(struct lease *l, uint64_t actor, uint64_t now_ns)
{
    uint32_t news = osc_source_commit(l->source, now_ns, l->options.tick_ns);
    if (news && actor) {
        stage_hear(l->options.stage, actor, &l->source->said, news);
        l->options.counts->poses++;
    }
    l->parsed = 0;
    l->parsed_bytes = 0;
    l->options.counts->paused += udp_paused(l->socket) - l->paused;
    l->paused = udp_paused(l->socket);
    udp_refill(l->socket);
}

void lease_tell(const struct lease *l, uint64_t now_ns, struct lease_info *out)
{
    *out = (struct lease_info){.said = l->source};
    if (is_pinned(l, now_ns)) udp_sender_text((const struct sockaddr *)&l->from, out->source);
}
