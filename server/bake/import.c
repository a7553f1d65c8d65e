#include "server/bake/import.h"

#include <stdlib.h>

#include "common/file.h"
#include "server/bake/anim_read.h"
#include "server/bake/material_read.h"
#include "server/bake/mesh_read.h"
#include "server/bake/node_read.h"
#include "server/bake/skin_read.h"
#include "server/bake/source.h"
#include "server/bake/vrm_read.h"

struct import_limits import_limits_default(void)
{
    return (struct import_limits){.file_bytes_max = (size_t)1 << 30,
                                  .decoded_bytes_max = (size_t)512 << 20};
}

// In the order of what refers to what.
static void read_all(struct source *src)
{
    struct doc *d = &src->doc;
    if (!material_read(src) || !mesh_read(src)) return;
    struct doc_at root = doc_root(d);
    src->skin_count = doc_list(d, &root, "skins").count;
    if (!node_read(src) || !skin_read(src) || !skin_check_nodes(src)) return;
    if (!anim_read(src)) return;
    (void)vrm_read(src);
}

enum err import_bytes(const uint8_t *bytes, size_t size_bytes, const char *path,
                      const struct import_limits *limits, struct scene *out, struct fault *fault)
{
    struct scene scene = {.generator = ""};
    struct source src;
    if (source_open(&src, bytes, size_bytes, path, limits, &scene)) read_all(&src);
    enum err e = source_result(&src, fault);
    source_close(&src);
    if (e != ERR_OK) {
        scene_free(&scene);
        *out = (struct scene){0};
        return e;
    }
    *out = scene;
    return ERR_OK;
}

enum err import_file(const char *path, const struct import_limits *limits, struct scene *out,
                     struct fault *fault)
{
    uint8_t *bytes = NULL;
    size_t size_bytes = 0;
    *out = (struct scene){0};
    enum err e = file_read(path, limits->file_bytes_max, &bytes, &size_bytes, fault);
    if (e != ERR_OK) return e;
    e = import_bytes(bytes, size_bytes, path, limits, out, fault);
    free(bytes);
    return e;
}
