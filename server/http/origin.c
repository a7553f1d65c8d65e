#include "server/http/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/tls_name.h"

enum { HOST_BYTES = 264 };

// "name:port", "[::1]:port" → the name, without brackets. False: not a host.
static bool split_host(const char *host, char out[HOST_BYTES])
{
    size_t n;
    const char *rest;
    if (host[0] == '[') {
        const char *end = strchr(host, ']');
        if (!end) return false;
        n = (size_t)(end - host - 1);
        rest = end + 1;
        host++;
    } else {
        n = strcspn(host, ":");
        rest = host + n;
    }
    if (n == 0 || n >= HOST_BYTES) return false;
    if (rest[0] == ':' && strspn(rest + 1, "0123456789") != strlen(rest + 1)) return false;
    if (rest[0] != 0 && rest[0] != ':') return false;
    memcpy(out, host, n);
    out[n] = 0;
    return true;
}

static bool is_loopback(const char *name)
{
    static const unsigned char v6_loopback[16] = {[15] = 1};
    unsigned char bytes[16];
    size_t size = tls_name_address(name, bytes);
    return (size == 4 && bytes[0] == 127) || (size == 16 && memcmp(bytes, v6_loopback, 16) == 0);
}

bool origin_host_is_local(const char *host, const char *const *allowed)
{
    static const char suffix[] = ".localhost";
    char name[HOST_BYTES];
    if (!split_host(host, name)) return false;
    size_t n = strlen(name);
    if (strcasecmp(name, "localhost") == 0 || is_loopback(name)) return true;
    if (n > sizeof suffix - 1 && strcasecmp(name + n - (sizeof suffix - 1), suffix) == 0)
        return true;
    for (; allowed && *allowed; allowed++)
        if (strcasecmp(name, *allowed) == 0) return true;
    return false;
}

bool origin_is_allowed(const char *origin, const char *host, bool tls, const char *const *allowed,
                       bool *listed)
{
    char own[HOST_BYTES + 16];
    if (listed) *listed = false;
    for (; allowed && *allowed; allowed++) {
        if (strcasecmp(origin, *allowed) != 0) continue;
        if (listed) *listed = true;
        return true;
    }
    int n = snprintf(own, sizeof own, "%s://%s", tls ? "https" : "http", host);
    return n > 0 && (size_t)n < sizeof own && strcasecmp(origin, own) == 0;
}
