#include "tests/client/fake_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/simd.h"
#include "common/tls_cert.h"
#include "proto/http_head.h"

enum { CONNECTIONS_MAX = 64 };

struct fake_connection {
    struct fake_server *server;
    pthread_t thread;
    int fd, number;
};
struct fake_server {
    struct fake_options options;
    struct tls_config *tls;
    int listener;
    uint16_t port;
    pthread_t thread;
    _Atomic bool stop;
    int connection_count;
    struct fake_connection connections[CONNECTIONS_MAX];
};

static uint64_t now_us(void)
{
    return clock_ns() / 1000;
}

// ---- certificates ----

static char folder[64], certificate[1024], key[1024];

static void remove_folder(void)
{
    (void)unlink(certificate);
    (void)unlink(key);
    (void)rmdir(folder);
}

const char *fake_folder(void)
{
    if (folder[0]) return folder;
    CHECK(atexit(remove_folder) == 0);
    strcpy(folder, "/tmp/sinew_client_XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    static struct tls_cert_names names;
    tls_cert_add_dns(&names, "localhost");
    tls_cert_add_address(&names, "127.0.0.1");
    struct fault fault = {0};
    enum err e = tls_cert_ensure(folder, &names, certificate, key, &fault);
    if (e) printf("  %s\n", fault.line);
    CHECK(e == ERR_OK);
    return folder;
}

const char *fake_certificate(void)
{
    (void)fake_folder();
    return certificate;
}

static struct tls_config *make_config(const struct fake_options *o)
{
    static const char *const native[] = {"sinew/1", NULL}, *const web[] = {"http/1.1", NULL};
    (void)fake_folder();
    const struct tls_server_options options = {.certificate_path =
                                                   o->certificate ? o->certificate : certificate,
                                               .key_path = o->key ? o->key : key,
                                               .alpn = o->transport == FAKE_NATIVE ? native : web};
    struct tls_config *config = NULL;
    struct fault fault = {0};
    enum err e = tls_config_server(&options, &config, &fault);
    if (e) printf("  %s\n", fault.line);
    CHECK(e == ERR_OK);
    return config;
}

void fake_certificate_pin(char out[128])
{
    const struct fake_options o = {.transport = FAKE_NATIVE};
    struct tls_config *config = make_config(&o);
    uint8_t pin[TLS_PIN_BYTES];
    tls_config_pin(config, pin);
    tls_cert_pin_text(pin, out);
    tls_config_free(config);
}

// ---- bytes ----

static void write_all(struct fake_peer *p, const uint8_t *bytes, size_t size)
{
    while (size > 0 && !p->gone && !*p->stop) {
        size_t part = p->dribble_bytes && p->dribble_bytes < size ? p->dribble_bytes : size;
        ssize_t n = send(p->fd, bytes, part, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (n <= 0) p->gone = true;
        if (n <= 0) return;
        bytes += n;
        size -= (size_t)n;
    }
}

static void flush_wire(struct fake_peer *p)
{
    write_all(p, queue_head(&p->wire_out), queue_used(&p->wire_out));
    queue_drop(&p->wire_out, queue_used(&p->wire_out));
}

static void send_plain(struct fake_peer *p, const uint8_t *bytes, size_t size)
{
    if (!p->tls) {
        write_all(p, bytes, size);
        return;
    }
    while (size > 0 && !p->gone) {
        size_t part = size < TLS_RECORD_BYTES_MAX ? size : TLS_RECORD_BYTES_MAX;
        queue_compact(&p->wire_out);
        if (tls_write(p->tls, bytes, part) != TLS_OK) p->gone = true;
        flush_wire(p);
        bytes += part;
        size -= part;
    }
}

void fake_send(struct fake_peer *p, const void *bytes, size_t size_bytes)
{
    if (p->transport != FAKE_NATIVE) {
        uint8_t header[WS_HEADER_BYTES_MAX];
        send_plain(p, header, ws_header_write(header, WS_BINARY, true, size_bytes, NULL));
    }
    send_plain(p, bytes, size_bytes);
}

void fake_send_payload(struct fake_peer *p, uint8_t type, const uint8_t *payload, size_t size_bytes,
                       size_t piece_bytes)
{
    size_t limit = piece_bytes ? piece_bytes : MESSAGES_PIECE_BYTES;
    uint8_t *envelope = calloc(1, MESSAGES_HEADER_BYTES + limit + 4);
    for (size_t at = 0; at == 0 || at < size_bytes;) {
        size_t part = size_bytes - at < limit ? size_bytes - at : limit;
        uint8_t flags = (uint8_t)((at + part < size_bytes ? MESSAGES_MORE : 0) |
                                  (at > 0 ? MESSAGES_CONTINUES : 0));
        messages_header(envelope, type, flags, part);
        if (part) memcpy(envelope + MESSAGES_HEADER_BYTES, payload + at, part);
        memset(envelope + MESSAGES_HEADER_BYTES + part, 0, messages_padding(part));
        fake_send(p, envelope, MESSAGES_HEADER_BYTES + part + messages_padding(part));
        at += part;
        if (part == 0) break;
    }
    free(envelope);
}

// One read of at most `timeout_ms`; false when nothing came.
static bool read_wire(struct fake_peer *p, uint8_t *out, size_t room, size_t *got, int timeout_ms)
{
    struct pollfd item = {.fd = p->fd, .events = POLLIN};
    if (poll(&item, 1, timeout_ms) <= 0) return false;
    ssize_t n = recv(p->fd, out, room, 0);
    if (n <= 0) {
        p->gone = true;
        return false;
    }
    *got = (size_t)n;
    return true;
}

static bool read_plain(struct fake_peer *p, uint8_t *out, size_t room, size_t *got, int timeout_ms)
{
    if (!p->tls) return read_wire(p, out, room, got, timeout_ms);
    for (;;) {
        enum tls_status s = tls_read(p->tls, out, room, got);
        if (s == TLS_OK) return true;
        if (s != TLS_WANT_INPUT) {
            p->gone = true;
            return false;
        }
        size_t n;
        queue_compact(&p->wire_in);
        if (!read_wire(p, p->wire_in.bytes + p->wire_in.tail, queue_tail_space(&p->wire_in), &n,
                       timeout_ms))
            return false;
        queue_grow_tail(&p->wire_in, n);
    }
}

static void feed(struct fake_peer *p, uint8_t *bytes, size_t size)
{
    if (p->transport == FAKE_NATIVE) {
        CHECK(inbox_put(&p->inbox, bytes, size) == size);
        return;
    }
    struct ws_event e = {0};
    do {
        size_t used;
        ws_next(&p->ws, bytes, size, &used, &e);
        bytes += used;
        size -= used;
        if (e.kind == WS_DATA) CHECK(inbox_put(&p->inbox, e.bytes, e.size_bytes) == e.size_bytes);
        if (e.kind == WS_GOT_CLOSE || e.kind == WS_FAIL) p->gone = true;
    } while (e.kind != WS_NEED_MORE && !p->gone);
}

bool fake_receive(struct fake_peer *p, struct message *out, uint32_t timeout_ms)
{
    uint64_t until = now_us() + (uint64_t)timeout_ms * 1000;
    while (!*p->stop) {
        enum err e = inbox_next(&p->inbox, out);
        if (e == ERR_OK) return true;
        CHECK(e == ERR_TRUNCATED); // the client never sends what is malformed
        uint8_t bytes[2048];
        size_t got;
        if (p->gone) return false;
        if (read_plain(p, bytes, sizeof bytes, &got, timeout_ms ? 10 : 0))
            feed(p, bytes, got);
        else if (now_us() >= until)
            return false;
    }
    return false;
}

static void answer_ping(struct fake_peer *p, const struct message *m)
{
    struct session_ping ping;
    if (session_decode_ping(m->payload, m->size_bytes, &ping) != ERR_OK) return;
    const struct session_pong pong = {.id = ping.id,
                                      .ping_time_us = ping.send_time_us,
                                      .receive_time_us = now_us(),
                                      .send_time_us = now_us()};
    uint8_t bytes[64];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    CHECK(session_encode_pong(&w, &pong) == ERR_OK);
    fake_send(p, bytes, wire_size(&w));
}

bool fake_await(struct fake_peer *p, uint8_t type, struct message *out, uint32_t timeout_ms)
{
    uint64_t until = now_us() + (uint64_t)timeout_ms * 1000;
    for (;;) {
        uint64_t at = now_us();
        if (at > until || !fake_receive(p, out, (uint32_t)((until - at) / 1000))) return false;
        struct input_head head;
        if (out->type == MESSAGE_PING) answer_ping(p, out);
        if (out->type >= 0x40 && out->type < 0x60 &&
            input_decode_head(out->payload, out->size_bytes, &head) == ERR_OK)
            p->input_sequence = head.sequence;
        if (out->type == type) return true;
    }
}

void fake_close(struct fake_peer *p, uint16_t ws_code)
{
    uint8_t frame[WS_CLOSE_BYTES_MAX];
    if (ws_code && p->transport != FAKE_NATIVE)
        send_plain(p, frame, ws_close_write(frame, ws_code, "as the test wants", NULL));
    p->gone = true;
}

// ---- the character: a cloth of FAKE_COLUMNS x FAKE_COLUMNS that waves ----

void fake_positions(uint64_t tick, float *out)
{
    for (int v = 0; v < FAKE_VERTICES; v++) {
        float x = (float)(v % FAKE_COLUMNS) / FAKE_COLUMNS;
        float z = (float)(v / FAKE_COLUMNS) / FAKE_COLUMNS;
        out[v * 3] = x;
        out[v * 3 + 1] = 0.1f * sinf(6 * x + 0.05f * (float)tick);
        out[v * 3 + 2] = z;
    }
}

static size_t make_indices(uint32_t *out, uint32_t step)
{
    uint32_t side = FAKE_COLUMNS / step;
    size_t n = 0;
    for (uint32_t r = 0; r + 1 < side; r++)
        for (uint32_t c = 0; c + 1 < side; c++) {
            uint32_t a = r * side + c,
                     quad[6] = {a, a + side, a + 1, a + 1, a + side, a + side + 1};
            for (int k = 0; k < 6; k++)
                out[n++] = quad[k];
        }
    return n;
}

size_t fake_surface(uint8_t *out, size_t capacity)
{
    static uint32_t indices[2][FAKE_VERTICES * 6], vertices[2][FAKE_VERTICES];
    static uint16_t predictors[2][FAKE_VERTICES * SURFACE_PREDICTORS_WIDTH];
    static float uvs[FAKE_VERTICES * 2];
    static struct surface_part parts[2];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    CHECK(pthread_mutex_lock(&lock) == 0);
    struct surface_message_source s = {.model = 7,
                                       .version = 3,
                                       .unit_m = 0.5f,
                                       .box_min = {0, -0.1f, 0},
                                       .box_max = {1, 0.1f, 1},
                                       .lod_count = 2,
                                       .hash = 0x5eaf00d,
                                       .uv_set_count = 1,
                                       .uvs = {uvs}};
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t step = k + 1, side = FAKE_COLUMNS / step;
        struct surface_message_lod *l = &s.lods[k];
        *l = (struct surface_message_lod){.vertex_count = side * side,
                                          .index_count = (uint32_t)make_indices(indices[k], step),
                                          .part_count = 1,
                                          .parts = &parts[k],
                                          .indices = indices[k],
                                          .vertices = vertices[k],
                                          .predictors = predictors[k]};
        parts[k] = (struct surface_part){
            .source_count = FAKE_VERTICES, .index_count = l->index_count, .material = 0};
        // Detail 0 holds the source order backwards, so that a client that ignores it is caught.
        for (uint32_t v = 0; v < l->vertex_count; v++)
            vertices[k][v] =
                k == 0 ? FAKE_VERTICES - 1 - v : (v / side) * 2 * FAKE_COLUMNS + (v % side) * 2;
        CHECK(surface_predictors_make(indices[k], l->index_count, NULL, l->vertex_count,
                                      predictors[k]) == ERR_OK);
    }
    for (int v = 0; v < FAKE_VERTICES; v++) {
        uvs[v * 2] = (float)(v % FAKE_COLUMNS) / FAKE_COLUMNS;
        uvs[v * 2 + 1] = (float)(v / FAKE_COLUMNS) / FAKE_COLUMNS;
    }
    size_t size = 0;
    CHECK(surface_message_bound(&s) <= capacity);
    CHECK(surface_message_encode(&s, out, capacity, &size) == ERR_OK);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return size;
}

void fake_send_surface(struct fake_peer *p)
{
    enum { CAPACITY = 1 << 20 };
    uint8_t *payload = malloc(CAPACITY);
    size_t size = fake_surface(payload, CAPACITY);
    fake_send_payload(p, MESSAGE_SURFACE, payload, size, 0);
    free(payload);
}

static void fill_blocks(uint64_t tick, float *blocks, size_t block_count)
{
    static const float up[3] = {0, 1, 0};
    float *positions = malloc(FAKE_VERTICES * 3 * sizeof(float));
    fake_positions(tick, positions);
    for (size_t b = 0; b < block_count; b++)
        for (size_t lane = 0; lane < 16; lane++) {
            size_t v = b * 16 + lane < FAKE_VERTICES ? b * 16 + lane : FAKE_VERTICES - 1;
            for (size_t k = 0; k < 3; k++) {
                blocks[b * 96 + k * 16 + lane] = positions[v * 3 + k];
                blocks[b * 96 + 48 + k * 16 + lane] = up[k];
            }
        }
    free(positions);
}

static void encode_grid(struct fake_peer *p, struct frame_message *f, const float *blocks,
                        size_t block_count, uint8_t *out, size_t capacity)
{
    static const float low[3] = {0, -0.2f, 0}, high[3] = {1, 0.2f, 1};
    struct surface_grid grid = surface_grid_fit(low, high, 14, 0.25f);
    struct surface_row *rows = aligned_alloc(16, block_count * 16 * sizeof *rows);
    uint32_t *lanes = malloc(FAKE_VERTICES * sizeof *lanes);
    uint32_t *indices = malloc(FAKE_VERTICES * 6 * sizeof *indices);
    uint16_t *predictors = malloc(FAKE_VERTICES * SURFACE_PREDICTORS_WIDTH * 2);
    for (uint32_t v = 0; v < FAKE_VERTICES; v++)
        lanes[v] = v;
    size_t index_count = make_indices(indices, 1);
    CHECK(surface_predictors_make(indices, index_count, NULL, FAKE_VERTICES, predictors) == ERR_OK);
    struct surface_quantise_job q = {.level = SIMD_PLAIN,
                                     .blocks = blocks,
                                     .block_count = block_count,
                                     .grid = grid,
                                     .rows = rows};
    CHECK(surface_quantise(&q));
    const struct surface_row *anchor =
        f->anchor ? surface_anchors_find(&p->anchors, f->anchor) : NULL;
    struct surface_encode_job job = {.level = SIMD_PLAIN,
                                     .lane_rows = rows,
                                     .lanes = lanes,
                                     .vertex_count = FAKE_VERTICES,
                                     .predictors = predictors,
                                     .anchor = anchor,
                                     .current = surface_anchors_spare(&p->anchors),
                                     .out = out,
                                     .capacity_bytes = capacity};
    surface_encode(&job, p->packer);
    f->payload_bytes = (uint32_t)job.size_bytes;
    if (job.still) f->flags |= FRAME_STILL;
    memcpy(f->origin, grid.origin, sizeof f->origin);
    f->step = grid.step;
    f->bits = 14;
    if (f->flags & FRAME_ANCHOR) surface_anchors_keep(&p->anchors, f->frame);
    free(predictors);
    free(indices);
    free(lanes);
    free(rows);
}

void fake_send_frame(struct fake_peer *p, enum fake_frame kind, uint32_t extra_flags)
{
    enum { BLOCKS = (FAKE_VERTICES + 15) / 16 };
    size_t capacity = FRAME_HEADER_BYTES + surface_encode_bound(FAKE_VERTICES) + 24 * FAKE_VERTICES;
    float *blocks = aligned_alloc(64, BLOCKS * 96 * sizeof *blocks);
    uint8_t *payload = calloc(1, capacity);
    fill_blocks(p->tick, blocks, BLOCKS);
    p->frame++;
    struct frame_message f = {.scene = 1,
                              .actor = 1,
                              .model = 7,
                              .model_version = 3,
                              .tick = p->tick,
                              .server_time_us = now_us(),
                              .input_sequence = p->input_sequence,
                              .frame = p->frame,
                              .codec = kind == FAKE_RAW ? SURFACE_CODEC_RAW : SURFACE_CODEC_GRID,
                              .flags = (uint8_t)extra_flags,
                              .translation = {1, 2, 3},
                              .rotation = {0, 0.70710678f, 0, 0.70710678f},
                              .scale = 2,
                              .step = 1,
                              .vertex_count = FAKE_VERTICES};
    if (kind != FAKE_DELTA) f.flags |= FRAME_KEY;
    if (kind == FAKE_KEY || (kind == FAKE_DELTA && p->frame % 4 == 0)) f.flags |= FRAME_ANCHOR;
    for (int i = 0; kind == FAKE_DELTA && i < SURFACE_ANCHORS; i++)
        if (p->anchors.frames[i] > f.anchor) f.anchor = p->anchors.frames[i];
    if (kind == FAKE_RAW) {
        uint32_t *lanes = malloc(FAKE_VERTICES * sizeof *lanes);
        for (uint32_t v = 0; v < FAKE_VERTICES; v++)
            lanes[v] = v;
        surface_encode_raw(blocks, lanes, FAKE_VERTICES, payload + FRAME_HEADER_BYTES);
        f.payload_bytes = FAKE_VERTICES * SURFACE_RAW_VERTEX_BYTES;
        free(lanes);
    } else {
        encode_grid(p, &f, blocks, BLOCKS, payload + FRAME_HEADER_BYTES,
                    capacity - FRAME_HEADER_BYTES);
    }
    frame_message_encode_header(payload, &f);
    fake_send_payload(p, MESSAGE_FRAME, payload, FRAME_HEADER_BYTES + f.payload_bytes, 0);
    p->tick++;
    free(payload);
    free(blocks);
}

// ---- the session ----

bool fake_hello(struct fake_peer *p)
{
    struct message m;
    return fake_await(p, MESSAGE_HELLO, &m, 5000) &&
           hello_decode(m.payload, m.size_bytes, &p->hello, NULL) == ERR_OK;
}

struct hello_welcome fake_welcome_usual(void)
{
    return (struct hello_welcome){.major = MESSAGES_MAJOR,
                                  .server = "fake 1",
                                  .session = "s1",
                                  .resume = "once",
                                  .resume_s = 30,
                                  .scene = "private",
                                  .scene_id = 1,
                                  .character = "cloth",
                                  .actor = 1,
                                  .tick_hz = FAKE_TICK_HZ,
                                  .quality = {.bits = 14, .rate_hz = FAKE_TICK_HZ, .detail = 1},
                                  .heartbeat_ms = 2000,
                                  .ack_hz = 10,
                                  .tick = 1,
                                  .server_time_us = 1};
}

void fake_welcome(struct fake_peer *p, const struct hello_welcome *changes)
{
    struct hello_welcome welcome = changes ? *changes : fake_welcome_usual();
    uint8_t bytes[4096];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    CHECK(hello_encode_welcome(&w, &welcome) == ERR_OK);
    fake_send(p, bytes, wire_size(&w));
}

void fake_actor(struct fake_peer *p, uint32_t actor, bool own)
{
    struct session_actor a = {.scene = 1,
                              .actor = actor,
                              .model = 7,
                              .model_version = 3,
                              .flags = own ? SESSION_ACTOR_OWN | SESSION_ACTOR_CONTROLLED : 0,
                              .character = "cloth"};
    uint8_t bytes[256];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    CHECK(session_encode_actor(&w, &a) == ERR_OK);
    fake_send(p, bytes, wire_size(&w));
}

bool fake_join(struct fake_peer *p)
{
    if (!fake_hello(p)) return false;
    fake_welcome(p, NULL);
    fake_actor(p, 1, true);
    fake_send_surface(p);
    fake_send_frame(p, FAKE_KEY, 0);
    return !p->gone;
}

void fake_serve(struct fake_peer *p, uint32_t frames_max)
{
    uint64_t next = now_us();
    for (uint32_t i = 0; i < frames_max && !p->gone && !*p->stop; i++) {
        struct message m;
        next += 1000000 / FAKE_TICK_HZ;
        uint64_t at = now_us();
        bool fresh = false;
        while (fake_await(p, MESSAGE_RESYNC, &m, next > at ? (uint32_t)((next - at) / 1000) : 0)) {
            fresh = true;
            at = now_us();
        }
        if (!p->gone) fake_send_frame(p, fresh ? FAKE_KEY : p->raw ? FAKE_RAW : FAKE_DELTA, 0);
    }
}

// ---- connections ----

static bool upgrade(struct fake_peer *p)
{
    uint8_t bytes[4096];
    size_t have = 0, scanned = 0, got;
    struct http_head head;
    char accept[29];
    struct http_limits limits = http_head_limits();
    enum err e = ERR_TRUNCATED;
    while (e == ERR_TRUNCATED && have < sizeof bytes) {
        if (!read_plain(p, bytes + have, sizeof bytes - have, &got, 5000)) return false;
        have += got;
        e = http_head_request(bytes, have, &limits, &scanned, &head, NULL);
    }
    if (e || http_head_websocket(&head, accept) != ERR_OK) return false;
    CHECK(http_head_has_token(&head, "Sec-WebSocket-Protocol", "sinew.v1"));
    char reply[512];
    struct wire_writer w = wire_write(reply, sizeof reply);
    http_head_begin(&w, 101);
    http_head_put(&w, "Upgrade", "websocket");
    http_head_put(&w, "Connection", "Upgrade");
    http_head_put(&w, "Sec-WebSocket-Accept", accept);
    http_head_put(&w, "Sec-WebSocket-Protocol", "sinew.v1");
    http_head_end(&w);
    send_plain(p, (const uint8_t *)reply, wire_size(&w));
    const struct ws_limits ws_limits = {1 << 20, 100, 1000};
    ws_init(&p->ws, WS_SERVER, &ws_limits);
    return true;
}

static bool handshake(struct fake_peer *p)
{
    enum tls_status s;
    while ((s = tls_handshake(p->tls)) != TLS_OK) {
        flush_wire(p);
        queue_compact(&p->wire_out);
        if (s == TLS_FAILED || s == TLS_CLOSED || p->gone) return false;
        size_t n;
        queue_compact(&p->wire_in);
        if (s == TLS_WANT_INPUT) {
            if (!read_wire(p, p->wire_in.bytes + p->wire_in.tail, queue_tail_space(&p->wire_in), &n,
                           5000))
                return false;
            queue_grow_tail(&p->wire_in, n);
        }
    }
    flush_wire(p);
    return true;
}

static void *connection_run(void *opaque)
{
    struct fake_connection *c = opaque;
    struct fake_server *s = c->server;
    struct fake_peer *p = calloc(1, sizeof *p);
    *p = (struct fake_peer){.fd = c->fd,
                            .transport = s->options.transport,
                            .dribble_bytes = s->options.dribble_bytes,
                            .stop = &s->stop,
                            .tick = 1};
    size_t anchors_bytes = surface_anchors_bytes(FAKE_VERTICES);
    p->anchor_memory = aligned_alloc(16, anchors_bytes);
    p->inbox_bytes = malloc(INBOX_BYTES);
    CHECK(p->anchor_memory && p->inbox_bytes);
    surface_anchors_init(&p->anchors, p->anchor_memory, FAKE_VERTICES);
    CHECK(surface_packer_create(FAKE_VERTICES, &p->packer) == ERR_OK);
    inbox_init(&p->inbox, p->inbox_bytes, INBOX_BYTES, MESSAGES_FROM_CLIENT);
    bool fine = true;
    while (s->options.mute_tls && !s->stop)
        usleep(10000);
    if (s->tls) {
        CHECK(queue_create(&p->wire_in, 65536) && queue_create(&p->wire_out, 65536));
        p->tls = tls_create(s->tls, &p->wire_in, &p->wire_out, NULL);
        fine = handshake(p);
    }
    if (fine && p->transport != FAKE_NATIVE) fine = upgrade(p);
    if (fine) s->options.scenario(p, c->number, s->options.owner);
    // Closed with bytes unread it would be a reset, which may overtake what was sent last.
    shutdown(c->fd, SHUT_WR);
    p->gone = false;
    uint8_t rest[4096];
    size_t got;
    for (int i = 0; i < 20; i++)
        if (!read_wire(p, rest, sizeof rest, &got, 20) && p->gone) break;
    close(c->fd);
    tls_free(p->tls);
    queue_free(&p->wire_in);
    queue_free(&p->wire_out);
    surface_packer_destroy(p->packer);
    free(p->anchor_memory);
    free(p->inbox_bytes);
    free(p);
    return NULL;
}

static void *server_run(void *opaque)
{
    struct fake_server *s = opaque;
    while (!s->stop) {
        struct pollfd item = {.fd = s->listener, .events = POLLIN};
        if (poll(&item, 1, 20) <= 0) continue;
        int fd = accept(s->listener, NULL, NULL), on = 1;
        if (fd < 0) continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        CHECK(s->connection_count < CONNECTIONS_MAX);
        struct fake_connection *c = &s->connections[s->connection_count];
        *c = (struct fake_connection){.server = s, .fd = fd, .number = s->connection_count};
        CHECK(pthread_create(&c->thread, NULL, connection_run, c) == 0);
        __atomic_add_fetch(&s->connection_count, 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

struct fake_server *fake_start(const struct fake_options *options)
{
    struct fake_server *s = calloc(1, sizeof *s);
    s->options = *options;
    if (options->transport != FAKE_WS) s->tls = make_config(options);
    s->listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    CHECK(bind(s->listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(s->listener, 64) == 0);
    CHECK(getsockname(s->listener, (struct sockaddr *)&address, &size) == 0);
    s->port = ntohs(address.sin_port);
    CHECK(pthread_create(&s->thread, NULL, server_run, s) == 0);
    return s;
}

void fake_url(const struct fake_server *s, char out[128])
{
    static const char *const schemes[] = {"sinew", "wss", "ws"};
    snprintf(out, 128, "%s://127.0.0.1:%u", schemes[s->options.transport], s->port);
}

int fake_connections(const struct fake_server *s)
{
    return __atomic_load_n(&s->connection_count, __ATOMIC_SEQ_CST);
}

void fake_stop(struct fake_server *s)
{
    s->stop = true;
    pthread_join(s->thread, NULL);
    for (int i = 0; i < s->connection_count; i++)
        pthread_join(s->connections[i].thread, NULL);
    close(s->listener);
    tls_config_free(s->tls);
    free(s);
}
