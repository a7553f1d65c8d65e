// GLB: the input is split into a JSON text and a binary chunk and wrapped, so that the fuzzer need
// not find lengths and magic by itself; the bytes as they are go through the same door.
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/import.h"
#include "tests/bake/scene_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void import(const uint8_t *bytes, size_t size_bytes)
{
    struct import_limits limits = {.file_bytes_max = (size_t)1 << 20,
                                   .decoded_bytes_max = (size_t)16 << 20};
    struct scene scene;
    struct fault fault = {0};
    if (import_bytes(bytes, size_bytes, NULL, &limits, &scene, &fault) == ERR_OK) {
        CHECK(scene_check(&scene) == NULL);
        scene_free(&scene);
    } else {
        CHECK(fault.code != ERR_OK);
        CHECK(fault.line[0] != 0);
    }
}

static void put_u32(uint8_t *out, size_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

// Mends the lengths of a bent GLB: header, JSON chunk up to its last brace, the rest as binary.
static void import_mended(const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes < 24 || memcmp(bytes, "glTF", 4) != 0) return;
    size_t json_end = 20;
    for (size_t i = 20; i < size_bytes && bytes[i] != 0; i++)
        if (bytes[i] == '}') json_end = i + 1;
    size_t bin_from = json_end + 8 < size_bytes ? json_end + 8 : size_bytes;
    size_t bin_bytes = size_bytes - bin_from, total = json_end + 8 + bin_bytes;
    uint8_t *mended = malloc(total);
    CHECK(mended != NULL);
    memcpy(mended, bytes, json_end);
    put_u32(mended + 4, 2);
    put_u32(mended + 8, total);
    put_u32(mended + 12, json_end - 20);
    memcpy(mended + 16, "JSON", 4);
    put_u32(mended + json_end, bin_bytes);
    memcpy(mended + json_end + 4, "BIN", 4);
    if (bin_bytes) memcpy(mended + json_end + 8, bytes + bin_from, bin_bytes);
    import(mended, total);
    free(mended);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    import(bytes, size_bytes);
    import_mended(bytes, size_bytes);
    return 0;
}
