#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"
#include "server/net/conn_internal.h"

enum {
    CONTROL_BYTES = 64 * 1024,
    OUT_BYTES = 128 * 1024,
    OUT_BYTES_MIN = 32 * 1024,
    // A batch or a bulk record begins only when less than this is unsent: what lies in the buffer
    // is lost to newer frames and stands before control messages.
    BEGIN_BYTES = 16 * 1024,
    // What the kernel has not sent yet stands before a new frame as well; on a lossy path the
    // window is small, and every byte here is age. Two segments: room for control messages.
    KERNEL_BYTES = 2800,
    RESERVE_BYTES = 1024,   // kept for alerts and close_notify
    RECORD_BYTES_MIN = 512, // a shorter record costs more in overhead than it gains
    FLUSH_ROUNDS = 16,      // then the loop gets its turn
};

bool conn_out_create(struct conn *c)
{
    const struct conn_options *o = c->options;
    size_t control = o->control_bytes ? o->control_bytes : CONTROL_BYTES;
    size_t out = o->out_bytes ? o->out_bytes : OUT_BYTES;
    if (out < OUT_BYTES_MIN) out = OUT_BYTES_MIN;
    return queue_create(&c->out.control, control) && queue_create(&c->out.bytes, out) &&
           conn_reserve(c, CONN_PIECES_USUAL);
}

bool conn_reserve(struct conn *c, size_t pieces)
{
    struct conn_out *o = &c->out;
    CHECK(pieces <= CONN_PIECES_MAX);
    if (pieces <= o->pieces_max) return true;
    // Twice: what a group that has begun still needs stands before the next batch.
    struct conn_piece *frames = realloc(o->frames, 2 * pieces * sizeof *frames);
    if (!frames) return false;
    o->frames = frames;
    o->pieces_max = pieces;
    return true;
}

size_t conn_pieces_max(const struct conn *c)
{
    return c->out.pieces_max;
}

static struct conn_piece *bulk_at(struct conn_out *o, size_t i)
{
    return &o->bulk[(o->bulk_first + i) % CONN_BULK_MAX];
}

static struct conn_mark *mark_at(struct conn_out *o, size_t i)
{
    return &o->marks[(o->mark_first + i) % CONN_MARKS_MAX];
}

void conn_out_free(struct conn *c)
{
    struct conn_out *o = &c->out;
    for (size_t i = 0; i < o->frame_count; i++)
        chunk_release(o->frames[o->frame_first + i].chunk);
    for (size_t i = 0; i < o->bulk_count; i++)
        chunk_release(bulk_at(o, i)->chunk);
    for (size_t i = 0; i < o->mark_count; i++)
        chunk_release(mark_at(o, i)->chunk);
    free(o->frames);
    queue_free(&o->control);
    queue_free(&o->bytes);
}

// Nothing is queued in any lane or buffer.
static bool is_empty(const struct conn *c)
{
    const struct conn_out *o = &c->out;
    return o->frame_count == 0 && o->bulk_count == 0 && queue_used(&o->control) == 0 &&
           queue_used(&o->bytes) == 0;
}

static bool may_queue(const struct conn *c)
{
    return c->state == CONN_OPEN;
}

bool conn_send(struct conn *c, const void *bytes, size_t size_bytes)
{
    if (!may_queue(c)) return false;
    c->out.was_busy = true;
    if (queue_put_all(&c->out.control, bytes, size_bytes)) return true;
    conn_close(c, CONN_REASON_SLOW);
    return false;
}

size_t conn_send_room(const struct conn *c)
{
    return may_queue(c) ? queue_space(&c->out.control) : 0;
}

static void check_piece(const struct conn_piece *p)
{
    CHECK(p->prefix_bytes <= CONN_PREFIX_BYTES_MAX);
    CHECK(p->prefix_bytes + p->size_bytes > 0);
    CHECK(p->size_bytes == 0 || (p->chunk && p->offset <= p->chunk->size_bytes &&
                                 p->size_bytes <= p->chunk->size_bytes - p->offset));
}

// How many pieces at the front belong to a frame of which bytes are already out.
static size_t frames_begun(const struct conn_out *o)
{
    if (!o->group_begun || o->frame_count == 0) return 0;
    size_t n = 1;
    uint32_t group = o->frames[o->frame_first].group;
    while (n < o->frame_count && o->frames[o->frame_first + n].group == group)
        n++;
    return n;
}

void conn_out_drop_frames(struct conn *c)
{
    struct conn_out *o = &c->out;
    size_t keep = frames_begun(o), count = o->frame_count;
    uint64_t tags[2 * CONN_PIECES_MAX];
    size_t dropped = 0;
    for (size_t i = keep; i < count; i++) {
        const struct conn_piece *p = &o->frames[o->frame_first + i];
        bool group_end = i + 1 == count || p[1].group != p->group;
        if (group_end) o->frames_replaced++;
        chunk_release(p->chunk);
        tags[dropped++] = p->tag;
    }
    memmove(o->frames, o->frames + o->frame_first, keep * sizeof o->frames[0]);
    o->frame_first = 0;
    o->frame_count = keep;
    // Told last, when the lane is whole again: the owner may queue something from inside.
    for (size_t i = 0; i < dropped && c->events && c->events->on_sent; i++) {
        if (conn_is_closed(c)) return;
        c->events->on_sent(c, tags[i], false, c->owner);
    }
}

bool conn_send_frame(struct conn *c, const struct conn_piece *pieces, size_t piece_count)
{
    struct conn_out *o = &c->out;
    CHECK(piece_count <= o->pieces_max);
    if (!may_queue(c)) return false;
    conn_out_drop_frames(c);
    if (!may_queue(c) || o->frame_count > o->pieces_max) return false;
    for (size_t i = 0; i < piece_count; i++) {
        check_piece(&pieces[i]);
        o->frames[o->frame_count] = pieces[i];
        if (pieces[i].chunk) (void)chunk_ref(pieces[i].chunk);
        o->frame_count++;
    }
    o->batch_begun = false;
    o->was_busy = true;
    return true;
}

bool conn_send_bulk(struct conn *c, const struct conn_piece *piece)
{
    struct conn_out *o = &c->out;
    if (!may_queue(c) || o->bulk_count == CONN_BULK_MAX) return false;
    check_piece(piece);
    *bulk_at(o, o->bulk_count) = *piece;
    if (piece->chunk) (void)chunk_ref(piece->chunk);
    o->bulk_count++;
    o->was_busy = true;
    return true;
}

size_t conn_bulk_room(const struct conn *c)
{
    return may_queue(c) ? CONN_BULK_MAX - c->out.bulk_count : 0;
}

bool conn_can_send(const struct conn *c)
{
    const struct conn_out *o = &c->out;
    return may_queue(c) && o->frame_count == 0 && o->lane == CONN_LANE_NONE && o->in_flight == 0 &&
           queue_used(&o->bytes) < BEGIN_BYTES && conn_socket_unsent(c) < KERNEL_BYTES;
}

// The first piece of the lane is wholly taken: it waits as a mark until the kernel has it.
static void finish_piece(struct conn_out *o)
{
    bool frame = o->lane == CONN_LANE_FRAME;
    struct conn_piece *p = frame ? &o->frames[o->frame_first] : bulk_at(o, 0);
    bool group_end = false;
    if (frame) {
        o->frame_first++;
        o->frame_count--;
        group_end = o->frame_count == 0 || p[1].group != p->group;
        o->group_begun = !group_end;
        if (o->frame_count == 0) o->frame_first = 0;
    } else {
        o->bulk_first = (o->bulk_first + 1) % CONN_BULK_MAX;
        o->bulk_count--;
    }
    CHECK(o->mark_count < CONN_MARKS_MAX);
    *mark_at(o, o->mark_count++) =
        (struct conn_mark){.tag = p->tag, .chunk = p->chunk, .group_end = group_end};
    o->mark_unclosed++;
    o->lane = CONN_LANE_NONE;
    o->piece_at = 0;
}

static size_t take_piece(struct conn_out *o, uint8_t *out, size_t room_bytes)
{
    const struct conn_piece *p =
        o->lane == CONN_LANE_FRAME ? &o->frames[o->frame_first] : bulk_at(o, 0);
    size_t done = 0;
    if (o->piece_at < p->prefix_bytes) {
        done = p->prefix_bytes - o->piece_at;
        if (done > room_bytes) done = room_bytes;
        memcpy(out, p->prefix + o->piece_at, done);
        o->piece_at += done;
    }
    size_t left = p->prefix_bytes + p->size_bytes - o->piece_at;
    size_t n = left < room_bytes - done ? left : room_bytes - done;
    if (n > 0) {
        memcpy(out + done, p->chunk->bytes + p->offset + (o->piece_at - p->prefix_bytes), n);
        o->piece_at += n;
    }
    if (n == left) finish_piece(o);
    return done + n;
}

// Which lane may begin its next piece, given how much is unsent.
static enum conn_lane choose_lane(struct conn_out *o, size_t unsent_bytes)
{
    if (o->mark_count >= CONN_MARKS_MAX) return CONN_LANE_NONE;
    if (o->frame_count > 0 && (o->group_begun || o->batch_begun || unsent_bytes < BEGIN_BYTES)) {
        if (!o->group_begun) o->batch_begun = true;
        o->group_begun = true;
        return CONN_LANE_FRAME;
    }
    return o->bulk_count > 0 && unsent_bytes < BEGIN_BYTES ? CONN_LANE_BULK : CONN_LANE_NONE;
}

// Takes the next bytes in order of the lanes, up to a record.
static size_t gather(struct conn_out *o, uint8_t *out, size_t room_bytes)
{
    size_t done = 0;
    while (done < room_bytes) {
        size_t unsent = queue_used(&o->bytes) + done;
        if (o->lane == CONN_LANE_NONE && queue_used(&o->control) > 0) {
            done += queue_take(&o->control, out + done, room_bytes - done);
            continue;
        }
        // The rest of a bulk piece waits too: one of a megabyte must not fill the buffer.
        if (o->lane == CONN_LANE_BULK && unsent >= BEGIN_BYTES) break;
        if (o->lane == CONN_LANE_NONE) o->lane = choose_lane(o, unsent);
        if (o->lane == CONN_LANE_NONE) break;
        done += take_piece(o, out + done, room_bytes - done);
    }
    return done;
}

static void close_marks(struct conn_out *o)
{
    for (; o->mark_unclosed > 0; o->mark_unclosed--)
        mark_at(o, o->mark_count - o->mark_unclosed)->end_at = o->put_total;
}

static bool put_record(struct conn *c)
{
    struct conn_out *o = &c->out;
    uint8_t record[TLS_RECORD_BYTES_MAX];
    size_t room = queue_tail_space(&o->bytes), before = queue_used(&o->bytes);
    if (room < RESERVE_BYTES + RECORD_BYTES_MIN) return false;
    room -= RESERVE_BYTES;
    if (room > TLS_RECORD_BYTES_MAX) room = TLS_RECORD_BYTES_MAX;
    size_t n = gather(o, c->tls ? record : o->bytes.bytes + o->bytes.tail, room);
    if (n == 0) return false;
    if (!c->tls)
        queue_grow_tail(&o->bytes, n);
    else if (tls_write(c->tls, record, n) != TLS_OK)
        o->failed = true; // told by conn_flush
    if (o->failed) return false;
    o->put_total += queue_used(&o->bytes) - before;
    close_marks(o);
    return true;
}

void conn_encrypt(struct conn *c)
{
    if (c->state != CONN_OPEN && c->state != CONN_DRAINING) return;
    if (c->out.shut || c->out.failed) return;
    if (c->out.in_flight == 0) queue_compact(&c->out.bytes);
    while (put_record(c))
        continue;
}

static void on_write(uv_write_t *request, int status)
{
    struct conn *c = request->data;
    if (conn_is_closed(c)) return;
    struct conn_out *o = &c->out;
    if (status != 0) {
        conn_close(c, CONN_REASON_PEER_RESET);
        return;
    }
    queue_drop(&o->bytes, o->in_flight);
    o->written_total += o->in_flight;
    o->in_flight = 0;
    o->blocked_since_ns = 0;
    conn_flush(c);
    conn_handshake_step(c); // it waits while the buffer is lent
}

// Hands what is in the buffer to libuv: it stays lent until on_write.
static void begin_write(struct conn *c)
{
    struct conn_out *o = &c->out;
    uv_buf_t buffer = uv_buf_init((char *)queue_head(&o->bytes), (unsigned)queue_used(&o->bytes));
    o->write_request.data = c;
    int status = uv_write(&o->write_request, (uv_stream_t *)&c->tcp, &buffer, 1, on_write);
    if (status != 0) {
        conn_close(c, CONN_REASON_PEER_RESET);
        return;
    }
    o->in_flight = buffer.len;
}

// Everything that was queued before (an alert of tls_read too) counts in put_total.
static void account_for_alerts(struct conn_out *o)
{
    uint64_t seen = o->written_total + queue_used(&o->bytes);
    if (seen > o->put_total) o->put_total = seen;
}

static bool write_now(struct conn *c) // false: the kernel takes no more for now
{
    struct conn_out *o = &c->out;
    uv_buf_t buffer = uv_buf_init((char *)queue_head(&o->bytes), (unsigned)queue_used(&o->bytes));
    int n = uv_try_write((uv_stream_t *)&c->tcp, &buffer, 1);
    if (n < 0 && n != UV_EAGAIN) {
        conn_close(c, CONN_REASON_PEER_RESET);
        return false;
    }
    if (n > 0) {
        queue_drop(&o->bytes, (size_t)n);
        o->written_total += (uint64_t)n;
    }
    if (queue_used(&o->bytes) == 0) return true;
    if (o->blocked_since_ns == 0) o->blocked_since_ns = clock_ns();
    begin_write(c);
    return false;
}

static void tell_sent(struct conn *c)
{
    struct conn_out *o = &c->out;
    while (!conn_is_closed(c) && o->mark_count > 0) {
        struct conn_mark m = *mark_at(o, 0);
        if (m.end_at == 0 || m.end_at > o->written_total) return;
        o->mark_first = (o->mark_first + 1) % CONN_MARKS_MAX;
        o->mark_count--;
        if (m.group_end) o->frames_sent++;
        chunk_release(m.chunk);
        if (c->events && c->events->on_sent) c->events->on_sent(c, m.tag, true, c->owner);
    }
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct conn *c = request->data;
    (void)status;
    if (conn_is_closed(c)) return;
    if (c->peer_ended) conn_close(c, c->reason);
}

static void shut(struct conn *c)
{
    struct conn_out *o = &c->out;
    if (o->shut) return;
    o->shut = true;
    if (c->tls) tls_close_notify(c->tls);
    if (queue_used(&o->bytes) > 0 && !write_now(c) && conn_is_closed(c)) return;
    o->shutdown_request.data = c;
    if (uv_shutdown(&o->shutdown_request, (uv_stream_t *)&c->tcp, on_shutdown) != 0)
        conn_close(c, c->reason);
}

static void flush_once(struct conn *c)
{
    struct conn_out *o = &c->out;
    for (int round = 0; o->in_flight == 0; round++) {
        conn_encrypt(c);
        account_for_alerts(o);
        if (queue_used(&o->bytes) == 0) break;
        if (round == FLUSH_ROUNDS)
            begin_write(c);
        else if (!write_now(c))
            break;
    }
    if (o->failed) conn_close(c, CONN_REASON_TLS);
    tell_sent(c);
    if (conn_is_closed(c) || !is_empty(c)) return;
    if (c->state == CONN_DRAINING) {
        shut(c);
    } else if (c->state == CONN_OPEN && o->was_busy) {
        o->was_busy = false;
        if (c->events && c->events->on_drained) c->events->on_drained(c, c->owner);
    }
}

void conn_flush(struct conn *c)
{
    struct conn_out *o = &c->out;
    if (conn_is_closed(c)) return;
    o->flush_again = true;
    if (o->flushing) return; // from inside an event: the outer call goes round again
    o->flushing = true;
    while (o->flush_again && !conn_is_closed(c)) {
        o->flush_again = false;
        flush_once(c);
        // An event may have queued something without asking for a flush.
        if (o->in_flight == 0 && !conn_is_closed(c) && c->state == CONN_OPEN && !is_empty(c) &&
            o->was_busy)
            o->flush_again = true;
    }
    o->flushing = false;
}

void conn_out_last_words(struct conn *c)
{
    struct conn_out *o = &c->out;
    if (o->in_flight > 0 || !o->bytes.bytes || queue_used(&o->bytes) == 0) return;
    uv_buf_t buffer = uv_buf_init((char *)queue_head(&o->bytes), (unsigned)queue_used(&o->bytes));
    (void)uv_try_write((uv_stream_t *)&c->tcp, &buffer, 1);
}

void conn_stats(const struct conn *c, struct conn_stats *out)
{
    const struct conn_out *o = &c->out;
    size_t unsent =
        o->in_flight > 0 ? uv_stream_get_write_queue_size((const uv_stream_t *)&c->tcp) : 0;
    *out = (struct conn_stats){
        .received_bytes = c->received_bytes,
        .sent_bytes = o->written_total + (o->in_flight - unsent),
        .frames_sent = o->frames_sent,
        .frames_replaced = o->frames_replaced,
        .control_bytes = queue_used(&o->control),
        .out_bytes = queue_used(&o->bytes) - o->in_flight + unsent,
        .pieces = o->frame_count,
        .blocked_since_ns = o->blocked_since_ns,
        .opened_ns = c->opened_ns,
    };
}
