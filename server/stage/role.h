#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/err.h"
#include "common/simd.h"
#include "proto/appearance_message.h"
#include "proto/session_messages.h"
#include "proto/surface_message.h"
#include "server/character/input/puppet.h"
#include "server/character/surface/correct.h"
#include "server/character/surface/face.h"
#include "server/model/model_file.h"

// One version of a served character: the baked model and what is derived from it once, immutable
// and shared: stream order and predictors of every detail, the payloads of SURFACE, APPEARANCE and
// CATALOGUE, textures by hash. Building is slow (tens of milliseconds and more): on a background
// thread. References may be taken and dropped on any thread.
struct role_detail {
    uint32_t vertex_count, index_count;
    float error;                // distance from the full surface, model unit
    const uint32_t *lanes;      // stream order: the lane of each vertex
    const uint16_t *predictors; // SURFACE_PREDICTORS_WIDTH a vertex
};
struct role_texture {
    uint8_t hash[SESSION_HASH_BYTES];
    uint8_t mime;         // enum appearance_mime
    const uint8_t *bytes; // in the model
    size_t size_bytes;
};

struct role {
    struct model_file *file;   // a reference of its own
    const struct model *model; // lives with the role
    char name[SESSION_NAME_MAX];
    uint32_t number;      // the character: SURFACE.model, FRAME.model; from 1
    uint32_t version;     // of what clients keep (SURFACE, APPEARANCE, CATALOGUE); from 1
    bool still;           // nothing animates it
    int32_t default_clip; // what it plays when nobody says otherwise; MODEL_NONE: the rest pose

    struct face_map map;
    struct correct_map correct;
    struct puppet puppet;
    uint32_t detail_count; // 1 .. SURFACE_LODS_MAX
    struct role_detail details[SURFACE_LODS_MAX];

    const uint8_t *surface; // SURFACE payload, without envelope
    size_t surface_bytes;
    const uint8_t *appearance; // APPEARANCE payload of actor 0: see role_appearance_for
    size_t appearance_bytes;
    const struct appearance_material *materials; // as `appearance` says them
    const struct appearance_texture *options;    // [face option]
    const char *catalogue_json;                  // of CATALOGUE; not NUL-ended
    size_t catalogue_bytes;
    const char *bindings_json; // of WELCOME; not NUL-ended
    size_t bindings_bytes;
    const struct role_texture *textures; // one a picture that is used, hashes differ
    size_t texture_count;

    struct role_own *own; // private
};

struct role_options {
    const char *name; // the character's; shorter than SESSION_NAME_MAX
    uint32_t number, version;
    enum simd_level level;
    // What is shown now, or NULL. When clients would be sent the same, its version is kept: they
    // need nothing new.
    const struct role *like;
};
// Takes a reference of `file`. ERR_LIMIT: more vertices, parts or materials than the protocol
// carries; ERR_MEMORY. Any thread.
MUST_CHECK enum err role_build(struct model_file *file, const struct role_options *options,
                               struct role **out, struct fault *fault);
struct role *role_ref(struct role *r);
void role_unref(struct role *r); // NULL is fine

// The APPEARANCE payload's first bytes for one actor; the rest is role->appearance + this.
enum { ROLE_APPEARANCE_HEAD_BYTES = 8 };
void role_appearance_head(const struct role *r, uint32_t actor,
                          uint8_t out[ROLE_APPEARANCE_HEAD_BYTES]);
// The whole payload for an actor whose face has been told something: what its parameters and
// expressions make of the materials. `version` rises. `capacity`: appearance_bytes is enough.
struct face_state;
MUST_CHECK enum err role_appearance_told(const struct role *r, const struct face_state *face,
                                         uint32_t actor, uint8_t *out, size_t capacity,
                                         size_t *size_bytes);
const struct role_texture *role_texture_find(const struct role *r,
                                             const uint8_t hash[SESSION_HASH_BYTES]); // or NULL
