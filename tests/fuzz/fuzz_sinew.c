// Hostile .sinew files. Checksums are made right again first, as a hostile writer would, so that
// the validator is what stands between the bytes and the frame; what it lets through must run.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/check.h"
#include "server/model/container.h"
#include "server/model/model_file.h"
#include "tests/support/stand.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

enum { HEADER_BYTES = 64, ENTRY_BYTES = 32, VERTICES_MAX = 4096 };

static uint64_t read_u64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static void sign_again(uint8_t *bytes, size_t size_bytes)
{
    uint32_t sections;
    uint64_t size = size_bytes;
    memcpy(&sections, bytes + 12, sizeof sections);
    memcpy(bytes + 16, &size, sizeof size);
    if (sections > (size_bytes - HEADER_BYTES) / ENTRY_BYTES) return;
    for (uint32_t i = 0; i < sections; i++) {
        uint8_t *entry = bytes + HEADER_BYTES + (size_t)i * ENTRY_BYTES;
        uint32_t element;
        memcpy(&element, entry + 4, sizeof element);
        uint64_t offset = read_u64(entry + 8), count = read_u64(entry + 16);
        if (offset > size_bytes || element == 0 || count > (size_bytes - offset) / element)
            continue;
        uint64_t sum = XXH3_64bits(bytes + offset, count * element);
        memcpy(entry + 24, &sum, sizeof sum);
    }
    uint64_t sum = XXH3_64bits(bytes + HEADER_BYTES, (size_t)sections * ENTRY_BYTES);
    memcpy(bytes + 24, &sum, sizeof sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct model_file *file = NULL;
    struct fault fault = {0};
    uint8_t *copy = malloc(size_bytes + 1);
    CHECK(copy != NULL);
    memcpy(copy, bytes, size_bytes);
    if (size_bytes > HEADER_BYTES) sign_again(copy, size_bytes);
    enum err e = model_file_from_bytes(copy, size_bytes, &file, &fault);
    free(copy);
    CHECK((e == ERR_OK) == (fault.line[0] == 0));
    if (e != ERR_OK) return 0;
    struct stand s;
    if (model_vertex_count(model_file_model(file)) > VERTICES_MAX) {
        model_file_unref(file);
        return 0;
    }
    if (stand_take(&s, file)) {
        stand_evaluate(&s, MODEL_LBS, simd_best());
        stand_evaluate(&s, MODEL_DQ, simd_best());
    }
    stand_close(&s);
    return 0;
}
