#pragma once
#include <stdatomic.h>

#include "common/pool.h"
#include "proto/surface/codec.h"
#include "server/stage/role.h"

// The private side of a role, and the steps of its building (role_*.c).
struct role_own {
    atomic_int refs;
    struct pool pool;         // everything that lives as long as the role, but the face map
    struct arena arena;       // the face map
    uint8_t *surface_version; // u32 in the SURFACE payload
};

struct role_build {
    struct role *role;
    const struct role_options *options;
    struct fault *fault;
    struct pool scratch;           // freed when the role is built
    struct role_texture *textures; // the role's, being filled: a picture or a table each
    const struct role_texture *tables[MODEL_ROOTS_MAX]; // of the roots, as far as they have any
};
#define ROLE_KEEP(b, type, count)    POOL_ARRAY(&(b)->role->own->pool, type, count)
#define ROLE_SCRATCH(b, type, count) POOL_ARRAY(&(b)->scratch, type, count)
// The entry for these bytes, which stay; one with the same content may be there. NULL: no hash.
const struct role_texture *role_texture_add(struct role_build *b, uint8_t mime,
                                            const uint8_t *bytes, size_t size_bytes);
enum err role_no_memory(struct role_build *b);

MUST_CHECK enum err role_build_surface(struct role_build *b);    // orders, predictors, SURFACE
MUST_CHECK enum err role_build_appearance(struct role_build *b); // materials, textures
MUST_CHECK enum err role_build_tables(struct role_build *b);     // of the roots
MUST_CHECK enum err role_build_bindings(struct role_build *b);   // inputs
MUST_CHECK enum err role_build_catalogue(struct role_build *b);  // names
