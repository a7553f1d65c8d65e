// One connection: lanes, newest frame, deadlines, ends; plain and over TLS.
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "server/net/conn.h"
#include "tests/net/rig.h"
#include "tests/testing.h"

int testing_failures;

static const char *const stream_alpn[] = {"sinew/1", NULL};
static struct rig rig;

// What the owner of the (one) connection of a test does and has seen.
static struct {
    struct conn *c;
    bool opened, closed, ended, deadline_seen, keep_open_on_end, hold_bytes, closed_by_bytes;
    char alpn[32];
    enum conn_reason reason;
    uint8_t got[65536];
    size_t got_bytes;
    int sent, replaced, drained;
    uint64_t last_sent_tag;
    int chunks_freed;
} seat;

static ptrdiff_t on_bytes(struct conn *c, uint8_t *bytes, size_t size_bytes, void *owner)
{
    (void)owner;
    if (seat.hold_bytes) return 0;
    if (seat.closed_by_bytes) {
        conn_close(c, CONN_REASON_SHUTDOWN);
        return (ptrdiff_t)size_bytes;
    }
    if (seat.got_bytes + size_bytes <= sizeof seat.got)
        memcpy(seat.got + seat.got_bytes, bytes, size_bytes);
    seat.got_bytes += size_bytes;
    return (ptrdiff_t)size_bytes;
}

static void on_end(struct conn *c, void *owner)
{
    (void)owner;
    seat.ended = true;
    if (!seat.keep_open_on_end) conn_finish(c, CONN_REASON_PEER_CLOSED);
}

static void on_sent(struct conn *c, uint64_t tag, bool sent, void *owner)
{
    (void)c;
    (void)owner;
    if (sent)
        seat.sent++;
    else
        seat.replaced++;
    if (sent) seat.last_sent_tag = tag;
}

static void on_drained(struct conn *c, void *owner)
{
    (void)c;
    (void)owner;
    seat.drained++;
}

static void on_closed(struct conn *c, enum conn_reason reason, void *owner)
{
    (void)c;
    (void)owner;
    seat.closed = true;
    seat.c = NULL;
    seat.reason = reason;
}

static const struct conn_events events = {.on_bytes = on_bytes,
                                          .on_end = on_end,
                                          .on_sent = on_sent,
                                          .on_drained = on_drained,
                                          .on_closed = on_closed};

static void on_open(struct conn *c, const char *alpn, void *owner)
{
    (void)owner;
    seat.opened = true;
    seat.c = c;
    (void)snprintf(seat.alpn, sizeof seat.alpn, "%s", alpn ? alpn : "");
    conn_take(c, &events, NULL);
}

static struct listener *listener;

static void begin(bool tls, struct conn_options conn)
{
    memset(&seat, 0, sizeof seat);
    conn.on_open = on_open;
    rig_open(&rig, NULL);
    listener = rig_listen(&rig, tls, conn);
}

static void end(struct peer *p)
{
    if (p) peer_close(p);
    listener_close(listener);
    rig_close(&rig);
}

static void join(struct peer *p, bool tls, int receive_buffer_bytes)
{
    struct peer_options o = {.rig = &rig,
                             .alpn = tls ? stream_alpn : NULL,
                             .receive_buffer_bytes = receive_buffer_bytes};
    peer_open(p, listener_port(listener), &o);
    if (tls) peer_shake(p, &rig);
    RIG_UNTIL(&rig, seat.opened, 3000);
}

// --- Frames -------------------------------------------------------------------------------------

static void on_test_chunk_free(struct chunk *chunk)
{
    seat.chunks_freed++;
    free(chunk->owner);
    free(chunk);
}

static struct chunk *make_chunk(uint8_t fill, size_t size_bytes)
{
    struct chunk *chunk = calloc(1, sizeof *chunk);
    uint8_t *bytes = malloc(size_bytes);
    memset(bytes, fill, size_bytes);
    *chunk = (struct chunk){.bytes = bytes,
                            .size_bytes = size_bytes,
                            .refs = 1,
                            .on_free = on_test_chunk_free,
                            .owner = bytes};
    return chunk;
}

static void send_frame(uint8_t fill, size_t size_bytes, uint32_t group, int piece_count)
{
    struct conn_piece pieces[8] = {0};
    struct chunk *chunk = make_chunk(fill, size_bytes);
    for (int i = 0; i < piece_count; i++) {
        pieces[i] = (struct conn_piece){.prefix = {'<', fill},
                                        .prefix_bytes = 2,
                                        .chunk = chunk,
                                        .offset = size_bytes / (size_t)piece_count * (size_t)i,
                                        .size_bytes = size_bytes / (size_t)piece_count,
                                        .group = group,
                                        .tag = (uint64_t)group * 10 + (uint64_t)i};
    }
    EXPECT(conn_send_frame(seat.c, pieces, (size_t)piece_count));
    chunk_release(chunk);
}

static void bytes_go_both_ways(bool tls)
{
    struct peer p;
    begin(tls, (struct conn_options){0});
    join(&p, tls, 0);
    EXPECT(strcmp(seat.alpn, tls ? "sinew/1" : "") == 0);
    EXPECT(conn_is_tls(seat.c) == tls && conn_peer(seat.c)->loopback);
    EXPECT(strcmp(conn_peer(seat.c)->text, "127.0.0.1") == 0 && conn_peer(seat.c)->port != 0);
    EXPECT(listener_hub_find(rig.hub, conn_id(seat.c)) == seat.c);
    peer_say(&p, "hello");
    RIG_UNTIL(&rig, seat.got_bytes == 5, 2000);
    EXPECT(memcmp(seat.got, "hello", 5) == 0);
    EXPECT(conn_send(seat.c, "control", 7));
    send_frame('f', 100000, 1, 1);
    conn_flush(seat.c);
    RIG_UNTIL(&rig, (peer_read(&p), p.got_bytes == 7 + 2 + 100000), 3000);
    EXPECT(memcmp(p.got, "control<f", 9) == 0);
    for (size_t i = 9; i < p.got_bytes; i++)
        if (p.got[i] != 'f') EXPECT(i == 0);
    RIG_UNTIL(&rig, seat.sent == 1 && seat.drained > 0 && seat.chunks_freed == 1, 2000);
    uint64_t id = conn_id(seat.c);
    conn_finish(seat.c, CONN_REASON_FINISHED);
    RIG_UNTIL(&rig, peer_gone(&p), 2000);
    EXPECT(p.ended && !p.reset);
    peer_close(&p);
    RIG_UNTIL(&rig, seat.closed, 2000);
    EXPECT(seat.reason == CONN_REASON_FINISHED);
    EXPECT(listener_hub_find(rig.hub, id) == NULL);
    end(NULL);
}

static void plain_bytes_go_both_ways(void)
{
    bytes_go_both_ways(false);
}

static void tls_bytes_go_both_ways(void)
{
    bytes_go_both_ways(true);
}

static void big_input_arrives_whole_over_tls(void)
{
    struct peer p;
    static uint8_t bytes[60000];
    begin(true, (struct conn_options){.input_bytes = 4096});
    join(&p, true, 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    for (size_t at = 0; at < sizeof bytes; at += 12000) {
        peer_send(&p, bytes + at, 12000);
        rig_run(&rig, 5);
    }
    RIG_UNTIL(&rig, seat.got_bytes == sizeof bytes, 3000);
    EXPECT(memcmp(seat.got, bytes, sizeof bytes) == 0);
    end(&p);
}

static void an_owner_that_uses_nothing_of_a_full_buffer_is_closed(void)
{
    struct peer p;
    static uint8_t bytes[20000];
    begin(false, (struct conn_options){0});
    seat.hold_bytes = true;
    join(&p, false, 0);
    peer_send(&p, bytes, sizeof bytes);
    RIG_UNTIL(&rig, seat.closed, 2000);
    EXPECT(seat.reason == CONN_REASON_PROTOCOL);
    end(&p);
}

static void closing_inside_a_call_is_safe(void)
{
    struct peer p;
    begin(true, (struct conn_options){0});
    seat.closed_by_bytes = true;
    join(&p, true, 0);
    peer_say(&p, "now");
    RIG_UNTIL(&rig, seat.closed, 2000);
    EXPECT(seat.reason == CONN_REASON_SHUTDOWN);
    end(&p);
}

// A peer that does not read: the first frame is under way, each later one replaces the one before.
static void the_newest_frame_wins(bool tls)
{
    struct peer p;
    begin(tls, (struct conn_options){.send_buffer_bytes = 16384});
    join(&p, tls, 4096);
    enum { FRAMES = 200 };
    size_t most = 0;
    for (uint32_t i = 1; i <= FRAMES; i++) {
        send_frame((uint8_t)('A' + i % 26), 40000, i, 2);
        conn_encrypt(seat.c);
        conn_flush(seat.c);
        rig_run(&rig, 1);
        struct conn_stats s;
        conn_stats(seat.c, &s);
        if (s.out_bytes > most) most = s.out_bytes;
        EXPECT(s.pieces <= 2 + 2);
    }
    EXPECT(most <= 128 * 1024);
    struct conn_stats s;
    conn_stats(seat.c, &s);
    EXPECT(s.blocked_since_ns != 0);
    EXPECT(s.frames_replaced > FRAMES - 30);
    EXPECT(!conn_can_send(seat.c));
    EXPECT(seat.chunks_freed > FRAMES - 30); // nothing is held but what is queued
    RIG_UNTIL(&rig, (peer_read(&p), seat.last_sent_tag == FRAMES * 10 + 1), 5000);
    RIG_UNTIL(&rig, (peer_read(&p), seat.drained > 0), 5000);
    // Only whole frames came: pieces of 20,002 bytes, in pairs, the newest last.
    RIG_UNTIL(&rig, (peer_read(&p), p.got_bytes == (size_t)seat.sent * 20002), 2000);
    EXPECT(seat.sent % 2 == 0 && seat.sent + seat.replaced == 2 * FRAMES);
    for (size_t at = 0; at + 40004 <= p.got_bytes; at += 40004)
        EXPECT(p.got[at] == '<' && p.got[at + 1] == p.got[at + 20003]);
    EXPECT(p.got_bytes > 0 && p.got[p.got_bytes - 1] == 'A' + FRAMES % 26);
    EXPECT(seat.chunks_freed == FRAMES);
    EXPECT(conn_can_send(seat.c));
    end(&p);
}

static void the_newest_frame_wins_plain(void)
{
    the_newest_frame_wins(false);
}

static void the_newest_frame_wins_over_tls(void)
{
    the_newest_frame_wins(true);
}

static void control_passes_frames_and_bulk_but_cuts_none(void)
{
    struct peer p;
    begin(false, (struct conn_options){.send_buffer_bytes = 16384});
    join(&p, false, 4096);
    struct chunk *bulk = make_chunk('b', 300000);
    struct conn_piece piece = {.chunk = bulk, .size_bytes = 300000, .tag = 7};
    struct conn_piece second = {.chunk = bulk, .size_bytes = 100000, .tag = 8};
    EXPECT(conn_send_bulk(seat.c, &piece));
    conn_flush(seat.c); // the first bulk piece has begun
    EXPECT(conn_send_bulk(seat.c, &second));
    send_frame('f', 30000, 1, 1);
    EXPECT(conn_send(seat.c, "CONTROL", 7));
    conn_flush(seat.c);
    chunk_release(bulk);
    RIG_UNTIL(&rig, (peer_read(&p), p.got_bytes == 300000 + 7 + 30002 + 100000), 5000);
    EXPECT(memcmp(p.got + 300000, "CONTROL<f", 9) == 0);
    EXPECT(p.got[299999] == 'b' && p.got[300000 + 7 + 30002] == 'b');
    end(&p);
}

static void a_peer_that_never_reads_control_is_closed_as_slow(void)
{
    struct peer p;
    static uint8_t message[4096];
    begin(true, (struct conn_options){.send_buffer_bytes = 16384});
    join(&p, true, 4096);
    int i = 0;
    while (i < 1000 && conn_send(seat.c, message, sizeof message)) {
        conn_flush(seat.c);
        rig_run(&rig, 1);
        i++;
    }
    EXPECT(i < 200);
    RIG_UNTIL(&rig, seat.closed, 2000);
    EXPECT(seat.reason == CONN_REASON_SLOW);
    end(&p);
}

static void a_paused_connection_holds_the_peer_back(void)
{
    struct peer p;
    static uint8_t bytes[8000];
    begin(true, (struct conn_options){0});
    join(&p, true, 0);
    conn_pause(seat.c);
    for (int i = 0; i < 20; i++)
        peer_send(&p, bytes, sizeof bytes);
    rig_run(&rig, 50);
    EXPECT(seat.got_bytes == 0);
    conn_resume(seat.c);
    RIG_UNTIL(&rig, seat.got_bytes == 20 * sizeof bytes, 3000);
    end(&p);
}

// --- Deadlines ----------------------------------------------------------------------------------

static void a_client_hello_byte_by_byte_meets_an_absolute_deadline(void)
{
    struct peer p;
    begin(true, (struct conn_options){.handshake_ms = 300});
    peer_open(&p, listener_port(listener), NULL);
    static const uint8_t hello[] = {22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3};
    uint64_t start = clock_ns();
    for (int i = 0; i < 100 && !peer_gone(&p); i++) {
        peer_send(&p, i < 11 ? &hello[i] : &hello[5], 1); // each byte comes in time
        rig_run(&rig, 20);
    }
    uint64_t ms = (clock_ns() - start) / 1000000;
    EXPECT(peer_gone(&p) && ms >= 290 && ms < 2500);
    EXPECT(!seat.opened);
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->open == 0, 1000);
    EXPECT(listener_hub_stats(rig.hub)->closed[CONN_REASON_DEADLINE] == 1);
    EXPECT(listener_hub_stats(rig.hub)->handshaking == 0);
    end(&p);
}

static void what_is_not_tls_is_closed_at_once(void)
{
    struct peer p;
    begin(true, (struct conn_options){0});
    peer_open(&p, listener_port(listener), NULL);
    peer_say(&p, "GET / HTTP/1.1\r\n\r\n");
    RIG_UNTIL(&rig, peer_gone(&p), 1000);
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->open == 0, 1000);
    EXPECT(listener_hub_stats(rig.hub)->closed[CONN_REASON_TLS] == 1);
    EXPECT(listener_hub_stats(rig.hub)->handshakes_failed == 1);
    end(&p);
}

static void the_owners_deadline_closes(void)
{
    struct peer p;
    begin(false, (struct conn_options){0});
    join(&p, false, 0);
    conn_deadline(seat.c, 100);
    rig_run(&rig, 60);
    EXPECT(!seat.closed);
    peer_say(&p, "x"); // activity moves nothing
    RIG_UNTIL(&rig, seat.closed, 500);
    EXPECT(seat.reason == CONN_REASON_DEADLINE);
    end(&p);
}

// --- Ends ---------------------------------------------------------------------------------------

static void a_half_closed_peer_still_gets_what_is_queued(bool tls)
{
    struct peer p;
    begin(tls, (struct conn_options){0});
    join(&p, tls, 0);
    peer_say(&p, "last words");
    EXPECT(conn_send(seat.c, "answer", 6));
    EXPECT(shutdown(p.fd, SHUT_WR) == 0);
    RIG_UNTIL(&rig, peer_gone(&p), 2000);
    EXPECT(p.ended && !p.reset && p.got_bytes == 6 && seat.ended);
    EXPECT(seat.got_bytes == 10);
    RIG_UNTIL(&rig, seat.closed, 2000); // no CLOSE_WAIT is left
    EXPECT(seat.reason == CONN_REASON_PEER_CLOSED);
    end(&p);
}

static void a_half_closed_plain_peer_still_gets_what_is_queued(void)
{
    a_half_closed_peer_still_gets_what_is_queued(false);
}

static void a_half_closed_tls_peer_still_gets_what_is_queued(void)
{
    a_half_closed_peer_still_gets_what_is_queued(true);
}

static void a_peer_that_ignores_our_close_is_closed_anyway(void)
{
    struct peer p;
    begin(true, (struct conn_options){.linger_ms = 250});
    join(&p, true, 0);
    uint64_t start = clock_ns();
    conn_finish(seat.c, CONN_REASON_FINISHED);
    RIG_UNTIL(&rig, seat.closed, 2000); // the peer keeps its socket open
    uint64_t ms = (clock_ns() - start) / 1000000;
    EXPECT(seat.reason == CONN_REASON_LINGER && ms >= 240 && ms < 2500);
    end(&p);
}

static void a_half_closed_peer_that_does_not_read_is_gone_within_two_seconds(void)
{
    struct peer p;
    begin(false, (struct conn_options){.send_buffer_bytes = 16384});
    join(&p, false, 4096);
    struct chunk *bulk = make_chunk('b', 3000000);
    struct conn_piece piece = {.chunk = bulk, .size_bytes = 3000000};
    EXPECT(conn_send_bulk(seat.c, &piece));
    chunk_release(bulk);
    conn_flush(seat.c);
    EXPECT(shutdown(p.fd, SHUT_WR) == 0);
    uint64_t start = clock_ns();
    RIG_UNTIL(&rig, seat.closed, 3000);
    EXPECT((clock_ns() - start) / 1000000 < 2500);
    EXPECT(seat.chunks_freed == 1);
    end(&p);
}

static void a_reset_is_seen(void)
{
    struct peer p;
    begin(false, (struct conn_options){0});
    join(&p, false, 0);
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    EXPECT(setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0);
    peer_close(&p);
    RIG_UNTIL(&rig, seat.closed, 1000);
    EXPECT(seat.reason == CONN_REASON_PEER_RESET);
    end(NULL);
}

static void closing_during_a_handshake_job_is_safe(void)
{
    begin(true, (struct conn_options){.handshake_ms = 5});
    for (int i = 0; i < 40; i++) {
        struct peer p;
        struct peer_options o = {.rig = &rig, .alpn = stream_alpn};
        peer_open(&p, listener_port(listener), &o);
        (void)tls_handshake(p.tls);
        EXPECT(send(p.fd, queue_head(&p.out), queue_used(&p.out), MSG_NOSIGNAL) > 0);
        rig_run(&rig, (uint32_t)(i % 9));
        peer_close(&p);
    }
    RIG_UNTIL(&rig, listener_hub_stats(rig.hub)->open == 0, 3000);
    EXPECT(listener_hub_stats(rig.hub)->handshaking == 0);
    end(NULL);
}

// --- TLS ----------------------------------------------------------------------------------------

static void a_ticket_resumes(void)
{
    struct peer p, q;
    begin(true, (struct conn_options){0});
    join(&p, true, 0);
    struct tls_ticket *ticket = tls_ticket_take(p.tls);
    EXPECT(ticket != NULL);
    peer_close(&p);
    RIG_UNTIL(&rig, seat.closed, 2000);
    memset(&seat, 0, sizeof seat);
    struct peer_options o = {.rig = &rig, .alpn = stream_alpn, .ticket = ticket};
    peer_open(&q, listener_port(listener), &o);
    peer_shake(&q, &rig);
    RIG_UNTIL(&rig, seat.opened, 2000);
    EXPECT(tls_resumed(q.tls));
    EXPECT(listener_hub_stats(rig.hub)->handshakes_resumed == 1);
    EXPECT(listener_hub_stats(rig.hub)->handshakes_ok == 1);
    tls_ticket_free(ticket);
    end(&q);
}

// A renewed certificate: new connections get it, those that are there go on.
static void a_certificate_can_be_replaced_while_connections_are_open(void)
{
    struct peer p, q;
    struct tls_config *renewed = NULL;
    static const char *const alpn[] = {"sinew/1", NULL};
    begin(true, (struct conn_options){0});
    join(&p, true, 0);
    struct tls_server_options o = {rig.certificate_path, rig.key_path, alpn, 0};
    EXPECT(tls_config_server(&o, &renewed, NULL) == ERR_OK);
    listener_set_tls(listener, renewed);
    tls_config_free(rig.tls); // the open session keeps it alive
    rig.tls = renewed;
    peer_say(&p, "old");
    RIG_UNTIL(&rig, seat.got_bytes == 3, 1000);
    seat.opened = false;
    join(&q, true, 0);
    peer_say(&q, "new");
    RIG_UNTIL(&rig, seat.got_bytes == 6, 1000);
    peer_close(&q);
    end(&p);
}

// Tick workers encrypt while the loop waits: no allocation on the way.
static void encrypting_happens_on_another_thread(void *argument)
{
    (void)argument;
    conn_encrypt(seat.c);
}

static void a_worker_can_encrypt(void)
{
    struct peer p;
    begin(true, (struct conn_options){0});
    join(&p, true, 0);
    for (uint32_t i = 1; i <= 30; i++) {
        uv_thread_t worker;
        send_frame((uint8_t)('a' + i % 26), 50000, i, 1);
        EXPECT(uv_thread_create(&worker, encrypting_happens_on_another_thread, NULL) == 0);
        EXPECT(uv_thread_join(&worker) == 0);
        struct conn_stats s;
        conn_stats(seat.c, &s);
        EXPECT(s.out_bytes > 50000 && s.pieces == 0);
        conn_flush(seat.c);
        RIG_UNTIL(&rig, (peer_read(&p), p.got_bytes == 50002 * (size_t)i), 2000);
    }
    EXPECT(seat.sent == 30 && seat.replaced == 0);
    end(&p);
}

int main(void)
{
    RUN(plain_bytes_go_both_ways);
    RUN(tls_bytes_go_both_ways);
    RUN(big_input_arrives_whole_over_tls);
    RUN(an_owner_that_uses_nothing_of_a_full_buffer_is_closed);
    RUN(closing_inside_a_call_is_safe);
    RUN(the_newest_frame_wins_plain);
    RUN(the_newest_frame_wins_over_tls);
    RUN(control_passes_frames_and_bulk_but_cuts_none);
    RUN(a_peer_that_never_reads_control_is_closed_as_slow);
    RUN(a_paused_connection_holds_the_peer_back);
    RUN(a_client_hello_byte_by_byte_meets_an_absolute_deadline);
    RUN(what_is_not_tls_is_closed_at_once);
    RUN(the_owners_deadline_closes);
    RUN(a_half_closed_plain_peer_still_gets_what_is_queued);
    RUN(a_half_closed_tls_peer_still_gets_what_is_queued);
    RUN(a_peer_that_ignores_our_close_is_closed_anyway);
    RUN(a_half_closed_peer_that_does_not_read_is_gone_within_two_seconds);
    RUN(a_reset_is_seen);
    RUN(closing_during_a_handshake_job_is_safe);
    RUN(a_ticket_resumes);
    RUN(a_certificate_can_be_replaced_while_connections_are_open);
    RUN(a_worker_can_encrypt);
    TESTING_MAIN_END;
}
