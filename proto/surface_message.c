#include "proto/surface_message.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/check.h"
#include "proto/messages.h"
#include "proto/surface/codec.h"

enum {
    HEADER_BYTES = 56,
    LOD_BYTES = 16,
    SECTION_BYTES = 16,
    PACK_LEVEL = 9 // once per character and version: size before speed
};

// ---- DELTA_ZSTD: elements of c little-endian 32-bit words. Each word minus the same word of the
// element before (the first: minus 0), zigzag, then split in byte planes: all lowest bytes of word
// 0, all lowest of word 1, .., all second bytes of word 0, ... ----

static void delta_planes(const uint8_t *from, uint8_t *planes, size_t count, size_t words)
{
    for (size_t c = 0; c < words; c++) {
        uint32_t before = 0;
        for (size_t i = 0; i < count; i++) {
            struct wire_reader r = wire_read(from + (i * words + c) * 4, 4);
            uint32_t value = wire_u32(&r), delta = value - before;
            uint32_t zigzag = delta << 1 ^ (0 - (delta >> 31));
            for (size_t b = 0; b < 4; b++)
                planes[(b * words + c) * count + i] = (uint8_t)(zigzag >> (8 * b));
            before = value;
        }
    }
}

static void delta_restore(const uint8_t *planes, uint8_t *to, size_t count, size_t words)
{
    for (size_t c = 0; c < words; c++) {
        uint32_t value = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t zigzag = 0;
            for (size_t b = 0; b < 4; b++)
                zigzag |= (uint32_t)planes[(b * words + c) * count + i] << (8 * b);
            value += zigzag >> 1 ^ (0 - (zigzag & 1));
            struct wire_writer w = wire_write(to + (i * words + c) * 4, 4);
            wire_put_u32(&w, value);
        }
    }
}

// Words of one element, 0 for kinds unknown.
static size_t section_words(uint8_t kind)
{
    switch (kind) {
    case SURFACE_PARTS:
        return 10;
    case SURFACE_INDICES:
    case SURFACE_VERTICES:
        return 1;
    case SURFACE_PREDICTORS:
        return 4;
    case SURFACE_UVS:
        return 2;
    case SURFACE_COLORS:
        return 1;
    default:
        return 0;
    }
}

// ---- encoder ----

struct section_source {
    uint8_t kind, lod, set;
    const void *elements; // little-endian already: see surface_message_encode
    size_t count;
};

static size_t list_sections(const struct surface_message_source *s,
                            struct section_source list[SURFACE_SECTIONS_MAX])
{
    size_t n = 0;
#define ADD(kind, lod, set, elements, count)                                                       \
    if (elements) list[n++] = (struct section_source)                                              \
        {                                                                                          \
            (kind), (uint8_t)(lod), (uint8_t)(set), (elements), (count)                            \
        }
    for (uint32_t i = 0; i < s->lod_count; i++) {
        const struct surface_message_lod *lod = &s->lods[i];
        ADD(SURFACE_PARTS, i, 0, lod->parts, lod->part_count);
        ADD(SURFACE_VERTICES, i, 0, lod->vertices, lod->vertex_count);
        ADD(SURFACE_INDICES, i, 0, lod->indices, lod->index_count);
        ADD(SURFACE_PREDICTORS, i, 0, lod->predictors, lod->vertex_count);
    }
    for (uint32_t k = 0; k < s->uv_set_count; k++)
        ADD(SURFACE_UVS, 0, k, s->uvs[k], s->lods[0].vertex_count);
    for (uint32_t k = 0; k < s->color_set_count; k++)
        ADD(SURFACE_COLORS, 0, k, s->colors[k], s->lods[0].vertex_count);
#undef ADD
    return n;
}

static bool source_fits(const struct surface_message_source *s)
{
    if (s->lod_count < 1 || s->lod_count > SURFACE_LODS_MAX) return false;
    if (s->uv_set_count > SURFACE_UV_SETS_MAX || s->color_set_count > SURFACE_UV_SETS_MAX)
        return false;
    for (uint32_t i = 0; i < s->lod_count; i++)
        if (s->lods[i].vertex_count > SURFACE_VERTICES_MAX ||
            s->lods[i].index_count > SURFACE_INDICES_MAX ||
            s->lods[i].part_count > SURFACE_PARTS_MAX)
            return false;
    return true;
}

size_t surface_message_bound(const struct surface_message_source *source)
{
    struct section_source list[SURFACE_SECTIONS_MAX];
    if (!source_fits(source)) return 0;
    size_t size = HEADER_BYTES + (size_t)source->lod_count * LOD_BYTES;
    for (size_t i = 0, n = list_sections(source, list); i < n; i++)
        size +=
            SECTION_BYTES + 4 + ZSTD_compressBound(list[i].count * section_words(list[i].kind) * 4);
    return size;
}

static enum err put_section(struct wire_writer *w, const struct section_source *s, ZSTD_CCtx *zstd,
                            uint8_t *planes)
{
    size_t words = section_words(s->kind), unpacked = s->count * words * 4;
    const uint8_t *head_at = w->at;
    wire_put_u8(w, s->kind);
    wire_put_u8(w, s->lod);
    wire_put_u8(w, s->set);
    wire_put_u8(w, SURFACE_DELTA_ZSTD);
    wire_put_u32(w, (uint32_t)s->count);
    wire_put_u32(w, (uint32_t)unpacked);
    wire_put_u32(w, 0);
    if (w->failed) return ERR_LIMIT;
    delta_planes(s->elements, planes, s->count, words);
    size_t packed = ZSTD_compress2(zstd, w->at, (size_t)(w->end - w->at), planes, unpacked);
    if (ZSTD_isError(packed)) return ERR_LIMIT;
    struct wire_writer size = wire_write(w->begin + (head_at - w->begin) + 12, 4);
    wire_put_u32(&size, (uint32_t)packed);
    w->at += packed;
    wire_put_align4(w);
    return w->failed ? ERR_LIMIT : ERR_OK;
}

static void put_header(struct wire_writer *w, const struct surface_message_source *s,
                       size_t section_count)
{
    wire_put_u32(w, s->model);
    wire_put_u32(w, s->version);
    wire_put_u32(w, 0);
    wire_put_u16(w, (uint16_t)s->lod_count);
    wire_put_u16(w, (uint16_t)section_count);
    wire_put_f32(w, s->unit_m);
    wire_put_floats(w, s->box_min, 3);
    wire_put_floats(w, s->box_max, 3);
    wire_put_u32(w, 0);
    wire_put_u64(w, s->hash);
    for (uint32_t i = 0; i < s->lod_count; i++) {
        wire_put_u32(w, s->lods[i].vertex_count);
        wire_put_u32(w, s->lods[i].index_count);
        wire_put_u32(w, s->lods[i].part_count);
        wire_put_f32(w, s->lods[i].error);
    }
}

// Multi-byte elements are taken from memory as they lie: this machine must be little-endian, as
// every machine the build knows is.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as they lie");

enum err surface_message_encode(const struct surface_message_source *source, uint8_t *out,
                                size_t capacity_bytes, size_t *size_bytes)
{
    if (!source_fits(source)) return ERR_LIMIT;
    struct section_source list[SURFACE_SECTIONS_MAX];
    size_t section_count = list_sections(source, list), largest = 1;
    for (size_t i = 0; i < section_count; i++) {
        size_t bytes = list[i].count * section_words(list[i].kind) * 4;
        if (bytes > largest) largest = bytes;
    }
    struct wire_writer w = wire_write(out, capacity_bytes);
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    uint8_t *planes = malloc(largest);
    enum err e = zstd && planes ? ERR_OK : ERR_MEMORY;
    if (!e && ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, PACK_LEVEL)))
        e = ERR_UNSUPPORTED;
    put_header(&w, source, section_count);
    for (size_t i = 0; i < section_count && !e; i++)
        e = put_section(&w, &list[i], zstd, planes);
    free(planes);
    ZSTD_freeCCtx(zstd);
    if (e) return e;
    if (w.failed || wire_size(&w) > messages_row(MESSAGE_SURFACE)->size_max_bytes) return ERR_LIMIT;
    *size_bytes = wire_size(&w);
    return ERR_OK;
}

// ---- decoder ----

static enum err section_check(const struct surface_message *m, const struct surface_section *s)
{
    size_t words = section_words(s->kind);
    if (!words) return ERR_OK; // of a later version: left alone
    if (s->lod >= m->lod_count || s->encoding > SURFACE_DELTA_ZSTD) return ERR_MALFORMED;
    const struct surface_lod *lod = &m->lods[s->lod];
    uint32_t count = s->kind == SURFACE_PARTS     ? lod->part_count
                     : s->kind == SURFACE_INDICES ? lod->index_count
                                                  : lod->vertex_count;
    if (s->element_count != count || s->unpacked_bytes != (size_t)count * words * 4)
        return ERR_MALFORMED;
    if (s->encoding == SURFACE_RAW && s->packed_bytes != s->unpacked_bytes) return ERR_MALFORMED;
    bool per_set = s->kind == SURFACE_UVS || s->kind == SURFACE_COLORS;
    if (per_set && s->lod != 0) return ERR_MALFORMED;
    if (s->set >= (per_set ? SURFACE_UV_SETS_MAX : 1)) return ERR_MALFORMED;
    if (surface_message_find(m, s->kind, s->lod, s->set) != s) return ERR_MALFORMED; // twice
    return ERR_OK;
}

const struct surface_section *surface_message_find(const struct surface_message *m,
                                                   enum surface_section_kind kind, uint32_t lod,
                                                   uint32_t set)
{
    for (uint32_t i = 0; i < m->section_count; i++) {
        const struct surface_section *s = &m->sections[i];
        if (s->kind == kind && s->lod == lod && s->set == set) return s;
    }
    return NULL;
}

static enum err get_sections(struct wire_reader *r, struct surface_message *m)
{
    for (uint32_t i = 0; i < m->section_count; i++) {
        struct surface_section *s = &m->sections[i];
        s->kind = wire_u8(r);
        s->lod = wire_u8(r);
        s->set = wire_u8(r);
        s->encoding = wire_u8(r);
        s->element_count = wire_u32(r);
        s->unpacked_bytes = wire_u32(r);
        s->packed_bytes = wire_u32(r);
        s->packed = wire_bytes(r, s->packed_bytes);
        wire_align4(r);
        if (r->failed) return ERR_TRUNCATED;
    }
    for (uint32_t i = 0; i < m->section_count; i++) {
        enum err e = section_check(m, &m->sections[i]);
        if (e) return e;
    }
    return ERR_OK;
}

enum err surface_message_decode(const uint8_t *payload, size_t size_bytes,
                                struct surface_message *out)
{
    struct wire_reader r = wire_read(payload, size_bytes);
    struct surface_message m = {0};
    m.model = wire_u32(&r);
    m.version = wire_u32(&r);
    m.flags = wire_u32(&r);
    m.lod_count = wire_u16(&r);
    m.section_count = wire_u16(&r);
    m.unit_m = wire_f32(&r);
    wire_floats(&r, m.box_min, 3);
    wire_floats(&r, m.box_max, 3);
    (void)wire_u32(&r);
    m.hash = wire_u64(&r);
    if (r.failed) return ERR_TRUNCATED;
    if (m.lod_count < 1) return ERR_MALFORMED;
    if (m.lod_count > SURFACE_LODS_MAX || m.section_count > SURFACE_SECTIONS_MAX) return ERR_LIMIT;
    if (!wire_finite(&m.unit_m, 1) || !(m.unit_m > 0) || !wire_finite(m.box_min, 3) ||
        !wire_finite(m.box_max, 3))
        return ERR_MALFORMED;
    for (uint32_t i = 0; i < m.lod_count; i++) {
        struct surface_lod *lod = &m.lods[i];
        lod->vertex_count = wire_u32(&r);
        lod->index_count = wire_u32(&r);
        lod->part_count = wire_u32(&r);
        lod->error = wire_f32(&r);
        if (r.failed) return ERR_TRUNCATED;
        if (lod->vertex_count > SURFACE_VERTICES_MAX || lod->index_count > SURFACE_INDICES_MAX ||
            lod->part_count > SURFACE_PARTS_MAX)
            return ERR_LIMIT;
        if (!wire_finite(&lod->error, 1)) return ERR_MALFORMED;
    }
    enum err e = get_sections(&r, &m);
    if (e) return e;
    *out = m;
    return ERR_OK;
}

static bool all_below(const uint32_t *values, size_t count, uint32_t limit)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] >= limit) return false;
    return true;
}

static bool parts_fit(const struct surface_part *parts, const struct surface_lod *lod,
                      uint32_t source_count)
{
    for (uint32_t i = 0; i < lod->part_count; i++) {
        const struct surface_part *p = &parts[i];
        if (p->topology > SURFACE_POINTS) return false;
        if (p->index_first > lod->index_count || p->index_count > lod->index_count - p->index_first)
            return false;
        if (p->source_first > source_count || p->source_count > source_count - p->source_first)
            return false;
        uint32_t whole = p->topology == SURFACE_TRIANGLES ? 3
                         : p->topology == SURFACE_LINES   ? 2
                                                          : 1;
        if (p->index_count % whole != 0) return false;
    }
    return true;
}

static bool contents_fit(const struct surface_message *m, const struct surface_section *s,
                         const void *out)
{
    const struct surface_lod *lod = &m->lods[s->lod];
    uint32_t whole = m->lods[0].vertex_count; // detail 0 holds every source vertex once
    switch (s->kind) {
    case SURFACE_PARTS:
        return parts_fit(out, lod, whole);
    case SURFACE_INDICES:
        return all_below(out, s->element_count, lod->vertex_count);
    case SURFACE_VERTICES:
        return all_below(out, s->element_count, whole);
    case SURFACE_PREDICTORS:
        return surface_predictors_valid(out, s->element_count);
    case SURFACE_UVS:
        return wire_finite(out, (size_t)s->element_count * 2);
    default:
        return true;
    }
}

static enum err unpack_zstd(const struct surface_section *s, uint8_t *out)
{
    // The declared size is looked at first: the frame may not claim more than the section does.
    unsigned long long declared = ZSTD_getFrameContentSize(s->packed, s->packed_bytes);
    if (declared != s->unpacked_bytes) return ERR_MALFORMED;
    size_t got = ZSTD_decompress(out, s->unpacked_bytes, s->packed, s->packed_bytes);
    return ZSTD_isError(got) || got != s->unpacked_bytes ? ERR_MALFORMED : ERR_OK;
}

enum err surface_message_unpack(const struct surface_message *m,
                                const struct surface_section *section, void *out)
{
    size_t words = section_words(section->kind), size = section->unpacked_bytes;
    CHECK(words > 0);
    CHECK((uintptr_t)out % 4 == 0);
    enum err e = ERR_OK;
    if (section->encoding == SURFACE_RAW) {
        if (size) memcpy(out, section->packed, size);
    } else if (section->encoding == SURFACE_ZSTD) {
        e = unpack_zstd(section, out);
    } else {
        uint8_t *planes = malloc(size + 1);
        if (!planes) return ERR_MEMORY;
        e = unpack_zstd(section, planes);
        if (!e) delta_restore(planes, out, section->element_count, words);
        free(planes);
    }
    if (!e && !contents_fit(m, section, out)) e = ERR_MALFORMED;
    return e;
}
