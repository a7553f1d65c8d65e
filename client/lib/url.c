#include "client/lib/url.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *prefix, *port;
    enum url_scheme scheme;
} schemes[] = {{"sinew://", "7443", URL_SINEW},
               {"wss://", "7443", URL_WSS},
               {"ws://", "7480", URL_WS},
               {"https://", "7443", URL_HTTPS},
               {"http://", "7480", URL_HTTP}};

static enum err bad(struct fault *fault, const char *text)
{
    return fault_set(fault, ERR_USAGE,
                     "\"%.100s\" is no address: write sinew://host:port, wss://host:port or "
                     "ws://host:port",
                     text);
}

static bool copy(char *out, size_t capacity, const char *from, size_t length)
{
    if (length == 0 || length >= capacity) return false;
    for (size_t i = 0; i < length; i++) // control characters would end up in HTTP heads
        if (from[i] <= ' ' || from[i] == 0x7f) return false;
    memcpy(out, from, length);
    out[length] = 0;
    return true;
}

static bool split_host(const char *at, struct url *out, const char **rest)
{
    if (*at == '[') {
        const char *end = strchr(at, ']');
        if (!end || !copy(out->host, sizeof out->host, at + 1, (size_t)(end - at - 1)))
            return false;
        *rest = end + 1;
        return **rest == 0 || **rest == ':' || **rest == '/';
    }
    size_t length = strcspn(at, ":/");
    *rest = at + length;
    return copy(out->host, sizeof out->host, at, length) && !strpbrk(out->host, "@?#[]\\");
}

static bool port_is_valid(const char *port)
{
    unsigned value = 0;
    for (; *port; port++) {
        if (*port < '0' || *port > '9') return false;
        value = value * 10 + (unsigned)(*port - '0');
    }
    return value >= 1 && value <= 65535;
}

enum err url_parse(const char *text, struct url *out, struct fault *fault)
{
    struct url u = {0};
    const char *at = NULL;
    for (size_t i = 0; !at && i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0) {
            at = text + strlen(schemes[i].prefix);
            u.scheme = schemes[i].scheme;
            (void)snprintf(u.port, sizeof u.port, "%s", schemes[i].port);
        }
    if (!at || !split_host(at, &u, &at)) return bad(fault, text);
    if (*at == ':') {
        size_t length = strcspn(at + 1, "/");
        if (!copy(u.port, sizeof u.port, at + 1, length) || !port_is_valid(u.port))
            return bad(fault, text);
        at += 1 + length;
    }
    if (*at == '/' && at[1] && !copy(u.path, sizeof u.path, at, strlen(at)))
        return bad(fault, text);
    (void)snprintf(u.origin, sizeof u.origin, strchr(u.host, ':') ? "[%s]:%s" : "%s:%s", u.host,
                   u.port);
    *out = u;
    return ERR_OK;
}
