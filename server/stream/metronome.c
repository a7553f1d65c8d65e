#include "server/stream/metronome.h"

#include <unistd.h>
#ifdef __linux__
#include <sys/timerfd.h>
#endif

#include "common/check.h"

static void on_timer(uv_timer_t *timer)
{
    struct metronome *m = timer->data;
    m->on_due(m->owner);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct metronome *m = poll->data;
    uint64_t expired;
    (void)status;
    (void)events;
    // Nothing to read: it was set anew after the loop had seen it expire.
    if (read(m->fd, &expired, sizeof expired) == (ssize_t)sizeof expired) m->on_due(m->owner);
}

static int open_descriptor(void)
{
#ifdef __linux__
    return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
#else
    return -1;
#endif
}

void metronome_init(struct metronome *m, uv_loop_t *loop, void (*on_due)(void *owner), void *owner)
{
    *m = (struct metronome){.on_due = on_due, .owner = owner, .fd = open_descriptor()};
    m->timer.data = m->poll.data = m;
    CHECK(uv_timer_init(loop, &m->timer) == 0);
    if (m->fd < 0) return;
    CHECK(uv_poll_init(loop, &m->poll, m->fd) == 0);
    CHECK(uv_poll_start(&m->poll, UV_READABLE, on_readable) == 0);
}

void metronome_set(struct metronome *m, uint64_t wait_ns)
{
    if (m->closed) return;
#ifdef __linux__
    if (m->fd >= 0) {
        if (wait_ns == 0) wait_ns = 1; // 0 would stop it
        struct itimerspec at = {.it_value = {.tv_sec = (time_t)(wait_ns / 1000000000u),
                                             .tv_nsec = (long)(wait_ns % 1000000000u)}};
        CHECK(timerfd_settime(m->fd, 0, &at, NULL) == 0);
        return;
    }
#endif
    // Rounded up: early would only mean to wait again. The loop's own idea of now may be old.
    uv_update_time(m->timer.loop);
    CHECK(uv_timer_start(&m->timer, on_timer, (wait_ns + 999999u) / 1000000u, 0) == 0);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct metronome *m = handle->data;
    (void)close(m->fd);
    m->fd = -1;
}

void metronome_close(struct metronome *m)
{
    if (m->closed) return;
    m->closed = true;
    uv_close((uv_handle_t *)&m->timer, NULL);
    if (m->fd >= 0) uv_close((uv_handle_t *)&m->poll, on_poll_closed);
}
