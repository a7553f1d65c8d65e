#include <meshoptimizer.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "server/bake/builder.h"
#include "server/character/surface/normals.h"

// Indices in vertex-cache order, welds, the corners that meet at each weld, and normals for parts
// that have none.

static bool slot_mirrors(const struct builder *b, const struct xform *model_from_node,
                         uint16_t slot)
{
    const struct model_slot *s = &b->model.slots[slot];
    struct xform bind = xform_from_mat34(&s->inverse_bind);
    struct xform whole = xform_mul(&model_from_node[s->node], &bind);
    return xform_det3(&whole) < 0;
}

// A part is wound the other way where its node, or most of its vertices' first joints, mirror in
// the rest pose (glTF 2.0, 3.7.4).
static bool part_is_mirrored(const struct builder *b, const struct xform *model_from_node,
                             const struct model_part *p)
{
    uint32_t mirrored = 0;
    uint16_t last_slot = 0;
    bool last = false, known = false;
    for (uint32_t v = 0; v < p->vertex_count; v++) {
        uint16_t slot = b->influence_slots[b->influence_first[p->vertex_first + v]];
        if (!known || slot != last_slot) last = slot_mirrors(b, model_from_node, slot);
        known = true;
        last_slot = slot;
        mirrored += last;
    }
    return mirrored > p->vertex_count / 2;
}

static struct xform *rest_transforms(struct builder *b)
{
    struct xform *out = BUILDER_ARRAY(b, struct xform, b->model.nodes_count);
    for (size_t i = 0; out && i < b->model.nodes_count; i++) {
        const struct model_node *n = &b->model.nodes[i];
        struct xform local = n->flags & MODEL_NODE_SHEARED ? xform_from_mat34(&n->rest_local)
                                                           : xform_from_trs(&n->rest);
        out[i] = n->parent == MODEL_NONE ? local : xform_mul(&out[n->parent], &local);
    }
    return out;
}

bool topology_is_crowded(struct builder *b, const uint32_t *indices, size_t index_count,
                         size_t vertex_count)
{
    enum { CORNERS_MAX = 512 };
    memset(b->corner_counts, 0, vertex_count * sizeof *b->corner_counts);
    for (size_t i = 0; i < index_count; i++)
        if (++b->corner_counts[indices[i]] > CORNERS_MAX) return true;
    return false;
}

static void copy_part_indices(struct builder *b, const struct scene_primitive *p,
                              const struct model_part *part, uint32_t *indices)
{
    if (p->topology == SCENE_TRIANGLES && p->index_count > 0 &&
        !topology_is_crowded(b, p->indices, p->index_count, p->vertex_count))
        meshopt_optimizeVertexCache(indices, p->indices, p->index_count, p->vertex_count);
    else if (p->index_count > 0)
        memcpy(indices, p->indices, p->index_count * sizeof *indices);
    for (uint32_t i = 0; i < p->index_count; i++)
        indices[i] += part->vertex_first;
    if (!(part->flags & MODEL_PART_FLIPPED)) return;
    for (uint32_t i = 0; i + 2 < p->index_count; i += 3) {
        uint32_t second = indices[i + 1];
        indices[i + 1] = indices[i + 2];
        indices[i + 2] = second;
    }
}

// Each part begins at a multiple of three, so that a corner's triangle is found without its part;
// the places between (after lines and points) hold vertex 0.
static uint64_t whole_triangles(uint64_t index_count)
{
    return (index_count + 2) / 3 * 3;
}

static enum err make_indices(struct builder *b)
{
    uint64_t total = 0;
    for (size_t i = 0; i < b->model.parts_count; i++)
        total += whole_triangles(b->primitive_of_part[i]->index_count);
    uint32_t *indices = BUILDER_ARRAY(b, uint32_t, total);
    struct xform *rest = rest_transforms(b);
    b->corner_counts = BUILDER_ARRAY(b, uint32_t, b->model.vertex_lanes_count);
    if (!indices || !rest || !b->corner_counts || total > UINT32_MAX / 2)
        return builder_no_memory(b);
    uint32_t at = 0;
    for (size_t i = 0; i < b->model.parts_count; i++) {
        const struct scene_primitive *p = b->primitive_of_part[i];
        struct model_part *part = &b->parts[i];
        part->index_first = at;
        part->index_count = p->index_count;
        if (p->topology == SCENE_TRIANGLES && part_is_mirrored(b, rest, part))
            part->flags |= MODEL_PART_FLIPPED;
        copy_part_indices(b, p, part, indices + at);
        at += (uint32_t)whole_triangles(p->index_count);
    }
    b->model.indices = indices;
    b->model.indices_count = at;
    return ERR_OK;
}

// Welds join vertices at one place of one space: a skin's bind space or a rigid node's own.
struct weld_key {
    uint32_t space, bits[3], vertex;
};

static int weld_order(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b; // lexicographic over space, position bits, vertex
    for (int i = 0; i < 5; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

// One list of corners a place, of which every vertex there gets a copy when it turns (turn_map):
// where a hostile file stacks its vertices, a weld takes this many and the next one begins.
enum { STACKED = 16 };

static void join_places(const struct weld_key *keys, size_t count, size_t largest, uint32_t *weld)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && taken < largest &&
                    memcmp(&keys[i], &keys[i - 1], offsetof(struct weld_key, vertex)) == 0;
        weld[keys[i].vertex] = same ? weld[keys[i - 1].vertex] : keys[i].vertex;
        taken = same ? taken + 1 : 1;
    }
}

// sizes: [vertex] scratch of zeros.
static bool is_stacked(const struct builder *b, const uint32_t *weld, uint32_t *sizes)
{
    uint64_t copies = 0, corners = b->model.indices_count;
    for (size_t v = 0; v < b->model.vertex_lanes_count; v++)
        sizes[weld[v]]++;
    for (size_t i = 0; i < corners; i++)
        copies += sizes[weld[b->model.indices[i]]];
    return copies > STACKED * corners;
}

static enum err make_welds(struct builder *b)
{
    size_t count = b->model.vertex_lanes_count;
    uint32_t *sizes = BUILDER_ARRAY(b, uint32_t, count);
    struct weld_key *keys = BUILDER_ARRAY(b, struct weld_key, count);
    uint32_t *weld = BUILDER_ARRAY(b, uint32_t, count);
    if (!keys || !weld || !sizes) return builder_no_memory(b);
    for (size_t i = 0; i < b->model.parts_count; i++) {
        const struct model_part *p = &b->parts[i];
        uint32_t space = p->flags & MODEL_PART_SKINNED ? (uint32_t)p->skin : p->node | 1u << 31;
        for (uint32_t v = p->vertex_first; v < p->vertex_first + p->vertex_count; v++) {
            float place[3];
            for (int r = 0; r < 3; r++)
                place[r] = b->positions[(size_t)v * 3 + (size_t)r] + 0.0f; // -0 becomes 0
            keys[v] = (struct weld_key){.space = space, .vertex = v};
            memcpy(keys[v].bits, place, sizeof place);
        }
    }
    qsort(keys, count, sizeof *keys, weld_order);
    join_places(keys, count, count, weld);
    if (is_stacked(b, weld, sizes)) join_places(keys, count, STACKED, weld);
    if (!topology_split_welds(b, weld)) return builder_no_memory(b);
    b->model.weld = weld;
    b->model.weld_count = count;
    return ERR_OK;
}

static bool index_is_triangle_corner(const struct model_part *p)
{
    return p->topology == MODEL_TRIANGLES;
}

static enum err make_corners(struct builder *b)
{
    size_t vertices = b->model.weld_count;
    uint32_t *first = BUILDER_ARRAY(b, uint32_t, vertices + 1);
    uint32_t *corners = BUILDER_ARRAY(b, uint32_t, b->model.indices_count);
    uint32_t *fill = BUILDER_ARRAY(b, uint32_t, vertices);
    if (!first || !corners || !fill) return builder_no_memory(b);
    for (size_t i = 0; i < b->model.parts_count; i++) {
        const struct model_part *p = &b->parts[i];
        if (!index_is_triangle_corner(p)) continue;
        for (uint32_t k = p->index_first; k < p->index_first + p->index_count; k++)
            first[b->model.weld[b->model.indices[k]] + 1]++;
    }
    for (size_t v = 0; v < vertices; v++) {
        first[v + 1] += first[v];
        fill[v] = first[v];
    }
    for (size_t i = 0; i < b->model.parts_count; i++) {
        const struct model_part *p = &b->parts[i];
        if (!index_is_triangle_corner(p)) continue;
        for (uint32_t k = p->index_first; k < p->index_first + p->index_count; k++)
            corners[fill[b->model.weld[b->model.indices[k]]]++] = k;
    }
    b->model.corner_first = first;
    b->model.corner_first_count = vertices + 1;
    b->model.corners = corners;
    b->model.corners_count = first[vertices];
    return ERR_OK;
}

// Source normals where given (made unit); smooth ones elsewhere, and +Y where no triangle meets.
// Smooth normals follow `indices`; in base space a flipped part's outside is the other side.
static void choose_normals(struct builder *b, const float *smooth)
{
    uint32_t made = 0, repaired = 0;
    for (size_t i = 0; i < b->model.parts_count; i++) {
        const struct scene_primitive *p = b->primitive_of_part[i];
        float outward = b->parts[i].flags & MODEL_PART_FLIPPED ? -1.0f : 1.0f;
        made += p->normals == NULL && p->topology == SCENE_TRIANGLES;
        for (uint32_t v = 0; v < p->vertex_count; v++) {
            size_t at = (size_t)(b->parts[i].vertex_first + v) * 3;
            double n[3] = {0};
            if (p->normals) {
                n[0] = (double)p->normals[v].x;
                n[1] = (double)p->normals[v].y;
                n[2] = (double)p->normals[v].z;
            }
            double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
            repaired += p->normals && !(length > 0.5 && length < 2);
            for (int r = 0; r < 3; r++)
                b->normals[at + (size_t)r] =
                    length > 1e-6 ? (float)(n[r] / length) : outward * smooth[at + (size_t)r];
            if (b->normals[at] == 0 && b->normals[at + 1] == 0 && b->normals[at + 2] == 0)
                b->normals[at + 1] = 1;
        }
    }
    if (made)
        scene_note(b->scene, NOTE_REPAIRED, made,
                   "part without normals: smooth ones were made from its triangles");
    if (repaired)
        scene_note(b->scene, NOTE_REPAIRED, repaired, "normal far from unit length: made unit");
}

static enum err make_normals(struct builder *b)
{
    size_t count = b->model.vertex_lanes_count;
    float *smooth = BUILDER_ARRAY(b, float, count * 3);
    b->normals = BUILDER_ARRAY(b, float, count * 3);
    if (!smooth || !b->normals) return builder_no_memory(b);
    struct normals_mesh mesh = {
        .vertex_count = count,
        .positions = b->positions,
        .weld = b->model.weld,
        .corner_first = b->model.corner_first,
        .corners = b->model.corners,
        .indices = b->model.indices,
    };
    bool needed = false;
    for (size_t i = 0; i < b->model.parts_count; i++)
        needed = needed || !b->primitive_of_part[i]->normals;
    if (needed) normals_make(&mesh, smooth);
    choose_normals(b, smooth);
    return ERR_OK;
}

enum err compile_topology(struct builder *b)
{
    enum err e = make_indices(b);
    if (e == ERR_OK) e = make_welds(b);
    if (e == ERR_OK) e = make_corners(b);
    if (e == ERR_OK) e = make_normals(b);
    return e;
}
