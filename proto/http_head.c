#include "proto/http_head.h"

#include <llhttp.h>
#include <string.h>

#include "common/check.h"
#include "proto/wire.h"
#include "proto/ws.h"

struct http_limits http_head_limits(void)
{
    return (struct http_limits){16384, 2048, HTTP_HEAD_HEADERS_MAX};
}

// ---- parsing: the whole head lies in one buffer, so llhttp's spans come whole ----

struct parse {
    struct http_head head;
    const struct http_limits *limits;
    bool too_many, broken;
};

static struct http_text trimmed(const char *at, size_t size_bytes)
{
    while (size_bytes && (*at == ' ' || *at == '\t'))
        at++, size_bytes--;
    while (size_bytes && (at[size_bytes - 1] == ' ' || at[size_bytes - 1] == '\t'))
        size_bytes--;
    return (struct http_text){at, size_bytes};
}

static int on_url(llhttp_t *llhttp, const char *at, size_t length)
{
    struct parse *p = llhttp->data;
    p->head.target = (struct http_text){at, length};
    return 0;
}

static int on_field(llhttp_t *llhttp, const char *at, size_t length)
{
    struct parse *p = llhttp->data;
    if (p->head.header_count >= p->limits->headers_max) {
        p->too_many = true;
        return HPE_USER;
    }
    p->head.headers[p->head.header_count++] = (struct http_header){{at, length}, {at + length, 0}};
    return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t length)
{
    struct parse *p = llhttp->data;
    struct http_header *last = &p->head.headers[p->head.header_count - 1];
    // A second span of one value is a folded line; CR and LF inside are the same in disguise.
    if (last->value.size_bytes > 0 || memchr(at, '\r', length) || memchr(at, '\n', length) ||
        memchr(at, 0, length)) {
        p->broken = true;
        return HPE_USER;
    }
    last->value = trimmed(at, length);
    return 0;
}

static int on_headers_complete(llhttp_t *llhttp)
{
    (void)llhttp;
    return HPE_PAUSED; // bodies are the caller's
}

// Where the empty line ends, or 0. Remembers how far it looked.
static size_t find_head_end(const uint8_t *bytes, size_t size_bytes, size_t *scanned_bytes)
{
    size_t from = *scanned_bytes > 3 ? *scanned_bytes - 3 : 0;
    for (size_t i = from; i + 4 <= size_bytes; i++) {
        const uint8_t *cr = memchr(bytes + i, '\r', size_bytes - i - 3);
        if (!cr) break;
        i = (size_t)(cr - bytes);
        if (memcmp(cr, "\r\n\r\n", 4) == 0) return i + 4;
    }
    *scanned_bytes = size_bytes;
    return 0;
}

static bool lines_end_in_crlf(const uint8_t *bytes, size_t head_bytes)
{
    for (size_t i = 0; i < head_bytes; i++) {
        if (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r')) return false;
        if (bytes[i] == '\r' && (i + 1 == head_bytes || bytes[i + 1] != '\n')) return false;
    }
    return true;
}

static size_t count_headers(const struct http_head *head, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < head->header_count; i++)
        n += http_head_text_is(head->headers[i].name, name);
    return n;
}

static bool parse_length(struct http_text text, uint64_t *out)
{
    uint64_t value = 0;
    if (text.size_bytes == 0 || text.size_bytes > 18) return false;
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        value = value * 10 + (uint64_t)(text.at[i] - '0');
    }
    *out = value;
    return true;
}

// What decides where the body ends must be said once and plainly: everything else is smuggling.
static enum err body_framing(struct http_head *head)
{
    size_t lengths = count_headers(head, "content-length");
    size_t encodings = count_headers(head, "transfer-encoding");
    if (lengths > 1 || encodings > 1 || (lengths && encodings)) return ERR_MALFORMED;
    if (lengths) {
        head->has_length = true;
        if (!parse_length(*http_head_find(head, "content-length"), &head->content_length))
            return ERR_MALFORMED;
    }
    if (encodings) {
        if (head->minor == 0) return ERR_MALFORMED;
        if (!http_head_text_is(*http_head_find(head, "transfer-encoding"), "chunked"))
            return ERR_MALFORMED;
        head->chunked = true;
    }
    return ERR_OK;
}

static void connection_options(struct http_head *head)
{
    bool close = http_head_has_token(head, "connection", "close");
    bool keep = http_head_has_token(head, "connection", "keep-alive");
    head->keep_alive = !close && (head->minor >= 1 || keep);
    head->upgrade =
        http_head_has_token(head, "connection", "upgrade") && http_head_find(head, "upgrade");
}

// Runs llhttp over a complete head.
static enum err parse_head(const uint8_t *bytes, size_t head_bytes, llhttp_type_t type,
                           struct parse *p)
{
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_header_field = on_field;
    settings.on_header_value = on_value;
    settings.on_headers_complete = on_headers_complete;
    llhttp_t llhttp;
    llhttp_init(&llhttp, type, &settings);
    llhttp.data = p;
    llhttp_errno_t e = llhttp_execute(&llhttp, (const char *)bytes, head_bytes);
    if (p->too_many) return ERR_LIMIT;
    if (e == HPE_INVALID_VERSION) return ERR_VERSION;
    if (p->broken || e != HPE_PAUSED) return ERR_MALFORMED;
    if (llhttp.http_major != 1 || llhttp.http_minor > 1) return ERR_VERSION;
    p->head.minor = llhttp.http_minor;
    p->head.status = type == HTTP_RESPONSE ? llhttp.status_code : 0;
    p->head.head_bytes = head_bytes;
    if (type == HTTP_REQUEST) {
        const char *name = llhttp_method_name((llhttp_method_t)llhttp.method);
        p->head.method_name = (struct http_text){name, strlen(name)};
    }
    enum err framing = body_framing(&p->head);
    if (framing) return framing;
    connection_options(&p->head);
    return ERR_OK;
}

static enum http_method method_of(struct http_text name)
{
    static const char *const names[] = {"",    "GET",   "HEAD",   "POST",
                                        "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++)
        if (name.size_bytes == strlen(names[i]) && memcmp(name.at, names[i], name.size_bytes) == 0)
            return (enum http_method)i;
    return HTTP_METHOD_OTHER;
}

static enum err request_target(struct http_head *head)
{
    struct http_text t = head->target;
    bool star = t.size_bytes == 1 && t.at[0] == '*' && head->method == HTTP_METHOD_OPTIONS;
    if (!star && (t.size_bytes == 0 || t.at[0] != '/')) return ERR_MALFORMED;
    for (size_t i = 0; i < t.size_bytes; i++)
        if ((uint8_t)t.at[i] <= ' ' || (uint8_t)t.at[i] >= 0x7f || t.at[i] == '#')
            return ERR_MALFORMED;
    const char *mark = memchr(t.at, '?', t.size_bytes);
    size_t path_bytes = mark ? (size_t)(mark - t.at) : t.size_bytes;
    head->path = (struct http_text){t.at, path_bytes};
    head->query = mark ? (struct http_text){mark + 1, t.size_bytes - path_bytes - 1}
                       : (struct http_text){t.at + path_bytes, 0};
    return ERR_OK;
}

// The target's length as it comes, so that an endless one is told from endless headers.
static bool uri_too_long(const uint8_t *bytes, size_t size_bytes, size_t uri_bytes_max)
{
    const uint8_t *space = memchr(bytes, ' ', size_bytes < 32 ? size_bytes : 32);
    if (!space) return false;
    const uint8_t *uri = space + 1, *end = bytes + size_bytes;
    size_t have = (size_t)(end - uri);
    if (have <= uri_bytes_max) return false;
    for (size_t i = 0; i <= uri_bytes_max; i++)
        if (uri[i] == ' ' || uri[i] == '\r' || uri[i] == '\n') return false;
    return true;
}

static enum err refuse(enum err e, uint16_t code, uint16_t *status)
{
    if (status) *status = code;
    return e;
}

enum err http_head_request(const uint8_t *bytes, size_t size_bytes,
                           const struct http_limits *limits, size_t *scanned_bytes,
                           struct http_head *out, uint16_t *status)
{
    CHECK(limits->headers_max <= HTTP_HEAD_HEADERS_MAX);
    if (size_bytes == 0) return ERR_TRUNCATED;
    if (bytes[0] < 'A' || bytes[0] > 'Z') return refuse(ERR_MALFORMED, 400, status);
    if (uri_too_long(bytes, size_bytes, limits->uri_bytes_max))
        return refuse(ERR_LIMIT, 414, status);
    size_t head_bytes = find_head_end(bytes, size_bytes, scanned_bytes);
    if ((head_bytes ? head_bytes : size_bytes) > limits->head_bytes_max)
        return refuse(ERR_LIMIT, 431, status);
    if (!head_bytes) return ERR_TRUNCATED;
    if (!lines_end_in_crlf(bytes, head_bytes)) return refuse(ERR_MALFORMED, 400, status);
    struct parse p = {.limits = limits};
    enum err e = parse_head(bytes, head_bytes, HTTP_REQUEST, &p);
    if (e == ERR_LIMIT) return refuse(e, 431, status);
    if (e) return refuse(e, e == ERR_VERSION ? 505 : 400, status);
    p.head.method = method_of(p.head.method_name);
    size_t hosts = count_headers(&p.head, "host");
    if (hosts > 1 || (hosts == 0 && p.head.minor >= 1)) return refuse(ERR_MALFORMED, 400, status);
    if (request_target(&p.head)) return refuse(ERR_MALFORMED, 400, status);
    *out = p.head;
    return ERR_OK;
}

enum err http_head_response(const uint8_t *bytes, size_t size_bytes,
                            const struct http_limits *limits, size_t *scanned_bytes,
                            struct http_head *out)
{
    CHECK(limits->headers_max <= HTTP_HEAD_HEADERS_MAX);
    if (size_bytes == 0) return ERR_TRUNCATED;
    if (bytes[0] != 'H') return ERR_MALFORMED;
    size_t head_bytes = find_head_end(bytes, size_bytes, scanned_bytes);
    if ((head_bytes ? head_bytes : size_bytes) > limits->head_bytes_max) return ERR_LIMIT;
    if (!head_bytes) return ERR_TRUNCATED;
    if (!lines_end_in_crlf(bytes, head_bytes)) return ERR_MALFORMED;
    struct parse p = {.limits = limits};
    enum err e = parse_head(bytes, head_bytes, HTTP_RESPONSE, &p);
    if (e) return e;
    if (p.head.status < 100) return ERR_MALFORMED;
    *out = p.head;
    return ERR_OK;
}

// ---- looking things up ----

static char lower(char c) // header names are ASCII; the locale has no say
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool http_head_text_is(struct http_text text, const char *word)
{
    if (text.size_bytes != strlen(word)) return false;
    for (size_t i = 0; i < text.size_bytes; i++)
        if (lower(text.at[i]) != lower(word[i])) return false;
    return true;
}

const struct http_text *http_head_find(const struct http_head *head, const char *name)
{
    for (size_t i = 0; i < head->header_count; i++)
        if (http_head_text_is(head->headers[i].name, name)) return &head->headers[i].value;
    return NULL;
}

bool http_head_has_token(const struct http_head *head, const char *name, const char *token)
{
    for (size_t i = 0; i < head->header_count; i++) {
        if (!http_head_text_is(head->headers[i].name, name)) continue;
        struct http_text rest = head->headers[i].value;
        while (rest.size_bytes > 0) {
            const char *comma = memchr(rest.at, ',', rest.size_bytes);
            size_t length = comma ? (size_t)(comma - rest.at) : rest.size_bytes;
            if (http_head_text_is(trimmed(rest.at, length), token)) return true;
            size_t step = comma ? length + 1 : length;
            rest = (struct http_text){rest.at + step, rest.size_bytes - step};
        }
    }
    return false;
}

enum err http_head_websocket(const struct http_head *head, char accept[29])
{
    if (!head->upgrade || !http_head_has_token(head, "upgrade", "websocket"))
        return ERR_UNSUPPORTED;
    if (head->method != HTTP_METHOD_GET || head->minor < 1 || head->has_length || head->chunked)
        return ERR_MALFORMED;
    const struct http_text *version = http_head_find(head, "sec-websocket-version");
    if (!version || !http_head_text_is(*version, "13")) return ERR_VERSION;
    const struct http_text *key = http_head_find(head, "sec-websocket-key");
    if (!key || count_headers(head, "sec-websocket-key") != 1) return ERR_MALFORMED;
    return ws_accept(key->at, key->size_bytes, accept);
}

// ---- writing ----

const char *http_head_reason(uint16_t status)
{
    static const struct {
        uint16_t status;
        const char *reason;
    } rows[] = {{101, "Switching Protocols"},
                {200, "OK"},
                {201, "Created"},
                {202, "Accepted"},
                {204, "No Content"},
                {206, "Partial Content"},
                {301, "Moved Permanently"},
                {302, "Found"},
                {304, "Not Modified"},
                {307, "Temporary Redirect"},
                {308, "Permanent Redirect"},
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {406, "Not Acceptable"},
                {408, "Request Timeout"},
                {409, "Conflict"},
                {411, "Length Required"},
                {412, "Precondition Failed"},
                {413, "Content Too Large"},
                {414, "URI Too Long"},
                {415, "Unsupported Media Type"},
                {421, "Misdirected Request"},
                {422, "Unprocessable Content"},
                {423, "Locked"},
                {426, "Upgrade Required"},
                {428, "Precondition Required"},
                {429, "Too Many Requests"},
                {431, "Request Header Fields Too Large"},
                {500, "Internal Server Error"},
                {501, "Not Implemented"},
                {503, "Service Unavailable"},
                {505, "HTTP Version Not Supported"},
                {507, "Insufficient Storage"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status) return rows[i].reason;
    return "Status";
}

static void put_string(struct wire_writer *w, const char *text)
{
    wire_put_bytes(w, text, strlen(text));
}

static void put_clean(struct wire_writer *w, const char *text)
{
    for (const char *c = text; *c; c++)
        if ((uint8_t)*c < ' ' && *c != '\t') w->failed = true;
    put_string(w, text);
}

static void put_decimal(struct wire_writer *w, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put_string(w, digits + at);
}

void http_head_begin(struct wire_writer *w, uint16_t status)
{
    CHECK(status >= 100 && status <= 599);
    put_string(w, "HTTP/1.1 ");
    put_decimal(w, status);
    put_string(w, " ");
    put_string(w, http_head_reason(status));
    put_string(w, "\r\n");
}

void http_head_put(struct wire_writer *w, const char *name, const char *value)
{
    put_clean(w, name);
    put_string(w, ": ");
    put_clean(w, value);
    put_string(w, "\r\n");
}

void http_head_put_number(struct wire_writer *w, const char *name, uint64_t value)
{
    put_clean(w, name);
    put_string(w, ": ");
    put_decimal(w, value);
    put_string(w, "\r\n");
}

void http_head_end(struct wire_writer *w)
{
    put_string(w, "\r\n");
}

void http_head_begin_request(struct wire_writer *w, const char *method, const char *target,
                             const char *host)
{
    for (const char *c = target; *c; c++)
        if ((uint8_t)*c <= ' ') w->failed = true;
    put_clean(w, method);
    put_string(w, " ");
    put_clean(w, target);
    put_string(w, " HTTP/1.1\r\n");
    http_head_put(w, "Host", host);
}
