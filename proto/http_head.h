#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// HTTP/1.x message heads by llhttp: requests for servers, responses for clients. All text is
// borrowed from the caller's buffer. No allocation. Bodies are the caller's business: the head
// says how long they are and where they begin.

enum { HTTP_HEAD_HEADERS_MAX = 64 };

struct http_limits {
    size_t head_bytes_max; // everything up to the empty line
    size_t uri_bytes_max;
    size_t headers_max; // <= HTTP_HEAD_HEADERS_MAX
};
struct http_limits http_head_limits(void); // 16384, 2048, 64

struct http_text {
    const char *at; // not NUL-ended
    size_t size_bytes;
};
struct http_header {
    struct http_text name, value; // value without blanks around it
};

enum http_method {
    HTTP_METHOD_OTHER,
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_OPTIONS
};

struct http_head {
    enum http_method method; // request
    struct http_text method_name;
    struct http_text target;      // request: as sent; begins with '/' or is "*"
    struct http_text path, query; // target split at '?'; not decoded
    uint16_t status;              // response
    uint8_t minor;                // HTTP/1.minor
    bool keep_alive;
    bool upgrade; // Connection: upgrade and an Upgrade header
    bool chunked; // Transfer-Encoding: chunked; content_length is then 0
    bool has_length;
    uint64_t content_length;
    size_t header_count;
    struct http_header headers[HTTP_HEAD_HEADERS_MAX];
    size_t head_bytes; // where the body, or the upgrade's first bytes, begin
};

// `bytes` is everything received so far from the head's first byte on; call again with more after
// ERR_TRUNCATED. *scanned_bytes (0 at first) remembers what was searched for the empty line, so
// that a head sent byte by byte costs no more than one sent whole.
//   ERR_LIMIT: 431 (head or header count) or 414 (URI): *status says which
//   ERR_MALFORMED: 400, and the connection must be closed: bad syntax, folded or bare-LF lines,
//   both
//     Content-Length and Transfer-Encoding, two lengths, an encoding other than chunked, HTTP/1.1
//     without exactly one Host, a target that is no path
//   ERR_VERSION: 505
// *out untouched on error; *status (may be NULL) is the reply to send.
MUST_CHECK enum err http_head_request(const uint8_t *bytes, size_t size_bytes,
                                      const struct http_limits *limits, size_t *scanned_bytes,
                                      struct http_head *out, uint16_t *status);
MUST_CHECK enum err http_head_response(const uint8_t *bytes, size_t size_bytes,
                                       const struct http_limits *limits, size_t *scanned_bytes,
                                       struct http_head *out);

// First header of that name (ASCII case ignored), or NULL.
const struct http_text *http_head_find(const struct http_head *head, const char *name);
bool http_head_text_is(struct http_text text, const char *word); // ASCII case ignored
// True when a comma-separated header (any number of lines) has that member, case ignored.
bool http_head_has_token(const struct http_head *head, const char *name, const char *token);

// A WebSocket upgrade request as RFC 6455 wants it (GET, 1.1, version 13, key). ERR_UNSUPPORTED:
// no upgrade asked for. ERR_VERSION: other version (426, Sec-WebSocket-Version: 13).
// `accept` gets the answer to its key, as a text of 28 characters.
MUST_CHECK enum err http_head_websocket(const struct http_head *head, char accept[29]);

// Response heads: begin, headers, end. A value with CR, LF or NUL fails the writer (no header can
// be smuggled in by data). Adds nothing by itself.
struct wire_writer;
void http_head_begin(struct wire_writer *w, uint16_t status); // "HTTP/1.1 200 OK"
void http_head_put(struct wire_writer *w, const char *name, const char *value);
void http_head_put_number(struct wire_writer *w, const char *name, uint64_t value);
void http_head_end(struct wire_writer *w);
// A client's request line and Host: then http_head_put and http_head_end.
void http_head_begin_request(struct wire_writer *w, const char *method, const char *target,
                             const char *host);
const char *http_head_reason(uint16_t status);
