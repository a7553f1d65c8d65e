#include "tests/client/client_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sinew_options support_options(const struct fake_server *server, char url[128])
{
    struct sinew_options o;
    sinew_options_init(&o, sizeof o);
    fake_url(server, url);
    o.url = url;
    o.insecure = 1;
    o.playout = SINEW_PLAY_NEWEST;
    return o;
}

struct sinew_client *support_open(const struct fake_server *server,
                                  void (*change)(struct sinew_options *))
{
    char url[128];
    struct sinew_options o = support_options(server, url);
    struct sinew_client *client = NULL;
    if (change) change(&o);
    if (sinew_open(&o, &client, NULL, 0) != SINEW_OK) return NULL;
    return client;
}

static void turn(struct sinew_client *client)
{
    if (sinew_poll(client, 2) == SINEW_ERR_USAGE) usleep(1000); // it has its own thread
    (void)sinew_update(client);
}

bool support_event(struct sinew_client *client, enum sinew_event_kind kind, struct sinew_event *out,
                   uint32_t timeout_ms)
{
    uint64_t until = sinew_now_us() + (uint64_t)timeout_ms * 1000;
    out->struct_size = sizeof *out;
    while (sinew_now_us() < until) {
        while (sinew_next_event(client, out))
            if (out->kind == kind) return true;
        turn(client);
    }
    return false;
}

bool support_frame(struct sinew_client *client, uint64_t tick, struct sinew_actor *out,
                   uint32_t timeout_ms)
{
    uint64_t until = sinew_now_us() + (uint64_t)timeout_ms * 1000;
    out->struct_size = sizeof *out;
    while (sinew_now_us() < until) {
        turn(client);
        if (sinew_actor_get(client, sinew_own_actor(client), out) == SINEW_OK && out->vertices &&
            out->tick >= tick)
            return true;
    }
    return false;
}

double support_error(struct sinew_client *client, uint64_t tick)
{
    static float shown[FAKE_VERTICES * 3], want[FAKE_VERTICES * 3];
    double worst = 0;
    if (sinew_gather(client, sinew_own_actor(client), shown, NULL) != SINEW_OK) return -1;
    fake_positions(tick, want);
    for (int v = 0; v < FAKE_VERTICES; v++) {
        // The frames place it at (1, 2, 3), turned by 90 degrees about Y, twice as large; source
        // order is stream order backwards.
        const float *p = want + (size_t)v * 3, *s = shown + (size_t)(FAKE_VERTICES - 1 - v) * 3;
        double world[3] = {1 + 2 * (double)p[2], 2 + 2 * (double)p[1], 3 - 2 * (double)p[0]};
        for (int k = 0; k < 3; k++)
            worst = fmax(worst, fabs(world[k] - (double)s[k]));
    }
    return worst;
}
