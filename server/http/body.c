#include "server/http/body.h"

#include "common/check.h"
#include "common/hex.h"

enum { LINE_BYTES_MAX = 256, TRAILER_BYTES_MAX = 4096, SIZE_DIGITS_MAX = 15 };

void body_init_length(struct body *b, uint64_t length, uint64_t max)
{
    CHECK(length <= max);
    *b = (struct body){.state = length > 0 ? BODY_DATA : BODY_DONE, .left = length, .max = max};
}

void body_init_chunked(struct body *b, uint64_t max)
{
    *b = (struct body){.state = BODY_SIZE, .chunked = true, .max = max};
}

bool body_done(const struct body *b)
{
    return b->state == BODY_DONE;
}

// The chunk's size line has ended.
static enum err begin_chunk(struct body *b)
{
    if (b->left > b->max - b->total) return ERR_LIMIT;
    b->state = b->left > 0 ? BODY_DATA : BODY_TRAILER;
    b->line = 0;
    return ERR_OK;
}

static enum err size_byte(struct body *b, uint8_t c)
{
    int digit = hex_digit(c);
    if (digit >= 0) {
        if (++b->digits > SIZE_DIGITS_MAX) return ERR_LIMIT;
        b->left = b->left << 4 | (uint64_t)digit;
        return ERR_OK;
    }
    if (b->digits == 0) return ERR_MALFORMED;
    if (c == '\r')
        b->state = BODY_SIZE_LF;
    else if (c == ';')
        b->state = BODY_EXTENSION;
    else
        return ERR_MALFORMED;
    return ERR_OK;
}

static enum err line_byte(struct body *b, uint8_t c, uint32_t max, enum body_state at_end)
{
    if (++b->line > max) return ERR_LIMIT;
    if (c == '\r')
        b->state = at_end;
    else if ((c < 0x20 && c != '\t') || c == 0x7f)
        return ERR_MALFORMED;
    return ERR_OK;
}

static enum err expect(struct body *b, uint8_t c, uint8_t wanted, enum body_state next)
{
    if (c != wanted) return ERR_MALFORMED;
    b->state = next;
    return ERR_OK;
}

// One byte of framing.
static enum err frame_byte(struct body *b, uint8_t c)
{
    switch (b->state) {
    case BODY_SIZE:
        return size_byte(b, c);
    case BODY_EXTENSION:
        return line_byte(b, c, LINE_BYTES_MAX, BODY_SIZE_LF);
    case BODY_SIZE_LF:
        return c == '\n' ? begin_chunk(b) : ERR_MALFORMED;
    case BODY_DATA_CR:
        return expect(b, c, '\r', BODY_DATA_LF);
    case BODY_DATA_LF:
        b->left = b->digits = 0;
        return expect(b, c, '\n', BODY_SIZE);
    case BODY_TRAILER:
        if (c == '\r') return expect(b, c, '\r', BODY_END_LF);
        b->state = BODY_TRAILER_LINE;
        return line_byte(b, c, TRAILER_BYTES_MAX, BODY_TRAILER_LF);
    case BODY_TRAILER_LINE:
        return line_byte(b, c, TRAILER_BYTES_MAX, BODY_TRAILER_LF);
    case BODY_TRAILER_LF:
        return expect(b, c, '\n', BODY_TRAILER);
    case BODY_END_LF:
        return expect(b, c, '\n', BODY_DONE);
    case BODY_DATA:
    case BODY_DONE:
        break;
    }
    return ERR_MALFORMED; // body_next does not come here with these
}

enum err body_next(struct body *b, const uint8_t *bytes, size_t size_bytes, size_t *used,
                   const uint8_t **payload, size_t *payload_bytes)
{
    size_t at = 0;
    *payload = bytes;
    *payload_bytes = 0;
    *used = 0;
    while (at < size_bytes && b->state != BODY_DATA && b->state != BODY_DONE) {
        enum err e = frame_byte(b, bytes[at++]);
        if (e != ERR_OK) return e;
    }
    if (b->state == BODY_DATA && at < size_bytes) {
        size_t n = size_bytes - at;
        if (n > b->left) n = (size_t)b->left;
        *payload = bytes + at;
        *payload_bytes = n;
        at += n;
        b->left -= n;
        b->total += n;
        if (b->left == 0) b->state = b->chunked ? BODY_DATA_CR : BODY_DONE;
    }
    *used = at;
    return ERR_OK;
}
