#include "tests/stream/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "proto/input_messages.h"
#include "proto/pose_message.h"

enum { QUEUE_BYTES = 1 << 20, JOIN_BYTES = 8 << 20 };

static const uint8_t mask[4] = {1, 2, 3, 4}; // a test needs no unpredictable one

// --- Bytes --------------------------------------------------------------------------------------

void client_send_bytes(struct client *c, const void *bytes, size_t size_bytes)
{
    if (!c->tls) {
        CHECK(queue_put_all(&c->out, bytes, size_bytes));
        return;
    }
    const uint8_t *at = bytes;
    while (size_bytes > 0) {
        size_t n = size_bytes < TLS_RECORD_BYTES_MAX ? size_bytes : TLS_RECORD_BYTES_MAX;
        queue_compact(&c->out);
        CHECK(tls_write(c->tls, at, n) == TLS_OK);
        at += n;
        size_bytes -= n;
    }
}

void client_send(struct client *c, const void *envelope, size_t size_bytes)
{
    uint8_t header[WS_HEADER_BYTES_MAX], *copy;
    if (c->kind == CLIENT_NATIVE) {
        client_send_bytes(c, envelope, size_bytes);
        return;
    }
    size_t n = ws_header_write(header, WS_BINARY, true, size_bytes, mask);
    copy = malloc(n + size_bytes);
    CHECK(copy);
    memcpy(copy, header, n);
    memcpy(copy + n, envelope, size_bytes);
    ws_mask(copy + n, size_bytes, mask, 0);
    client_send_bytes(c, copy, n + size_bytes);
    free(copy);
}

static void send_writer(struct client *c, const struct wire_writer *w, enum err e)
{
    CHECK(e == ERR_OK);
    client_send(c, w->begin, wire_size(w));
}

void client_hello(struct client *c, const struct hello *hello)
{
    uint8_t bytes[8192];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct hello h = *hello;
    if (h.major == 0) h.major = MESSAGES_MAJOR;
    if (!h.client[0]) strcpy(h.client, "test");
    send_writer(c, &w, hello_encode(&w, &h));
}

void client_ping(struct client *c, uint32_t id)
{
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct session_ping ping = {.id = id, .send_time_us = clock_ns() / 1000};
    send_writer(c, &w, session_encode_ping(&w, &ping));
}

void client_place(struct client *c, float x, float y, float z, float yaw_rad)
{
    uint8_t bytes[128];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct input_place place = {.head = {++c->sequence, clock_ns() / 1000},
                                .fields = INPUT_PLACE_POSITION | INPUT_PLACE_YAW,
                                .position = {x, y, z},
                                .yaw_rad = yaw_rad};
    send_writer(c, &w, input_encode_place(&w, &place));
}

void client_pose_clip(struct client *c, const char *clip, float time_s)
{
    static struct pose_message pose;
    uint8_t bytes[512];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    pose = (struct pose_message){.head = {++c->sequence, clock_ns() / 1000}, .time_s = time_s};
    (void)snprintf(pose.clip, sizeof pose.clip, "%s", clip);
    send_writer(c, &w, pose_message_encode(&w, &pose));
}

void client_ack(struct client *c)
{
    uint8_t bytes[4096];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct session_ack ack = {.client_time_us = clock_ns() / 1000, .rtt_us = 100};
    for (size_t i = 0; i < c->actor_count && ack.entry_count < SESSION_ACKS_MAX; i++)
        if (c->actors[i].last_frame)
            ack.entries[ack.entry_count++] =
                (struct session_ack_entry){.actor = c->actors[i].actor,
                                           .frame = c->actors[i].last_frame,
                                           .receive_time_us = c->last_frame_ns / 1000};
    send_writer(c, &w, session_encode_ack(&w, &ack));
}

void client_bye(struct client *c)
{
    uint8_t bytes[1024];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    struct session_note note = {.code = STREAM_NORMAL};
    send_writer(c, &w, session_encode_note(&w, MESSAGE_BYE, &note));
}

// --- What comes ---------------------------------------------------------------------------------

struct client_actor *client_actor(struct client *c, uint32_t actor)
{
    for (size_t i = 0; i < c->actor_count; i++)
        if (c->actors[i].actor == actor) return &c->actors[i];
    return NULL;
}

struct client_actor *client_own(struct client *c)
{
    return c->welcomed ? client_actor(c, c->welcome.actor) : NULL;
}

const struct client_surface *client_surface(const struct client *c, uint32_t model)
{
    const struct client_surface *found = NULL;
    for (size_t i = 0; i < c->surface_count; i++)
        if (c->surfaces[i].model == model) found = &c->surfaces[i];
    return found;
}

const struct session_note *client_note(const struct client *c, uint16_t code)
{
    for (size_t i = 0; i < c->note_count; i++)
        if (c->notes[i].code == code) return &c->notes[i];
    return NULL;
}

static void *unpack(const struct surface_message *m, enum surface_section_kind kind, uint32_t lod)
{
    const struct surface_section *section = surface_message_find(m, kind, lod, 0);
    if (!section) return NULL;
    void *out = malloc(section->unpacked_bytes + 16);
    CHECK(out);
    CHECK(surface_message_unpack(m, section, out) == ERR_OK);
    return out;
}

static void take_surface(struct client *c, const struct message *m)
{
    CHECK(c->surface_count < CLIENT_SURFACES_MAX);
    struct client_surface *s = &c->surfaces[c->surface_count++];
    s->bytes = malloc(m->size_bytes + 1);
    CHECK(s->bytes);
    memcpy(s->bytes, m->payload, m->size_bytes);
    CHECK(surface_message_decode(s->bytes, m->size_bytes, &s->message) == ERR_OK);
    s->model = s->message.model;
    s->version = s->message.version;
    for (uint32_t lod = 0; lod < s->message.lod_count; lod++) {
        s->predictors[lod] = unpack(&s->message, SURFACE_PREDICTORS, lod);
        s->vertices[lod] = unpack(&s->message, SURFACE_VERTICES, lod);
    }
}

static struct client_actor *make_actor(struct client *c, uint32_t actor)
{
    struct client_actor *a = client_actor(c, actor);
    if (a) return a;
    CHECK(c->actor_count < CLIENT_ACTORS_MAX);
    a = &c->actors[c->actor_count++];
    *a = (struct client_actor){.actor = actor};
    return a;
}

static struct surface_anchors *anchors_of(struct client_actor *a, uint8_t lod, size_t vertex_count)
{
    struct surface_anchors *anchors = &a->anchors[lod];
    if (a->anchor_memory[lod] && anchors->vertex_count == vertex_count) return anchors;
    free(a->anchor_memory[lod]);
    size_t bytes = (surface_anchors_bytes(vertex_count) + 15) / 16 * 16;
    a->anchor_memory[lod] = aligned_alloc(16, bytes);
    CHECK(a->anchor_memory[lod]);
    surface_anchors_init(anchors, a->anchor_memory[lod], vertex_count);
    return anchors;
}

static bool decode_grid(struct client *c, struct client_actor *a, const struct frame_message *f,
                        const struct client_surface *s)
{
    struct surface_anchors *anchors = anchors_of(a, f->lod, f->vertex_count);
    struct surface_grid grid = {.step = f->step, .bits = f->bits};
    memcpy(grid.origin, f->origin, sizeof f->origin);
    if (f->flags & FRAME_KEY && memcmp(&grid, &a->grid, sizeof grid) != 0)
        surface_anchors_clear(anchors);
    const struct surface_row *anchor =
        f->flags & FRAME_KEY ? NULL : surface_anchors_find(anchors, f->anchor);
    if (!(f->flags & FRAME_KEY) && !anchor) return false;
    struct surface_row *rows = surface_anchors_spare(anchors);
    if (f->flags & FRAME_STILL) {
        memcpy(rows, anchor, f->vertex_count * sizeof *rows);
        a->still_count++;
    } else {
        struct surface_decode_job job = {.level = SIMD_PLAIN,
                                         .payload = f->payload,
                                         .size_bytes = f->payload_bytes,
                                         .vertex_count = f->vertex_count,
                                         .bits = f->bits,
                                         .predictors = s->predictors[f->lod],
                                         .anchor = anchor,
                                         .rows = rows};
        if (surface_decode(&job, c->packer) != ERR_OK) return false;
    }
    free(a->rows);
    a->rows = malloc(f->vertex_count * sizeof *rows + 16);
    CHECK(a->rows);
    memcpy(a->rows, rows, f->vertex_count * sizeof *rows);
    if (f->flags & FRAME_ANCHOR) surface_anchors_keep(anchors, f->frame);
    free(a->raw);
    a->raw = NULL;
    a->grid = grid;
    return true;
}

static void take_frame(struct client *c, const struct message *m)
{
    struct frame_message f;
    uint64_t now_ns = clock_ns();
    CHECK(frame_message_decode(m->payload, m->size_bytes, &f) == ERR_OK);
    struct client_actor *a = make_actor(c, f.actor);
    const struct client_surface *s = client_surface(c, f.model);
    if (!c->first_frame_ns) c->first_frame_ns = now_ns;
    if (c->last_frame_ns && now_ns - c->last_frame_ns > c->largest_gap_ns)
        c->largest_gap_ns = now_ns - c->last_frame_ns;
    c->last_frame_ns = now_ns;
    if (!s || s->version != f.model_version) {
        c->order_broken++;
        return;
    }
    bool good;
    if (f.codec == SURFACE_CODEC_RAW) {
        good = surface_decode_raw_check(f.payload, f.payload_bytes, f.vertex_count) == ERR_OK;
        free(a->raw);
        a->raw = malloc(f.payload_bytes + 16);
        CHECK(a->raw);
        memcpy(a->raw, f.payload, f.payload_bytes);
    } else {
        good = decode_grid(c, a, &f, s);
    }
    a->frame_count++;
    a->bad_count += !good;
    a->key_count += (f.flags & FRAME_KEY) != 0;
    a->last_frame = f.frame;
    a->last_tick = f.tick;
    a->input_sequence = f.input_sequence;
    a->lod = f.lod;
    a->bits = f.bits;
    a->vertex_count = f.vertex_count;
    a->gone = false;
}

static void take_note(struct client *c, const struct message *m)
{
    struct session_note note;
    CHECK(session_decode_note(m->payload, m->size_bytes, &note) == ERR_OK);
    if (m->type == MESSAGE_BYE) {
        c->got_bye = true;
        c->bye = note;
    } else if (c->note_count < CLIENT_NOTES_MAX) {
        c->notes[c->note_count++] = note;
    }
}

static void answer_ping(struct client *c, const struct message *m)
{
    struct session_ping ping;
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    CHECK(session_decode_ping(m->payload, m->size_bytes, &ping) == ERR_OK);
    struct session_pong pong = {.id = ping.id,
                                .ping_time_us = ping.send_time_us,
                                .receive_time_us = clock_ns() / 1000,
                                .send_time_us = clock_ns() / 1000};
    if (!c->quiet) send_writer(c, &w, session_encode_pong(&w, &pong));
}

static void take_message(struct client *c, const struct message *m)
{
    struct fault fault = {0};
    struct session_gone gone;
    struct session_catalogue catalogue;
    c->counts[m->type]++;
    switch (m->type) {
    case MESSAGE_WELCOME:
        CHECK(hello_decode_welcome(m->payload, m->size_bytes, &c->welcome, &fault) == ERR_OK);
        c->welcome.bindings = NULL;
        c->welcomed = true;
        return;
    case MESSAGE_PING:
        answer_ping(c, m);
        return;
    case MESSAGE_PONG:
        CHECK(session_decode_pong(m->payload, m->size_bytes, &c->pong) == ERR_OK);
        return;
    case MESSAGE_NOTICE:
    case MESSAGE_ERROR:
    case MESSAGE_BYE:
        take_note(c, m);
        return;
    case MESSAGE_SURFACE:
        take_surface(c, m);
        return;
    case MESSAGE_FRAME:
        take_frame(c, m);
        return;
    case MESSAGE_TEXTURE:
        c->texture_bytes += m->size_bytes;
        return;
    case MESSAGE_APPLIED:
        CHECK(session_decode_applied(m->payload, m->size_bytes, &c->applied) == ERR_OK);
        return;
    case MESSAGE_GONE:
        CHECK(session_decode_gone(m->payload, m->size_bytes, &gone) == ERR_OK);
        make_actor(c, gone.actor)->gone = true;
        return;
    case MESSAGE_CATALOGUE:
        CHECK(session_decode_catalogue(m->payload, m->size_bytes, &catalogue) == ERR_OK);
        free(c->catalogue);
        c->catalogue = strndup(catalogue.json, catalogue.json_bytes);
        return;
    default:
        return;
    }
}

static void take_payload(struct client *c, const uint8_t *bytes, size_t size_bytes)
{
    while (size_bytes > 0) {
        size_t n = inbox_put(&c->inbox, bytes, size_bytes);
        bytes += n;
        size_bytes -= n;
        struct message piece, whole;
        enum err e;
        while ((e = inbox_next(&c->inbox, &piece)) == ERR_OK) {
            if (!(piece.flags & (MESSAGES_MORE | MESSAGES_CONTINUES))) { // may come between pieces
                take_message(c, &piece);
                continue;
            }
            e = inbox_join(&c->join, &piece, &whole);
            if (e == ERR_TRUNCATED) continue;
            CHECK(e == ERR_OK);
            take_message(c, &whole);
        }
        CHECK(e == ERR_TRUNCATED);
    }
}

static void take_websocket(struct client *c)
{
    while (queue_used(&c->in) > 0) {
        size_t n;
        struct ws_event event;
        uint8_t frame[WS_CLOSE_BYTES_MAX];
        ws_next(&c->ws, queue_head(&c->in), queue_used(&c->in), &n, &event);
        if (event.kind == WS_DATA) take_payload(c, event.bytes, event.size_bytes);
        if (event.kind == WS_GOT_PING && !c->quiet)
            client_send_bytes(
                c, frame, ws_control_write(frame, WS_PONG, event.bytes, event.size_bytes, mask));
        if (event.kind == WS_GOT_CLOSE) {
            c->got_close = true;
            c->close_code = event.code;
            if (!c->quiet)
                client_send_bytes(c, frame, ws_close_write(frame, event.code, NULL, mask));
        }
        CHECK(event.kind != WS_FAIL);
        queue_drop(&c->in, n);
        if (event.kind == WS_NEED_MORE) return;
    }
}

static void take_upgrade(struct client *c)
{
    size_t used = queue_used(&c->in);
    const char *text = (const char *)queue_head(&c->in);
    const char *end = used >= 4 ? memmem(text, used, "\r\n\r\n", 4) : NULL;
    if (!end) return;
    size_t head = (size_t)(end - text) + 4;
    (void)snprintf(c->http, sizeof c->http, "%.*s", (int)head, text);
    if (strncmp(c->http, "HTTP/1.1 101", 12) == 0) c->upgraded = true;
    queue_drop(&c->in, head);
}

static void parse(struct client *c)
{
    if (c->kind == CLIENT_NATIVE) {
        size_t n = queue_used(&c->in);
        take_payload(c, queue_head(&c->in), n);
        queue_drop(&c->in, n);
        return;
    }
    if (!c->upgraded) take_upgrade(c);
    if (c->upgraded) take_websocket(c);
}

// --- Sockets ------------------------------------------------------------------------------------

static void write_out(struct client *c)
{
    while (queue_used(&c->out) > 0) {
        ssize_t n = send(c->fd, queue_head(&c->out), queue_used(&c->out), MSG_NOSIGNAL);
        if (n <= 0) return;
        queue_drop(&c->out, (size_t)n);
    }
    queue_compact(&c->out);
}

void client_slow(struct client *c, uint32_t bytes_per_s)
{
    int window = 128 * 1024; // below two of the loopback's 64 kB segments TCP itself stalls
    c->bytes_per_s = bytes_per_s;
    c->read_ns = clock_ns();
    c->read_credit = 0;
    (void)setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
}

static size_t may_read(struct client *c, size_t room)
{
    if (c->bytes_per_s == 0) return room;
    uint64_t now_ns = clock_ns();
    c->read_credit += (double)(now_ns - c->read_ns) * 1e-9 * c->bytes_per_s;
    c->read_ns = now_ns;
    if (c->read_credit > 16384) c->read_credit = 16384;
    return c->read_credit < (double)room ? (size_t)c->read_credit : room;
}

static bool read_some(struct client *c)
{
    struct queue *q = c->tls ? &c->cipher_in : &c->in;
    queue_compact(q);
    size_t most = may_read(c, queue_tail_space(q));
    if (most == 0) return false;
    ssize_t n = recv(c->fd, q->bytes + q->tail, most, 0);
    if (n > 0) c->read_credit -= (double)n;
    if (n > 0) {
        queue_grow_tail(q, (size_t)n);
        c->received_bytes += (uint64_t)n;
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) c->eof = true;
    return n > 0;
}

static void send_upgrade(struct client *c)
{
    static const char request[] =
        "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Protocol: sinew.v1\r\n\r\n";
    client_send_bytes(c, request, sizeof request - 1);
}

static void shake_hands(struct client *c)
{
    enum tls_status status;
    do {
        queue_compact(&c->out);
        status = tls_handshake(c->tls);
        write_out(c);
    } while (status == TLS_WANT_ROOM);
    CHECK(status != TLS_FAILED);
    if (status != TLS_OK) return;
    c->open = true;
    if (c->kind != CLIENT_NATIVE) send_upgrade(c);
}

static void decrypt(struct client *c)
{
    size_t got = 0;
    do {
        queue_compact(&c->in);
        if (queue_tail_space(&c->in) == 0) return;
        enum tls_status s =
            tls_read(c->tls, c->in.bytes + c->in.tail, queue_tail_space(&c->in), &got);
        if (s != TLS_OK) got = 0;
        if (s == TLS_CLOSED) c->eof = true;
        queue_grow_tail(&c->in, got);
        if (got) parse(c);
    } while (got > 0);
}

void client_pump(struct client *c)
{
    if (c->fd < 0 || c->stalled) return;
    for (int i = 0; i < 64; i++) {
        bool more = !c->eof && read_some(c);
        if (c->tls && !c->open) shake_hands(c);
        if (c->tls && c->open) decrypt(c);
        parse(c);
        write_out(c);
        if (!more) break;
    }
    if (c->eof) (void)shutdown(c->fd, SHUT_RDWR);
}

bool client_open(struct client *c, enum client_kind kind, uint16_t port)
{
    static const char *const native[] = {"sinew/1", NULL}, *const web[] = {"http/1.1", NULL};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *c = (struct client){.fd = socket(AF_INET, SOCK_STREAM, 0), .kind = kind};
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0) return false;
    (void)fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
    int one = 1;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    CHECK(queue_create(&c->in, QUEUE_BYTES) && queue_create(&c->out, QUEUE_BYTES));
    CHECK(queue_create(&c->cipher_in, QUEUE_BYTES));
    c->inbox_bytes = malloc(INBOX_BYTES);
    c->join = (struct inbox_join){.bytes = malloc(JOIN_BYTES), .capacity_bytes = JOIN_BYTES};
    CHECK(c->inbox_bytes && c->join.bytes);
    inbox_init(&c->inbox, c->inbox_bytes, INBOX_BYTES, MESSAGES_FROM_SERVER);
    const struct ws_limits limits = {1 << 27, 1 << 20, 1 << 20};
    ws_init(&c->ws, WS_CLIENT, &limits);
    CHECK(surface_packer_create(200000, &c->packer) == ERR_OK);
    if (kind == CLIENT_WS) {
        c->open = true;
        send_upgrade(c);
        return true;
    }
    const struct tls_client_options options = {.insecure = true,
                                               .alpn = kind == CLIENT_NATIVE ? native : web};
    CHECK(tls_config_client(&options, &c->tls_config, NULL) == ERR_OK);
    c->tls = tls_create(c->tls_config, &c->cipher_in, &c->out, "localhost");
    CHECK(c->tls);
    return true;
}

void client_close(struct client *c)
{
    if (c->fd >= 0) (void)close(c->fd);
    c->fd = -1;
    for (size_t i = 0; i < c->surface_count; i++) {
        free(c->surfaces[i].bytes);
        for (int lod = 0; lod < SURFACE_LODS_MAX; lod++) {
            free(c->surfaces[i].predictors[lod]);
            free(c->surfaces[i].vertices[lod]);
        }
    }
    for (size_t i = 0; i < c->actor_count; i++) {
        free(c->actors[i].rows);
        free(c->actors[i].raw);
        for (int lod = 0; lod < SURFACE_LODS_MAX; lod++)
            free(c->actors[i].anchor_memory[lod]);
    }
    c->surface_count = c->actor_count = 0;
    surface_packer_destroy(c->packer);
    c->packer = NULL;
    tls_free(c->tls);
    tls_config_free(c->tls_config);
    c->tls = NULL;
    c->tls_config = NULL;
    queue_free(&c->in);
    queue_free(&c->out);
    queue_free(&c->cipher_in);
    free(c->inbox_bytes);
    free(c->join.bytes);
    free(c->catalogue);
    c->inbox_bytes = c->join.bytes = NULL;
    c->catalogue = NULL;
}

bool client_positions(struct client *c, uint32_t actor, float *out, size_t vertex_count)
{
    const struct client_actor *a = client_actor(c, actor);
    if (!a || c->surface_count == 0 || a->lod != 0 || a->vertex_count != vertex_count) return false;
    const uint32_t *source = c->surfaces[0].vertices[0];
    for (size_t i = 0; i < vertex_count; i++)
        for (int k = 0; k < 3; k++) {
            float *to = &out[source[i] * 3 + (uint32_t)k];
            if (a->raw)
                *to = a->raw[i * 6 + (size_t)k];
            else
                *to = a->grid.origin[k] + a->grid.step * (float)a->rows[i].position[k];
        }
    return a->raw || a->rows;
}
