#include "server/net/signals.h"

#include <signal.h>
#include <unistd.h>

#include "common/check.h"

enum { EXIT_INTERRUPTED = 130 };

static void on_stop_signal(uv_signal_t *handle, int number)
{
    struct signals *s = handle->data;
    (void)number;
    // The second one means now: nothing is worth waiting for, not even exit handlers.
    if (++s->stops_seen > 1) _exit(EXIT_INTERRUPTED);
    s->on_stop(s->owner);
}

static void on_reload_signal(uv_signal_t *handle, int number)
{
    struct signals *s = handle->data;
    (void)number;
    if (s->on_reload) s->on_reload(s->owner);
}

static void start(uv_loop_t *loop, uv_signal_t *handle, struct signals *s, uv_signal_cb callback,
                  int number)
{
    CHECK(uv_signal_init(loop, handle) == 0);
    handle->data = s;
    CHECK(uv_signal_start(handle, callback, number) == 0);
    uv_unref((uv_handle_t *)handle); // waiting for a signal is no reason to keep running
}

void signals_start(struct signals *s, uv_loop_t *loop, void (*on_stop)(void *owner),
                   void (*on_reload)(void *owner), void *owner)
{
    CHECK(on_stop);
    *s = (struct signals){.on_stop = on_stop, .on_reload = on_reload, .owner = owner};
    (void)signal(SIGPIPE, SIG_IGN);
    start(loop, &s->terminate, s, on_stop_signal, SIGTERM);
    start(loop, &s->interrupt, s, on_stop_signal, SIGINT);
    start(loop, &s->hangup, s, on_reload_signal, SIGHUP);
}

void signals_stop(struct signals *s)
{
    uv_close((uv_handle_t *)&s->terminate, NULL);
    uv_close((uv_handle_t *)&s->interrupt, NULL);
    uv_close((uv_handle_t *)&s->hangup, NULL);
}
