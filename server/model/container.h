#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/model/model.h"

// The .sinew file, version CONTAINER_VERSION. Little-endian.
//
//   header   magic[8] "\x89SINEW\r\n", version u32, section count u32, file size u64,
//            checksum of the section table u64, 32 zero bytes
//   table    one entry a section: id u32 (1 + position in MODEL_TABLE_MAP), element size u32,
//            offset u64, element count u64, checksum u64
//   sections in table order, each aligned to 64 bytes, zero bytes between
//
// Checksums are XXH3-64. Equal tables give equal bytes. A file is read in place: `struct model`
// points into it, so the bytes must be 64-byte aligned and outlive the model.
enum { CONTAINER_VERSION = 3, CONTAINER_ALIGNMENT = 64 };

// Total size of the file for `m`.
size_t container_size(const struct model *m);
// Writes exactly container_size(m) bytes.
void container_write(const struct model *m, uint8_t *bytes);

// Checks header, table and checksums and points *out into `bytes` (not yet validated: see
// validate.h). The fault names a byte offset or a section.
MUST_CHECK enum err container_read(const uint8_t *bytes, size_t size_bytes, struct model *out,
                                   struct fault *fault);
