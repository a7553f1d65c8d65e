// GLB: the input is split into a JSON text and a binary chunk and wrapped, so that the fuzzer need
// not find lengths and magic by itself; the bytes as they are go through the same door.
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "tests/fuzz/import_promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

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
    import_keeps_promises(mended, total);
    free(mended);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    import_keeps_promises(bytes, size_bytes);
    import_mended(bytes, size_bytes);
    return 0;
}
