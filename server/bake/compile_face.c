#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/face_bake.h"
#include "server/bake/rig_references.h"

// Faces (method B): parameters, corrections of blendshapes for customised bones, pull-back; and a
// VRM's expressions. Each piece has a file of its own.

void face_show(struct face_bake *k)
{
    struct model *m = &k->b->model;
#define SHOW(table, list)                                                                          \
    m->table = k->list;                                                                            \
    m->table##_count = k->list##_count
    SHOW(parameters, parameters);
    SHOW(face_moves, moves);
    SHOW(face_mixes, mixes);
    SHOW(face_options, options);
    SHOW(face_bones, bones);
    SHOW(face_pulls, pulls);
    SHOW(face_dials, dials);
    SHOW(face_terms, terms);
    SHOW(face_corrections, corrections);
    SHOW(face_rules, rules);
    SHOW(channels, channels);
    SHOW(morph_blocks, morph_blocks);
#undef SHOW
}

static enum err start(struct face_bake *k)
{
    const struct model *m = &k->b->model;
    size_t lanes = m->blocks_count * MODEL_LANES;
    k->own_channels = (uint32_t)m->channels_count;
    k->vertex_of_lane = BUILDER_ARRAY(k->b, uint32_t, lanes);
    if (!k->vertex_of_lane) return builder_no_memory(k->b);
    memset(k->vertex_of_lane, 0xFF, lanes * sizeof *k->vertex_of_lane);
    for (uint32_t v = 0; v < m->vertex_lanes_count; v++)
        k->vertex_of_lane[m->vertex_lanes[v]] = v;
    for (size_t i = 0; i < m->channels_count; i++) {
        struct model_channel *c = FACE_ADD(k, channels);
        if (!c) return builder_no_memory(k->b);
        *c = m->channels[i];
    }
    k->morph_blocks_capacity = m->morph_blocks_count;
    k->morph_blocks = BUILDER_ARRAY(k->b, struct model_morph_block, m->morph_blocks_count);
    if (!k->morph_blocks) return builder_no_memory(k->b);
    if (m->morph_blocks_count > 0)
        memcpy(k->morph_blocks, m->morph_blocks, m->morph_blocks_count * sizeof *k->morph_blocks);
    k->morph_blocks_count = m->morph_blocks_count;
    return ERR_OK;
}

static uint32_t node_of_vertex(const struct builder *b, uint32_t v)
{
    size_t part = 0;
    while (v >= b->parts[part].vertex_first + b->parts[part].vertex_count)
        part++;
    return b->parts[part].node;
}

static bool is_nothing(const double d[3])
{
    return (float)d[0] == 0 && (float)d[1] == 0 && (float)d[2] == 0;
}

// One correction channel of base channel `of` for what `node` shows. UINT32_MAX: nothing there.
static enum err add_channel(struct face_bake *k, uint32_t of, uint32_t node,
                            const double (*deltas)[3], uint32_t *out)
{
    const struct model *m = &k->b->model;
    uint32_t first = (uint32_t)k->morph_blocks_count;
    struct model_morph_block *block = NULL;
    for (uint32_t lane = 0; lane < m->blocks_count * MODEL_LANES; lane++) {
        uint32_t v = k->vertex_of_lane[lane];
        if (lane % MODEL_LANES == 0) block = NULL;
        if (v == UINT32_MAX || is_nothing(deltas[v]) || node_of_vertex(k->b, v) != node) continue;
        if (!block) {
            block = FACE_ADD(k, morph_blocks);
            if (!block) return builder_no_memory(k->b);
            *block = (struct model_morph_block){.block = lane / MODEL_LANES};
        }
        for (int r = 0; r < 3; r++)
            block->position[r][lane % MODEL_LANES] = (float)deltas[v][r];
    }
    *out = UINT32_MAX;
    if (k->morph_blocks_count == first) return ERR_OK;
    struct model_channel *c = FACE_ADD(k, channels);
    if (!c) return builder_no_memory(k->b);
    *c = (struct model_channel){.node = node,
                                .target = UINT32_MAX,
                                .shape = k->channels[of].shape,
                                .block_first = first,
                                .block_count = (uint32_t)k->morph_blocks_count - first};
    *out = (uint32_t)k->channels_count - 1;
    return ERR_OK;
}

// The base channel whose weight is the shape's on this node: its own there, else its first.
static uint32_t base_channel(const struct face_bake *k, uint32_t shape, uint32_t node)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t c = 0; c < k->own_channels; c++) {
        if (k->channels[c].shape != shape) continue;
        if (k->channels[c].node == node) return c;
        if (first == UINT32_MAX) first = c;
    }
    return first;
}

enum err face_add_mesh(struct face_bake *k, uint32_t shape, const double (*deltas)[3],
                       uint32_t dial, const float hat[3])
{
    const struct model *m = &k->b->model;
    for (size_t i = 0; i < m->parts_count; i++) {
        uint32_t node = k->b->parts[i].node, added = UINT32_MAX;
        if (i > 0 && k->b->parts[i - 1].node == node) continue;
        uint32_t of = base_channel(k, shape, node);
        enum err e = add_channel(k, of, node, deltas, &added);
        if (e != ERR_OK) return e;
        if (added == UINT32_MAX) continue;
        struct model_face_correction *c = FACE_ADD(k, corrections);
        if (!c) return builder_no_memory(k->b);
        *c = (struct model_face_correction){added, of, dial, hat[0], hat[1], hat[2]};
    }
    face_show(k);
    return ERR_OK;
}

static enum err keep_report(struct face_bake *k)
{
    char *text = k->report ? cJSON_PrintUnformatted(k->report) : NULL;
    if (!text) return builder_no_memory(k->b);
    k->b->model.face_json = pool_copy_text(&k->b->scene->pool, text, strlen(text));
    k->b->model.face_json_count = strlen(text) + 1;
    cJSON_free(text);
    return k->b->model.face_json ? ERR_OK : builder_no_memory(k->b);
}

enum err compile_face(struct builder *b)
{
    struct face_bake k = {.b = b, .threshold = 0.02};
    if (b->settings->rig) { // names first: they are the commonest mistakes
        enum err named = rig_references_check(b->settings->rig, &b->model, b->fault);
        if (named != ERR_OK) return named;
    }
    if (b->settings->rig) k.json = rig_get(b->settings->rig->json, "face");
    const cJSON *threshold = rig_get(k.json, "threshold");
    if (threshold) k.threshold = threshold->valuedouble;
    if (!(k.threshold >= 0 && k.threshold <= 1))
        return fault_set(b->fault, ERR_MALFORMED, "/face/threshold: must be a number from 0 to 1");
    enum err e = face_read_expressions(&k);
    b->model.face_mixes = k.mixes;
    b->model.face_mixes_count = k.mixes_count;
    if (e != ERR_OK || !k.json) return e;
    e = start(&k);
    if (e == ERR_OK) e = face_read_parameters(&k);
    if (e == ERR_OK) e = face_read_rules(&k);
    if (e == ERR_OK) e = face_read_contours(&k);
    if (e != ERR_OK) return e;
    face_show(&k);
    e = face_correct(&k);
    if (e == ERR_OK) e = keep_report(&k);
    cJSON_Delete(k.report);
    face_show(&k);
    return e;
}
