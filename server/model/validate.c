#include "server/model/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/model/validate_own.h"

enum { COUNT_MAX = 1 << 30 }; // keeps every sum of two counts inside 32 bits

static enum err check_counts(const struct model *m, struct fault *f)
{
#define X(field, type)                                                                             \
    if (m->field##_count > COUNT_MAX && strcmp(#field, "image_bytes") != 0)                        \
        return validate_bad(f, #field, m->field##_count, "more entries than this program counts");
    MODEL_TABLE_MAP(X)
#undef X
    if (m->info_count != 1) return validate_bad(f, "info", 0, "there must be exactly one");
    if (m->text_count == 0 || m->text[0] != 0 || m->text[m->text_count - 1] != 0)
        return validate_bad(f, "text", 0, "it must begin and end with a zero byte");
    if (m->nodes_count == 0) return validate_bad(f, "nodes", 0, "there are none");
    if (m->vertex_lanes_count == 0) return validate_bad(f, "vertex_lanes", 0, "there are none");
    if (m->slots_count == 0 || m->slots_count > UINT16_MAX + 1u)
        return validate_bad(f, "slots", m->slots_count, "there must be 1 to 65536");
    if (m->rest_count != m->blocks_count)
        return validate_bad(f, "rest", 0, "one a block is needed");
    if (m->tangents_count != 0 && m->tangents_count != m->blocks_count)
        return validate_bad(f, "tangents", 0, "one a block is needed");
    if (m->weld_count != m->vertex_lanes_count || m->corner_first_count != m->weld_count + 1)
        return validate_bad(f, "weld", 0, "one a vertex is needed");
    return ERR_OK;
}

// Tables that are floats through and through, or whose integers are never NaN patterns (they are
// below COUNT_MAX or -1, and -1 is caught first by its own range check where it is allowed).
static enum err check_floats(const struct model *m, struct fault *f)
{
    struct {
        const char *name;
        const void *data;
        size_t bytes;
    } const tables[] = {
        {"rest", m->rest, m->rest_count * sizeof *m->rest},
        {"weights", m->weights, m->weights_count * sizeof *m->weights},
        {"tangents", m->tangents, m->tangents_count * sizeof *m->tangents},
        {"uvs", m->uvs, m->uvs_count * sizeof *m->uvs},
        {"colors", m->colors, m->colors_count * sizeof *m->colors},
        {"morph_blocks", m->morph_blocks, m->morph_blocks_count * sizeof *m->morph_blocks},
        {"morph_normal_blocks", m->morph_normal_blocks,
         m->morph_normal_blocks_count * sizeof *m->morph_normal_blocks},
        {"track_times", m->track_times, m->track_times_count * sizeof *m->track_times},
        {"track_values", m->track_values, m->track_values_count * sizeof *m->track_values},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (!validate_finite(tables[i].data, tables[i].bytes))
            return validate_bad(f, tables[i].name, 0, "it holds a number that is not finite");
    return ERR_OK;
}

static enum err check_info(const struct model *m, struct fault *f)
{
    const struct model_info *i = m->info;
    if (i->source >= m->text_count || i->generator >= m->text_count)
        return validate_bad(f, "info", 0, "a name lies outside the text");
    if (!(i->unit_m > 0) || !isfinite(i->unit_m)) return validate_bad(f, "info", 0, "unit_m");
    if (!validate_finite(i->box_min, sizeof i->box_min) ||
        !validate_finite(i->box_max, sizeof i->box_max))
        return validate_bad(f, "info", 0, "the box is not finite");
    if (i->skinning > MODEL_DQ) return validate_bad(f, "info", 0, "skinning");
    return ERR_OK;
}

static enum err check_nodes(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->nodes_count; i++) {
        const struct model_node *n = &m->nodes[i];
        if (n->parent < MODEL_NONE || n->parent >= (int64_t)i)
            return validate_bad(f, "nodes", i, "its parent must stand before it");
        if (n->name >= m->text_count)
            return validate_bad(f, "nodes", i, "its name lies outside the text");
        if (!validate_finite(&n->rest, sizeof n->rest) ||
            !validate_finite(&n->rest_local, sizeof n->rest_local))
            return validate_bad(f, "nodes", i, "its rest transform is not finite");
        const struct quat *q = &n->rest.rotation;
        float norm = q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w;
        if (!(fabsf(norm - 1) < 1e-3f))
            return validate_bad(f, "nodes", i, "its rotation is not unit");
    }
    for (size_t i = 0; i < m->slots_count; i++) {
        if (m->slots[i].node >= m->nodes_count) return validate_bad(f, "slots", i, "no such node");
        if (m->slots[i].root > 255) return validate_bad(f, "slots", i, "no such root");
        if (m->slots[i].flags & ~MODEL_SLOT_APART)
            return validate_bad(f, "slots", i, "unknown flags");
        if (!validate_finite(&m->slots[i].inverse_bind, sizeof m->slots[i].inverse_bind))
            return validate_bad(f, "slots", i, "its matrix is not finite");
    }
    for (size_t i = 0; i < m->bones_count; i++)
        if (m->bones[i].node >= m->nodes_count || m->bones[i].bone >= m->text_count)
            return validate_bad(f, "bones", i, "no such node or name");
    return ERR_OK;
}

static enum err check_part(const struct model *m, size_t i, uint64_t *vertex_next, struct fault *f)
{
    static const uint32_t corners[] = {3, 2, 1};
    const struct model_part *p = &m->parts[i];
    if (p->node >= m->nodes_count) return validate_bad(f, "parts", i, "no such node");
    if (p->material < MODEL_NONE || p->material >= (int64_t)m->materials_count)
        return validate_bad(f, "parts", i, "no such material");
    if (p->topology > MODEL_POINTS) return validate_bad(f, "parts", i, "unknown topology");
    if (p->vertex_first != *vertex_next ||
        !validate_range(p->vertex_first, p->vertex_count, m->vertex_lanes_count))
        return validate_bad(f, "parts", i, "its vertices do not follow the part before");
    *vertex_next += p->vertex_count;
    if (!validate_range(p->index_first, p->index_count, m->indices_count) ||
        p->index_count % corners[p->topology] != 0 || p->index_first % 3 != 0)
        return validate_bad(f, "parts", i,
                            "its indices lie outside the table, or begin inside a triangle");
    for (uint32_t k = 0; k < p->index_count; k++)
        if (m->indices[p->index_first + k] - p->vertex_first >= p->vertex_count)
            return validate_bad(f, "indices", p->index_first + k, "it leaves its part");
    if (!validate_range(p->uv_first, (uint64_t)p->uv_set_count * p->vertex_count,
                        m->uvs_count / 2) ||
        !validate_range(p->color_first, (uint64_t)p->color_set_count * p->vertex_count,
                        m->colors_count / 4))
        return validate_bad(f, "parts", i, "its attributes lie outside their table");
    return ERR_OK;
}

static enum err check_parts(const struct model *m, struct fault *f)
{
    uint64_t vertex_next = 0;
    for (size_t i = 0; i < m->parts_count; i++) {
        enum err e = check_part(m, i, &vertex_next, f);
        if (e != ERR_OK) return e;
    }
    if (m->indices_count % 3 != 0)
        return validate_bad(f, "indices", 0, "they end inside a triangle");
    for (size_t i = 0; i < m->indices_count; i++) // also those between parts: corners may name them
        if (m->indices[i] >= m->vertex_lanes_count)
            return validate_bad(f, "indices", i, "no such vertex");
    if (vertex_next != m->vertex_lanes_count)
        return validate_bad(f, "parts", m->parts_count, "they do not cover the vertices");
    return ERR_OK;
}

static enum err check_block_weights(const struct model *m, size_t i, struct fault *f)
{
    const struct model_block *b = &m->blocks[i];
    if (b->influence_count == 1) return ERR_OK;
    if (b->weight_first % MODEL_LANES != 0 ||
        !validate_range(b->weight_first, (uint64_t)b->influence_count * MODEL_LANES,
                        m->weights_count))
        return validate_bad(f, "blocks", i, "its weights lie outside the table");
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
        float sum = 0;
        for (uint32_t k = 0; k < b->influence_count; k++) {
            float w = m->weights[b->weight_first + k * MODEL_LANES + lane];
            if (!(w >= 0)) return validate_bad(f, "weights", b->weight_first, "it is negative");
            sum += w;
        }
        if (!(fabsf(sum - 1) <= 1e-3f))
            return validate_bad(f, "blocks", i, "a lane's weights miss 1");
    }
    return ERR_OK;
}

static enum err check_blocks(const struct model *m, struct fault *f)
{
    uint64_t lanes = 0;
    for (size_t i = 0; i < m->blocks_count; i++) {
        const struct model_block *b = &m->blocks[i];
        if (b->lane_count < 1 || b->lane_count > MODEL_LANES || b->influence_count < 1 ||
            b->influence_count > MODEL_INFLUENCES_MAX)
            return validate_bad(f, "blocks", i, "a count is out of range");
        lanes += b->lane_count;
        if (!validate_range(b->slot_first, b->influence_count, m->block_slots_count))
            return validate_bad(f, "blocks", i, "its slots lie outside the table");
        enum err e = check_block_weights(m, i, f);
        if (e != ERR_OK) return e;
    }
    if (lanes != m->vertex_lanes_count)
        return validate_bad(f, "blocks", m->blocks_count, "lanes and vertices differ in number");
    for (size_t i = 0; i < m->block_slots_count; i++)
        if (m->block_slots[i] >= m->slots_count)
            return validate_bad(f, "block_slots", i, "no such slot");
    return ERR_OK;
}

static enum err check_lanes(const struct model *m, struct fault *f)
{
    uint16_t *taken = calloc(m->blocks_count, sizeof *taken); // a bit a lane
    if (!taken) return fault_set(f, ERR_MEMORY, "no memory to check the model");
    enum err e = ERR_OK;
    for (size_t v = 0; v < m->vertex_lanes_count && e == ERR_OK; v++) {
        size_t block = m->vertex_lanes[v] / MODEL_LANES, place = m->vertex_lanes[v] % MODEL_LANES;
        if (block >= m->blocks_count || place >= m->blocks[block].lane_count)
            e = validate_bad(f, "vertex_lanes", v, "no such lane");
        else if (taken[block] >> place & 1)
            e = validate_bad(f, "vertex_lanes", v, "another vertex has that lane");
        else
            taken[block] = (uint16_t)(taken[block] | 1u << place);
    }
    free(taken);
    return e;
}

// The corners of a weld are corners of triangles, at vertices of that weld.
static enum err check_corners(const struct model *m, struct fault *f)
{
    uint8_t *is_corner = calloc(m->indices_count + 1, 1);
    if (!is_corner) return fault_set(f, ERR_MEMORY, "no memory to check the model");
    for (size_t i = 0; i < m->parts_count; i++)
        if (m->parts[i].topology == MODEL_TRIANGLES && m->parts[i].index_count > 0)
            memset(is_corner + m->parts[i].index_first, 1, m->parts[i].index_count);
    enum err e = ERR_OK;
    for (size_t v = 0; e == ERR_OK && v < m->weld_count; v++)
        for (uint32_t i = m->corner_first[v]; e == ERR_OK && i < m->corner_first[v + 1]; i++)
            if (m->corners[i] >= m->indices_count || !is_corner[m->corners[i]] ||
                m->weld[m->indices[m->corners[i]]] != v)
                e = validate_bad(f, "corners", i, "no corner of a triangle at its weld");
    free(is_corner);
    return e;
}

static enum err check_welds(const struct model *m, struct fault *f)
{
    for (size_t v = 0; v < m->weld_count; v++)
        if (m->weld[v] > v || m->weld[m->weld[v]] != m->weld[v])
            return validate_bad(f, "weld", v, "it names no first vertex");
    if (m->corner_first[0] != 0 || m->corner_first[m->weld_count] != m->corners_count)
        return validate_bad(f, "corner_first", 0, "it does not span the corners");
    for (size_t v = 0; v < m->weld_count; v++)
        if (m->corner_first[v] > m->corner_first[v + 1])
            return validate_bad(f, "corner_first", v, "it falls");
    return check_corners(m, f);
}

static enum err check_channel(const struct model *m, size_t i, struct fault *f)
{
    const struct model_channel *c = &m->channels[i];
    if (c->node >= m->nodes_count) return validate_bad(f, "channels", i, "no such node");
    if (c->shape >= m->shapes_count) return validate_bad(f, "channels", i, "no such shape");
    if (!isfinite(c->default_weight))
        return validate_bad(f, "channels", i, "its weight is not finite");
    if (!validate_range(c->block_first, c->block_count, m->morph_blocks_count) ||
        (c->has_normals &&
         !validate_range(c->normal_first, c->block_count, m->morph_normal_blocks_count)))
        return validate_bad(f, "channels", i, "its deltas lie outside the table");
    int64_t before = -1;
    for (uint32_t k = 0; k < c->block_count; k++) {
        uint32_t block = m->morph_blocks[c->block_first + k].block;
        if (block >= m->blocks_count || block <= before)
            return validate_bad(f, "morph_blocks", c->block_first + k,
                                "no such block, or out of order");
        before = block;
    }
    return ERR_OK;
}

static enum err check_shapes(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->shapes_count; i++)
        if (m->shapes[i].name >= m->text_count) return validate_bad(f, "shapes", i, "its name");
    uint32_t end = 0; // no two channels share deltas: tables are sized by how many there are
    for (size_t i = 0; i < m->channels_count; i++) {
        const struct model_channel *c = &m->channels[i];
        enum err e = check_channel(m, i, f);
        if (e != ERR_OK) return e;
        if (c->block_count == 0) continue;
        if (c->block_first < end)
            return validate_bad(f, "channels", i, "its deltas are another channel's");
        end = c->block_first + c->block_count;
    }
    return ERR_OK;
}

static enum err check_track(const struct model *m, size_t i, struct fault *f)
{
    static const uint32_t widths[] = {3, 4, 3, 1};
    const struct model_track *t = &m->tracks[i];
    if (t->path > MODEL_WEIGHTS || t->interpolation > MODEL_CUBIC || t->key_count < 1)
        return validate_bad(f, "tracks", i, "unknown path or interpolation, or no key");
    if (t->target >= (t->path == MODEL_WEIGHTS ? m->channels_count : m->nodes_count))
        return validate_bad(f, "tracks", i, "no such target");
    uint64_t values = (uint64_t)widths[t->path] * t->key_count;
    if (t->interpolation == MODEL_CUBIC) values *= 3;
    if (!validate_range(t->time_first, t->key_count, m->track_times_count) ||
        !validate_range(t->value_first, values, m->track_values_count))
        return validate_bad(f, "tracks", i, "its keys lie outside the table");
    for (uint32_t k = 1; k < t->key_count; k++)
        if (!(m->track_times[t->time_first + k] > m->track_times[t->time_first + k - 1]))
            return validate_bad(f, "tracks", i, "its times do not rise");
    return ERR_OK;
}

static enum err check_clips(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->clips_count; i++) {
        const struct model_clip *c = &m->clips[i];
        if (c->name >= m->text_count) return validate_bad(f, "clips", i, "its name");
        if (!(c->duration_s >= 0) || !isfinite(c->duration_s))
            return validate_bad(f, "clips", i, "its duration");
        if (!validate_range(c->track_first, c->track_count, m->tracks_count))
            return validate_bad(f, "clips", i, "its tracks lie outside the table");
    }
    for (size_t i = 0; i < m->tracks_count; i++) {
        enum err e = check_track(m, i, f);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}

static enum err check_material(const struct model *m, size_t i, struct fault *f)
{
    const struct model_material *a = &m->materials[i];
    const struct model_texture_use *uses[] = {&a->base_color_texture,
                                              &a->metallic_roughness_texture, &a->normal_texture,
                                              &a->occlusion_texture, &a->emissive_texture};
    if (a->name >= m->text_count || a->alpha > MODEL_ALPHA_BLEND)
        return validate_bad(f, "materials", i, "its name or alpha mode");
    if (!validate_finite(a->base_color, sizeof a->base_color) ||
        !validate_finite(a->emissive, sizeof a->emissive) || !isfinite(a->metallic) ||
        !isfinite(a->roughness) || !isfinite(a->alpha_cutoff))
        return validate_bad(f, "materials", i, "a factor is not finite");
    for (size_t k = 0; k < sizeof uses / sizeof uses[0]; k++)
        if (uses[k]->texture < MODEL_NONE || uses[k]->texture >= (int64_t)m->textures_count ||
            !validate_finite(uses[k]->offset, sizeof uses[k]->offset) ||
            !validate_finite(uses[k]->scale, sizeof uses[k]->scale) ||
            !isfinite(uses[k]->rotation) || !isfinite(uses[k]->strength))
            return validate_bad(f, "materials", i, "a texture use");
    return ERR_OK;
}

static enum err check_appearance(const struct model *m, struct fault *f)
{
    for (size_t i = 0; i < m->materials_count; i++) {
        enum err e = check_material(m, i, f);
        if (e != ERR_OK) return e;
    }
    for (size_t i = 0; i < m->textures_count; i++) {
        const struct model_texture *t = &m->textures[i];
        if (t->image < MODEL_NONE || t->image >= (int64_t)m->images_count ||
            t->basisu_image < MODEL_NONE || t->basisu_image >= (int64_t)m->images_count)
            return validate_bad(f, "textures", i, "no such image");
    }
    for (size_t i = 0; i < m->images_count; i++) {
        const struct model_image *g = &m->images[i];
        if (g->name >= m->text_count || g->mime_type >= m->text_count ||
            !validate_range(g->byte_first, g->byte_count, m->image_bytes_count))
            return validate_bad(f, "images", i, "its name or bytes");
    }
    for (size_t i = 0; i < m->notes_count; i++)
        if (m->notes[i].text >= m->text_count) return validate_bad(f, "notes", i, "its text");
    return ERR_OK;
}

static enum err check_detail_part(const struct model *m, const struct model_detail *d, size_t part,
                                  const uint8_t *used, struct fault *f)
{
    static const uint32_t corners[] = {3, 2, 1};
    const struct model_part *p = &m->parts[part];
    const struct model_detail_part *range = &m->detail_parts[d->part_first + part];
    if (!validate_range(range->index_first, range->index_count, m->detail_indices_count) ||
        range->index_count % corners[p->topology] != 0)
        return validate_bad(f, "detail_parts", d->part_first + part,
                            "its indices lie outside the table");
    for (uint32_t k = 0; k < range->index_count; k++) {
        uint32_t v = m->detail_indices[range->index_first + k];
        if (v - p->vertex_first >= p->vertex_count || !used[v])
            return validate_bad(f, "detail_indices", range->index_first + k,
                                "it leaves its part or its detail");
    }
    return ERR_OK;
}

static enum err check_detail(const struct model *m, size_t i, uint8_t *used, struct fault *f)
{
    const struct model_detail *d = &m->details[i];
    if (!isfinite(d->error) || d->error < 0) return validate_bad(f, "details", i, "its error");
    if (d->vertex_count == 0 ||
        !validate_range(d->vertex_first, d->vertex_count, m->detail_vertices_count))
        return validate_bad(f, "details", i, "its vertices lie outside the table");
    if (!validate_range(d->part_first, m->parts_count, m->detail_parts_count))
        return validate_bad(f, "details", i, "its parts lie outside the table");
    memset(used, 0, m->vertex_lanes_count);
    int64_t before = -1;
    for (uint32_t k = 0; k < d->vertex_count; k++) {
        uint32_t v = m->detail_vertices[d->vertex_first + k];
        if (v >= m->vertex_lanes_count || v <= before)
            return validate_bad(f, "detail_vertices", d->vertex_first + k,
                                "no such vertex, or unordered");
        used[v] = 1;
        before = v;
    }
    enum err e = ERR_OK;
    for (size_t part = 0; e == ERR_OK && part < m->parts_count; part++)
        e = check_detail_part(m, d, part, used, f);
    return e;
}

static enum err check_details(const struct model *m, struct fault *f)
{
    if (m->details_count > MODEL_DETAILS_MAX)
        return validate_bad(f, "details", 0, "there are too many");
    if (m->details_count == 0) return ERR_OK;
    uint8_t *used = malloc(m->vertex_lanes_count);
    if (!used) return fault_set(f, ERR_MEMORY, "no memory to check the model");
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < m->details_count; i++)
        e = check_detail(m, i, used, f);
    free(used);
    return e;
}

enum err validate_model(const struct model *m, struct fault *fault)
{
    static enum err (*const checks[])(const struct model *, struct fault *) = {
        check_counts,     check_floats,      check_info,    check_nodes,     check_parts,
        check_blocks,     check_lanes,       check_welds,   check_shapes,    check_clips,
        check_appearance, validate_drivers,  check_details, validate_extras, validate_springs,
        validate_roots,   validate_controls, validate_face,
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        enum err e = checks[i](m, fault);
        if (e != ERR_OK) return e;
    }
    return ERR_OK;
}
