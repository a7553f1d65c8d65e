#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/stage/role.h"

// The characters that are served, by name: which role (model version) stands for each now. Loop
// thread. Bounded; names never move to another number, so that clients may cache by number.
enum { CAST_MAX = 64 };

struct cast_entry {
    char name[SESSION_NAME_MAX];
    uint32_t number;   // place + 1
    uint32_t versions; // given out so far
    struct role *role; // newest; a reference; NULL before the first
};
struct cast {
    struct cast_entry entries[CAST_MAX];
    size_t count;
};

// The number and version for a role to be built (role_options): makes the entry when the name is
// new. ERR_LIMIT: full, or the name is too long; ERR_USAGE: empty.
MUST_CHECK enum err cast_reserve(struct cast *c, const char *name, uint32_t *number,
                                 uint32_t *version, struct fault *fault);
// Takes the reference over. An older version than the one that stands is dropped again
// (ERR_STALE); an equal one is a bake that clients need nothing new for (role_options.like).
MUST_CHECK enum err cast_put(struct cast *c, struct role *role);
// Borrowed. "" or NULL: the first that has a role. ERR_NOT_FOUND with the list of names.
MUST_CHECK enum err cast_find(const struct cast *c, const char *name, struct role **out,
                              struct fault *fault);
// Nobody gets it any more; actors that show it keep their references. Unknown names are ignored.
void cast_retire(struct cast *c, const char *name);
void cast_clear(struct cast *c);
