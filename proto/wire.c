#include "proto/wire.h"

#include <math.h>
#include <string.h>

#include "common/check.h"

struct wire_reader wire_read(const void *bytes, size_t size_bytes)
{
    static const uint8_t nothing[1] = {0}; // pointer arithmetic needs an object
    const uint8_t *begin = bytes ? bytes : nothing;
    return (struct wire_reader){begin, begin, begin + (bytes ? size_bytes : 0), false, false};
}

const uint8_t *wire_bytes(struct wire_reader *r, size_t count)
{
    if (r->failed || (size_t)(r->end - r->at) < count) {
        r->failed = true;
        return NULL;
    }
    const uint8_t *p = r->at;
    r->at += count;
    return p;
}

uint8_t wire_u8(struct wire_reader *r)
{
    const uint8_t *p = wire_bytes(r, 1);
    return p ? p[0] : 0;
}

uint16_t wire_u16(struct wire_reader *r)
{
    const uint8_t *p = wire_bytes(r, 2);
    return (uint16_t)(p ? p[0] | p[1] << 8 : 0);
}

uint32_t wire_u32(struct wire_reader *r)
{
    const uint8_t *p = wire_bytes(r, 4);
    return p ? (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24
             : 0;
}

uint64_t wire_u64(struct wire_reader *r)
{
    if (wire_left(r) < 8) {
        r->failed = true; // both halves or neither: a failed reader moves nothing
        return 0;
    }
    uint64_t low = wire_u32(r);
    return low | (uint64_t)wire_u32(r) << 32;
}

float wire_f32(struct wire_reader *r)
{
    uint32_t bits = wire_u32(r);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void wire_floats(struct wire_reader *r, float *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = wire_f32(r);
}

void wire_align4(struct wire_reader *r)
{
    (void)wire_bytes(r, (0 - (size_t)(r->at - r->begin)) & 3);
}

size_t wire_left(const struct wire_reader *r)
{
    return r->failed ? 0 : (size_t)(r->end - r->at);
}

enum err wire_error(const struct wire_reader *r)
{
    return r->malformed ? ERR_MALFORMED : r->failed ? ERR_TRUNCATED : ERR_OK;
}

bool wire_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

void wire_text(struct wire_reader *r, char *out, size_t capacity)
{
    CHECK(capacity > 0);
    size_t length = wire_u8(r);
    const uint8_t *bytes = wire_bytes(r, length);
    out[0] = 0;
    if (!bytes) return;
    if (length >= capacity || memchr(bytes, 0, length) || !wire_is_utf8(bytes, length)) {
        r->failed = r->malformed = true;
        return;
    }
    memcpy(out, bytes, length);
    out[length] = 0;
}

struct wire_writer wire_write(void *bytes, size_t capacity_bytes)
{
    CHECK(bytes != NULL);
    return (struct wire_writer){bytes, bytes, (uint8_t *)bytes + capacity_bytes, false};
}

static uint8_t *wire_room(struct wire_writer *w, size_t count)
{
    if (w->failed || (size_t)(w->end - w->at) < count) {
        w->failed = true;
        return NULL;
    }
    uint8_t *p = w->at;
    w->at += count;
    return p;
}

void wire_put_u8(struct wire_writer *w, uint8_t value)
{
    uint8_t *p = wire_room(w, 1);
    if (p) p[0] = value;
}

void wire_put_u16(struct wire_writer *w, uint16_t value)
{
    uint8_t *p = wire_room(w, 2);
    for (int i = 0; p && i < 2; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

void wire_put_u32(struct wire_writer *w, uint32_t value)
{
    uint8_t *p = wire_room(w, 4);
    for (int i = 0; p && i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

void wire_put_u64(struct wire_writer *w, uint64_t value)
{
    uint8_t *p = wire_room(w, 8);
    for (int i = 0; p && i < 8; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

void wire_put_f32(struct wire_writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    wire_put_u32(w, bits);
}

void wire_put_floats(struct wire_writer *w, const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wire_put_f32(w, values[i]);
}

void wire_put_bytes(struct wire_writer *w, const void *bytes, size_t count)
{
    uint8_t *p = wire_room(w, count);
    if (p && count) memcpy(p, bytes, count);
}

void wire_put_text(struct wire_writer *w, const char *text)
{
    size_t length = strlen(text);
    if (length > UINT8_MAX) {
        w->failed = true;
        return;
    }
    wire_put_u8(w, (uint8_t)length);
    wire_put_bytes(w, text, length);
}

void wire_put_align4(struct wire_writer *w)
{
    while (!w->failed && (w->at - w->begin) % 4)
        wire_put_u8(w, 0);
}

size_t wire_size(const struct wire_writer *w)
{
    return (size_t)(w->at - w->begin);
}

bool wire_is_utf8(const uint8_t *bytes, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes;) {
        uint8_t lead = bytes[i++];
        if (lead < 0x80) continue;
        int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc2 || lead > 0xf4 || size_bytes - i < (size_t)more) return false;
        uint32_t code = lead & (0x3fu >> more);
        for (int k = 0; k < more; k++, i++) {
            if ((bytes[i] & 0xc0) != 0x80) return false;
            code = code << 6 | (bytes[i] & 0x3f);
        }
        static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
    }
    return true;
}
