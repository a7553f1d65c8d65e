#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "client/lib/url.h"
#include "common/err.h"

// One HTTP request over plain TCP or TLS, blocking. For commands that ask a server something, not
// for streams. It fails when nothing moves for a while, however long the whole takes.
enum { FETCH_BYTES_MAX = 16 << 20, FETCH_QUIET_S = 10 };
struct fetch_header {
    const char *name, *value;
};
struct fetch_ask {
    const char *method, *target;
    const struct fetch_header *headers; // beside Host, Accept, Authorization, Content-Length
    size_t header_count;
    const void *body; // with body_bytes; no body: both 0
    size_t body_bytes;
    size_t reply_bytes_max; // 0: FETCH_BYTES_MAX
    uint32_t quiet_s;       // 0: FETCH_QUIET_S
};
struct fetch {
    uint16_t status;
    char *reply; // malloc'd: head and body; NUL-ended
    char *body;  // into it
    size_t body_bytes;
};
// `options`: ca_file, pin, insecure, token. The fault names the address: ERR_USAGE and ERR_DENIED
// will not mend by themselves, ERR_IO and ERR_TRUNCATED may (nobody answered, it broke off).
MUST_CHECK enum err fetch_run(const struct url *url, const struct sinew_options *options,
                              const struct fetch_ask *ask, struct fetch *out, struct fault *fault);
// A header of the reply; false: not there, or too long.
bool fetch_header(const struct fetch *f, const char *name, char *out, size_t out_bytes);
void fetch_free(struct fetch *f); // safe on zero
