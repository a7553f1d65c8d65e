#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/stream/auth.h"
#include "server/stream/secret.h"

// One-use tickets: what a game's back end gives to a player, so that no long-lived token ever
// leaves it. A table of fixed size; when it is full of tickets that are still good nothing more is
// issued (the callers are throttled). Life is counted on the server's monotonic clock, which the
// caller gives. Loop thread only.
enum { TICKETS_LIFE_MS = 30000, TICKETS_CAPACITY = 4096 };

struct ticket_row;
struct tickets {
    struct ticket_row *rows; // owned
    size_t capacity;
    uint64_t issued, used, refused;
};

bool tickets_create(struct tickets *t, size_t capacity); // false: no memory
void tickets_free(struct tickets *t);                    // safe on zero

// False: the table is full, or no random bytes.
bool tickets_issue(struct tickets *t, const struct auth_identity *identity, uint64_t now_ns,
                   char out[SECRET_TEXT_BYTES]);
// True once for each ticket, within its life.
bool tickets_take(struct tickets *t, const char *text, uint64_t now_ns, struct auth_identity *out);
