#include "server/bake/buffers.h"

#include "common/check.h"
#include "server/bake/uri.h"
#include "server/bake/view_codec.h"

enum { STRIDE_MAX = 1 << 16 };

static struct doc_at meshopt_of(const struct doc_at *extensions)
{
    struct doc_at at = doc_member(extensions, "EXT_meshopt_compression");
    return at.value ? at : doc_member(extensions, "KHR_meshopt_compression");
}

static bool read_buffers(struct source *src, const struct doc_at *root)
{
    struct doc *d = &src->doc;
    struct doc_list list = doc_list(d, root, "buffers");
    src->buffers = DOC_SCRATCH(d, &list.at, struct source_buffer, list.count);
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        struct source_buffer *b = &src->buffers[i];
        if (!doc_is_object(d, &at)) break;
        struct doc_at extensions = doc_member(&at, "extensions"), meshopt = meshopt_of(&extensions);
        *b = (struct source_buffer){
            .uri = doc_text(d, &at, "uri"),
            .declared_bytes = doc_uint(d, &at, "byteLength", UINT32_MAX, 0),
            .fallback = doc_bool(d, &meshopt, "fallback", false),
        };
    }
    src->buffer_count = list.count;
    return d->error == ERR_OK;
}

static void read_view(struct source *src, const struct doc_at *at, struct source_view *v)
{
    struct doc *d = &src->doc;
    if (!doc_is_object(d, at)) return;
    struct doc_at length = doc_member(at, "byteLength");
    *v = (struct source_view){
        .buffer = doc_index_needed(d, at, "buffer", src->buffer_count),
        .offset = doc_uint(d, at, "byteOffset", UINT32_MAX, 0),
        .size_bytes = doc_uint(d, at, "byteLength", UINT32_MAX, 0),
        .stride = doc_uint(d, at, "byteStride", STRIDE_MAX, 0),
    };
    if (d->error != ERR_OK) return;
    if (!length.value) (void)doc_fail(d, &length, ERR_MALFORMED, "is missing");
    size_t buffer_bytes = src->buffers[v->buffer].declared_bytes;
    if (v->offset > buffer_bytes || v->size_bytes > buffer_bytes - v->offset)
        (void)doc_fail(d, at, ERR_TRUNCATED, "bytes %zu to %zu, but buffer %d has only %zu",
                       v->offset, v->offset + v->size_bytes, (int)v->buffer, buffer_bytes);
    struct doc_at extensions = doc_member(at, "extensions"), meshopt = meshopt_of(&extensions);
    if (doc_is_object(d, &meshopt)) view_codec_read(src, &meshopt, &v->meshopt);
}

bool buffers_open(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d);
    if (!read_buffers(src, &root)) return false;
    struct doc_list list = doc_list(d, &root, "bufferViews");
    src->views = DOC_SCRATCH(d, &list.at, struct source_view, list.count);
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        read_view(src, &at, &src->views[i]);
    }
    src->view_count = list.count;
    return d->error == ERR_OK;
}

// Places for faults only, built without a look-up: the root may have any number of keys.
static bool load_buffer(struct source *src, int32_t index, struct uri_data *data)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d), list = {.up = &root, .key = "buffers"};
    struct doc_at at = {.up = &list, .index = index}, uri = {.up = &at, .key = "uri"};
    const struct source_buffer *b = &src->buffers[index];
    if (uri_is_data(b->uri)) return uri_decode_data(d, &uri, b->uri, false, data);
    if (*b->uri) return uri_load_file(src, &uri, b->uri, NULL, data);
    if (index == 0 && src->bin) {
        *data = (struct uri_data){src->bin, src->bin_bytes, ""};
        return true;
    }
    return doc_fail(d, &at, ERR_NOT_FOUND,
                    b->fallback ? "only a fallback without bytes, but something reads it"
                                : "has no uri and the file holds no binary chunk for it");
}

static bool buffer_bytes(struct source *src, int32_t index, const uint8_t **bytes)
{
    struct doc *d = &src->doc;
    struct source_buffer *b = &src->buffers[index];
    if (!b->bytes) {
        struct uri_data data = {0};
        if (!load_buffer(src, index, &data)) return false;
        struct doc_at root = doc_root(d), list = {.up = &root, .key = "buffers"};
        struct doc_at at = {.up = &list, .index = index};
        if (data.size_bytes < b->declared_bytes)
            return doc_fail(d, &at, ERR_TRUNCATED, "holds %zu bytes where byteLength says %zu",
                            data.size_bytes, b->declared_bytes);
        b->bytes = data.bytes;
    }
    *bytes = b->bytes;
    return true;
}

static bool decode_view(struct source *src, const struct doc_at *at, struct source_view *v)
{
    struct doc *d = &src->doc;
    const struct source_meshopt *m = &v->meshopt;
    const uint8_t *compressed = NULL;
    size_t buffer_size = src->buffers[m->buffer].declared_bytes;
    if (m->offset > buffer_size || m->size_bytes > buffer_size - m->offset)
        return doc_fail(d, at, ERR_TRUNCATED, "bytes %zu to %zu, but buffer %d has only %zu",
                        m->offset, m->offset + m->size_bytes, (int)m->buffer, buffer_size);
    if (!buffer_bytes(src, m->buffer, &compressed)) return false;
    size_t size = m->count * m->stride; // below 2^32 * 2^8
    if (size > v->size_bytes)
        return doc_fail(d, at, ERR_MALFORMED, "decodes to %zu bytes, byteLength says %zu", size,
                        v->size_bytes);
    doc_declare(d, size);
    uint8_t *out = DOC_SCRATCH(d, at, uint8_t, size + 1);
    if (!out || !view_codec_decode(d, at, m, compressed + m->offset, out)) return false;
    v->size_bytes = size;
    v->bytes = out;
    return true;
}

bool buffers_view(struct source *src, int32_t view, const uint8_t **bytes, size_t *size_bytes)
{
    struct doc *d = &src->doc;
    if (d->error != ERR_OK) return false;
    CHECK((uint32_t)view < src->view_count);
    struct source_view *v = &src->views[view];
    if (!v->bytes && v->meshopt.present) {
        struct doc_at root = doc_root(d), list = {.up = &root, .key = "bufferViews"};
        struct doc_at view_at = {.up = &list, .index = view};
        if (!decode_view(src, &view_at, v)) return false;
    } else if (!v->bytes) {
        const uint8_t *buffer = NULL;
        if (!buffer_bytes(src, v->buffer, &buffer)) return false;
        v->bytes = buffer + v->offset;
    }
    *bytes = v->bytes;
    *size_bytes = v->size_bytes;
    return true;
}
