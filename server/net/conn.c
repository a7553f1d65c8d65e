#include "server/net/conn.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "server/net/conn_internal.h"

enum {
    HANDLE_COUNT = 2, // tcp, timer
    HANDSHAKE_MS = 5000,
    LINGER_MS = 5000,
    ENDED_LINGER_MS = 1500, // the peer has closed its side: no CLOSE_WAIT is to be seen after 2 s
    INPUT_BYTES = 16 * 1024,
    CIPHER_BYTES = 16 * 1024
};

const char *conn_reason_text(enum conn_reason reason)
{
    static const char *const texts[] = {
#define X(name, text) text,
        CONN_REASON_MAP(X)
#undef X
    };
    CHECK(reason < CONN_REASON_COUNT);
    return texts[reason];
}

static void enter(struct conn *c, enum conn_state next)
{
    static const unsigned char allowed[CONN_STATE_COUNT][CONN_STATE_COUNT] = {
        [CONN_HANDSHAKE] = {[CONN_OPEN] = 1, [CONN_CLOSING] = 1},
        [CONN_OPEN] = {[CONN_DRAINING] = 1, [CONN_CLOSING] = 1},
        [CONN_DRAINING] = {[CONN_CLOSING] = 1},
    };
    CHECK(allowed[c->state][next]);
    c->state = next;
}

bool conn_is_closed(const struct conn *c)
{
    return c->state == CONN_CLOSING;
}

bool conn_is_closing(const struct conn *c)
{
    return c->state == CONN_DRAINING || c->state == CONN_CLOSING;
}

static void destroy(struct conn *c)
{
    if (c->handles_open > 0 || c->job_held) return;
    if (c->events && c->events->on_closed) c->events->on_closed(c, c->reason, c->owner);
    if (c->options->on_gone) c->options->on_gone(c, c->reason, c->options->owner);
    tls_free(c->tls);
    conn_out_free(c);
    queue_free(&c->cipher);
    queue_free(&c->input);
    free(c);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    CHECK(conn_is_closed(c));
    c->handles_open--;
    destroy(c);
}

void conn_close(struct conn *c, enum conn_reason reason)
{
    if (conn_is_closed(c)) return;
    // A job that runs owns the TLS session and the buffers until it comes back.
    if (c->job_held && background_cancel(c->options->background, &c->job)) c->job_held = false;
    if (!c->job_held) conn_out_last_words(c);
    enter(c, CONN_CLOSING);
    c->reason = reason;
    uv_close((uv_handle_t *)&c->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&c->timer, on_handle_closed);
}

// What of the peer's we take in now: nothing while a handshake step holds the buffers, while the
// owner holds us, or when there is no room.
static struct queue *input_queue(struct conn *c)
{
    return c->tls ? &c->cipher : &c->input;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer);
static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void update_reading(struct conn *c)
{
    if (conn_is_closed(c)) return;
    bool want = !c->job_held && !c->peer_ended &&
                (c->state == CONN_DRAINING || (!c->paused && queue_space(input_queue(c)) > 0));
    if (want == c->reading) return;
    c->reading = want;
    if (!want) {
        (void)uv_read_stop((uv_stream_t *)&c->tcp);
    } else if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) != 0) {
        conn_close(c, CONN_REASON_PEER_RESET);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct conn *c = timer->data;
    if (conn_is_closed(c)) return;
    if (c->state == CONN_OPEN && c->events && c->events->on_deadline) {
        c->events->on_deadline(c, c->owner);
        if (!conn_is_closed(c)) conn_flush(c);
        return;
    }
    conn_close(c, c->state == CONN_DRAINING ? CONN_REASON_LINGER : CONN_REASON_DEADLINE);
}

static void set_timer(struct conn *c, uint32_t ms)
{
    // The loop's idea of now is as old as the last poll; a deadline must not be early.
    uv_update_time(c->timer.loop);
    if (ms == 0)
        (void)uv_timer_stop(&c->timer);
    else
        CHECK(uv_timer_start(&c->timer, on_timer, ms, 0) == 0);
}

void conn_deadline(struct conn *c, uint32_t ms_from_now)
{
    if (c->state == CONN_OPEN) set_timer(c, ms_from_now);
}

void conn_finish(struct conn *c, enum conn_reason reason)
{
    if (conn_is_closing(c)) return;
    if (c->state == CONN_HANDSHAKE) {
        conn_close(c, reason);
        return;
    }
    conn_out_drop_frames(c);
    if (conn_is_closing(c)) return; // by on_sent
    enter(c, CONN_DRAINING);
    c->reason = reason;
    uint32_t linger = c->options->linger_ms ? c->options->linger_ms : LINGER_MS;
    if (c->peer_ended && linger > ENDED_LINGER_MS) linger = ENDED_LINGER_MS;
    set_timer(c, linger);
    update_reading(c); // what still comes is thrown away, so that no reset cuts our last bytes
    conn_flush(c);
}

// --- Reading ------------------------------------------------------------------------------------

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct conn *c = handle->data;
    struct queue *q = input_queue(c);
    (void)suggested;
    if (c->state == CONN_DRAINING) queue_drop(q, queue_used(q));
    queue_compact(q);
    *buffer = uv_buf_init((char *)q->bytes + q->tail, (unsigned)queue_tail_space(q));
}

// Moves plaintext into `input`. False: nothing more is to be had for now (or the end is near).
static bool decrypt(struct conn *c)
{
    if (!c->tls || c->tls_dry || queue_space(&c->input) == 0) return false;
    queue_compact(&c->input);
    size_t got;
    enum tls_status s =
        tls_read(c->tls, c->input.bytes + c->input.tail, queue_tail_space(&c->input), &got);
    queue_grow_tail(&c->input, got);
    if (s == TLS_OK) return true;
    c->tls_dry = true;
    if (s == TLS_CLOSED) c->peer_ended = true;
    if (s == TLS_FAILED || s == TLS_WANT_ROOM) conn_close(c, CONN_REASON_TLS);
    return false;
}

static void tell_end(struct conn *c)
{
    if (!c->peer_ended || c->end_told || c->paused || c->state != CONN_OPEN) return;
    c->end_told = true;
    if (c->events && c->events->on_end)
        c->events->on_end(c, c->owner);
    else
        conn_finish(c, CONN_REASON_PEER_CLOSED);
}

// One call of the owner. False: nothing came of it and nothing more will for now.
static bool deliver_once(struct conn *c, bool more)
{
    size_t had = queue_used(&c->input);
    if (had == 0) return more;
    c->taken = false;
    ptrdiff_t used = c->events->on_bytes(c, queue_head(&c->input), had, c->owner);
    if (c->state != CONN_OPEN) return false;
    if (used < 0) {
        conn_close(c, CONN_REASON_PROTOCOL);
        return false;
    }
    CHECK((size_t)used <= had);
    queue_drop(&c->input, (size_t)used);
    if (used > 0 || c->taken || more) return true;
    if (!c->paused && queue_space(&c->input) == 0) conn_close(c, CONN_REASON_PROTOCOL);
    return false;
}

static void deliver(struct conn *c)
{
    if (c->delivering || c->state != CONN_OPEN) return;
    c->delivering = true;
    bool more;
    do {
        more = decrypt(c);
    } while (c->state == CONN_OPEN && !c->paused && deliver_once(c, more));
    c->delivering = false;
    if (c->state == CONN_OPEN) tell_end(c);
    conn_flush(c);
    update_reading(c);
}

static void on_peer_end(struct conn *c)
{
    c->peer_ended = true;
    if (c->state == CONN_HANDSHAKE) {
        conn_close(c, CONN_REASON_PEER_CLOSED);
    } else if (c->state == CONN_DRAINING) {
        if (c->out.shut)
            conn_close(c, c->reason);
        else
            set_timer(c, ENDED_LINGER_MS);
    } else {
        deliver(c);
    }
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct conn *c = stream->data;
    (void)buffer;
    if (conn_is_closed(c) || size == 0 || size == UV_ENOBUFS) return;
    if (size < 0) {
        c->reading = false;
        (void)uv_read_stop(stream);
        if (size == UV_EOF)
            on_peer_end(c);
        else
            conn_close(c, CONN_REASON_PEER_RESET);
        return;
    }
    c->received_bytes += (uint64_t)size;
    if (c->state == CONN_DRAINING) return; // thrown away by the next on_alloc
    queue_grow_tail(input_queue(c), (size_t)size);
    c->tls_dry = false;
    if (c->state == CONN_HANDSHAKE)
        conn_handshake_step(c);
    else
        deliver(c);
}

void conn_pause(struct conn *c)
{
    c->paused = true;
    update_reading(c);
}

void conn_resume(struct conn *c)
{
    if (!c->paused) return;
    c->paused = false;
    deliver(c);
}

// --- TLS handshake: a step is a job of the background pool ---------------------------------------

static void open_up(struct conn *c)
{
    if (c->tls) enter(c, CONN_OPEN);
    set_timer(c, 0);
    c->was_open = true;
    c->options->on_open(c, c->tls ? tls_alpn(c->tls) : NULL, c->options->owner);
    if (conn_is_closed(c)) return;
    if (!c->events) {
        conn_close(c, CONN_REASON_REFUSED);
        return;
    }
    deliver(c); // the first bytes may have come with the end of the handshake
}

static void run_handshake(struct background_job *job) // on a pool thread
{
    struct conn *c = job->owner;
    c->job_status = tls_handshake(c->tls);
    c->job_ran = true;
}

static void on_handshake(struct background_job *job)
{
    struct conn *c = job->owner;
    c->job_held = false;
    if (conn_is_closed(c)) {
        destroy(c);
        return;
    }
    if (!c->job_ran) { // the pool stops
        conn_close(c, CONN_REASON_SHUTDOWN);
        return;
    }
    conn_flush(c);
    if (conn_is_closed(c)) return;
    switch (c->job_status) {
    case TLS_OK:
        open_up(c);
        break;
    case TLS_WANT_INPUT:
        conn_handshake_step(c);
        break;
    case TLS_WANT_ROOM: // no flight is as long as the buffer
    case TLS_CLOSED:
    case TLS_FAILED:
        conn_close(c, CONN_REASON_TLS);
        break;
    }
}

void conn_handshake_step(struct conn *c)
{
    if (c->state != CONN_HANDSHAKE || c->job_held) return;
    bool bad;
    bool waits = tls_record_waits(&c->cipher, &bad);
    if (bad) {
        conn_close(c, CONN_REASON_TLS);
        return;
    }
    if (waits && c->out.in_flight == 0) {
        c->job = (struct background_job){.run = run_handshake, .done = on_handshake, .owner = c};
        c->job_ran = false;
        c->job_held = background_submit(c->options->background, BACKGROUND_QUICK, &c->job);
        if (!c->job_held) {
            conn_close(c, CONN_REASON_REFUSED);
            return;
        }
    }
    update_reading(c);
}

// --- Beginning ----------------------------------------------------------------------------------

static bool create_buffers(struct conn *c)
{
    const struct conn_options *o = c->options;
    if (!queue_create(&c->input, o->input_bytes ? o->input_bytes : INPUT_BYTES)) return false;
    if (!conn_out_create(c)) return false;
    if (!o->tls) return true;
    if (!queue_create(&c->cipher, CIPHER_BYTES)) return false;
    c->tls = tls_create(o->tls, &c->cipher, &c->out.bytes, NULL);
    return c->tls != NULL;
}

struct conn *conn_accept(uv_stream_t *listener, const struct conn_options *options)
{
    CHECK(options->on_open);
    CHECK(!options->tls || options->background);
    struct conn *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->options = options;
    c->state = options->tls ? CONN_HANDSHAKE : CONN_OPEN;
    c->opened_ns = clock_ns();
    c->handles_open = HANDLE_COUNT;
    c->tcp.data = c->timer.data = c;
    CHECK(uv_timer_init(listener->loop, &c->timer) == 0);
    CHECK(uv_tcp_init(listener->loop, &c->tcp) == 0);
    // From here both handles are there: every failure is a conn_close.
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0) {
        conn_close(c, CONN_REASON_PEER_RESET);
        return c;
    }
    conn_socket_addresses(c);
    return c;
}

void conn_start(struct conn *c)
{
    if (conn_is_closed(c)) return;
    if (!create_buffers(c)) {
        conn_close(c, CONN_REASON_MEMORY);
        return;
    }
    conn_socket_tune(c);
    if (!c->tls) {
        open_up(c);
        return;
    }
    set_timer(c, c->options->handshake_ms ? c->options->handshake_ms : HANDSHAKE_MS);
    update_reading(c);
}

void conn_take(struct conn *c, const struct conn_events *events, void *owner)
{
    CHECK(events->on_bytes);
    c->events = events;
    c->owner = owner;
    c->taken = true;
}

void conn_set_id(struct conn *c, uint64_t id)
{
    c->id = id;
}

uint64_t conn_id(const struct conn *c)
{
    return c->id;
}

const struct conn_address *conn_peer(const struct conn *c)
{
    return &c->peer;
}

const struct conn_address *conn_local(const struct conn *c)
{
    return &c->local;
}

bool conn_was_open(const struct conn *c)
{
    return c->was_open;
}

bool conn_is_tls(const struct conn *c)
{
    return c->tls != NULL;
}

const struct tls *conn_tls(const struct conn *c)
{
    return c->tls;
}
