#include "proto/http_head.h"
#include "proto/wire.h"
#include "tests/testing.h"

int testing_failures;

static enum err request(const char *text, struct http_head *head, uint16_t *status)
{
    struct http_limits limits = http_head_limits();
    size_t scanned = 0;
    return http_head_request((const uint8_t *)text, strlen(text), &limits, &scanned, head, status);
}

static bool is(struct http_text text, const char *word)
{
    return text.size_bytes == strlen(word) && memcmp(text.at, word, text.size_bytes) == 0;
}

static const char upgrade[] = "GET /v1/stream?x=1 HTTP/1.1\r\n"
                              "Host: sinew.example:7480\r\n"
                              "Upgrade: websocket\r\n"
                              "Connection: keep-alive, Upgrade\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                              "Sec-WebSocket-Protocol: chat ,sinew.v1\r\n"
                              "Sec-WebSocket-Extensions: permessage-deflate\r\n"
                              "Sec-WebSocket-Version: 13\r\n\r\n";

static void an_upgrade_and_its_first_frame_in_one_packet(void)
{
    char bytes[1024];
    snprintf(bytes, sizeof bytes, "%s\x82\x80", upgrade);
    struct http_head h;
    char accept[29];
    EXPECT(request(bytes, &h, NULL) == ERR_OK);
    EXPECT(h.head_bytes == sizeof upgrade - 1 && (uint8_t)bytes[h.head_bytes] == 0x82);
    EXPECT(h.method == HTTP_METHOD_GET && is(h.path, "/v1/stream") && is(h.query, "x=1"));
    EXPECT(h.upgrade && h.keep_alive && h.minor == 1);
    EXPECT(http_head_has_token(&h, "Sec-WebSocket-Protocol", "sinew.v1"));
    EXPECT(!http_head_has_token(&h, "Sec-WebSocket-Protocol", "sinew"));
    EXPECT(http_head_websocket(&h, accept) == ERR_OK);
    EXPECT(strcmp(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == 0);
}

static void every_prefix_waits_for_more(void)
{
    struct http_limits limits = http_head_limits();
    size_t scanned = 0;
    struct http_head h = {.status = 77};
    for (size_t n = 0; n < sizeof upgrade - 1; n++) {
        uint8_t *exact = malloc(n + !n);
        memcpy(exact, upgrade, n);
        EXPECT(http_head_request(exact, n, &limits, &scanned, &h, NULL) == ERR_TRUNCATED);
        EXPECT(h.status == 77);
        free(exact);
    }
    EXPECT(http_head_request((const uint8_t *)upgrade, sizeof upgrade - 1, &limits, &scanned, &h,
                             NULL) == ERR_OK);
}

static void smuggling_and_bad_syntax_are_refused(void)
{
    static const struct {
        const char *text;
        uint16_t status;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: \rY\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /#x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"GET /\r\n\r\n", 505},
        {"\x16\x03\x01 not TLS here\r\n\r\n", 400},
        {"get / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_head h = {.status = 77};
        uint16_t status = 0;
        enum err e = request(cases[i].text, &h, &status);
        if (!e || e == ERR_TRUNCATED || status != cases[i].status)
            printf("  case %zu: %s, %u\n", i, err_name(e), status);
        EXPECT(e && e != ERR_TRUNCATED && status == cases[i].status && h.status == 77);
    }
}

static void limits_hold_to_the_byte(void)
{
    static char text[40000];
    struct http_head h;
    uint16_t status = 0;
    for (int over = 0; over < 2; over++) { // URI of 2048 and 2049 bytes
        int n = snprintf(text, sizeof text, "GET /");
        memset(text + n, 'a', (size_t)(2047 + over));
        strcpy(text + n + 2047 + over, " HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT(request(text, &h, &status) == (over ? ERR_LIMIT : ERR_OK));
        if (over) EXPECT(status == 414);
    }
    for (int over = 0; over < 2; over++) { // 64 and 65 headers
        size_t n = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n");
        for (int i = 1; i < 64 + over; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "X%d: y\r\n", i);
        strcpy(text + n, "\r\n");
        EXPECT(request(text, &h, &status) == (over ? ERR_LIMIT : ERR_OK));
        if (over) EXPECT(status == 431);
    }
    for (int over = 0; over < 2; over++) { // 16384 and 16385 bytes
        size_t n = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
        size_t fill = 16384 - n - 4 + (size_t)over;
        memset(text + n, 'x', fill);
        strcpy(text + n + fill, "\r\n\r\n");
        EXPECT(request(text, &h, &status) == (over ? ERR_LIMIT : ERR_OK));
    }
    memset(text, 'A', 20000); // no end in sight: refused as soon as it is too long
    text[16385] = 0;
    EXPECT(request(text, &h, &status) == ERR_LIMIT);
}

static void bodies_and_connections_are_read_right(void)
{
    struct http_head h;
    EXPECT(request("POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n"
                   "Connection: close\r\n\r\n{}",
                   &h, NULL) == ERR_OK);
    EXPECT(h.method == HTTP_METHOD_POST && h.has_length && h.content_length == 17 && !h.keep_alive);
    EXPECT(request("GET / HTTP/1.0\r\n\r\n", &h, NULL) == ERR_OK && !h.keep_alive && !h.has_length);
    EXPECT(request("PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", &h, NULL) ==
           ERR_OK);
    EXPECT(h.chunked && !h.has_length);
    EXPECT(request("GET / HTTP/1.1\r\nHost:\t a \t\r\nEmpty:\r\n\r\n", &h, NULL) == ERR_OK);
    EXPECT(is(*http_head_find(&h, "HOST"), "a") && http_head_find(&h, "empty")->size_bytes == 0);
    EXPECT(http_head_find(&h, "none") == NULL);
}

static void upgrades_that_are_none_are_told_apart(void)
{
    struct http_head h;
    char accept[29];
    EXPECT(request("GET / HTTP/1.1\r\nHost: a\r\n\r\n", &h, NULL) == ERR_OK);
    EXPECT(http_head_websocket(&h, accept) == ERR_UNSUPPORTED);
    EXPECT(request("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
                   "Sec-WebSocket-Version: 8\r\n\r\n",
                   &h, NULL) == ERR_OK);
    EXPECT(http_head_websocket(&h, accept) == ERR_VERSION);
    EXPECT(request("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
                   "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
                   &h, NULL) == ERR_OK);
    EXPECT(http_head_websocket(&h, accept) == ERR_MALFORMED);
}

static void responses_are_read_and_written(void)
{
    uint8_t bytes[512];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    http_head_begin(&w, 101);
    http_head_put(&w, "Upgrade", "websocket");
    http_head_put(&w, "Connection", "Upgrade");
    http_head_end(&w);
    wire_put_bytes(&w, "\x82\x00", 2);
    struct http_limits limits = http_head_limits();
    struct http_head h;
    size_t scanned = 0;
    EXPECT(!w.failed);
    EXPECT(http_head_response(bytes, wire_size(&w), &limits, &scanned, &h) == ERR_OK);
    EXPECT(h.status == 101 && h.upgrade && h.head_bytes == wire_size(&w) - 2);
    w = wire_write(bytes, sizeof bytes);
    http_head_begin(&w, 200);
    http_head_put_number(&w, "Content-Length", 1234567890123);
    http_head_end(&w);
    EXPECT(memcmp(bytes, "HTTP/1.1 200 OK\r\nContent-Length: 1234567890123\r\n\r\n",
                  wire_size(&w)) == 0);
    scanned = 0;
    EXPECT(http_head_response((const uint8_t *)"SSH-2.0\r\n\r\n", 11, &limits, &scanned, &h) ==
           ERR_MALFORMED);
}

static void data_cannot_smuggle_header_lines(void)
{
    uint8_t bytes[256];
    struct wire_writer w = wire_write(bytes, sizeof bytes);
    http_head_begin(&w, 200);
    http_head_put(&w, "X", "a\r\nSet-Cookie: b");
    EXPECT(w.failed);
    w = wire_write(bytes, sizeof bytes);
    http_head_begin_request(&w, "GET", "/a b", "host");
    EXPECT(w.failed);
}

int main(void)
{
    RUN(an_upgrade_and_its_first_frame_in_one_packet);
    RUN(every_prefix_waits_for_more);
    RUN(smuggling_and_bad_syntax_are_refused);
    RUN(limits_hold_to_the_byte);
    RUN(bodies_and_connections_are_read_right);
    RUN(upgrades_that_are_none_are_told_apart);
    RUN(responses_are_read_and_written);
    RUN(data_cannot_smuggle_header_lines);
    TESTING_MAIN_END;
}
