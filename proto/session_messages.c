#include "proto/session_messages.h"

#include <string.h>

#include "proto/messages.h"

// Every decoder reads straight through and commits last; `failed` covers truncation and bad text.

struct session_clock session_clock_from(const struct session_pong *pong, uint64_t now_us)
{
    // The usual four times: t0 ping left, t1 ping came, t2 pong left, t3 pong came. Differences are
    // taken in unsigned arithmetic: a peer may send any number.
    int64_t out = (int64_t)(pong->receive_time_us - pong->ping_time_us);
    int64_t back = (int64_t)(pong->send_time_us - now_us);
    uint64_t whole = now_us - pong->ping_time_us;
    uint64_t held = pong->send_time_us - pong->receive_time_us;
    uint64_t rtt = held > whole ? 0 : whole - held;
    return (struct session_clock){.offset_us = out / 2 + back / 2,
                                  .rtt_us = rtt > UINT32_MAX ? UINT32_MAX : (uint32_t)rtt};
}

static enum err session_end(struct wire_writer *w, size_t begun_at)
{
    messages_end(w, begun_at);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

enum err session_encode_ping(struct wire_writer *w, const struct session_ping *in)
{
    size_t at = messages_begin(w, MESSAGE_PING);
    wire_put_u32(w, in->id);
    wire_put_u32(w, 0);
    wire_put_u64(w, in->send_time_us);
    return session_end(w, at);
}

enum err session_decode_ping(const uint8_t *payload, size_t size_bytes, struct session_ping *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_ping p = {0};
    p.id = wire_u32(&r);
    (void)wire_u32(&r);
    p.send_time_us = wire_u64(&r);
    if (r.failed) return ERR_TRUNCATED;
    *out = p;
    return ERR_OK;
}

enum err session_encode_pong(struct wire_writer *w, const struct session_pong *in)
{
    size_t at = messages_begin(w, MESSAGE_PONG);
    wire_put_u32(w, in->id);
    wire_put_u32(w, 0);
    wire_put_u64(w, in->ping_time_us);
    wire_put_u64(w, in->receive_time_us);
    wire_put_u64(w, in->send_time_us);
    return session_end(w, at);
}

enum err session_decode_pong(const uint8_t *payload, size_t size_bytes, struct session_pong *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_pong p = {0};
    p.id = wire_u32(&r);
    (void)wire_u32(&r);
    p.ping_time_us = wire_u64(&r);
    p.receive_time_us = wire_u64(&r);
    p.send_time_us = wire_u64(&r);
    if (r.failed) return ERR_TRUNCATED;
    *out = p;
    return ERR_OK;
}

enum err session_encode_note(struct wire_writer *w, uint8_t type, const struct session_note *in)
{
    size_t length = strlen(in->text);
    if (!wire_is_utf8((const uint8_t *)in->text, length)) return ERR_MALFORMED;
    size_t at = messages_begin(w, type);
    wire_put_u16(w, in->code);
    wire_put_u8(w, in->message_type);
    wire_put_u8(w, in->fatal);
    wire_put_u32(w, in->subject);
    wire_put_u32(w, in->retry_ms);
    wire_put_u32(w, (uint32_t)length);
    wire_put_bytes(w, in->text, length);
    return session_end(w, at);
}

enum err session_decode_note(const uint8_t *payload, size_t size_bytes, struct session_note *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_note n = {0};
    n.code = wire_u16(&r);
    n.message_type = wire_u8(&r);
    n.fatal = wire_u8(&r);
    n.subject = wire_u32(&r);
    n.retry_ms = wire_u32(&r);
    uint32_t length = wire_u32(&r);
    const uint8_t *text = wire_bytes(&r, length);
    if (!text) return ERR_TRUNCATED;
    if (length >= SESSION_TEXT_MAX) return ERR_LIMIT;
    if (memchr(text, 0, length) || !wire_is_utf8(text, length)) return ERR_MALFORMED;
    memcpy(n.text, text, length);
    *out = n;
    return ERR_OK;
}

enum err session_encode_actor(struct wire_writer *w, const struct session_actor *in)
{
    size_t at = messages_begin(w, MESSAGE_ACTOR);
    wire_put_u32(w, in->scene);
    wire_put_u32(w, in->actor);
    wire_put_u32(w, in->model);
    wire_put_u32(w, in->model_version);
    wire_put_u32(w, in->flags);
    wire_put_text(w, in->character);
    wire_put_text(w, in->name);
    return session_end(w, at);
}

enum err session_decode_actor(const uint8_t *payload, size_t size_bytes, struct session_actor *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_actor a = {0};
    a.scene = wire_u32(&r);
    a.actor = wire_u32(&r);
    a.model = wire_u32(&r);
    a.model_version = wire_u32(&r);
    a.flags = wire_u32(&r);
    wire_text(&r, a.character, sizeof a.character);
    wire_text(&r, a.name, sizeof a.name);
    if (r.failed) return wire_error(&r);
    if (a.actor == 0) return ERR_MALFORMED;
    *out = a;
    return ERR_OK;
}

enum err session_encode_gone(struct wire_writer *w, const struct session_gone *in)
{
    size_t at = messages_begin(w, MESSAGE_GONE);
    wire_put_u32(w, in->scene);
    wire_put_u32(w, in->actor);
    return session_end(w, at);
}

enum err session_decode_gone(const uint8_t *payload, size_t size_bytes, struct session_gone *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_gone g = {0};
    g.scene = wire_u32(&r);
    g.actor = wire_u32(&r);
    if (r.failed) return ERR_TRUNCATED;
    *out = g;
    return ERR_OK;
}

enum err session_encode_ack(struct wire_writer *w, const struct session_ack *in)
{
    if (in->entry_count > SESSION_ACKS_MAX) return ERR_LIMIT;
    size_t at = messages_begin(w, MESSAGE_ACK);
    wire_put_u64(w, in->client_time_us);
    wire_put_u64(w, (uint64_t)in->offset_us);
    wire_put_u32(w, in->rtt_us);
    wire_put_u16(w, in->queue_count);
    wire_put_u16(w, in->entry_count);
    for (uint32_t i = 0; i < in->entry_count; i++) {
        const struct session_ack_entry *entry = &in->entries[i];
        wire_put_u32(w, entry->actor);
        wire_put_u32(w, entry->frame);
        wire_put_u64(w, entry->receive_time_us);
        wire_put_u64(w, entry->render_time_us);
    }
    return session_end(w, at);
}

enum err session_decode_ack(const uint8_t *payload, size_t size_bytes, struct session_ack *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_ack a = {0};
    a.client_time_us = wire_u64(&r);
    a.offset_us = (int64_t)wire_u64(&r);
    a.rtt_us = wire_u32(&r);
    a.queue_count = wire_u16(&r);
    a.entry_count = wire_u16(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (a.entry_count > SESSION_ACKS_MAX) return ERR_LIMIT;
    for (uint32_t i = 0; i < a.entry_count; i++) {
        struct session_ack_entry *entry = &a.entries[i];
        entry->actor = wire_u32(&r);
        entry->frame = wire_u32(&r);
        entry->receive_time_us = wire_u64(&r);
        entry->render_time_us = wire_u64(&r);
    }
    if (r.failed) return ERR_TRUNCATED;
    *out = a;
    return ERR_OK;
}

enum err session_encode_resync(struct wire_writer *w, const struct session_resync *in)
{
    size_t at = messages_begin(w, MESSAGE_RESYNC);
    wire_put_u32(w, in->actor);
    wire_put_u32(w, in->frame);
    return session_end(w, at);
}

enum err session_decode_resync(const uint8_t *payload, size_t size_bytes,
                               struct session_resync *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_resync s = {0};
    s.actor = wire_u32(&r);
    s.frame = wire_u32(&r);
    if (r.failed) return ERR_TRUNCATED;
    *out = s;
    return ERR_OK;
}

enum err session_encode_want(struct wire_writer *w, const struct session_want *in)
{
    if (in->hash_count > SESSION_WANTS_MAX) return ERR_LIMIT;
    size_t at = messages_begin(w, MESSAGE_WANT);
    wire_put_u32(w, in->hash_count);
    wire_put_bytes(w, in->hashes, (size_t)in->hash_count * SESSION_HASH_BYTES);
    return session_end(w, at);
}

enum err session_decode_want(const uint8_t *payload, size_t size_bytes, struct session_want *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    uint32_t count = wire_u32(&r);
    if (count > SESSION_WANTS_MAX) return ERR_LIMIT;
    const uint8_t *hashes = wire_bytes(&r, (size_t)count * SESSION_HASH_BYTES);
    if (!hashes) return ERR_TRUNCATED;
    *out = (struct session_want){.hash_count = count};
    memcpy(out->hashes, hashes, (size_t)count * SESSION_HASH_BYTES);
    return ERR_OK;
}

enum err session_encode_applied(struct wire_writer *w, const struct session_applied *in)
{
    if (in->entry_count > SESSION_APPLIED_MAX) return ERR_LIMIT;
    size_t at = messages_begin(w, MESSAGE_APPLIED);
    wire_put_u32(w, in->actor);
    wire_put_u32(w, in->entry_count);
    for (uint32_t i = 0; i < in->entry_count; i++) {
        wire_put_u64(w, in->entries[i].tick);
        wire_put_u32(w, in->entries[i].sequence);
        wire_put_u32(w, 0);
    }
    return session_end(w, at);
}

enum err session_decode_applied(const uint8_t *payload, size_t size_bytes,
                                struct session_applied *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_applied a = {0};
    a.actor = wire_u32(&r);
    a.entry_count = wire_u32(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (a.entry_count > SESSION_APPLIED_MAX) return ERR_LIMIT;
    for (uint32_t i = 0; i < a.entry_count; i++) {
        a.entries[i].tick = wire_u64(&r);
        a.entries[i].sequence = wire_u32(&r);
        (void)wire_u32(&r);
    }
    if (r.failed) return ERR_TRUNCATED;
    *out = a;
    return ERR_OK;
}

enum err session_encode_catalogue(struct wire_writer *w, const struct session_catalogue *in)
{
    if (in->json_bytes > MESSAGES_PIECE_BYTES) return ERR_LIMIT;
    size_t at = messages_begin(w, MESSAGE_CATALOGUE);
    wire_put_u32(w, in->actor);
    wire_put_u32(w, (uint32_t)in->json_bytes);
    wire_put_bytes(w, in->json, in->json_bytes);
    return session_end(w, at);
}

enum err session_decode_catalogue(const uint8_t *payload, size_t size_bytes,
                                  struct session_catalogue *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct session_catalogue c = {0};
    c.actor = wire_u32(&r);
    c.json_bytes = wire_u32(&r);
    const uint8_t *json = wire_bytes(&r, c.json_bytes);
    if (!json) return ERR_TRUNCATED;
    if (!wire_is_utf8(json, c.json_bytes)) return ERR_MALFORMED;
    c.json = (const char *)json;
    *out = c;
    return ERR_OK;
}
