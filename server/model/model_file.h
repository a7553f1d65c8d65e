#pragma once
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "server/model/model.h"

// A baked model in memory: mapped from its file or held in a block, checked once, shared by
// reference. References may be taken and dropped on any thread; the last drop frees.
struct model_file;

MUST_CHECK enum err model_file_open(const char *path, struct model_file **out, struct fault *fault);
// Copies `bytes` (for bakes that never touch the disk, tests and fuzzing).
MUST_CHECK enum err model_file_from_bytes(const uint8_t *bytes, size_t size_bytes,
                                          struct model_file **out, struct fault *fault);
const struct model *model_file_model(const struct model_file *f); // lives as long as the reference
const uint8_t *model_file_bytes(const struct model_file *f, size_t *size_bytes); // of the file
uint64_t model_file_hash(const struct model_file *f); // of the whole content
struct model_file *model_file_ref(struct model_file *f);
void model_file_unref(struct model_file *f); // NULL is allowed
