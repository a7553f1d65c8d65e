#pragma once
// A server on loopback inside the test, and peers that are plain sockets driven from the same
// thread: every step of either side happens when the test says so.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/queue.h"
#include "common/tls.h"
#include "server/net/background.h"
#include "server/net/listener.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RIG_SANITIZED 1
#else
#define RIG_SANITIZED 0
#endif

struct rig {
    uv_loop_t loop;
    struct background *background;
    struct listener_hub *hub;
    struct tls_config *tls;
    char folder[64], certificate_path[1024], key_path[1024];
};

void rig_open(struct rig *r, const struct listener_limits *limits); // limits may be NULL
void rig_close(struct rig *r); // listeners first; checks that the loop ends and nothing is left
struct listener *rig_listen(struct rig *r, bool tls, struct conn_options conn);
void rig_run(struct rig *r, uint32_t ms);

// One step of the loop, then a short sleep. False: the deadline has passed.
bool rig_step(struct rig *r, uint64_t deadline_ns);
// What is awaited comes long before its ms on an idle machine; a busy one gets more.
enum { RIG_PATIENCE = 5 };
#define RIG_UNTIL(r, condition, ms)                                                                \
    do {                                                                                           \
        uint64_t deadline_ = clock_ns() + (uint64_t)(ms)*RIG_PATIENCE * 1000000u;                  \
        while (!(condition) && rig_step((r), deadline_))                                           \
            continue;                                                                              \
        EXPECT(condition);                                                                         \
    } while (0)

enum { PEER_BYTES_MAX = 4 * 1024 * 1024 };
struct peer {
    int fd; // -1: closed by us
    struct tls_config *config;
    struct tls *tls;
    struct queue in, out;
    bool open, ended, reset; // open: TLS done; ended: FIN seen; reset: an error seen
    uint8_t *got;
    size_t got_bytes;
};

struct peer_options {
    struct rig *rig;
    const char *const *alpn; // NULL: plain
    const struct tls_ticket *ticket;
    int receive_buffer_bytes; // 0: the system's
};
void peer_open(struct peer *p, uint16_t port, const struct peer_options *options);
void peer_shake(struct peer *p, struct rig *r); // TLS, up to 3 s
void peer_send(struct peer *p, const void *bytes, size_t size_bytes);
void peer_say(struct peer *p, const char *text);
void peer_read(struct peer *p);                  // what has come, without waiting
bool peer_has(struct peer *p, const char *text); // reads, then looks
bool peer_gone(struct peer *p);                  // reads, then: FIN or reset
void peer_close(struct peer *p);

int rig_open_descriptors(void); // of this process
size_t rig_resident_bytes(void);
