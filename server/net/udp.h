#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/err.h"

// A UDP socket that only listens. What it may take between two calls of udp_refill is bounded; past
// that the kernel's own buffer fills and drops, and the loop stays free. Loop thread only.
struct udp;

struct udp_options {
    uv_loop_t *loop;
    const char *host;    // an address or "localhost"; "": every one
    uint16_t port;       // 0: the system's choice
    uint32_t budget_max; // datagrams between two refills
    // The bytes are good in the call only; it may close the socket.
    void (*on_datagram)(void *owner, const struct sockaddr *from, const uint8_t *bytes,
                        size_t size_bytes);
    void *owner;
};

// ERR_BUSY: the port is taken; ERR_NOT_FOUND: the host; ERR_IO. The fault names host and port.
MUST_CHECK enum err udp_open(const struct udp_options *options, struct udp **out,
                             struct fault *fault);
uint16_t udp_port(const struct udp *u);
void udp_refill(struct udp *u);
uint64_t udp_paused(const struct udp *u); // how often the budget was used up
void udp_close(struct udp *u);            // NULL is fine; its memory goes when the loop has run

bool udp_same_sender(const struct sockaddr *a, const struct sockaddr *b); // address and port
void udp_sender_text(const struct sockaddr *a, char out[80]);
