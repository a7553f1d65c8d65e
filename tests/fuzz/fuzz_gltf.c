// glTF JSON: not just "no crash": what is read keeps every promise of scene.h.
#include <stdlib.h>

#include "common/check.h"
#include "server/bake/import.h"
#include "tests/bake/scene_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
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
    return 0;
}
