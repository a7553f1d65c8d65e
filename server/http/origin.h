#pragma once
#include <stdbool.h>

// Who may talk to us from inside a browser. Pure; texts as the headers have them.

// DNS rebinding: a page of evil.example may make its name point to 127.0.0.1 and then read what a
// server on this machine answers. Its Host header gives it away: on loopback only names of this
// machine are answered: localhost, *.localhost, loopback addresses, or one of `allowed`
// (NULL-terminated, without ports; may be NULL).
bool origin_host_is_local(const char *host, const char *const *allowed);

// True when the page of `origin` came from this server (scheme and authority equal) or its origin
// is one of `allowed` ("https://host[:port]"). "null" never is. *listed (may be NULL) tells which.
bool origin_is_allowed(const char *origin, const char *host, bool tls, const char *const *allowed,
                       bool *listed);
