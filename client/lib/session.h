#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/session_messages.h"

// The life of a connection: HELLO, WELCOME, heartbeat, ACK, loss, return. Under the client's lock;
// only looking a host name up happens outside (sinew.c does it while the phase is RESOLVING).
struct sinew_client;
struct net_addresses;

void session_start(struct sinew_client *c, uint64_t now_us);
void session_resolved(struct sinew_client *c, enum err e, const struct net_addresses *addresses,
                      const struct fault *fault, uint64_t now_us);
void session_step(struct sinew_client *c, uint64_t now_us);
uint32_t session_wait_ms(const struct sinew_client *c, uint64_t now_us); // until a step is due
void session_goodbye(struct sinew_client *c);                            // BYE, then closed
void session_free(struct sinew_client *c);

// Whole envelopes, queued. False: no room now, or no connection.
bool session_send(struct sinew_client *c, const void *bytes, size_t size_bytes);
void session_send_resync(struct sinew_client *c, const struct session_resync *in);
void session_note_anchor(struct sinew_client *c, uint32_t actor, uint32_t frame, uint64_t now_us);
