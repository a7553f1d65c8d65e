#pragma once
#include <stddef.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "client/lib/url.h"
#include "common/err.h"

// One HTTP GET over plain TCP or TLS, blocking, with a deadline. For commands that ask a server a
// question, not for streams.
enum { FETCH_BYTES_MAX = 16 << 20 };
struct fetch {
    uint16_t status;
    char *body; // malloc'd, NUL-ended
    size_t body_bytes;
};
// `options`: ca_file, pin, insecure, token. The fault names the address.
MUST_CHECK enum err fetch_get(const struct url *url, const char *target,
                              const struct sinew_options *options, struct fetch *out,
                              struct fault *fault);
