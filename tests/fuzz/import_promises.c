#include "tests/fuzz/import_promises.h"

#include "common/check.h"
#include "server/bake/import.h"
#include "tests/bake/scene_check.h"

void import_keeps_promises(const uint8_t *bytes, size_t size_bytes)
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
