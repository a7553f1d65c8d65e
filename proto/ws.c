#include "proto/ws.h"

#include <mbedtls/sha1.h>
#include <string.h>

#include "common/check.h"
#include "proto/wire.h"

void ws_init(struct ws *ws, enum ws_role role, const struct ws_limits *limits)
{
    *ws = (struct ws){.role = role, .limits = *limits, .header_need = 2};
}

void ws_tick(struct ws *ws)
{
    ws->control_count = 0;
}

bool ws_close_code_valid(uint16_t code)
{
    // RFC 6455 7.4: 1004, 1005, 1006 and 1015 are never sent; 1000-2999 need a registration.
    if (code >= 3000 && code <= 4999) return true;
    return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

static void ws_fail(struct ws *ws, uint16_t code, struct ws_event *out)
{
    ws->failed_code = code;
    *out = (struct ws_event){.kind = WS_FAIL, .code = code};
}

// One step of strict UTF-8 across frame borders. utf8_state: continuation bytes awaited, with the
// least code point in utf8_code's upper byte: 0, 0x80, 0x800, 0x10000 as 0 .. 3.
static bool ws_utf8(struct ws *ws, const uint8_t *bytes, size_t size_bytes)
{
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    for (size_t i = 0; i < size_bytes; i++) {
        uint8_t b = bytes[i];
        if (ws->utf8_state == 0) {
            if (b < 0x80) continue;
            if (b < 0xc2 || b > 0xf4) return false;
            uint32_t more = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : 1;
            ws->utf8_state = more;
            ws->utf8_code = (b & (0x3fu >> more)) | more << 24;
            continue;
        }
        if ((b & 0xc0) != 0x80) return false;
        uint32_t length = ws->utf8_code >> 24;
        uint32_t code = (ws->utf8_code & 0xffffff) << 6 | (b & 0x3f);
        ws->utf8_state--;
        // A broken character is refused at its first impossible byte (6 bits still to come each).
        uint32_t low = code << (6 * ws->utf8_state),
                 high = low | ((1u << (6 * ws->utf8_state)) - 1);
        if (high < least[length] || low > 0x10ffff || (low >= 0xd800 && high <= 0xdfff))
            return false;
        ws->utf8_code = code | length << 24;
    }
    return true;
}

// How long the header is, as far as its bytes so far tell.
static uint8_t ws_header_length(const uint8_t *header, uint8_t have)
{
    if (have < 2) return 2;
    uint8_t length = header[1] & 0x7f;
    return (uint8_t)(2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + (header[1] & 0x80 ? 4 : 0));
}

// RFC 6455 5.2-5.5: what is wrong with a complete header, as a close code; 0 = nothing.
static uint16_t ws_header_check(const struct ws *ws, uint64_t length, uint8_t length_7)
{
    uint8_t first = ws->header[0], opcode = first & 0x0f;
    bool control = opcode & 8, fin = first & 0x80;
    if (first & 0x70) return 1002; // no extension was negotiated
    if (!!(ws->header[1] & 0x80) != (ws->role == WS_SERVER)) return 1002;
    if ((opcode > WS_BINARY && opcode < WS_CLOSE) || opcode > WS_PONG) return 1002;
    if (control) return !fin || length_7 > WS_CONTROL_BYTES_MAX ? 1002 : 0;
    if ((opcode == WS_CONTINUATION) != ws->in_message) return 1002;
    if (length_7 == 127 && length >> 63) return 1002;
    if ((length_7 == 126 && length < 126) || (length_7 == 127 && length <= UINT16_MAX)) return 1002;
    uint64_t sofar = ws->in_message ? ws->message_bytes : 0;
    if (length > ws->limits.message_bytes_max || sofar > ws->limits.message_bytes_max - length)
        return 1009;
    if (ws->in_message && ws->fragment_count >= ws->limits.fragments_max) return 1009;
    return 0;
}

// Takes over a complete header; returns a close code or 0.
static uint16_t ws_begin_frame(struct ws *ws)
{
    uint8_t length_7 = ws->header[1] & 0x7f, at = 2;
    uint64_t length = length_7;
    if (length_7 >= 126) {
        length = 0;
        for (uint8_t end = (uint8_t)(length_7 == 126 ? 4 : 10); at < end; at++)
            length = length << 8 | ws->header[at];
    }
    uint16_t code = ws_header_check(ws, length, length_7);
    if (code) return code;
    ws->opcode = ws->header[0] & 0x0f;
    ws->fin = ws->header[0] & 0x80;
    ws->masked = ws->header[1] & 0x80;
    if (ws->masked) memcpy(ws->mask, ws->header + at, 4);
    ws->frame_bytes = length;
    ws->frame_done = 0;
    ws->in_payload = true;
    if (ws->opcode & 8) return ++ws->control_count > ws->limits.controls_max ? 1008 : 0;
    if (ws->opcode != WS_CONTINUATION) {
        ws->in_message = true;
        ws->message_opcode = ws->opcode;
        ws->message_bytes = 0;
        ws->fragment_count = 0;
        ws->utf8_state = 0;
    }
    ws->message_bytes += length;
    ws->fragment_count++;
    return 0;
}

static void ws_end_frame(struct ws *ws)
{
    ws->in_payload = false;
    ws->header_have = 0;
    ws->header_need = 2;
}

static void ws_control_done(struct ws *ws, struct ws_event *out)
{
    size_t size = (size_t)ws->frame_bytes;
    uint8_t opcode = ws->opcode;
    ws_end_frame(ws);
    *out = (struct ws_event){.kind = opcode == WS_PING ? WS_GOT_PING : WS_GOT_PONG,
                             .bytes = ws->control,
                             .size_bytes = size};
    if (opcode != WS_CLOSE) return;
    out->kind = WS_GOT_CLOSE;
    out->code = 1005;
    ws->close_received = true;
    if (size == 0) return;
    uint16_t code = (uint16_t)(size >= 2 ? ws->control[0] << 8 | ws->control[1] : 0);
    if (!ws_close_code_valid(code)) {
        ws_fail(ws, 1002, out);
    } else if (!wire_is_utf8(ws->control + 2, size - 2)) {
        ws_fail(ws, 1007, out);
    } else {
        out->code = code;
        out->bytes = ws->control + 2; // the reason
        out->size_bytes = size - 2;
    }
}

static void ws_data(struct ws *ws, uint8_t *bytes, size_t count, struct ws_event *out)
{
    bool frame_end = ws->frame_done == ws->frame_bytes;
    *out = (struct ws_event){.kind = WS_DATA,
                             .opcode = ws->message_opcode,
                             .message_end = frame_end && ws->fin,
                             .bytes = bytes,
                             .size_bytes = count};
    if (ws->message_opcode == WS_TEXT &&
        (!ws_utf8(ws, bytes, count) || (out->message_end && ws->utf8_state != 0))) {
        ws_fail(ws, 1007, out);
        return;
    }
    if (out->message_end) ws->in_message = false;
    if (frame_end) ws_end_frame(ws);
}

void ws_next(struct ws *ws, uint8_t *bytes, size_t size_bytes, size_t *used_bytes,
             struct ws_event *out)
{
    CHECK(bytes != NULL || size_bytes == 0);
    size_t used = 0;
    *out = (struct ws_event){.kind = WS_NEED_MORE};
    *used_bytes = size_bytes;
    if (ws->failed_code || ws->close_received) return; // the rest is of no interest
    if (!ws->in_payload) {
        while (ws->header_have < ws->header_need && used < size_bytes) {
            ws->header[ws->header_have++] = bytes[used++];
            ws->header_need = ws_header_length(ws->header, ws->header_have);
        }
        *used_bytes = used;
        if (ws->header_have < ws->header_need) return;
        uint16_t code = ws_begin_frame(ws);
        if (code) {
            ws_fail(ws, code, out);
            return;
        }
    }
    uint64_t left = ws->frame_bytes - ws->frame_done;
    size_t count = size_bytes - used < left ? size_bytes - used : (size_t)left;
    *used_bytes = used + count;
    if (count == 0 && left > 0) return;
    uint8_t *payload = count ? bytes + used : ws->control; // an address, even of nothing
    if (ws->masked) ws_mask(payload, count, ws->mask, ws->frame_done);
    if (ws->opcode & 8 && count) memcpy(ws->control + ws->frame_done, payload, count);
    ws->frame_done += count;
    if (!(ws->opcode & 8)) {
        ws_data(ws, payload, count, out);
    } else if (ws->frame_done == ws->frame_bytes) {
        ws_control_done(ws, out);
    }
}

size_t ws_header_write(uint8_t out[WS_HEADER_BYTES_MAX], uint8_t opcode, bool fin,
                       uint64_t payload_bytes, const uint8_t mask[4])
{
    CHECK(opcode <= WS_BINARY || (opcode >= WS_CLOSE && opcode <= WS_PONG));
    size_t n = 0;
    uint8_t masked = mask ? 0x80 : 0;
    int length_bytes = payload_bytes < 126 ? 0 : payload_bytes <= UINT16_MAX ? 2 : 8;
    out[n++] = (uint8_t)((fin ? 0x80 : 0) | opcode);
    out[n++] = (uint8_t)(masked | (length_bytes == 0   ? (uint8_t)payload_bytes
                                   : length_bytes == 2 ? 126
                                                       : 127));
    for (int i = length_bytes - 1; i >= 0; i--)
        out[n++] = (uint8_t)(payload_bytes >> (8 * i));
    for (int i = 0; mask && i < 4; i++)
        out[n++] = mask[i];
    return n;
}

void ws_mask(uint8_t *bytes, size_t size_bytes, const uint8_t mask[4], uint64_t at)
{
    uint8_t turned[8]; // the mask as it meets bytes[0], twice, so that whole words can be done
    for (size_t i = 0; i < 8; i++)
        turned[i] = mask[(at + i) & 3];
    uint64_t wide, word;
    memcpy(&wide, turned, 8);
    size_t i = 0;
    for (; i + 8 <= size_bytes; i += 8) {
        memcpy(&word, bytes + i, 8);
        word ^= wide;
        memcpy(bytes + i, &word, 8);
    }
    for (; i < size_bytes; i++)
        bytes[i] ^= turned[i & 7];
}

size_t ws_control_write(uint8_t out[WS_CLOSE_BYTES_MAX], uint8_t opcode, const void *payload,
                        size_t payload_bytes, const uint8_t mask[4])
{
    CHECK(opcode >= WS_CLOSE);
    if (payload_bytes > WS_CONTROL_BYTES_MAX) payload_bytes = WS_CONTROL_BYTES_MAX;
    size_t n = ws_header_write(out, opcode, true, payload_bytes, mask);
    if (payload_bytes) memcpy(out + n, payload, payload_bytes);
    if (mask) ws_mask(out + n, payload_bytes, mask, 0);
    return n + payload_bytes;
}

size_t ws_close_write(uint8_t out[WS_CLOSE_BYTES_MAX], uint16_t code, const char *reason,
                      const uint8_t mask[4])
{
    uint8_t payload[WS_CONTROL_BYTES_MAX] = {(uint8_t)(code >> 8), (uint8_t)code};
    if (!ws_close_code_valid(code)) return ws_control_write(out, WS_CLOSE, NULL, 0, mask);
    size_t length = reason ? strlen(reason) : 0;
    if (length > WS_REASON_BYTES_MAX) {
        length = WS_REASON_BYTES_MAX;
        while (length > 0 && ((uint8_t)reason[length] & 0xc0) == 0x80) // not inside a character
            length--;
    }
    for (size_t i = 0; i < length; i++)
        payload[2 + i] = (uint8_t)reason[i];
    return ws_control_write(out, WS_CLOSE, payload, 2 + length, mask);
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void base64(const uint8_t *bytes, size_t count, char *out)
{
    for (size_t i = 0; i < count; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16 | (i + 1 < count ? bytes[i + 1] : 0u) << 8 |
                        (i + 2 < count ? bytes[i + 2] : 0u);
        *out++ = base64_digits[word >> 18];
        *out++ = base64_digits[word >> 12 & 63];
        *out++ = (char)(i + 1 < count ? base64_digits[word >> 6 & 63] : '=');
        *out++ = (char)(i + 2 < count ? base64_digits[word & 63] : '=');
    }
    *out = 0;
}

void ws_key(const uint8_t random[16], char out[WS_KEY_BYTES + 1])
{
    base64(random, 16, out);
}

enum err ws_accept(const char *key, size_t key_bytes, char out[WS_ACCEPT_BYTES + 1])
{
    static const uint8_t guid[36] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455 1.3
    if (key_bytes != WS_KEY_BYTES) return ERR_MALFORMED;
    for (size_t i = 0; i < 22; i++)
        if (!key[i] || !strchr(base64_digits, key[i])) return ERR_MALFORMED;
    if (key[22] != '=' || key[23] != '=') return ERR_MALFORMED;
    uint8_t text[WS_KEY_BYTES + sizeof guid], digest[20];
    memcpy(text, key, WS_KEY_BYTES);
    memcpy(text + WS_KEY_BYTES, guid, sizeof guid);
    if (mbedtls_sha1_ret(text, sizeof text, digest) != 0) return ERR_UNSUPPORTED;
    base64(digest, sizeof digest, out);
    return ERR_OK;
}
