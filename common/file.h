#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

// Whole files in and out. Not for the loop thread or the frame path.

// Reads `path` whole; *bytes is malloc'd, the caller frees it (never NULL on success; one NUL
// follows the last byte, not counted). ERR_IO when it cannot be read, ERR_LIMIT past
// `max_bytes`; the line names the path.
MUST_CHECK enum err file_read(const char *path, size_t max_bytes, uint8_t **bytes,
                              size_t *size_bytes, struct fault *fault);

// Writes beside `path` and renames over it, so that a reader or a crash sees the old file or the
// new one whole. The data is synced to disk first. Devices and pipes are written into.
MUST_CHECK enum err file_write_atomic(const char *path, const void *bytes, size_t size_bytes,
                                      struct fault *fault);

// Whether something other than a file or a folder is there: a device, a pipe, a socket.
bool file_is_special(const char *path);

// Joins the folder of `beside` with the relative `name` into `out`. ERR_DENIED for absolute
// names, drive letters, schemes, or any `..` component: nothing outside the folder is ever read.
MUST_CHECK enum err file_beside(const char *beside, const char *name, char *out, size_t out_bytes);

// ERR_IO by errno: "cannot VERB PATH: why".
enum err file_fault(struct fault *fault, const char *verb, const char *path);
