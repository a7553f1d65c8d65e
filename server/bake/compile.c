#include "server/bake/compile.h"

#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"
#include "server/model/container.h"

enum err builder_no_memory(struct builder *b)
{
    return fault_set(b->fault, ERR_LIMIT,
                     "%s: the model would need more than the %zu MiB its size allows: it repeats "
                     "a mesh too often, or declares more than it holds",
                     b->place, b->scene->pool.cap_bytes >> 20);
}

uint32_t builder_text(struct builder *b, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (length == 0) return 0;
    size_t used = b->model.text_count;
    if (used + length + 1 > b->text_capacity) {
        size_t capacity = (used + length + 1) * 2;
        char *grown = BUILDER_ARRAY(b, char, capacity);
        if (!grown) return 0;
        memcpy(grown, b->text, used);
        b->text = grown;
        b->model.text = grown;
        b->text_capacity = capacity;
    }
    memcpy(b->text + used, text, length + 1);
    b->model.text_count = used + length + 1;
    return (uint32_t)used;
}

static enum err start_text(struct builder *b)
{
    b->text_capacity = 4096;
    b->text = BUILDER_ARRAY(b, char, b->text_capacity);
    if (!b->text) return builder_no_memory(b);
    b->model.text = b->text;
    b->model.text_count = 1; // offset 0 is ""
    return ERR_OK;
}

enum err compile_scene(struct scene *scene, const struct compile_settings *settings,
                       uint8_t **bytes, size_t *size_bytes, struct fault *fault)
{
    static const struct {
        enum err (*run)(struct builder *);
        const char *place;
    } stages[] = {
        {start_text, "/nodes"},
        {compile_nodes, "/nodes"},
        {compile_parts, "/meshes"},
        {compile_topology, "/meshes"},
        {compile_face_bones, "/face/bones"},
        {compile_roots, "/roots"},
        {compile_blocks, "/meshes"},
        {compile_shapes, "/meshes"},
        {compile_clips, "/animations"},
        {compile_base_pose, "/skins"},
        {compile_drivers, "/drivers"},
        {compile_appearance, "/materials"},
        {compile_face, "/face"},
        {compile_details, "/meshes"},
        {compile_info, "/nodes"},
    };
    struct builder b = {.scene = scene, .settings = settings, .fault = fault};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        b.place = stages[i].place;
        enum err e = stages[i].run(&b);
        if (e != ERR_OK) return e;
    }
    size_t size = container_size(&b.model);
    if (size > scene->pool.cap_bytes) return builder_no_memory(&b);
    uint8_t *image = malloc(size);
    if (!image) return fault_set(fault, ERR_MEMORY, "no memory for a model of %zu bytes", size);
    container_write(&b.model, image);
    *bytes = image;
    *size_bytes = size;
    return ERR_OK;
}
