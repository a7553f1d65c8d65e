#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "tests/client/fake_server.h"

// What the tests of the library do over and over: open against a fake server, wait for something.
struct sinew_options support_options(const struct fake_server *server, char url[128]);
struct sinew_client *support_open(const struct fake_server *server,
                                  void (*change)(struct sinew_options *));
// Waits (and polls, and updates) until the event comes; false after `timeout_ms`.
bool support_event(struct sinew_client *client, enum sinew_event_kind kind, struct sinew_event *out,
                   uint32_t timeout_ms);
// Until the own actor shows a frame of at least this tick.
bool support_frame(struct sinew_client *client, uint64_t tick, struct sinew_actor *out,
                   uint32_t timeout_ms);
// The largest distance between what is shown and the character at its tick; -1: nothing shown.
double support_error(struct sinew_client *client, uint64_t tick);
