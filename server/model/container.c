#include "server/model/container.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/check.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the container is used in place: little-endian machines only"
#endif

static const unsigned char magic[8] = {0x89, 'S', 'I', 'N', 'E', 'W', '\r', '\n'};

struct container_header {
    unsigned char magic[8];
    uint32_t version, section_count;
    uint64_t file_bytes, table_checksum;
    uint8_t reserved[32];
};
struct container_entry {
    uint32_t id, element_bytes;
    uint64_t offset, count, checksum;
};
_Static_assert(sizeof(struct container_header) == 64 && sizeof(struct container_entry) == 32,
               "the file format has no padding");

enum {
#define X(field, type) SECTION_##field,
    MODEL_TABLE_MAP(X)
#undef X
        SECTION_COUNT
};
static const char *const section_names[SECTION_COUNT] = {
#define X(field, type) #field,
    MODEL_TABLE_MAP(X)
#undef X
};
static const uint32_t element_bytes[SECTION_COUNT] = {
#define X(field, type) sizeof(type),
    MODEL_TABLE_MAP(X)
#undef X
};

// The tables of a model as a plain list, so that everything below is a loop.
struct section {
    const void *data;
    size_t count;
};

static void list_sections(const struct model *m, struct section sections[SECTION_COUNT])
{
#define X(field, type) sections[SECTION_##field] = (struct section){m->field, m->field##_count};
    MODEL_TABLE_MAP(X)
#undef X
}

static size_t align_up(size_t n)
{
    return (n + CONTAINER_ALIGNMENT - 1) & ~(size_t)(CONTAINER_ALIGNMENT - 1);
}

static size_t first_section_offset(void)
{
    return align_up(sizeof(struct container_header) +
                    SECTION_COUNT * sizeof(struct container_entry));
}

size_t container_size(const struct model *m)
{
    struct section sections[SECTION_COUNT];
    list_sections(m, sections);
    size_t size = first_section_offset();
    for (int i = 0; i < SECTION_COUNT; i++)
        size += align_up(sections[i].count * element_bytes[i]);
    return size;
}

void container_write(const struct model *m, uint8_t *bytes)
{
    struct section sections[SECTION_COUNT];
    struct container_entry table[SECTION_COUNT];
    list_sections(m, sections);
    size_t size = container_size(m), at = first_section_offset();
    memset(bytes, 0, size);
    for (int i = 0; i < SECTION_COUNT; i++) {
        size_t section_bytes = sections[i].count * element_bytes[i];
        if (section_bytes) memcpy(bytes + at, sections[i].data, section_bytes);
        table[i] = (struct container_entry){
            .id = (uint32_t)i + 1,
            .element_bytes = element_bytes[i],
            .offset = at,
            .count = sections[i].count,
            .checksum = XXH3_64bits(bytes + at, section_bytes),
        };
        at += align_up(section_bytes);
    }
    CHECK(at == size);
    struct container_header header = {.version = CONTAINER_VERSION,
                                      .section_count = SECTION_COUNT,
                                      .file_bytes = size,
                                      .table_checksum = XXH3_64bits(table, sizeof table)};
    memcpy(header.magic, magic, sizeof magic);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, table, sizeof table);
}

static enum err read_header(const uint8_t *bytes, size_t size_bytes, struct fault *fault)
{
    struct container_header h;
    if (size_bytes < sizeof h)
        return fault_set(fault, ERR_TRUNCATED, "a .sinew file has at least %zu bytes, this has %zu",
                         sizeof h, size_bytes);
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return fault_set(fault, ERR_MALFORMED, "not a .sinew file (magic at byte 0)");
    if (h.version != CONTAINER_VERSION || h.section_count != SECTION_COUNT)
        return fault_set(fault, ERR_VERSION,
                         "the file has format version %u with %u sections, this program reads "
                         "version %d with %d: bake again",
                         h.version, h.section_count, CONTAINER_VERSION, SECTION_COUNT);
    if (h.file_bytes != size_bytes || size_bytes < first_section_offset())
        return fault_set(fault, ERR_TRUNCATED,
                         "the file has %zu bytes, its header at byte 16 says %llu", size_bytes,
                         (unsigned long long)h.file_bytes);
    if (XXH3_64bits(bytes + sizeof h, SECTION_COUNT * sizeof(struct container_entry)) !=
        h.table_checksum)
        return fault_set(fault, ERR_MALFORMED,
                         "the section table at byte %zu is damaged: bake again", sizeof h);
    return ERR_OK;
}

static enum err read_section(const uint8_t *bytes, size_t size_bytes, int index,
                             struct section *out, struct fault *fault)
{
    struct container_entry e;
    size_t at = sizeof(struct container_header) + (size_t)index * sizeof e;
    memcpy(&e, bytes + at, sizeof e);
    if (e.id != (uint32_t)index + 1 || e.element_bytes != element_bytes[index])
        return fault_set(fault, ERR_VERSION,
                         "section %s at byte %zu has another layout: bake again",
                         section_names[index], at);
    if (e.offset % CONTAINER_ALIGNMENT != 0 || e.offset > size_bytes ||
        e.count > (size_bytes - e.offset) / e.element_bytes)
        return fault_set(fault, ERR_MALFORMED, "section %s at byte %zu lies outside the file",
                         section_names[index], at);
    const uint8_t *data = bytes + e.offset;
    if (XXH3_64bits(data, e.count * e.element_bytes) != e.checksum)
        return fault_set(fault, ERR_MALFORMED,
                         "section %s at byte %llu does not match its checksum: bake again",
                         section_names[index], (unsigned long long)e.offset);
    *out = (struct section){data, e.count};
    return ERR_OK;
}

enum err container_read(const uint8_t *bytes, size_t size_bytes, struct model *out,
                        struct fault *fault)
{
    CHECK((uintptr_t)bytes % CONTAINER_ALIGNMENT == 0);
    enum err e = read_header(bytes, size_bytes, fault);
    if (e != ERR_OK) return e;
    struct section sections[SECTION_COUNT];
    for (int i = 0; i < SECTION_COUNT; i++) {
        e = read_section(bytes, size_bytes, i, &sections[i], fault);
        if (e != ERR_OK) return e;
    }
    struct model m = {0};
#define X(field, type)                                                                             \
    m.field = sections[SECTION_##field].data;                                                      \
    m.field##_count = sections[SECTION_##field].count;
    MODEL_TABLE_MAP(X)
#undef X
    *out = m;
    return ERR_OK;
}
