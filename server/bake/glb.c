#include "server/bake/glb.h"

#include <string.h>

#include "server/bake/scene.h"

enum { HEADER_BYTES = 12, CHUNK_HEADER_BYTES = 8 };
static const uint32_t CHUNK_JSON = 0x4E4F534A, CHUNK_BIN = 0x004E4942;

static uint32_t load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool glb_is(const uint8_t *bytes, size_t size_bytes)
{
    return size_bytes >= 4 && memcmp(bytes, "glTF", 4) == 0;
}

static enum err check_header(const uint8_t *bytes, size_t size_bytes, size_t *end,
                             struct scene *notes, struct fault *fault)
{
    if (size_bytes < HEADER_BYTES)
        return fault_set(fault, ERR_TRUNCATED, "byte %zu: the GLB ends within its header",
                         size_bytes);
    uint32_t version = load_u32(bytes + 4), length = load_u32(bytes + 8);
    if (version != 2)
        return fault_set(fault, ERR_VERSION, "byte 4: GLB version %u; only version 2 can be read",
                         version);
    if (length > size_bytes)
        return fault_set(fault, ERR_TRUNCATED,
                         "byte %zu: the GLB ends here, its header says %u bytes; copy it again",
                         size_bytes, length);
    if (length < size_bytes)
        scene_note(notes, NOTE_LEFT_OUT, 1, "GLB with %zu bytes after its declared end",
                   size_bytes - length);
    *end = length;
    return ERR_OK;
}

static void take_json(struct glb *out, const uint8_t *data, size_t length, struct scene *notes)
{
    out->json = (const char *)data;
    out->json_bytes = length;
    if (length == 0 || data[length - 1] != 0) return;
    while (out->json_bytes > 0 && out->json[out->json_bytes - 1] == 0)
        out->json_bytes--;
    scene_note(notes, NOTE_REPAIRED, 1, "the JSON chunk is padded with zeros instead of spaces");
}

enum err glb_split(const uint8_t *bytes, size_t size_bytes, struct glb *out, struct scene *notes,
                   struct fault *fault)
{
    size_t end = 0;
    *out = (struct glb){0};
    enum err e = check_header(bytes, size_bytes, &end, notes, fault);
    if (e != ERR_OK) return e;
    for (size_t at = HEADER_BYTES; at < end;) {
        if (end - at < CHUNK_HEADER_BYTES)
            return fault_set(fault, ERR_TRUNCATED, "byte %zu: a GLB chunk ends within its header",
                             at);
        size_t length = load_u32(bytes + at);
        uint32_t type = load_u32(bytes + at + 4);
        size_t data = at + CHUNK_HEADER_BYTES;
        if (length > end - data)
            return fault_set(fault, ERR_TRUNCATED,
                             "byte %zu: a GLB chunk says %zu bytes, only %zu are left", at, length,
                             end - data);
        if (at == HEADER_BYTES && type != CHUNK_JSON)
            return fault_set(fault, ERR_MALFORMED, "byte %zu: the first GLB chunk is not JSON", at);
        if (length % 4 != 0)
            scene_note(notes, NOTE_REPAIRED, 1, "a GLB chunk's length is no multiple of 4");
        if (type == CHUNK_JSON && !out->json)
            take_json(out, bytes + data, length, notes);
        else if (type == CHUNK_BIN && !out->bin) {
            out->bin = bytes + data;
            out->bin_bytes = length;
        } else
            scene_note(notes, NOTE_LEFT_OUT, 1,
                       "a GLB chunk that is neither JSON nor the first "
                       "binary one");
        at = data + length;
    }
    if (!out->json)
        return fault_set(fault, ERR_TRUNCATED, "byte %zu: the GLB holds no JSON chunk", end);
    return ERR_OK;
}
