#pragma once
#include "server/api/api.h"

enum { API_ROUTES_MAX = 16 };

struct api {
    struct api_options options;
    struct http_route routes[API_ROUTES_MAX];
    size_t route_count;
    struct http_server *http;
    uint64_t started_ns, started_wall_ns;
};

// The handlers of the routing table: void (struct http_exchange *, void *api).
void api_status(struct http_exchange *x, void *owner);
void api_metrics(struct http_exchange *x, void *owner);

struct api_process { // this process, as /proc tells it; 0 where there is none
    double cpu_s;
    uint64_t resident_bytes, virtual_bytes, open_fds, max_fds;
};
void api_process_read(struct api_process *out);
