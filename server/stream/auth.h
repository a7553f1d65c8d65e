#pragma once
#include <stdbool.h>
#include <stdint.h>

// Who a client is. Denied by default: a stream is open without proof only to peers on this
// machine; others bring a bearer token (found by the back end below) or a one-use ticket that
// POST /v1/sessions gave out (tickets.h).
enum auth_scope {
    AUTH_VIEW = 1,  // join scenes, control a character
    AUTH_MODEL = 2, // the modellers' endpoint
    AUTH_ADMIN = 4,
    AUTH_OPS = 8 // status, metrics, ops page
};
enum { AUTH_NAME_BYTES = 64, AUTH_TOKEN_BYTES = 128 };

struct auth_identity {
    uint32_t scopes;
    uint64_t token;             // its number in the store; 0: none was shown
    char name[AUTH_NAME_BYTES]; // for logs; no secret
};

// The store of tokens. Loop thread: it answers from memory, without waiting for a disk.
struct auth {
    // False: no such token, or expired. NULL: there is no store yet, every token is unknown.
    bool (*find)(void *owner, const char *token, struct auth_identity *out);
    // Whether it is granted that model. NULL: every one.
    bool (*may)(void *owner, const struct auth_identity *who, const char *model);
    void *owner;
    bool loopback_open; // peers on this machine need no proof to view
};

static inline bool auth_find(const struct auth *a, const char *token, struct auth_identity *out)
{
    return a->find && token[0] != '\0' && a->find(a->owner, token, out);
}
static inline bool auth_may(const struct auth *a, const struct auth_identity *who,
                            const char *model)
{
    return !a->may || a->may(a->owner, who, model);
}
