#include "server/api/edition.h"

#include <mbedtls/sha256.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/edit.h"

struct edition_own {
    struct edition shown;
    atomic_int refs;
};

static void add(mbedtls_sha256_context *sha, const void *bytes, size_t size_bytes)
{
    CHECK(mbedtls_sha256_update_ret(sha, bytes, size_bytes) == 0);
}

static void finish(mbedtls_sha256_context *sha, uint8_t hash[32], char tag[EDITION_TAG_BYTES])
{
    CHECK(mbedtls_sha256_finish_ret(sha, hash) == 0);
    mbedtls_sha256_free(sha);
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(tag + 2 * i, 3, "%02x", hash[i]);
}

static void start(mbedtls_sha256_context *sha)
{
    mbedtls_sha256_init(sha);
    CHECK(mbedtls_sha256_starts_ret(sha, 0) == 0);
}

static void tag_topology(struct edition *e)
{
    const struct model *m = e->model;
    mbedtls_sha256_context sha;
    uint8_t hash[32];
    start(&sha);
    add(&sha, m->vertex_lanes, m->vertex_lanes_count * sizeof *m->vertex_lanes);
    add(&sha, m->parts, m->parts_count * sizeof *m->parts);
    add(&sha, m->indices, m->indices_count * sizeof *m->indices);
    finish(&sha, hash, e->topology);
}

// An example's state is its pose, its deltas, and the base surface under them.
static void tag_all(struct edition *e)
{
    const struct model *m = e->model;
    mbedtls_sha256_context sha;
    uint8_t base[32], hash[32];
    size_t delta = 0;
    start(&sha);
    add(&sha, m->rest, m->rest_count * sizeof *m->rest);
    finish(&sha, base, e->base_tag);
    for (size_t i = 0; i < m->examples_count; i++) {
        start(&sha);
        add(&sha, base, sizeof base);
        add(&sha, m->example_poses + i * m->nodes_count, m->nodes_count * sizeof(struct trs));
        for (; delta < m->example_deltas_count && m->example_deltas[delta].example == i; delta++) {
            add(&sha, &m->example_deltas[delta].vertex, sizeof(uint32_t));
            add(&sha, &m->example_deltas[delta].delta, sizeof(struct vec3));
        }
        finish(&sha, hash, e->tags[i]);
    }
    for (size_t r = 0; m->root_weights_count > 0 && r < m->roots_count; r++) {
        size_t vertices = model_vertex_count(m);
        start(&sha);
        add(&sha, m->root_weights + r * vertices, vertices * sizeof *m->root_weights);
        finish(&sha, hash, e->root_tags[r]);
    }
    for (uint32_t i = 0; i < m->face_corrections_count; i++) {
        const struct model_face_correction *c = &m->face_corrections[i];
        if (!edit_correction_leads(m, i)) continue;
        start(&sha);
        add(&sha, base, sizeof base);
        for (uint32_t k = i; k < m->face_corrections_count; k++) {
            const struct model_face_correction *row = &m->face_corrections[k];
            const struct model_channel *channel = &m->channels[row->channel];
            if (row->dial != c->dial || row->at != c->at ||
                channel->shape != m->channels[c->channel].shape)
                continue;
            add(&sha, m->morph_blocks + channel->block_first,
                channel->block_count * sizeof *m->morph_blocks);
        }
        finish(&sha, hash, e->correction_tags[i]);
    }
    tag_topology(e);
}

struct name_place {
    const char *name;
    uint32_t node;
};

static int name_order(const void *a, const void *b)
{
    return strcmp(((const struct name_place *)a)->name, ((const struct name_place *)b)->name);
}

static bool count_all(struct edition *e)
{
    const struct model *m = e->model;
    size_t nodes = m->nodes_count;
    struct name_place *sorted = calloc(nodes + 1, sizeof *sorted);
    e->moved = calloc(m->examples_count + 1, sizeof *e->moved);
    e->name_is_alone = calloc(nodes + 1, sizeof *e->name_is_alone);
    bool fine = sorted && e->moved && e->name_is_alone;
    for (size_t i = 0; fine && i < m->example_deltas_count; i++)
        e->moved[m->example_deltas[i].example]++;
    for (uint32_t i = 0; fine && i < nodes; i++)
        sorted[i] = (struct name_place){model_text(m, m->nodes[i].name), i};
    if (fine) qsort(sorted, nodes, sizeof *sorted, name_order);
    for (size_t i = 0; fine && i < nodes; i++) {
        const char *name = sorted[i].name;
        bool before = i > 0 && strcmp(sorted[i - 1].name, name) == 0;
        bool after = i + 1 < nodes && strcmp(sorted[i + 1].name, name) == 0;
        e->name_is_alone[sorted[i].node] = *name && *name != '#' && !before && !after;
    }
    free(sorted);
    return fine;
}

enum err edition_build(struct model_file *file, const struct edition_options *options,
                       struct edition **out, struct fault *fault)
{
    struct edition_own *own = calloc(1, sizeof *own);
    const struct model *m = model_file_model(file);
    struct edition *e = own ? &own->shown : NULL;
    if (own) e->tags = calloc(m->examples_count + 1, sizeof *e->tags);
    if (own) e->correction_tags = calloc(m->face_corrections_count + 1, sizeof *e->correction_tags);
    if (!own || !e->tags || !e->correction_tags) {
        if (own) {
            free(e->tags);
            free(e->correction_tags);
        }
        free(own);
        return fault_set(fault, ERR_MEMORY, "no memory for the character %s", options->name);
    }
    atomic_init(&own->refs, 1);
    e->file = model_file_ref(file);
    e->model = m;
    tag_all(e);
    if (!count_all(e)) {
        edition_unref(e);
        return fault_set(fault, ERR_MEMORY, "no memory for the character %s", options->name);
    }
    struct role_options role = {.name = options->name,
                                .number = options->number,
                                .version = options->version,
                                .like = options->like,
                                .level = options->level};
    enum err err = role_build(file, &role, &e->role, fault);
    if (err == ERR_OK)
        *out = e;
    else
        edition_unref(e);
    return err;
}

struct edition *edition_ref(struct edition *e)
{
    CHECK(atomic_fetch_add(&((struct edition_own *)e)->refs, 1) > 0);
    return e;
}

void edition_unref(struct edition *e)
{
    struct edition_own *own = (struct edition_own *)e;
    if (!e || atomic_fetch_sub(&own->refs, 1) != 1) return;
    role_unref(e->role);
    model_file_unref(e->file);
    free(e->tags);
    free(e->correction_tags);
    free(e->moved);
    free(e->name_is_alone);
    free(own);
}

int32_t edition_find(const struct model *m, const char *driver, const char *example)
{
    for (size_t i = 0; i < m->examples_count; i++)
        if (strcmp(model_text(m, m->examples[i].name), example) == 0 &&
            strcmp(model_text(m, m->drivers[m->examples[i].driver].name), driver) == 0)
            return (int32_t)i;
    return EDIT_ABSENT;
}

int32_t edition_place(const struct model *m, const char *kind, const char *driver, const char *item)
{
    if (strcmp(kind, "base") == 0) return EDIT_BASE;
    if (strcmp(kind, "correction") == 0) return edit_correction_find(m, item);
    if (strcmp(kind, "root") != 0) return edition_find(m, driver, item);
    for (uint32_t r = 0; r < m->roots_count; r++)
        if (strcmp(model_text(m, m->roots[r].name), item) == 0) return edit_root(r);
    return EDIT_ABSENT;
}

const char *edition_tag(const struct edition *e, int32_t place)
{
    static const char absent[EDITION_TAG_BYTES] = "00000000000000000000000000000000";
    if (place == EDIT_ABSENT) return absent;
    if (place == EDIT_BASE) return e->base_tag;
    if (edit_is_correction(place)) return e->correction_tags[edit_correction_of(place)];
    return edit_is_root(place) ? e->root_tags[edit_root_of(place)] : e->tags[place];
}
