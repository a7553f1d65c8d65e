#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/bake/scene.h"

// Reads what people have: glTF 2.0 (.gltf with data URIs or files beside it), GLB, VRM 0.x and
// 1.0. Untrusted input. Bounded: memory <= 64 MiB + 16 times the input, or the decoded size that
// sparse and compressed accessors declare, itself capped. The fault's line names the problem and
// the JSON path ("/meshes/0/primitives/1/indices") or byte offset, and never leaves the file's
// folder for buffers and images.
struct import_limits {
    size_t file_bytes_max;    // one file
    size_t decoded_bytes_max; // of everything decoded
};
struct import_limits import_limits_default(void);

// On success the caller frees with scene_free. On failure *out is zero and needs no freeing.
MUST_CHECK enum err import_file(const char *path, const struct import_limits *limits,
                                struct scene *out, struct fault *fault);
// The same from memory. `path` is only for resolving files beside it and may be NULL: then every
// external URI is refused. `bytes` is borrowed for the call only.
MUST_CHECK enum err import_bytes(const uint8_t *bytes, size_t size_bytes, const char *path,
                                 const struct import_limits *limits, struct scene *out,
                                 struct fault *fault);

// Adds to `scene` the clips of another file: GLB/glTF (by node name or humanoid bone), VRMA (by
// humanoid bone, rest poses carried over), BVH (by joint name or humanoid bone; its unit scaled
// by the ratio of hip heights). `name` renames a single clip, or is NULL. Channels without a
// partner are left out with a note.
MUST_CHECK enum err import_clips(const char *path, const char *name, bool loop,
                                 const struct import_limits *limits, struct scene *scene,
                                 struct fault *fault);
