#include "server/http/exchange.h"

#include <string.h>
#include <strings.h>

#include "common/check.h"
#include "server/http/http_internal.h"
#include "server/http/router.h"

enum http_method http_exchange_method(const struct http_exchange *x)
{
    return x->head.method;
}

const struct http_route *http_exchange_route(const struct http_exchange *x)
{
    return x->match.route;
}

const char *http_exchange_path(const struct http_exchange *x)
{
    return x->path;
}

const char *http_exchange_query(const struct http_exchange *x)
{
    return x->query;
}

static bool decode_value(const char *raw, size_t raw_bytes, char *out, size_t out_bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < raw_bytes; i++) {
        char c = raw[i];
        if (c == '+') c = ' ';
        if (c == '%') {
            int octet = router_percent(raw + i, raw_bytes - i);
            if (octet < 0) return false;
            c = (char)octet;
            i += 2;
        }
        if (c == 0 || used + 1 >= out_bytes) return false;
        out[used++] = c;
    }
    if (used >= out_bytes) return false;
    out[used] = 0;
    return true;
}

bool http_exchange_query_value(const struct http_exchange *x, const char *key, char *out,
                               size_t out_bytes)
{
    size_t key_bytes = strlen(key);
    CHECK(out_bytes > 0);
    for (const char *at = x->query; *at;) {
        size_t n = strcspn(at, "&");
        if (n > key_bytes && at[key_bytes] == '=' && memcmp(at, key, key_bytes) == 0)
            return decode_value(at + key_bytes + 1, n - key_bytes - 1, out, out_bytes);
        at += n + (at[n] == '&');
    }
    return false;
}

const char *http_exchange_param(const struct http_exchange *x, const char *name)
{
    const char *value = x->params;
    for (size_t i = 0; i < x->match.param_count; i++) {
        const struct router_param *p = &x->match.params[i];
        if (strlen(name) == p->name_bytes && memcmp(name, p->name, p->name_bytes) == 0)
            return value;
        value += p->value_bytes + 1;
    }
    return NULL;
}

const char *http_exchange_header(const struct http_exchange *x, const char *name)
{
    const struct http_text *value = http_head_find(&x->head, name);
    return value ? value->at : NULL; // NUL-terminated by the server
}

const char *http_exchange_bearer(const struct http_exchange *x)
{
    const char *value = http_exchange_header(x, "authorization");
    if (!value || strncasecmp(value, "Bearer ", 7) != 0) return NULL;
    value += 7;
    value += strspn(value, " ");
    return *value ? value : NULL;
}

const uint8_t *http_exchange_body(const struct http_exchange *x, size_t *size_bytes)
{
    if (size_bytes) *size_bytes = x->body_size;
    return x->body_bytes ? x->body_bytes : (const uint8_t *)"";
}

struct conn *http_exchange_conn(const struct http_exchange *x)
{
    return x->conn;
}

void http_exchange_set_data(struct http_exchange *x, void *data, void (*on_free)(void *data))
{
    if (x->data && x->on_data_free) x->on_data_free(x->data);
    x->data = data;
    x->on_data_free = on_free;
}

void *http_exchange_data(const struct http_exchange *x)
{
    return x->data;
}

uint64_t http_exchange_id(const struct http_exchange *x)
{
    return x->id;
}

struct http_exchange *http_exchange_find(struct http_server *server, uint64_t id)
{
    return slots_find(&server->exchanges, id);
}
