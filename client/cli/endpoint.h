#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "client/cli/fetch.h"

// A server's /v1 as `sinew edit` uses it: waiting where a server is away or busy, and its problems
// as one line with the next step.
struct cJSON;

enum { ENDPOINT_ETAG_BYTES = 96, ENDPOINT_TARGET_BYTES = 1600, ENDPOINT_KEY_BYTES = 24 };
struct endpoint {
    struct url url;
    struct sinew_options options;
    bool reached;     // it has answered in this run: from then on it is waited for
    bool cut;         // of the last request: an answer was lost, so it may have been done before
    char problem[40]; // type of the last refusal ("stale", "held", …); "": none
};

struct endpoint_ask {
    const char *method, *target;
    const char *type; // of the body; NULL: application/json
    const void *body; // with body_bytes
    size_t body_bytes;
    const char *if_match, *grant, *fence, *key; // headers; NULL: not sent
    struct fetch_header more[2];                // name NULL: none
    size_t reply_bytes_max;
};
// Asks again for some time when no whole answer came or the server was busy: whatever is asked
// must be safe to send twice (GET, a key, a state in If-Match; see `cut`). A refusal is an error:
// `problem` tells which.
MUST_CHECK enum err endpoint_run(struct endpoint *p, const struct endpoint_ask *ask,
                                 struct fetch *reply, struct fault *fault);
// The same with a JSON answer; `etag` (ENDPOINT_ETAG_BYTES, may be NULL) of its header.
MUST_CHECK enum err endpoint_json(struct endpoint *p, const struct endpoint_ask *ask,
                                  struct cJSON **out, char *etag, struct fault *fault);
bool endpoint_refused(const struct endpoint *p, const char *problem);

// Appends `text` percent-encoded, or as it is; false: it does not fit.
bool endpoint_path(char target[ENDPOINT_TARGET_BYTES], const char *plain, const char *escaped);
bool endpoint_key(char out[ENDPOINT_KEY_BYTES]); // a new Idempotency-Key
