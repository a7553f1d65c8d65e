#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "server/net/chunk.h"
#include "server/stage/frame.h"
#include "server/stage/role.h"

// The stage's bytes as chunks that connections send: no copy for frames, one padded copy for the
// payloads of a role (shared by all sessions). Loop thread only.

// One reference to a chunk over the frame's payload, its padding included. The chunk lies in the
// frame's own lent bytes and holds one reference of the frame.
struct chunk *parcel_of_frame(struct frame *f);

// SURFACE and CATALOGUE of the newest version of each character, made when first asked for.
struct parcel_shelf {
    struct parcel_row {
        const struct role *role; // whose payloads these are; compared, not used
        uint32_t version;
        struct chunk *surface, *catalogue;
        size_t catalogue_bytes;
    } rows[64]; // by character number - 1
};
// Borrowed until the next call with another version of that character. NULL: no memory.
const struct parcel_row *parcel_of_role(struct parcel_shelf *shelf, const struct role *role);
void parcel_clear(struct parcel_shelf *shelf);

enum { PARCEL_CATALOGUE_HEAD_BYTES = 8 }; // u32 actor, u32 json_bytes: before the JSON

// Malloc'd copies for one session, padded.
// face: what the actor has been told, or NULL. NULL: no memory.
struct chunk *parcel_appearance(const struct role *role, uint32_t actor,
                                const struct face_state *face, size_t *size_bytes);
