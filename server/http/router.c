#include "server/http/router.h"

#include <string.h>

#include "common/check.h"
#include "common/hex.h"
#include "proto/wire.h"

// Segments that are empty (but for the last), "." or "..".
static bool has_odd_segment(const char *path)
{
    for (const char *s = path; s;) {
        s++; // the '/'
        const char *end = strchr(s, '/');
        size_t n = end ? (size_t)(end - s) : strlen(s);
        if (n == 0 && end) return true;
        if (n == 1 && s[0] == '.') return true;
        if (n == 2 && s[0] == '.' && s[1] == '.') return true;
        s = end;
    }
    return false;
}

int router_percent(const char *at, size_t left_bytes)
{
    int high = left_bytes > 2 ? hex_digit(at[1]) : -1;
    int low = high < 0 ? -1 : hex_digit(at[2]);
    return low < 0 ? -1 : high * 16 + low;
}

bool router_path_decode(const char *raw, size_t raw_bytes, char *out, size_t out_bytes)
{
    size_t used = 0;
    if (raw_bytes == 0 || raw[0] != '/') return false;
    for (size_t i = 0; i < raw_bytes; i++) {
        char c = raw[i];
        if (c == '%') {
            int octet = router_percent(raw + i, raw_bytes - i);
            if (octet < 0) return false;
            c = (char)octet;
            if (c == '/') return false; // a separator that is none: others would split here
            i += 2;
        }
        if ((unsigned char)c < 0x20 || c == 0x7f || c == '\\') return false;
        if (used + 1 >= out_bytes) return false;
        out[used++] = c;
    }
    out[used] = 0;
    return wire_is_utf8((const uint8_t *)out, used) && !has_odd_segment(out);
}

static size_t segment_length(const char *s)
{
    return strcspn(s, "/");
}

static bool take_param(struct router_match *m, const char *pattern, size_t pattern_bytes,
                       const char *value, size_t value_bytes)
{
    CHECK(m->param_count < ROUTER_PARAMS_MAX);
    if (value_bytes == 0) return false;
    m->params[m->param_count++] = (struct router_param){
        .name = pattern + 1,
        .name_bytes = pattern_bytes - 2,
        .value = value,
        .value_bytes = value_bytes,
    };
    return true;
}

static bool is_rest(const char *pattern, size_t n)
{
    return n > 5 && memcmp(pattern + n - 4, "...}", 4) == 0;
}

static bool match_path(const char *pattern, const char *path, struct router_match *m)
{
    m->param_count = 0;
    while (*pattern && *path) {
        if (*pattern++ != '/' || *path++ != '/') return false;
        size_t np = segment_length(pattern), n = segment_length(path);
        if (np > 0 && pattern[0] == '{') {
            bool rest = is_rest(pattern, np);
            if (!take_param(m, pattern, rest ? np - 3 : np, path, rest ? strlen(path) : n))
                return false;
            if (rest) return true;
        } else if (np != n || memcmp(pattern, path, n) != 0) {
            return false;
        }
        pattern += np;
        path += n;
    }
    return !*pattern && !*path;
}

static bool fits_method(const struct http_route *r, enum http_method method)
{
    return r->method == method || (method == HTTP_METHOD_HEAD && r->method == HTTP_METHOD_GET);
}

void router_find(const struct http_route *routes, size_t route_count, enum http_method method,
                 const char *path, enum http_listener listener, struct router_match *out)
{
    *out = (struct router_match){0};
    for (size_t i = 0; i < route_count; i++) {
        const struct http_route *r = &routes[i];
        struct router_match m;
        if (!(r->listeners & (uint32_t)listener) || !match_path(r->pattern, path, &m)) continue;
        out->path_known = true;
        out->allowed |= 1u << r->method;
        if (r->method == HTTP_METHOD_GET) out->allowed |= 1u << HTTP_METHOD_HEAD;
        if (out->route || !fits_method(r, method)) continue;
        out->route = r;
        out->param_count = m.param_count;
        memcpy(out->params, m.params, sizeof m.params);
    }
    if (out->path_known) out->allowed |= 1u << HTTP_METHOD_OPTIONS;
}

static void validate_pattern(const char *pattern)
{
    size_t params = 0;
    CHECK(pattern[0] == '/');
    CHECK(pattern[1] == 0 || !strstr(pattern, "//"));
    for (const char *s = pattern; s; s = strchr(s, '/')) {
        s++;
        size_t n = segment_length(s);
        if (s[0] != '{') continue;
        CHECK(n > 2 && s[n - 1] == '}');
        CHECK(!is_rest(s, n) || s[n] == 0); // "the rest" is last
        params++;
    }
    CHECK(params <= ROUTER_PARAMS_MAX);
}

void router_validate(const struct http_route *routes, size_t route_count)
{
    for (size_t i = 0; i < route_count; i++) {
        const struct http_route *r = &routes[i];
        validate_pattern(r->pattern);
        CHECK(r->on_request);
        CHECK(r->listeners != 0);
        CHECK(r->method != HTTP_METHOD_OTHER && r->method != HTTP_METHOD_HEAD &&
              r->method != HTTP_METHOD_OPTIONS);
        CHECK(!r->websocket || r->method == HTTP_METHOD_GET);
        CHECK(!r->on_body || r->body_max > 0);
        for (size_t k = 0; k < i; k++) // a second row with the same method and pattern is dead
            CHECK(routes[k].method != r->method || !(routes[k].listeners & r->listeners) ||
                  strcmp(routes[k].pattern, r->pattern) != 0);
    }
}
