#include "server/bake/source.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_guard.h"
#include "server/bake/accessor.h"
#include "server/bake/buffers.h"
#include "server/bake/glb.h"

enum { MIB = 1 << 20, NODE_BYTES = 64 + 16, TEXT_BYTES = 32, DEPTH_MAX = 32 };

// What the import reads (or may ignore without a wrong surface). Anything else that a file
// *requires* is refused by name.
static const char *const supported[] = {
    "EXT_meshopt_compression",
    "EXT_texture_webp",
    "KHR_materials_emissive_strength",
    "KHR_materials_unlit",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "VRM",
    "VRMC_materials_hdr_emissiveMultiplier",
    "VRMC_materials_mtoon",
    "VRMC_node_constraint",
    "VRMC_springBone",
    "VRMC_springBone_extended_collider",
    "VRMC_vrm",
    "VRMC_vrm_animation",
};

// What cJSON holds, so that the whole import stays inside one bound.
static size_t tree_bytes(const cJSON *node)
{
    size_t bytes = 0;
    for (; node; node = node->next) {
        bytes += NODE_BYTES;
        if (node->string) bytes += TEXT_BYTES + strlen(node->string);
        if (node->valuestring) bytes += TEXT_BYTES + strlen(node->valuestring);
        if (node->child) bytes += tree_bytes(node->child);
    }
    return bytes;
}

// "2", "2.0", "2.1" -> 2.0, 2.1; false for anything else.
static bool parse_version(const char *text, unsigned *major, unsigned *minor)
{
    char *end = NULL;
    unsigned long a = strtoul(text, &end, 10), b = 0;
    if (end == text || a > 999) return false;
    if (*end == '.') {
        const char *rest = end + 1;
        b = strtoul(rest, &end, 10);
        if (end == rest || b > 999) return false;
    }
    *major = (unsigned)a;
    *minor = (unsigned)b;
    return *end == 0;
}

static void check_asset(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d), asset = doc_member(&root, "asset");
    if (!doc_is_object(d, &root)) return;
    if (!asset.value) {
        (void)doc_fail(d, &asset, ERR_MALFORMED, "is missing; is this a glTF 2.0 file?");
        return;
    }
    if (!doc_is_object(d, &asset)) return;
    struct doc_at version_at = doc_member(&asset, "version"),
                  least_at = doc_member(&asset, "minVersion");
    const char *version = doc_text(d, &asset, "version"),
               *least = doc_text(d, &asset, "minVersion");
    unsigned major = 0, minor = 0;
    if (!parse_version(version, &major, &minor) || major != 2)
        (void)doc_fail(d, &version_at, ERR_VERSION, "glTF version \"%.20s\"; only 2.x can be read",
                       version);
    if (*least && (!parse_version(least, &major, &minor) || major != 2 || minor > 0))
        (void)doc_fail(d, &least_at, ERR_VERSION,
                       "minVersion \"%.20s\" is required; only glTF 2.0 can be read", least);
    d->scene->generator = doc_text_kept(d, &asset, "generator");
}

static bool is_supported(const char *name)
{
    for (size_t i = 0; i < sizeof supported / sizeof supported[0]; i++)
        if (strcmp(supported[i], name) == 0) return true;
    return false;
}

static void check_extensions(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d);
    struct doc_list required = doc_list(d, &root, "extensionsRequired");
    for (uint32_t i = 0; i < required.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&required, i);
        const char *name = doc_value_text(d, &at);
        if (d->error == ERR_OK && !is_supported(name))
            (void)doc_fail(d, &at, ERR_UNSUPPORTED,
                           "the file requires %.64s, which is not supported; export without it",
                           name);
    }
}

static bool parse(struct source *src, const char *text, size_t size_bytes)
{
    struct doc *d = &src->doc;
    struct json_limits limits = json_limits_for(src->limits->file_bytes_max);
    struct fault fault = {0};
    d->error = json_parse(text, size_bytes, &limits, &d->root, &fault);
    if (d->error != ERR_OK) {
        (void)fault_set(&d->fault, d->error, "%s%s", fault.line,
                        src->is_glb ? " of the JSON chunk, which starts at byte 20" : "");
        return false;
    }
    size_t tree = tree_bytes(d->root);
    d->cap_bytes = d->cap_bytes > tree + 4 * (size_t)MIB ? d->cap_bytes - tree : 4 * (size_t)MIB;
    doc_check_keys(d);
    return d->error == ERR_OK;
}

static bool refuse_other(struct doc *d, const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes == 0)
        d->error = fault_set(&d->fault, ERR_TRUNCATED, "byte 0: the file is empty");
    else if (size_bytes >= 9 && memcmp(bytes, "HIERARCHY", 9) == 0)
        d->error = fault_set(&d->fault, ERR_UNSUPPORTED,
                             "byte 0: a BVH holds motion only; list it under \"clips\" of a rig "
                             "file beside a character");
    else
        d->error = fault_set(&d->fault, ERR_MALFORMED,
                             "byte 0: neither glTF JSON nor GLB (starts with %02x)", bytes[0]);
    return false;
}

bool source_open(struct source *src, const uint8_t *bytes, size_t size_bytes, const char *path,
                 const struct import_limits *limits, struct scene *scene)
{
    *src = (struct source){.limits = limits, .path = path};
    struct doc *d = &src->doc;
    d->scene = scene;
    d->cap_bytes = 60 * (size_t)MIB + 15 * size_bytes;
    d->declared_left_bytes = limits->decoded_bytes_max;
    d->work_left_bytes = 256 * (size_t)MIB + 64 * size_bytes;
    pool_init(&d->scratch, d->cap_bytes);
    pool_init(&scene->pool, d->cap_bytes);
    struct glb glb = {.json = (const char *)bytes, .json_bytes = size_bytes};
    src->is_glb = glb_is(bytes, size_bytes);
    if (src->is_glb) {
        d->error = glb_split(bytes, size_bytes, &glb, scene, &d->fault);
        if (d->error != ERR_OK) return false;
    } else {
        size_t at = 0;
        while (at < size_bytes && (bytes[at] == ' ' || (bytes[at] >= 9 && bytes[at] <= 13)))
            at++;
        bool bom = size_bytes >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0;
        if (!bom && (at == size_bytes || bytes[at] != '{'))
            return refuse_other(d, bytes, size_bytes);
    }
    src->bin = glb.bin;
    src->bin_bytes = glb.bin_bytes;
    if (!parse(src, glb.json, glb.json_bytes)) return false;
    check_asset(src);
    check_extensions(src);
    return buffers_open(src) && accessor_open(src);
}

void source_close(struct source *src)
{
    for (struct source_file *file = src->files; file; file = file->next)
        free(file->bytes);
    src->files = NULL;
    cJSON_Delete(src->doc.root);
    src->doc.root = NULL;
    pool_free(&src->doc.scratch);
}

float *source_temp(struct source *src, const struct doc_at *at, size_t count)
{
    if (src->doc.error != ERR_OK) return NULL;
    if (count <= src->temp_count && src->temp) return src->temp;
    size_t room = count > 2 * src->temp_count ? count : 2 * src->temp_count;
    src->temp = DOC_SCRATCH(&src->doc, at, float, room);
    src->temp_count = src->temp ? room : 0;
    return src->temp;
}

enum err source_result(const struct source *src, struct fault *fault)
{
    if (src->doc.error == ERR_OK) return ERR_OK;
    return fault_set(fault, src->doc.error, "%s", src->doc.fault.line);
}
