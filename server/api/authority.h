#pragma once
#include "server/store/store.h"
#include "server/stream/auth.h"

// Who a token is, from memory: the store's table as it is now. Loop thread.
struct authority {
    struct store *store; // NULL: every token is unknown
};
// For struct auth. The same work whichever token it is, or none.
bool authority_find(void *authority, const char *token, struct auth_identity *out);
bool authority_may(void *authority, const struct auth_identity *who, const char *model);
