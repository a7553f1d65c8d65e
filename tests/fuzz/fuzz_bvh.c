// BVH motion: what parses is a scene that keeps its promises.
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/bvh.h"
#include "tests/bake/scene_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1);
    struct scene scene;
    struct fault fault = {0};
    CHECK(text != NULL);
    if (size_bytes) memcpy(text, bytes, size_bytes);
    text[size_bytes] = 0;
    (void)bvh_is(text, size_bytes);
    if (bvh_parse(text, size_bytes, &scene, &fault) == ERR_OK) {
        CHECK(scene_check(&scene) == NULL);
        scene_free(&scene);
    } else {
        CHECK(fault.line[0] != 0);
    }
    free(text);
    return 0;
}
