#include "server/bake/node_read.h"

#include <math.h>

#include "common/check.h"

// ---- transforms

static void read_matrix(struct doc *d, const struct doc_at *at, struct scene_node *n)
{
    float m[16];
    struct doc_at matrix_at = doc_member(at, "matrix");
    if (!matrix_at.value || !doc_floats(d, at, "matrix", m, 16)) return;
    n->has_matrix = true;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            n->local.col[c][r] = (double)m[c * 4 + r];
    if (m[3] != 0.0F || m[7] != 0.0F || m[11] != 0.0F || m[15] != 1.0F)
        scene_note(d->scene, NOTE_REPAIRED, 1, "node matrices whose last row is not 0 0 0 1");
    n->matrix_is_exact = xform_to_trs(&n->local, &n->rest);
}

static void read_trs(struct doc *d, const struct doc_at *at, struct scene_node *n)
{
    float t[3] = {0, 0, 0}, r[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1};
    bool given = doc_floats(d, at, "translation", t, 3);
    given = doc_floats(d, at, "rotation", r, 4) || given;
    given = doc_floats(d, at, "scale", s, 3) || given;
    if (n->has_matrix) {
        if (given)
            scene_note(d->scene, NOTE_REPAIRED, 1,
                       "nodes with both a matrix and translation, rotation or scale: the matrix "
                       "counts");
        return;
    }
    double length = sqrt((double)r[0] * (double)r[0] + (double)r[1] * (double)r[1] +
                         (double)r[2] * (double)r[2] + (double)r[3] * (double)r[3]);
    if (fabs(length - 1) > 1e-3)
        scene_note(d->scene, NOTE_REPAIRED, 1, "node rotations that are not unit, normalised");
    n->rest = (struct trs){{t[0], t[1], t[2]},
                           quat_normalise((struct quat){r[0], r[1], r[2], r[3]}),
                           {s[0], s[1], s[2]}};
    n->matrix_is_exact = true;
    n->local = xform_from_trs(&n->rest);
}

static void read_weights(struct doc *d, const struct doc_at *at, struct scene_node *n)
{
    struct doc_list list = doc_list(d, at, "weights");
    float *weights = DOC_KEEP(d, &list.at, float, list.count);
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at item = doc_item(&list, i);
        double w = doc_value_number(d, &item);
        if (fabs(w) > 1e30) (void)doc_fail(d, &item, ERR_MALFORMED, "%g is no weight", w);
        weights[i] = (float)w;
    }
    if (d->error != ERR_OK) return;
    n->weight_count = list.count;
    n->weights = weights;
}

static void read_node(struct source *src, const struct doc_at *at, struct scene_node *n)
{
    struct doc *d = &src->doc;
    n->parent = n->mesh = n->skin = SCENE_NONE;
    if (!doc_is_object(d, at)) return;
    n->name = doc_text_kept(d, at, "name");
    n->mesh = doc_index(d, at, "mesh", src->mesh_count);
    n->skin = doc_index(d, at, "skin", src->skin_count);
    if (n->skin != SCENE_NONE && n->mesh == SCENE_NONE) {
        scene_note(d->scene, NOTE_LEFT_OUT, 1, "skins of nodes that have no mesh");
        n->skin = SCENE_NONE;
    }
    read_matrix(d, at, n);
    read_trs(d, at, n);
    read_weights(d, at, n);
    if (d->error == ERR_OK && !xform_is_finite(&n->local))
        (void)doc_fail(d, at, ERR_MALFORMED, "the transform is not finite");
}

// ---- hierarchy

static void read_children(struct source *src, const struct doc_at *at, int32_t parent)
{
    struct doc *d = &src->doc;
    struct doc_list list = doc_list(d, at, "children");
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at item = doc_item(&list, i);
        int32_t child = doc_value_index(d, &item, src->node_count);
        if (d->error != ERR_OK) return;
        struct scene_node *n = &d->scene->nodes[child];
        if (n->parent == parent)
            scene_note(d->scene, NOTE_REPAIRED, 1, "children listed twice by the same node");
        else if (n->parent != SCENE_NONE)
            (void)doc_fail(d, &item, ERR_MALFORMED, "node %d is a child of node %d already",
                           (int)child, (int)n->parent);
        n->parent = parent;
    }
}

// Every node has at most one parent, so what never reaches a root runs in a circle.
static void refuse_cycles(struct source *src, const struct doc_at *list_at)
{
    struct doc *d = &src->doc;
    const struct scene_node *nodes = d->scene->nodes;
    uint32_t *trail = DOC_SCRATCH(d, list_at, uint32_t, src->node_count); // 0 = not visited
    if (!trail) return;
    for (uint32_t start = 0; start < src->node_count; start++) {
        int32_t at = (int32_t)start;
        while (at != SCENE_NONE && trail[at] == 0) {
            trail[at] = start + 1;
            at = nodes[at].parent;
        }
        if (at == SCENE_NONE || trail[at] != start + 1) continue;
        struct doc_at node = {.up = list_at, .index = at}, children = {&node, "children", 0, NULL};
        (void)doc_fail(d, &children, ERR_MALFORMED, "node %d is its own ancestor", (int)at);
        return;
    }
}

// ---- scenes

static void mark_listed(struct source *src, const struct doc_at *scene_at)
{
    struct doc *d = &src->doc;
    struct doc_list list = doc_list(d, scene_at, "nodes");
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at item = doc_item(&list, i);
        int32_t node = doc_value_index(d, &item, src->node_count);
        if (d->error != ERR_OK) return;
        if (d->scene->nodes[node].parent != SCENE_NONE)
            scene_note(d->scene, NOTE_REPAIRED, 1, "scene nodes that are children of others");
        d->scene->nodes[node].in_default_scene = true;
    }
}

static void mark_roots(struct source *src)
{
    for (uint32_t i = 0; i < src->node_count; i++)
        if (src->doc.scene->nodes[i].parent == SCENE_NONE)
            src->doc.scene->nodes[i].in_default_scene = true;
}

// What hangs below a marked node is in the scene too. Climbs until it meets something decided
// and hands the answer back down, so that every node is passed twice at most.
static void mark_descendants(struct source *src, const struct doc_at *list_at)
{
    struct doc *d = &src->doc;
    struct scene_node *nodes = d->scene->nodes;
    bool *decided = DOC_SCRATCH(d, list_at, bool, src->node_count);
    int32_t *trail = DOC_SCRATCH(d, list_at, int32_t, src->node_count);
    if (!decided || !trail) return;
    for (uint32_t start = 0; start < src->node_count; start++) {
        uint32_t depth = 0;
        int32_t at = (int32_t)start;
        while (at != SCENE_NONE && !decided[at] && !nodes[at].in_default_scene) {
            trail[depth++] = at;
            at = nodes[at].parent;
        }
        bool inside = at != SCENE_NONE && nodes[at].in_default_scene;
        while (depth > 0) {
            nodes[trail[--depth]].in_default_scene = inside;
            decided[trail[depth]] = true;
        }
    }
}

static void read_scenes(struct source *src, const struct doc_at *root, const struct doc_at *nodes)
{
    struct doc *d = &src->doc;
    struct doc_list scenes = doc_list(d, root, "scenes");
    int32_t chosen = doc_index(d, root, "scene", scenes.count);
    if (d->error != ERR_OK) return;
    for (uint32_t i = 0; i < scenes.count; i++) {
        struct doc_at at = doc_item(&scenes, i);
        if (!doc_is_object(d, &at)) return;
    }
    if (scenes.count > 1)
        scene_note(d->scene, NOTE_LEFT_OUT, scenes.count - 1, "scenes that are not the default");
    if (scenes.count > 0) {
        struct doc_at at = doc_item(&scenes, chosen == SCENE_NONE ? 0 : (uint32_t)chosen);
        mark_listed(src, &at);
    } else {
        mark_roots(src);
    }
    if (d->error == ERR_OK) mark_descendants(src, nodes);
}

bool node_read(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d);
    struct doc_list list = doc_list(d, &root, "nodes");
    d->scene->nodes = DOC_KEEP(d, &list.at, struct scene_node, list.count);
    if (d->error != ERR_OK) return false;
    src->node_count = d->scene->node_count = list.count;
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        read_node(src, &at, &d->scene->nodes[i]);
    }
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        read_children(src, &at, (int32_t)i);
    }
    if (d->error == ERR_OK) refuse_cycles(src, &list.at);
    if (d->error == ERR_OK) read_scenes(src, &root, &list.at);
    return d->error == ERR_OK;
}
