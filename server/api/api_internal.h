#pragma once
#include "server/api/api.h"
#include "server/api/library.h"
#include "server/stream/bucket.h"

enum { API_ROUTES_MAX = 80, API_BUCKETS = 256 };

struct api_bucket {
    uint64_t token;
    struct bucket bucket;
};
struct api {
    struct api_options options;
    struct http_route routes[API_ROUTES_MAX];
    size_t route_count;
    struct http_server *http;
    uint64_t started_ns, started_wall_ns;
    bool stopping;
    int64_t tidied_ms;
    uint64_t edits[2];    // committed, and not
    struct errand *keyed; // requests with an Idempotency-Key that are at work
    struct api_bucket buckets[API_BUCKETS];
};

// The handlers of the routing table: void (struct http_exchange *, void *api).
void api_status(struct http_exchange *x, void *owner);
void api_metrics(struct http_exchange *x, void *owner);

// The modellers' endpoint (v1_*.c): its rows of the table.
extern const struct http_route api_v1_routes[];
extern const size_t api_v1_route_count;

void api_sha256(const void *bytes, size_t size_bytes, char out[STORE_HASH_BYTES]);

struct api_process { // this process, as /proc tells it; 0 where there is none
    double cpu_s;
    uint64_t resident_bytes, virtual_bytes, open_fds, max_fds;
};
void api_process_read(struct api_process *out);
