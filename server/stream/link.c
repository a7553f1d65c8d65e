#include "server/stream/link.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "proto/session_messages.h"
#include "server/http/exchange.h"

// What one client may send. A client at 90 Hz sends about 300 messages a second; 1,000 at once
// are a burst after a stall. Above, it is read no faster; for long, it is closed.
enum {
    MESSAGES_BURST = 2000,
    MESSAGES_PER_S = 1000,
    BYTES_BURST = 4 << 20,
    BYTES_PER_S = 4 << 20,
    PINGS_BURST = 60,
    PINGS_PER_S = 20,
    FLOODS_BURST = 20, // times that it had to be held
    FLOODS_PER_S = 1,
    ERRORS_BURST = 20, // answers to wrong messages
    ERRORS_PER_S = 10,
    CONTROL_FRAMES_PER_S = 100, // of WebSocket
    FRAGMENTS_MAX = 1024
};

struct link_kind {
    const char *name;
    bool websocket;
};
static const struct link_kind native = {"sinew", false}, websocket = {"ws", true},
                              websocket_tls = {"wss", true};

const char *link_name(const struct link *l)
{
    return l->kind->name;
}

// --- Sending --------------------------------------------------------------------------------

static size_t write_framing(const struct link *l, uint8_t *out, size_t message_bytes)
{
    return l->kind->websocket ? ws_header_write(out, WS_BINARY, true, message_bytes, NULL) : 0;
}

bool link_send(struct link *l, const void *envelope, size_t size_bytes)
{
    uint8_t framing[WS_HEADER_BYTES_MAX];
    if (l->closing) return false;
    size_t framing_bytes = write_framing(l, framing, size_bytes);
    // All or nothing: half a WebSocket frame would put everything behind it out of step.
    if (conn_send_room(l->conn) < framing_bytes + size_bytes) {
        if (!conn_is_closing(l->conn)) link_close(l, STREAM_TOO_SLOW, 1000, NULL);
        return false;
    }
    if (framing_bytes > 0 && !conn_send(l->conn, framing, framing_bytes)) return false;
    return conn_send(l->conn, envelope, size_bytes);
}

bool link_piece(const struct link *l, uint8_t type, struct chunk *chunk, size_t offset,
                size_t payload_bytes, size_t k, struct conn_piece *out)
{
    struct messages_piece piece;
    if (!messages_piece(type, payload_bytes, k, &piece)) return false;
    size_t body = piece.size_bytes + piece.padding_bytes;
    *out = (struct conn_piece){.chunk = chunk, .offset = offset + piece.first_byte};
    out->size_bytes = body;
    CHECK(out->offset + body <= chunk->size_bytes);
    size_t at = write_framing(l, out->prefix, sizeof piece.header + body);
    memcpy(out->prefix + at, piece.header, sizeof piece.header);
    out->prefix_bytes = (uint8_t)(at + sizeof piece.header);
    return true;
}

bool link_envelope(const struct link *l, struct chunk *chunk, size_t size_bytes,
                   struct conn_piece *inout)
{
    if (l->closing) return false;
    inout->chunk = chunk;
    inout->size_bytes = size_bytes;
    inout->prefix_bytes = (uint8_t)write_framing(l, inout->prefix, size_bytes);
    return true;
}

static enum conn_reason reason_of(enum stream_code code)
{
    switch (code) {
    case STREAM_RESTART:
        return CONN_REASON_SHUTDOWN;
    case STREAM_FULL:
    case STREAM_UNAUTHORISED:
    case STREAM_FORBIDDEN:
        return CONN_REASON_REFUSED;
    case STREAM_TOO_SLOW:
        return CONN_REASON_SLOW;
    case STREAM_HELLO_LATE:
    case STREAM_TIMED_OUT:
        return CONN_REASON_DEADLINE;
    case STREAM_PROTOCOL:
    case STREAM_TOO_BIG:
    case STREAM_FLOOD:
    case STREAM_POLICY:
        return CONN_REASON_PROTOCOL;
    default:
        return CONN_REASON_FINISHED;
    }
}

static void send_bye(struct link *l, enum stream_code code, uint32_t retry_ms, const char *text)
{
    uint8_t bytes[SESSION_TEXT_MAX + 64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct session_note note = {.code = (uint16_t)code, .fatal = 1, .retry_ms = retry_ms};
    strncpy(note.text, text, sizeof note.text - 1);
    if (session_encode_note(&w, MESSAGE_BYE, &note) == ERR_OK)
        (void)link_send(l, bytes, wire_size(&w));
}

static void finish(struct link *l, uint16_t close_code, const char *text, enum conn_reason reason)
{
    uint8_t frame[WS_CLOSE_BYTES_MAX];
    if (l->kind->websocket && !conn_is_closing(l->conn)) {
        size_t n = ws_close_write(frame, close_code, text, NULL);
        if (conn_send_room(l->conn) >= n) (void)conn_send(l->conn, frame, n);
    }
    l->closing = true;
    l->paused = false;
    conn_finish(l->conn, reason);
}

void link_close(struct link *l, enum stream_code code, uint32_t retry_ms, const char *text)
{
    if (l->closing) return;
    if (!text) text = stream_codes_text((uint16_t)code);
    if (conn_send_room(l->conn) > 1024) send_bye(l, code, retry_ms, text);
    if (l->closing) return;
    l->close_code = (uint8_t)code;
    finish(l, stream_codes_close((uint16_t)code), text, reason_of(code));
}

void link_drop(struct link *l, enum stream_code code)
{
    if (l->closing) return;
    if (conn_send_room(l->conn) > 1024) send_bye(l, code, 0, stream_codes_text((uint16_t)code));
    conn_flush(l->conn); // what the kernel takes now may still be read
    l->closing = true;
    l->dropped = true;
    l->close_code = (uint8_t)code;
    conn_close(l->conn, reason_of(code));
}

// --- Receiving ------------------------------------------------------------------------------

static void hold(struct link *l, uint64_t now_ns)
{
    l->stats->flood_pauses++;
    if (!bucket_take(&l->floods, 1, now_ns)) {
        link_close(l, STREAM_FLOOD, 0, NULL);
        return;
    }
    l->paused = true;
    conn_pause(l->conn);
}

// Hands out whole messages; stops when the link closes or is held.
static void drain_inbox(struct link *l, uint64_t now_ns)
{
    while (!l->closing && !l->paused) {
        struct message m;
        uint64_t skipped = l->inbox.skipped_count;
        enum err e = inbox_next(&l->inbox, &m);
        l->stats->skipped += l->inbox.skipped_count - skipped;
        if (e == ERR_TRUNCATED) return;
        if (e != ERR_OK) {
            link_close(l, e == ERR_LIMIT ? STREAM_TOO_BIG : STREAM_PROTOCOL, 0, NULL);
            return;
        }
        l->stats->messages_received++;
        if (m.type == MESSAGE_PING && !bucket_take(&l->pings, 1, now_ns)) {
            link_close(l, STREAM_FLOOD, 0, "too many pings");
            return;
        }
        l->events->on_message(l, &m);
        bool under = bucket_take(&l->messages, 1, now_ns);
        if (!l->closing && !under) hold(l, now_ns);
    }
}

static size_t inbox_room(const struct link *l)
{
    return l->inbox.capacity_bytes - (l->inbox.end - l->inbox.begin);
}

static ptrdiff_t take_native(struct link *l, uint8_t *bytes, size_t size_bytes, uint64_t now_ns)
{
    size_t used = 0;
    while (used < size_bytes && !l->closing && !l->paused) {
        used += inbox_put(&l->inbox, bytes + used, size_bytes - used);
        drain_inbox(l, now_ns);
    }
    return (ptrdiff_t)used;
}

static void take_close(struct link *l, uint16_t code)
{
    l->left = code == 1000 || code == 1001 || l->left;
    finish(l, code, NULL, CONN_REASON_PEER_CLOSED);
}

static void take_event(struct link *l, const struct ws_event *event, uint64_t now_ns)
{
    uint8_t frame[WS_CLOSE_BYTES_MAX];
    switch (event->kind) {
    case WS_DATA:
        if (event->opcode != WS_BINARY) {
            link_close(l, STREAM_NOT_BINARY, 0, NULL);
            return;
        }
        CHECK(inbox_put(&l->inbox, event->bytes, event->size_bytes) == event->size_bytes);
        drain_inbox(l, now_ns);
        if (event->message_end && !l->closing && !l->paused && !inbox_at_boundary(&l->inbox))
            link_close(l, STREAM_PROTOCOL, 0, "a message ends inside an envelope");
        return;
    case WS_GOT_PING: {
        size_t n = ws_control_write(frame, WS_PONG, event->bytes, event->size_bytes, NULL);
        if (conn_send_room(l->conn) >= n) (void)conn_send(l->conn, frame, n);
        return;
    }
    case WS_GOT_CLOSE:
        take_close(l, event->code);
        return;
    case WS_FAIL:
        l->close_code = (uint8_t)stream_codes_from_close(event->code);
        finish(l, event->code, "WebSocket protocol", CONN_REASON_PROTOCOL);
        return;
    case WS_GOT_PONG:
    case WS_NEED_MORE:
        return;
    }
}

static ptrdiff_t take_websocket(struct link *l, uint8_t *bytes, size_t size_bytes, uint64_t now_ns)
{
    size_t used = 0;
    while (used < size_bytes && !l->closing && !l->paused) {
        // Never more than the inbox has room for: what ws_next gives out must be taken.
        size_t step = size_bytes - used, room = inbox_room(l);
        if (step > room) step = room;
        size_t n;
        struct ws_event event;
        ws_next(&l->ws, bytes + used, step, &n, &event);
        used += n;
        take_event(l, &event, now_ns);
        if (event.kind == WS_NEED_MORE && n == 0) break;
    }
    return (ptrdiff_t)used;
}

static ptrdiff_t on_bytes(struct conn *c, uint8_t *bytes, size_t size_bytes, void *owner)
{
    struct link *l = owner;
    (void)c;
    if (l->closing) return (ptrdiff_t)size_bytes;
    uint64_t now_ns = clock_ns();
    l->heard_ns = now_ns;
    ptrdiff_t used = l->kind->websocket ? take_websocket(l, bytes, size_bytes, now_ns)
                                        : take_native(l, bytes, size_bytes, now_ns);
    l->stats->bytes_received += (uint64_t)used;
    if (!l->closing && !l->paused && !bucket_take(&l->bytes, (uint32_t)used, now_ns))
        hold(l, now_ns);
    return used;
}

void link_second(struct link *l)
{
    ws_tick(&l->ws);
}

void link_resume(struct link *l, uint64_t now_ns)
{
    if (!l->paused || l->closing) return;
    bucket_refill(&l->messages, now_ns);
    bucket_refill(&l->bytes, now_ns);
    if (l->messages.level < MESSAGES_PER_S / 4 || l->bytes.level < BYTES_PER_S / 4) return;
    l->paused = false;
    drain_inbox(l, now_ns);
    if (!l->paused && !l->closing) conn_resume(l->conn);
}

// --- Life -----------------------------------------------------------------------------------

static void on_sent(struct conn *c, uint64_t tag, bool sent, void *owner)
{
    struct link *l = owner;
    (void)c;
    l->events->on_sent(l, tag, sent);
}

static void on_deadline(struct conn *c, void *owner)
{
    struct link *l = owner;
    (void)c;
    l->events->on_deadline(l);
}

static void on_closed(struct conn *c, enum conn_reason reason, void *owner)
{
    struct link *l = owner;
    (void)c;
    l->closing = true;
    l->stats->closed[l->close_code]++;
    enum link_end end = l->left                        ? LINK_LEFT
                        : l->close_code && !l->dropped ? LINK_REFUSED
                                                       : LINK_LOST;
    l->events->on_gone(l, end, reason);
    free(l);
}

static const struct conn_events conn_events = {
    .on_bytes = on_bytes, .on_sent = on_sent, .on_deadline = on_deadline, .on_closed = on_closed};

static struct link *create(const struct link_kind *kind, const struct link_options *options)
{
    struct link *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    uint64_t now_ns = clock_ns();
    l->kind = kind;
    l->events = options->events;
    l->owner = options->owner;
    l->stats = options->stats;
    l->heard_ns = now_ns;
    bucket_init(&l->messages, MESSAGES_BURST, MESSAGES_PER_S, now_ns);
    bucket_init(&l->bytes, BYTES_BURST, BYTES_PER_S, now_ns);
    bucket_init(&l->pings, PINGS_BURST, PINGS_PER_S, now_ns);
    bucket_init(&l->floods, FLOODS_BURST, FLOODS_PER_S, now_ns);
    bucket_init(&l->errors, ERRORS_BURST, ERRORS_PER_S, now_ns);
    const struct ws_limits limits = {.message_bytes_max =
                                         MESSAGES_HEADER_BYTES + MESSAGES_FROM_CLIENT_BYTES_MAX,
                                     .fragments_max = FRAGMENTS_MAX,
                                     .controls_max = CONTROL_FRAMES_PER_S};
    ws_init(&l->ws, WS_SERVER, &limits);
    inbox_init(&l->inbox, l->inbox_bytes, sizeof l->inbox_bytes, MESSAGES_FROM_CLIENT);
    return l;
}

struct link *link_native(struct conn *c, const struct link_options *options)
{
    struct link *l = create(&native, options);
    if (!l) return NULL;
    l->conn = c;
    conn_take(c, &conn_events, l);
    conn_deadline(c, options->hello_ms);
    return l;
}

struct link *link_websocket(struct http_exchange *x, const struct link_options *options)
{
    struct conn *c = http_exchange_conn(x);
    struct link *l = create(conn_is_tls(c) ? &websocket_tls : &websocket, options);
    if (!l) {
        http_answer_problem(x, 503, "memory", "Out of memory", NULL);
        return NULL;
    }
    l->conn = c;
    if (!http_exchange_upgrade(x, &conn_events, l)) {
        free(l);
        return NULL;
    }
    conn_deadline(c, options->hello_ms);
    return l;
}
