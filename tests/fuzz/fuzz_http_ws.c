// HTTP heads and WebSocket frames: no input may do harm, and how a stream is cut must not matter.
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/http_head.h"
#include "proto/ws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum err parse(const uint8_t *bytes, size_t size, size_t *scanned, bool response,
                      struct http_head *head)
{
    struct http_limits limits = {512, 64, 8};
    uint16_t status = 0;
    if (response) return http_head_response(bytes, size, &limits, scanned, head);
    enum err e = http_head_request(bytes, size, &limits, scanned, head, &status);
    CHECK(e == ERR_OK || e == ERR_TRUNCATED || (status >= 400 && status <= 505));
    return e;
}

static void fuzz_head(const uint8_t *data, size_t size, bool response)
{
    struct http_head whole, grown;
    size_t scanned = 0;
    enum err at_once = parse(data, size, &scanned, response, &whole), e = ERR_TRUNCATED;
    scanned = 0;
    for (size_t n = 0; n <= size && e == ERR_TRUNCATED; n++)
        e = parse(data, n, &scanned, response, &grown);
    CHECK((e == ERR_OK) == (at_once == ERR_OK));
    if (e) return;
    CHECK(grown.head_bytes == whole.head_bytes && whole.head_bytes <= size);
    CHECK(whole.header_count <= 8 && whole.header_count == grown.header_count);
    CHECK(!(whole.chunked && whole.has_length));
    for (size_t i = 0; i < whole.header_count; i++) {
        const struct http_header *h = &whole.headers[i];
        CHECK((const uint8_t *)h->value.at >= data);
        CHECK((const uint8_t *)h->value.at + h->value.size_bytes <= data + whole.head_bytes);
        CHECK(!memchr(h->value.at, '\n', h->value.size_bytes));
    }
    char accept[29];
    (void)!http_head_websocket(&whole, accept);
}

// What a stream comes to, folded: must not depend on the cuts.
static uint64_t fold(uint64_t sum, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
    return sum;
}

static uint64_t run(const uint8_t *data, size_t size, size_t step, enum ws_role role)
{
    static const struct ws_limits limits = {4096, 8, 16};
    struct ws ws;
    ws_init(&ws, role, &limits);
    uint64_t sum = 0;
    for (size_t at = 0; at < size; at += step) {
        size_t count = at + step < size ? step : size - at;
        uint8_t *exact = malloc(count);
        memcpy(exact, data + at, count);
        for (size_t i = 0;;) {
            size_t used = 0;
            struct ws_event e;
            ws_next(&ws, exact + i, count - i, &used, &e);
            CHECK(used <= count - i);
            i += used;
            if (e.kind == WS_NEED_MORE) break;
            uint8_t tag[3] = {(uint8_t)e.kind, (uint8_t)e.code, (uint8_t)(e.code >> 8)};
            if (e.kind == WS_FAIL) CHECK(ws_close_code_valid(e.code));
            // Text is refused when its bad byte comes: how much of it came before does depend.
            if (e.kind != WS_DATA) sum = fold(sum, tag, 3);
            if (e.kind != WS_DATA || e.opcode == WS_BINARY) sum = fold(sum, e.bytes, e.size_bytes);
            if (e.kind == WS_DATA && e.message_end) sum = fold(sum, (const uint8_t *)"end", 3);
            CHECK(ws.message_bytes <= limits.message_bytes_max);
        }
        free(exact);
    }
    return sum;
}

// data[0]: 0 request, 1 response, 2 frames at a server, 3 at a client.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 20000) return 0;
    int kind = data[0] & 3;
    if (kind < 2) {
        if (size < 2000) fuzz_head(data + 1, size - 1, kind == 1);
        return 0;
    }
    enum ws_role role = kind == 2 ? WS_SERVER : WS_CLIENT;
    uint64_t whole = run(data + 1, size - 1, size, role);
    CHECK(run(data + 1, size - 1, 1, role) == whole);
    CHECK(run(data + 1, size - 1, 7, role) == whole);
    return 0;
}
