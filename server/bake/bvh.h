#pragma once
#include "common/err.h"
#include "server/bake/scene.h"

// Biovision hierarchies, as motion capture comes. Untrusted text. Joints become nodes (rest: no
// rotation, OFFSET as translation), the motion one clip without a name; angles in degrees, any
// order of channels. Positions are taken as they are, not added to OFFSET.
bool bvh_is(const char *text, size_t size_bytes);
// `text` ends with a NUL at text[size_bytes]. scene_free on success; *out is zero on failure.
// Memory stays below 64 MiB + 16 times the text. The fault names a byte offset.
MUST_CHECK enum err bvh_parse(const char *text, size_t size_bytes, struct scene *out,
                              struct fault *fault);
