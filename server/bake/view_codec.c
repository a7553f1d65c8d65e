#include "server/bake/view_codec.h"

#include <meshoptimizer.h>
#include <string.h>

static uint8_t word_of(struct doc *d, const struct doc_at *at, const char *key,
                       const char *const *words, uint8_t word_count, const char *absent)
{
    struct doc_at word_at = doc_member(at, key);
    const char *word = word_at.value ? doc_value_text(d, &word_at) : absent;
    for (uint8_t i = 0; i < word_count; i++)
        if (strcmp(word, words[i]) == 0) return i;
    (void)doc_fail(d, &word_at, ERR_UNSUPPORTED, "\"%.40s\" is not known", word);
    return 0;
}

// The decoder asserts what it expects of its caller; a file must not reach those.
static void check_shape(struct doc *d, const struct doc_at *at, const struct source_meshopt *m)
{
    bool stride_ok = m->mode == VIEW_ATTRIBUTES
                         ? m->stride >= 4 && m->stride <= 256 && m->stride % 4 == 0
                         : m->stride == 2 || m->stride == 4;
    if (m->filter == VIEW_FILTER_OCTAHEDRAL) stride_ok = m->stride == 4 || m->stride == 8;
    if (m->filter == VIEW_FILTER_QUATERNION) stride_ok = m->stride == 8;
    if (!stride_ok)
        (void)doc_fail(d, at, ERR_MALFORMED, "byteStride %zu does not suit mode and filter",
                       m->stride);
    if (m->filter != VIEW_FILTER_NONE && m->mode != VIEW_ATTRIBUTES)
        (void)doc_fail(d, at, ERR_MALFORMED, "a filter belongs to the ATTRIBUTES mode only");
    if (m->mode == VIEW_TRIANGLES && m->count % 3 != 0)
        (void)doc_fail(d, at, ERR_MALFORMED, "%zu indices are no whole triangles", m->count);
}

void view_codec_read(struct source *src, const struct doc_at *at, struct source_meshopt *out)
{
    static const char *const modes[] = {"ATTRIBUTES", "TRIANGLES", "INDICES"};
    static const char *const filters[] = {"NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"};
    struct doc *d = &src->doc;
    *out = (struct source_meshopt){
        .present = true,
        .buffer = doc_index_needed(d, at, "buffer", src->buffer_count),
        .offset = doc_uint(d, at, "byteOffset", UINT32_MAX, 0),
        .size_bytes = doc_uint(d, at, "byteLength", UINT32_MAX, 0),
        .stride = doc_uint(d, at, "byteStride", 256, 0),
        .count = doc_uint(d, at, "count", UINT32_MAX, 0),
        .mode = word_of(d, at, "mode", modes, 3, "ATTRIBUTES"),
        .filter = word_of(d, at, "filter", filters, 4, "NONE"),
    };
    if (d->error == ERR_OK) check_shape(d, at, out);
}

static void apply_filter(const struct source_meshopt *m, uint8_t *out)
{
    if (m->filter == VIEW_FILTER_OCTAHEDRAL) meshopt_decodeFilterOct(out, m->count, m->stride);
    if (m->filter == VIEW_FILTER_QUATERNION) meshopt_decodeFilterQuat(out, m->count, m->stride);
    if (m->filter == VIEW_FILTER_EXPONENTIAL) meshopt_decodeFilterExp(out, m->count, m->stride);
}

bool view_codec_decode(struct doc *d, const struct doc_at *at, const struct source_meshopt *m,
                       const uint8_t *compressed, uint8_t *out)
{
    if (m->count == 0) return true;
    int result = -1;
    if (m->mode == VIEW_ATTRIBUTES)
        result = meshopt_decodeVertexBuffer(out, m->count, m->stride, compressed, m->size_bytes);
    else if (m->mode == VIEW_TRIANGLES)
        result = meshopt_decodeIndexBuffer(out, m->count, m->stride, compressed, m->size_bytes);
    else
        result = meshopt_decodeIndexSequence(out, m->count, m->stride, compressed, m->size_bytes);
    if (result != 0 && m->mode == VIEW_ATTRIBUTES && m->size_bytes > 0 && compressed[0] == 0xA1)
        return doc_fail(d, at, ERR_UNSUPPORTED,
                        "compressed with version 1 of the vertex codec; compress again with "
                        "version 0 (EXT_meshopt_compression)");
    if (result != 0) return doc_fail(d, at, ERR_MALFORMED, "the compressed data does not decode");
    apply_filter(m, out);
    return true;
}
