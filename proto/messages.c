#include "proto/messages.h"

#include <string.h>

#include "common/check.h"

const struct messages_row *messages_row(uint8_t type)
{
    static const struct messages_row rows[256] = {
#define X(id, name, from, max, priority)                                                           \
    [id] = {#name, MESSAGES_FROM_##from, MESSAGES_##priority, (max)},
        MESSAGES_MAP(X)
#undef X
    };
    return &rows[type];
}

// What the envelope alone can be refused for.
static enum err messages_check(const struct message *m, enum messages_from from)
{
    const struct messages_row *row = messages_row(m->type);
    if (m->flags & ~(MESSAGES_MORE | MESSAGES_CONTINUES)) return ERR_MALFORMED;
    if (from == MESSAGES_FROM_CLIENT && m->flags) return ERR_MALFORMED;
    if (m->size_bytes > MESSAGES_PIECE_BYTES) return ERR_LIMIT;
    if (!row->name) return ERR_OK; // the caller skips it
    if (!(row->from & from)) return ERR_MALFORMED;
    if (m->size_bytes > row->size_max_bytes) return ERR_LIMIT;
    if (m->flags && row->size_max_bytes <= MESSAGES_PIECE_BYTES) return ERR_MALFORMED;
    return ERR_OK;
}

enum err messages_read(const uint8_t *bytes, size_t size_bytes, enum messages_from from,
                       struct message *out, size_t *used_bytes, size_t *need_bytes)
{
    if (need_bytes) *need_bytes = MESSAGES_HEADER_BYTES;
    struct wire_reader r = wire_read(bytes, size_bytes);
    struct message m = {0};
    m.type = wire_u8(&r);
    m.flags = wire_u8(&r);
    uint16_t zero = wire_u16(&r);
    m.size_bytes = wire_u32(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (zero != 0) return ERR_MALFORMED;
    enum err e = messages_check(&m, from);
    if (e) return e;
    size_t total = MESSAGES_HEADER_BYTES + m.size_bytes + messages_padding(m.size_bytes);
    if (need_bytes) *need_bytes = total;
    if (size_bytes < total) return ERR_TRUNCATED;
    m.payload = wire_bytes(&r, m.size_bytes);
    *out = m;
    *used_bytes = total;
    return messages_row(m.type)->name ? ERR_OK : ERR_UNSUPPORTED;
}

void messages_header(uint8_t out[MESSAGES_HEADER_BYTES], uint8_t type, uint8_t flags,
                     size_t payload_bytes)
{
    CHECK(payload_bytes <= MESSAGES_PIECE_BYTES);
    struct wire_writer w = wire_write(out, MESSAGES_HEADER_BYTES);
    wire_put_u8(&w, type);
    wire_put_u8(&w, flags);
    wire_put_u16(&w, 0);
    wire_put_u32(&w, (uint32_t)payload_bytes);
}

size_t messages_begin(struct wire_writer *w, uint8_t type)
{
    size_t begun_at = wire_size(w);
    CHECK(begun_at % 4 == 0);
    wire_put_u32(w, type);
    wire_put_u32(w, 0);
    return begun_at;
}

void messages_end(struct wire_writer *w, size_t begun_at)
{
    if (w->failed) {
        w->at = w->begin + begun_at; // nothing half-written is left behind
        return;
    }
    size_t payload_bytes = wire_size(w) - begun_at - MESSAGES_HEADER_BYTES;
    uint8_t *header = w->begin + begun_at;
    if (payload_bytes > MESSAGES_PIECE_BYTES ||
        payload_bytes > messages_row(header[0])->size_max_bytes) {
        w->failed = true;
        w->at = header;
        return;
    }
    messages_header(header, header[0], 0, payload_bytes);
    for (size_t i = messages_padding(payload_bytes); i > 0; i--)
        wire_put_u8(w, 0);
    if (w->failed) w->at = header;
}

bool messages_piece(uint8_t type, size_t payload_bytes, size_t k, struct messages_piece *out)
{
    CHECK(payload_bytes <= messages_row(type)->size_max_bytes);
    if (k > 0 && k >= (payload_bytes + MESSAGES_PIECE_BYTES - 1) / MESSAGES_PIECE_BYTES)
        return false;
    out->first_byte = k * MESSAGES_PIECE_BYTES;
    size_t left = payload_bytes - out->first_byte;
    out->size_bytes = left < MESSAGES_PIECE_BYTES ? left : MESSAGES_PIECE_BYTES;
    out->padding_bytes = messages_padding(out->size_bytes);
    uint8_t flags = (uint8_t)((left > MESSAGES_PIECE_BYTES ? MESSAGES_MORE : 0) |
                              (k > 0 ? MESSAGES_CONTINUES : 0));
    messages_header(out->header, type, flags, out->size_bytes);
    return true;
}
