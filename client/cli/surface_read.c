#include "client/cli/surface_read.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_guard.h"
#include "proto/wire.h"

enum { FLOAT_TYPE = 5126 };

enum surface_kind surface_kind_of(const char *path)
{
    static const char *const endings[] = {"", ".f32", ".obj", ".glb"};
    size_t n = strlen(path);
    for (int i = SURFACE_F32; i <= SURFACE_GLB; i++)
        if (n > 4 && strcmp(path + n - 4, endings[i]) == 0) return (enum surface_kind)i;
    return SURFACE_NONE;
}

static enum err read_f32(const uint8_t *bytes, size_t size_bytes, size_t width, float **out,
                         size_t *vertices, struct fault *fault)
{
    if (size_bytes == 0 || size_bytes % (4 * width) != 0)
        return fault_set(fault, ERR_MALFORMED,
                         "the file holds %zu float32 a vertex: its size is no multiple of %zu",
                         width, 4 * width);
    struct wire_reader r = wire_read(bytes, size_bytes);
    *out = malloc(size_bytes);
    if (!*out) return fault_set(fault, ERR_MEMORY, "no memory for the surface");
    wire_floats(&r, *out, size_bytes / 4);
    *vertices = size_bytes / (4 * width);
    return ERR_OK;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : NULL;
}

static bool is_vertex(const char *line)
{
    return line[0] == 'v' && (line[1] == ' ' || line[1] == '\t');
}

static enum err read_obj(const char *text, float **out, size_t *vertices, struct fault *fault)
{
    size_t count = 0, at = 0;
    for (const char *line = text; line; line = next_line(line))
        count += is_vertex(line);
    *out = malloc((count + 1) * 3 * sizeof **out);
    if (!*out) return fault_set(fault, ERR_MEMORY, "no memory for the surface");
    for (const char *line = text; line; line = next_line(line)) {
        const char *from = line + 1;
        for (int k = 0; k < 3 && is_vertex(line); k++) {
            char *end = NULL;
            (*out)[at++] = strtof(from, &end);
            if (end == from) {
                free(*out);
                *out = NULL;
                return fault_set(fault, ERR_MALFORMED, "vertex %zu of the OBJ is no position",
                                 at / 3);
            }
            from = end;
        }
    }
    *vertices = count;
    return ERR_OK;
}

// --- GLB ----------------------------------------------------------------------------------------

struct glb {
    cJSON *json;
    const uint8_t *bin;
    size_t bin_bytes;
};

static size_t number(const cJSON *object, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble < 4e9 ? (size_t)v->valuedouble
                                                                            : 0;
}

static const cJSON *row(const cJSON *root, const char *list, const cJSON *index)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, list);
    return cJSON_IsNumber(index) ? cJSON_GetArrayItem(rows, index->valueint) : NULL;
}

static bool open_glb(const uint8_t *bytes, size_t size_bytes, struct glb *out)
{
    struct wire_reader r = wire_read(bytes, size_bytes);
    struct json_limits limits = json_limits_for(64 << 20);
    uint32_t magic = wire_u32(&r), version = wire_u32(&r), total = wire_u32(&r);
    uint32_t json_bytes = wire_u32(&r), json_type = wire_u32(&r);
    const uint8_t *json = wire_bytes(&r, json_bytes);
    uint32_t bin_bytes = wire_u32(&r), bin_type = wire_u32(&r);
    out->bin = wire_bytes(&r, bin_bytes);
    out->bin_bytes = bin_bytes;
    out->json = NULL;
    return !r.failed && magic == 0x46546C67 && version == 2 && total <= size_bytes &&
           json_type == 0x4E4F534A && bin_type == 0x004E4942 &&
           json_parse((const char *)json, json_bytes, &limits, &out->json, NULL) == ERR_OK;
}

// The positions of one primitive appended; false: not what is written here.
static bool add_positions(const struct glb *g, const cJSON *primitive, float **out,
                          size_t *vertices)
{
    const cJSON *attributes = cJSON_GetObjectItemCaseSensitive(primitive, "attributes");
    const cJSON *accessor =
        row(g->json, "accessors", cJSON_GetObjectItemCaseSensitive(attributes, "POSITION"));
    const cJSON *view =
        row(g->json, "bufferViews", cJSON_GetObjectItemCaseSensitive(accessor, "bufferView"));
    size_t count = number(accessor, "count"), stride = number(view, "byteStride");
    size_t first = number(accessor, "byteOffset") + number(view, "byteOffset");
    if (stride == 0) stride = 12;
    if (!view || number(accessor, "componentType") != FLOAT_TYPE || count == 0 || stride < 12 ||
        stride > 4096 || first > g->bin_bytes || count > g->bin_bytes / 12 ||
        (count - 1) * stride + 12 > g->bin_bytes - first)
        return false;
    float *grown = realloc(*out, (*vertices + count) * 3 * sizeof *grown);
    if (!grown) return false;
    *out = grown;
    for (size_t i = 0; i < count; i++) {
        struct wire_reader r = wire_read(g->bin + first + i * stride, 12);
        wire_floats(&r, grown + (*vertices + i) * 3, 3);
    }
    *vertices += count;
    return true;
}

static enum err read_glb(const uint8_t *bytes, size_t size_bytes, float **out, size_t *vertices,
                         struct fault *fault)
{
    struct glb g;
    bool fine = open_glb(bytes, size_bytes, &g);
    const cJSON *mesh, *primitive;
    cJSON_ArrayForEach(mesh, cJSON_GetObjectItemCaseSensitive(g.json, "meshes"))
    {
        const cJSON *primitives = cJSON_GetObjectItemCaseSensitive(mesh, "primitives");
        cJSON_ArrayForEach(primitive, primitives)
        {
            fine = fine && add_positions(&g, primitive, out, vertices);
        }
    }
    cJSON_Delete(g.json);
    if (fine && *vertices > 0) return ERR_OK;
    free(*out);
    *out = NULL;
    return fault_set(fault, ERR_MALFORMED, "this is no GLB with float positions");
}

enum err surface_read(enum surface_kind kind, const uint8_t *bytes, size_t size_bytes, float **out,
                      size_t *vertices, struct fault *fault)
{
    *out = NULL;
    *vertices = 0;
    switch (kind) {
    case SURFACE_F32:
        return read_f32(bytes, size_bytes, 3, out, vertices, fault);
    case SURFACE_SHARES:
        return read_f32(bytes, size_bytes, 1, out, vertices, fault);
    case SURFACE_OBJ:
        return read_obj((const char *)bytes, out, vertices, fault);
    case SURFACE_GLB:
        return read_glb(bytes, size_bytes, out, vertices, fault);
    case SURFACE_NONE:
        break;
    }
    return fault_set(fault, ERR_USAGE, "a surface's file ends in .glb, .obj or .f32");
}
