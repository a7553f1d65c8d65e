#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "server/stream/hub_internal.h"

// UDP input of sessions: leases of ports, and what they have heard.

void hub_set_osc(struct hub *h, const char *host, uint16_t port_first, uint16_t port_last)
{
    (void)snprintf(h->osc_host, sizeof h->osc_host, "%s", host);
    h->osc_first = port_first;
    h->osc_last = port_last;
    h->osc = true;
}

void hub_hear(struct hub *h)
{
    uint64_t now_ns = clock_ns();
    for (size_t i = 0; i < h->session_count; i++)
        if (h->sessions[i]->lease)
            lease_tick(h->sessions[i]->lease, view_own_id(h->sessions[i]->view), now_ns);
}

static struct session *find(const struct hub *h, const char *name)
{
    for (size_t i = 0; i < h->session_count; i++)
        if (strcmp(h->sessions[i]->name, name) == 0) return h->sessions[i];
    return NULL;
}

static bool may(const struct session *s, const struct auth_identity *who,
                const struct conn_address *peer)
{
    if (who->scopes & AUTH_ADMIN) return true;
    if (s->who.token) return s->who.token == who->token;
    return memcmp(s->peer.key, peer->key, sizeof peer->key) == 0;
}

// Names of others' sessions are not told apart from names that there are not.
static enum hub_lease begin(const struct hub *h, const char *session,
                            const struct auth_identity *who, const struct conn_address *peer,
                            struct session **out)
{
    *out = find(h, session);
    if (!*out) return HUB_LEASE_UNKNOWN;
    return may(*out, who, peer) ? HUB_LEASE_OK : HUB_LEASE_DENIED;
}

static void tell(const struct hub *h, const struct session *s, struct hub_sensing *out)
{
    struct lease_info info;
    *out = (struct hub_sensing){0};
    if (!s->lease) return;
    lease_tell(s->lease, clock_ns(), &info);
    out->port = lease_port(s->lease);
    (void)snprintf(out->host, sizeof out->host, "%.63s", h->osc_host);
    memcpy(out->source, info.source, sizeof out->source);
    memcpy(out->messages, info.said->counts, sizeof out->messages);
}

enum hub_lease hub_lease_open(struct hub *h, const char *session, const struct auth_identity *who,
                              const struct conn_address *peer, struct hub_sensing *out,
                              struct fault *fault)
{
    struct session *s;
    enum hub_lease result = begin(h, session, who, peer, &s);
    if (!h->osc) return HUB_LEASE_OFF;
    if (result != HUB_LEASE_OK) return result;
    bool made = !s->lease;
    if (made) {
        const struct lease_options options = {.loop = h->options.loop,
                                              .stage = h->options.stage,
                                              .counts = &h->counts.leases,
                                              .host = h->osc_host,
                                              .port_first = h->osc_first,
                                              .port_last = h->osc_last,
                                              .tick_ns = 1000000000U / h->options.tick_hz};
        if (lease_open(&options, &s->lease, fault) != ERR_OK) return HUB_LEASE_FAILED;
        log_event(LOG_LEVEL_INFO, "lease.open", LOG_T("session", s->name), LOG_T("by", who->name),
                  LOG_I("port", lease_port(s->lease)));
    }
    tell(h, s, out);
    out->made = made;
    return HUB_LEASE_OK;
}

enum hub_lease hub_lease_close(struct hub *h, const char *session, const struct auth_identity *who,
                               const struct conn_address *peer)
{
    struct session *s;
    enum hub_lease result = begin(h, session, who, peer, &s);
    if (result != HUB_LEASE_OK) return result;
    lease_close(s->lease);
    s->lease = NULL;
    return HUB_LEASE_OK;
}

enum hub_lease hub_lease_tell(struct hub *h, const char *session, const struct auth_identity *who,
                              const struct conn_address *peer, struct hub_sensing *out)
{
    struct session *s;
    enum hub_lease result = begin(h, session, who, peer, &s);
    if (result == HUB_LEASE_OK) tell(h, s, out);
    return result;
}

enum hub_lease hub_calibrate(struct hub *h, const char *session, const struct auth_identity *who,
                             const struct conn_address *peer, uint16_t requests,
                             struct fault *fault)
{
    struct session *s;
    enum hub_lease result = begin(h, session, who, peer, &s);
    if (result != HUB_LEASE_OK) return result;
    enum err e = stage_calibrate(h->options.stage, view_own_id(s->view), requests, fault);
    return e == ERR_OK ? HUB_LEASE_OK : HUB_LEASE_FAILED;
}
