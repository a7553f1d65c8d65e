// glTF JSON: not just "no crash": what is read keeps every promise of scene.h.
#include "tests/fuzz/import_promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    import_keeps_promises(bytes, size_bytes);
    return 0;
}
