#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// A folder in which something of a model is being edited: the surface to change, how it was when
// it was taken, and in checkout.json what a later command must know: the grant with its fence, the
// state that stands (what If-Match names), the upload that broke off.
enum { CHECKOUT_NAME_BYTES = 272, CHECKOUT_PATH_BYTES = 2048 };

struct checkout {
    char folder[1024];
    char model[CHECKOUT_NAME_BYTES];
    char item[CHECKOUT_NAME_BYTES]; // DRIVER:EXAMPLE, "base", or "roots/NAME"
    char grant[64], fence[24], expires[40];
    char etag[96];                   // of the state that stands on the server
    char format[8], surface[64];     // "glb"; the file's name in the folder
    char taken[17];                  // hash of that file as it was handed out
    char upload[400], upload_of[17]; // its path, and the hash of what it carries; "": none
    uint32_t base_version;
    bool is_sending; // a submit began and its answer was not seen
};

// Of `folder`, "" or NULL being the present one. ERR_NOT_FOUND: nothing is checked out there.
MUST_CHECK enum err checkout_load(const char *folder, struct checkout *out, struct fault *fault);
MUST_CHECK enum err checkout_save(const struct checkout *c, struct fault *fault);
bool checkout_is_at(const char *folder);
// "FOLDER/name"; ERR_LIMIT when that is too long.
MUST_CHECK enum err checkout_file(const struct checkout *c, const char *name,
                                  char out[CHECKOUT_PATH_BYTES], struct fault *fault);
// What is edited: a surface of positions, or a root's weights (one float32 a vertex).
bool checkout_is_root(const char *item);
// "corrections/SHAPE:BONE:PLACE": a surface like an example's, at a pose that stays as it is.
bool checkout_is_correction(const char *item);
bool checkout_is_example(const char *item); // none of those, nor the base surface
// A name for the folder of an item: "mira-elbow_l-bend_95".
void checkout_name(const char *model, const char *item, char *out, size_t out_bytes);
// FNV-1a of a file's bytes, as 16 hex digits: has it changed?
void checkout_hash(const void *bytes, size_t size_bytes, char out[17]);
