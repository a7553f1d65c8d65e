#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

// The addresses a client takes: sinew://host[:port] (native stream, TLS, port 7443),
// wss://host[:port][/path] (7443), ws://host[:port][/path] (7480); http and https for status.
// Hosts may be names, IPv4, or IPv6 in brackets.
enum url_scheme { URL_SINEW, URL_WSS, URL_WS, URL_HTTPS, URL_HTTP };
struct url {
    enum url_scheme scheme;
    char host[256]; // without brackets
    char port[6];
    char path[256];   // "" or begins with '/'
    char origin[272]; // host[:port] as HTTP's Host header wants it
};
// ERR_USAGE with a line that says what an address looks like.
MUST_CHECK enum err url_parse(const char *text, struct url *out, struct fault *fault);
static inline bool url_has_tls(const struct url *u)
{
    return u->scheme != URL_WS && u->scheme != URL_HTTP;
}
