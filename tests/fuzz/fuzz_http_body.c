// Bodies and paths as they come from a peer: what is taken keeps the promises of body.h, router.h.
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "proto/wire.h"
#include "server/http/body.h"
#include "server/http/origin.h"
#include "server/http/router.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

// Takes the whole input in steps of `step`; returns how much payload it held, or -1.
static int64_t take_all(const uint8_t *bytes, size_t size_bytes, size_t step, uint64_t max)
{
    struct body b;
    uint64_t total = 0;
    body_init_chunked(&b, max);
    for (size_t at = 0; at < size_bytes && !body_done(&b);) {
        const uint8_t *payload;
        size_t used, payload_bytes, n = size_bytes - at < step ? size_bytes - at : step;
        if (body_next(&b, bytes + at, n, &used, &payload, &payload_bytes) != ERR_OK) return -1;
        CHECK(used > 0 && used <= n);
        CHECK(payload >= bytes + at && payload + payload_bytes <= bytes + at + used);
        total += payload_bytes;
        CHECK(total == b.total && total <= max);
        at += used;
    }
    return body_done(&b) ? (int64_t)total : -2;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char path[512], *text = malloc(size_bytes + 1);
    if (size_bytes < 1 || !text) {
        free(text);
        return 0;
    }
    uint64_t max = (uint64_t)bytes[0] * 64;
    int64_t whole = take_all(bytes + 1, size_bytes - 1, size_bytes, max);
    CHECK(take_all(bytes + 1, size_bytes - 1, 1, max) == whole); // how it is cut does not matter
    CHECK(take_all(bytes + 1, size_bytes - 1, 7, max) == whole);
    if (router_path_decode((const char *)bytes, size_bytes, path, sizeof path)) {
        size_t n = strlen(path);
        CHECK(path[0] == '/' && wire_is_utf8((const uint8_t *)path, n));
        CHECK(!strstr(path, "//") && !strstr(path, "/../") && !strchr(path, '\\'));
        CHECK(n < 3 || strcmp(path + n - 3, "/..") != 0);
    }
    memcpy(text, bytes, size_bytes);
    text[size_bytes] = 0;
    (void)origin_host_is_local(text, NULL);
    (void)origin_is_allowed(text, text, true, NULL, NULL);
    free(text);
    return 0;
}
