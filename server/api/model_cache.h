#pragma once
#include <stdbool.h>

#include "common/err.h"
#include "server/model/model_file.h"

// Models for a server: a .sinew file is opened as it lies; anything else is baked once and kept
// in FOLDER/cache under the hash of all that went in (the file, every file that its JSON names,
// the program itself), so that a changed source or a newer program bakes anew. Blocking: background
// pool or before the loop runs. A cache that cannot be written costs time, not the model. What has
// not been opened for 30 days is removed when something new is baked.
struct model_cache_result {
    struct model_file *file; // one reference, the caller's
    bool from_cache;
    char inputs[65];        // SHA-256, hex, of all that went in but the program
    char still_reason[160]; // not "": nothing animates it, and why
};
// The `inputs` of a source alone.
MUST_CHECK enum err model_cache_inputs(const char *path, char inputs[65], struct fault *fault);
MUST_CHECK enum err model_cache_open(const char *folder, const char *path,
                                     struct model_cache_result *out, struct fault *fault);
