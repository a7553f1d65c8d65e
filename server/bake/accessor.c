#include "server/bake/accessor.h"

#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/buffers.h"

// ---- the table

static size_t component_size(enum source_component component)
{
    switch (component) {
    case SOURCE_I8:
    case SOURCE_U8:
        return 1;
    case SOURCE_I16:
    case SOURCE_U16:
        return 2;
    case SOURCE_U32:
    case SOURCE_F32:
        return 4;
    }
    return 0;
}

static enum source_component read_component(struct doc *d, const struct doc_at *at)
{
    struct doc_at type_at = doc_member(at, "componentType");
    uint64_t type = doc_uint(d, at, "componentType", UINT16_MAX, 0);
    if (d->error == ERR_OK && component_size((enum source_component)type) == 0)
        (void)doc_fail(d, &type_at, ERR_MALFORMED, "%u is no component type", (unsigned)type);
    return (enum source_component)type;
}

static void read_type(struct doc *d, const struct doc_at *at, struct source_layout *l)
{
    static const struct {
        const char *name;
        uint8_t rows, columns;
    } types[] = {{"SCALAR", 1, 1}, {"VEC2", 2, 1}, {"VEC3", 3, 1}, {"VEC4", 4, 1},
                 {"MAT2", 2, 2},   {"MAT3", 3, 3}, {"MAT4", 4, 4}};
    const char *name = doc_text(d, at, "type");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(name, types[i].name) == 0) {
            l->rows = types[i].rows;
            l->columns = types[i].columns;
            return;
        }
    struct doc_at type_at = doc_member(at, "type");
    (void)doc_fail(d, &type_at, ERR_MALFORMED, "\"%.20s\" is no accessor type", name);
}

static struct source_layout read_layout(struct doc *d, const struct doc_at *at)
{
    struct source_layout l = {.component = read_component(d, at),
                              .normalised = doc_bool(d, at, "normalized", false)};
    read_type(d, at, &l);
    l.component_bytes = component_size(l.component);
    l.column_bytes = l.component_bytes * l.rows;
    if (l.columns > 1) l.column_bytes = (l.column_bytes + 3) & ~(size_t)3; // the standard's padding
    l.element_bytes = l.column_bytes * l.columns;
    if (l.component == SOURCE_F32 || l.component == SOURCE_U32) l.normalised = false;
    return l;
}

static void read_sparse(struct source *src, const struct doc_at *at, struct source_accessor *a)
{
    struct doc *d = &src->doc;
    struct doc_at sparse = doc_member(at, "sparse");
    if (!doc_is_object(d, &sparse)) return;
    struct doc_at indices = doc_member(&sparse, "indices"), values = doc_member(&sparse, "values");
    a->sparse_count = (uint32_t)doc_uint(d, &sparse, "count", INT32_MAX, 0);
    a->sparse_indices_view = doc_index_needed(d, &indices, "bufferView", src->view_count);
    a->sparse_values_view = doc_index_needed(d, &values, "bufferView", src->view_count);
    a->sparse_indices_offset = doc_uint(d, &indices, "byteOffset", UINT32_MAX, 0);
    a->sparse_values_offset = doc_uint(d, &values, "byteOffset", UINT32_MAX, 0);
    a->sparse_indices_component = read_component(d, &indices);
    if (a->sparse_count > a->count)
        (void)doc_fail(d, &sparse, ERR_MALFORMED, "%u sparse values for %u elements",
                       a->sparse_count, a->count);
}

bool accessor_open(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d);
    struct doc_list list = doc_list(d, &root, "accessors");
    src->accessors = DOC_SCRATCH(d, &list.at, struct source_accessor, list.count);
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i), count = doc_member(&at, "count");
        if (!doc_is_object(d, &at)) break;
        struct source_accessor *a = &src->accessors[i];
        *a = (struct source_accessor){
            .view = doc_index(d, &at, "bufferView", src->view_count),
            .offset = doc_uint(d, &at, "byteOffset", UINT32_MAX, 0),
            .count = (uint32_t)doc_uint(d, &at, "count", INT32_MAX, 0),
            .layout = read_layout(d, &at),
        };
        if (!count.value) (void)doc_fail(d, &count, ERR_MALFORMED, "is missing");
        read_sparse(src, &at, a);
    }
    src->accessor_count = list.count;
    return d->error == ERR_OK;
}

const struct source_accessor *accessor_expect(struct source *src, const struct doc_at *at,
                                              int32_t index, struct accessor_shape shape)
{
    if (src->doc.error != ERR_OK) return NULL;
    CHECK((uint32_t)index < src->accessor_count);
    const struct source_accessor *a = &src->accessors[index];
    if (shape.rows == 0 || (a->layout.rows == shape.rows && a->layout.columns == shape.columns))
        return a;
    (void)doc_fail(&src->doc, at, ERR_MALFORMED,
                   "accessor %d has %u x %u values an element, not %u", (int)index, a->layout.rows,
                   a->layout.columns, shape.rows * shape.columns);
    return NULL;
}

// ---- bytes

struct slice {
    const uint8_t *bytes; // NULL = all zeros
    size_t stride;
};

struct span { // elements in a view
    int32_t view;
    size_t offset;
    uint32_t count;
    const struct source_layout *layout;
};

// Offsets and strides are below 2^33 and counts below 2^31: nothing here can overflow.
static bool slice_open(struct source *src, const struct doc_at *at, const struct span *span,
                       struct slice *out)
{
    struct doc *d = &src->doc;
    const struct source_layout *l = span->layout;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    *out = (struct slice){0};
    if (span->view == SCENE_NONE) return d->error == ERR_OK;
    if (!buffers_view(src, span->view, &bytes, &size)) return false;
    const struct source_view *v = &src->views[span->view];
    size_t stride = v->meshopt.present ? v->meshopt.stride : v->stride;
    if (stride == 0) stride = l->element_bytes;
    // Elements that overlap would let a few bytes declare any number of elements.
    if (stride < l->element_bytes)
        return doc_fail(d, at, ERR_MALFORMED, "byteStride %zu is less than an element's %zu bytes",
                        stride, l->element_bytes);
    size_t end = span->offset;
    if (span->count) end += (size_t)(span->count - 1) * stride + l->element_bytes;
    if (end > size)
        return doc_fail(d, at, ERR_TRUNCATED,
                        "%u elements end at byte %zu of buffer view %d, which has %zu", span->count,
                        end, (int)span->view, size);
    if ((v->offset + span->offset) % l->component_bytes != 0 || stride % l->component_bytes != 0)
        scene_note(d->scene, NOTE_REPAIRED, 1, "accessors not aligned to their type, read anyway");
    out->bytes = bytes + span->offset;
    out->stride = stride;
    return true;
}

static bool base_open(struct source *src, const struct doc_at *at, const struct source_accessor *a,
                      struct slice *out)
{
    struct span span = {a->view, a->offset, a->count, &a->layout};
    return slice_open(src, at, &span, out);
}

static int16_t load_i16(const uint8_t *p)
{
    return (int16_t)(uint16_t)(p[0] | p[1] << 8);
}

static uint32_t load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float load_f32(const uint8_t *p)
{
    uint32_t bits = load_u32(p);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float load_component(const uint8_t *p, enum source_component component, bool normalised)
{
    switch (component) {
    case SOURCE_I8:
        return normalised ? fmaxf((float)(int8_t)p[0] / 127.0F, -1.0F) : (float)(int8_t)p[0];
    case SOURCE_U8:
        return normalised ? (float)p[0] / 255.0F : (float)p[0];
    case SOURCE_I16:
        return normalised ? fmaxf((float)load_i16(p) / 32767.0F, -1.0F) : (float)load_i16(p);
    case SOURCE_U16:
        return (float)(uint16_t)load_i16(p) / (normalised ? 65535.0F : 1.0F);
    case SOURCE_U32:
        return (float)load_u32(p);
    case SOURCE_F32:
        return load_f32(p);
    }
    return 0;
}

static void decode_element(const uint8_t *p, const struct source_layout *l, float *out)
{
    for (uint32_t c = 0; c < l->columns; c++)
        for (uint32_t r = 0; r < l->rows; r++)
            *out++ = load_component(p + c * l->column_bytes + r * l->component_bytes, l->component,
                                    l->normalised);
}

static void decode_elements(const struct slice *s, uint32_t count, const struct source_layout *l,
                            float *out)
{
    size_t width = (size_t)l->rows * l->columns;
    if (!s->bytes) {
        memset(out, 0, count * width * sizeof *out);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        decode_element(s->bytes + i * s->stride, l, out + i * width);
}

// ---- sparse

static uint32_t load_index(const uint8_t *p, enum source_component component)
{
    if (component == SOURCE_U8) return p[0];
    if (component == SOURCE_U16) return (uint16_t)load_i16(p);
    return load_u32(p);
}

struct sparse {
    struct slice indices, values;
};

static bool sparse_open(struct source *src, const struct doc_at *at,
                        const struct source_accessor *a, struct sparse *out)
{
    struct doc *d = &src->doc;
    enum source_component c = a->sparse_indices_component;
    if (c != SOURCE_U8 && c != SOURCE_U16 && c != SOURCE_U32)
        return doc_fail(d, at, ERR_MALFORMED, "sparse indices must be unsigned integers");
    size_t size = component_size(c);
    struct source_layout l = {
        .component = c, .rows = 1, .columns = 1, .component_bytes = size, .column_bytes = size};
    l.element_bytes = size;
    struct span indices = {a->sparse_indices_view, a->sparse_indices_offset, a->sparse_count, &l};
    struct span values = {a->sparse_values_view, a->sparse_values_offset, a->sparse_count,
                          &a->layout};
    return slice_open(src, at, &indices, &out->indices) &&
           slice_open(src, at, &values, &out->values);
}

// SIZE_MAX when it does not rise or passes the end: the failure is set.
static size_t sparse_index(struct source *src, const struct doc_at *at,
                           const struct source_accessor *a, const struct sparse *s, uint32_t i)
{
    const uint8_t *p = s->indices.bytes + i * s->indices.stride;
    uint32_t index = load_index(p, a->sparse_indices_component);
    bool rises = i == 0 || load_index(p - s->indices.stride, a->sparse_indices_component) < index;
    if (index < a->count && rises) return index;
    (void)doc_fail(&src->doc, at, ERR_MALFORMED,
                   index < a->count ? "sparse index %u does not rise"
                                    : "sparse index %u is past the last element",
                   index);
    return SIZE_MAX;
}

static bool overlay_sparse(struct source *src, const struct doc_at *at,
                           const struct source_accessor *a, float *out)
{
    struct sparse s = {0};
    if (!sparse_open(src, at, a, &s)) return false;
    CHECK(s.indices.bytes != NULL); // views of sparse data are not optional
    CHECK(s.values.bytes != NULL);
    size_t width = (size_t)a->layout.rows * a->layout.columns;
    for (uint32_t i = 0; i < a->sparse_count; i++) {
        size_t index = sparse_index(src, at, a, &s, i);
        if (index == SIZE_MAX) return false;
        decode_element(s.values.bytes + i * s.values.stride, &a->layout, out + index * width);
    }
    return true;
}

bool accessor_decode_sparse(struct source *src, const struct doc_at *at, int32_t index,
                            uint32_t *indices, float *values)
{
    const struct source_accessor *a = &src->accessors[index];
    struct sparse s = {0};
    size_t width = (size_t)a->layout.rows * a->layout.columns;
    if (!doc_work(&src->doc, at, a->sparse_count * width * sizeof(float))) return false;
    if (!sparse_open(src, at, a, &s)) return false;
    CHECK(s.indices.bytes != NULL); // views of sparse data are not optional
    CHECK(s.values.bytes != NULL);
    for (uint32_t i = 0; i < a->sparse_count; i++) {
        size_t touched = sparse_index(src, at, a, &s, i);
        if (touched == SIZE_MAX) return false;
        indices[i] = (uint32_t)touched;
        decode_element(s.values.bytes + i * s.values.stride, &a->layout, values + i * width);
    }
    return true;
}

// ---- whole accessors

bool accessor_check_bytes(struct source *src, const struct doc_at *at, int32_t index)
{
    const struct source_accessor *a = &src->accessors[index];
    struct slice base = {0};
    struct sparse s = {0};
    return base_open(src, at, a, &base) && (!a->sparse_count || sparse_open(src, at, a, &s));
}

bool accessor_decode(struct source *src, const struct doc_at *at, int32_t index, float *out)
{
    const struct source_accessor *a = &src->accessors[index];
    struct slice base = {0};
    size_t width = (size_t)a->layout.rows * a->layout.columns;
    if (!doc_work(&src->doc, at, a->count * width * sizeof(float))) return false;
    if (!base_open(src, at, a, &base)) return false;
    decode_elements(&base, a->count, &a->layout, out);
    return a->sparse_count == 0 || overlay_sparse(src, at, a, out);
}

bool accessor_decode_uint(struct source *src, const struct doc_at *at, int32_t index, uint32_t *out)
{
    struct doc *d = &src->doc;
    const struct source_accessor *a = &src->accessors[index];
    const struct source_layout *l = &a->layout;
    if (l->component != SOURCE_U8 && l->component != SOURCE_U16 && l->component != SOURCE_U32)
        return doc_fail(d, at, ERR_MALFORMED, "accessor %d must hold unsigned integers",
                        (int)index);
    struct slice base = {0};
    if (!doc_work(d, at, (size_t)a->count * l->rows * 4) || !base_open(src, at, a, &base))
        return false;
    for (uint32_t i = 0; base.bytes && i < a->count; i++)
        for (uint32_t r = 0; r < l->rows; r++)
            out[i * l->rows + r] =
                load_index(base.bytes + i * base.stride + r * l->component_bytes, l->component);
    if (a->sparse_count == 0) return true;
    struct sparse s = {0};
    if (!sparse_open(src, at, a, &s)) return false;
    CHECK(s.indices.bytes != NULL); // views of sparse data are not optional
    CHECK(s.values.bytes != NULL);
    for (uint32_t i = 0; i < a->sparse_count; i++) {
        size_t at_index = sparse_index(src, at, a, &s, i);
        if (at_index == SIZE_MAX) return false;
        for (uint32_t r = 0; r < l->rows; r++)
            out[at_index * l->rows + r] = load_index(
                s.values.bytes + i * s.values.stride + r * l->component_bytes, l->component);
    }
    return true;
}

const float *accessor_floats(struct source *src, const struct doc_at *at, int32_t index)
{
    struct doc *d = &src->doc;
    struct memo_key key = {{MEMO_FLOATS, index}};
    const float *known = memo_find(&src->memo, &key);
    if (known || d->error != ERR_OK) return d->error == ERR_OK ? known : NULL;
    const struct source_accessor *a = &src->accessors[index];
    size_t count = (size_t)a->count * a->layout.rows * a->layout.columns;
    if (!accessor_check_bytes(src, at, index)) return NULL;
    if (a->view == SCENE_NONE) doc_declare(d, count * sizeof(float));
    float *values = DOC_KEEP(d, at, float, count);
    if (!values || !accessor_decode(src, at, index, values)) return NULL;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) {
            (void)doc_fail(d, at, ERR_MALFORMED, "element %zu of accessor %d is not finite",
                           i / ((size_t)a->layout.rows * a->layout.columns), (int)index);
            return NULL;
        }
    memo_add(&src->memo, d, at, &key, values);
    return values;
}
