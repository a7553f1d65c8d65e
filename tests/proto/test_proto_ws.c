#include "proto/ws.h"
#include "tests/testing.h"

int testing_failures;

static const struct ws_limits limits = {
    .message_bytes_max = 65536, .fragments_max = 16, .controls_max = 20};

// What a stream of bytes came to, whichever way it was cut.
struct outcome {
    uint8_t data[70000];
    size_t data_bytes, messages, pings, pongs;
    uint16_t closed, failed;
    char reason[126];
};

static void feed(struct ws *ws, uint8_t *bytes, size_t size, size_t step, struct outcome *o)
{
    for (size_t at = 0; at < size; at += step) {
        size_t end = at + step < size ? at + step : size;
        for (size_t i = at;;) {
            size_t used = 0;
            struct ws_event e;
            ws_next(ws, bytes + i, end - i, &used, &e);
            i += used;
            if (e.kind == WS_NEED_MORE) break;
            if (e.kind == WS_FAIL) o->failed = e.code;
            if (e.kind == WS_GOT_PING) o->pings++;
            if (e.kind == WS_GOT_PONG) o->pongs++;
            if (e.kind == WS_GOT_CLOSE) {
                o->closed = e.code;
                if (e.size_bytes) memcpy(o->reason, e.bytes, e.size_bytes);
            }
            if (e.kind != WS_DATA) continue;
            if (e.size_bytes) memcpy(o->data + o->data_bytes, e.bytes, e.size_bytes);
            o->data_bytes += e.size_bytes;
            o->messages += e.message_end;
        }
    }
}

static const uint8_t mask[4] = {0x11, 0x92, 0x33, 0xf4};

static size_t frame(uint8_t *out, uint8_t opcode, bool fin, const void *payload, size_t size)
{
    size_t n = ws_header_write(out, opcode, fin, size, mask);
    if (size) memcpy(out + n, payload, size);
    ws_mask(out + n, size, mask, 0);
    return n + size;
}

static struct outcome run(const uint8_t *bytes, size_t size, size_t step)
{
    static struct outcome o;
    static uint8_t copy[200000];
    o = (struct outcome){0};
    memcpy(copy, bytes, size);
    struct ws ws;
    ws_init(&ws, WS_SERVER, &limits);
    feed(&ws, copy, size, step, &o);
    return o;
}

static void fragments_with_pings_between_come_out_whole_however_cut(void)
{
    static uint8_t bytes[80000];
    static uint8_t payload[66000];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 7);
    size_t n = 0;
    n += frame(bytes + n, WS_BINARY, false, payload, 300);
    n += frame(bytes + n, WS_PING, true, "hi", 2);
    n += frame(bytes + n, WS_CONTINUATION, false, payload + 300, 0);
    n += frame(bytes + n, WS_CONTINUATION, true, payload + 300, 65000);
    n += frame(bytes + n, WS_PONG, true, NULL, 0);
    n += frame(bytes + n, WS_TEXT, true, "caf\xc3\xa9", 5);
    static const size_t steps[] = {1, 2, 3, 7, 13, 1000, 100000};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        static struct outcome o;
        o = run(bytes, n, steps[i]);
        EXPECT(o.failed == 0 && o.messages == 2 && o.pings == 1 && o.pongs == 1);
        EXPECT(o.data_bytes == 65305 && memcmp(o.data, payload, 65300) == 0);
        EXPECT(memcmp(o.data + 65300, "caf\xc3\xa9", 5) == 0);
    }
}

struct bad_case {
    const char *what;
    uint8_t bytes[16];
    size_t size;
    uint16_t code;
};

static void broken_frames_fail_with_the_right_code(void)
{
    static const struct bad_case cases[] = {
        {"not masked", {0x82, 1, 'x'}, 3, 1002},
        {"reserved bit", {0xc2, 0x80, 0, 0, 0, 0}, 6, 1002},
        {"reserved opcode 3", {0x83, 0x80, 0, 0, 0, 0}, 6, 1002},
        {"reserved opcode 11", {0x8b, 0x80, 0, 0, 0, 0}, 6, 1002},
        {"stray continuation", {0x80, 0x80, 0, 0, 0, 0}, 6, 1002},
        {"fragmented ping", {0x09, 0x80, 0, 0, 0, 0}, 6, 1002},
        {"ping of 126", {0x89, 0xfe, 0, 126, 0, 0, 0, 0}, 8, 1002},
        {"new message inside a message",
         {0x02, 0x80, 0, 0, 0, 0, 0x82, 0x80, 0, 0, 0, 0},
         12,
         1002},
        {"2^40 bytes", {0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 14, 1009},
        {"top bit of the length", {0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 14, 1002},
        {"length longer than needed", {0x82, 0xfe, 0, 125, 0, 0, 0, 0}, 8, 1002},
        {"64 kB + 1", {0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}, 14, 1009},
        {"bad text", {0x81, 0x81, 0, 0, 0, 0, 0xff}, 7, 1007},
        {"text cut inside a character", {0x81, 0x81, 0, 0, 0, 0, 0xc3}, 7, 1007},
        {"surrogate in text", {0x81, 0x83, 0, 0, 0, 0, 0xed, 0xa0, 0x80}, 9, 1007},
        {"close code 1005", {0x88, 0x82, 0, 0, 0, 0, 0x03, 0xed}, 8, 1002},
        {"close code 999", {0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe7}, 8, 1002},
        {"close of one byte", {0x88, 0x81, 0, 0, 0, 0, 3}, 7, 1002},
        {"close reason not UTF-8", {0x88, 0x83, 0, 0, 0, 0, 0x03, 0xe8, 0xff}, 9, 1007},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t step = 1; step <= 16; step += 15) {
            static struct outcome o;
            o = run(cases[i].bytes, cases[i].size, step);
            if (o.failed != cases[i].code) printf("  %s: %u\n", cases[i].what, o.failed);
            EXPECT(o.failed == cases[i].code);
        }
}

static void a_close_is_told_with_code_and_reason(void)
{
    static struct outcome o;
    uint8_t bytes[WS_CLOSE_BYTES_MAX];
    size_t n = ws_close_write(bytes, 4008, "join anew", mask);
    o = run(bytes, n, 1);
    EXPECT(o.closed == 4008 && strcmp(o.reason, "join anew") == 0);
    n = ws_close_write(bytes, 1005, "x", mask);
    o = run(bytes, n, 100);
    EXPECT(n == 6 && o.closed == 1005);
    char longest[200];
    memset(longest, 'a', sizeof longest);
    memcpy(longest + 122, "\xe2\x82\xac", 3); // a character over the border
    longest[199] = 0;
    n = ws_close_write(bytes, 1000, longest, NULL);
    EXPECT(n == 2 + 2 + 122);
}

static void too_many_fragments_and_too_many_pings_end_it(void)
{
    static uint8_t bytes[2000];
    static struct outcome o;
    size_t n = frame(bytes, WS_BINARY, false, "x", 1);
    for (int i = 0; i < 16; i++)
        n += frame(bytes + n, WS_CONTINUATION, false, "x", 1);
    o = run(bytes, n, 50);
    EXPECT(o.failed == 1009 && o.data_bytes == 16);
    n = 0;
    for (int i = 0; i < 21; i++)
        n += frame(bytes + n, WS_PING, true, NULL, 0);
    o = run(bytes, n, 50);
    EXPECT(o.failed == 1008 && o.pings == 20);
    // In time they are counted anew.
    struct ws ws;
    ws_init(&ws, WS_SERVER, &limits);
    o = (struct outcome){0};
    for (int i = 0; i < 100; i++) {
        n = frame(bytes, WS_PING, true, NULL, 0);
        feed(&ws, bytes, n, n, &o);
        if (i % 10 == 0) ws_tick(&ws);
    }
    EXPECT(o.failed == 0 && o.pings == 100);
}

static void a_message_over_the_limit_in_fragments_is_refused(void)
{
    static uint8_t bytes[80000], payload[40000];
    static struct outcome o;
    size_t n = frame(bytes, WS_BINARY, false, payload, 40000);
    n += frame(bytes + n, WS_CONTINUATION, true, payload, 25537);
    o = run(bytes, n, 4096);
    EXPECT(o.failed == 1009 && o.data_bytes == 40000);
}

static void a_client_refuses_masked_frames(void)
{
    struct ws ws;
    static struct outcome o;
    o = (struct outcome){0};
    ws_init(&ws, WS_CLIENT, &limits);
    uint8_t masked[8] = {0x82, 0x81, 0, 0, 0, 0, 'x'}, plain[3] = {0x82, 1, 'x'};
    feed(&ws, plain, 3, 1, &o);
    EXPECT(o.failed == 0 && o.messages == 1);
    feed(&ws, masked, 7, 7, &o);
    EXPECT(o.failed == 1002);
    // After the end nothing more is looked at.
    feed(&ws, plain, 3, 3, &o);
    EXPECT(o.messages == 1);
}

static void headers_are_as_short_as_they_can_be(void)
{
    uint8_t out[WS_HEADER_BYTES_MAX];
    EXPECT(ws_header_write(out, WS_BINARY, true, 125, NULL) == 2);
    EXPECT(ws_header_write(out, WS_BINARY, true, 126, NULL) == 4 && out[2] == 0 && out[3] == 126);
    EXPECT(ws_header_write(out, WS_BINARY, true, 65535, NULL) == 4);
    EXPECT(ws_header_write(out, WS_BINARY, true, 65536, mask) == 14 && out[7] == 1);
}

static void the_rfc_s_own_handshake_example_holds(void)
{
    char accept[WS_ACCEPT_BYTES + 1] = "";
    EXPECT(ws_accept("dGhlIHNhbXBsZSBub25jZQ==", 24, accept) == ERR_OK);
    EXPECT(strcmp(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == 0);
    EXPECT(ws_accept("dGhlIHNhbXBsZSBub25jZQ=", 23, accept) == ERR_MALFORMED);
    EXPECT(ws_accept("dGhlIHNhbXBsZSBub25j!Q==", 24, accept) == ERR_MALFORMED);
    char key[WS_KEY_BYTES + 1];
    ws_key((const uint8_t *)"the sample nonce", key);
    EXPECT(strcmp(key, "dGhlIHNhbXBsZSBub25jZQ==") == 0);
}

static void masking_is_the_same_from_any_place(void)
{
    uint8_t whole[40], parts[40];
    for (int i = 0; i < 40; i++)
        whole[i] = parts[i] = (uint8_t)i;
    ws_mask(whole, 40, mask, 0);
    for (size_t at = 0, step = 1; at < 40; at += step, step = step % 9 + 1)
        ws_mask(parts + at, at + step < 40 ? step : 40 - at, mask, at);
    EXPECT(memcmp(whole, parts, 40) == 0);
}

int main(void)
{
    RUN(fragments_with_pings_between_come_out_whole_however_cut);
    RUN(broken_frames_fail_with_the_right_code);
    RUN(a_close_is_told_with_code_and_reason);
    RUN(too_many_fragments_and_too_many_pings_end_it);
    RUN(a_message_over_the_limit_in_fragments_is_refused);
    RUN(a_client_refuses_masked_frames);
    RUN(headers_are_as_short_as_they_can_be);
    RUN(the_rfc_s_own_handshake_example_holds);
    RUN(masking_is_the_same_from_any_place);
    TESTING_MAIN_END;
}
