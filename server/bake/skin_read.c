#include "server/bake/skin_read.h"

#include <string.h>

#include "server/bake/accessor.h"

enum { JOINTS_MAX = UINT16_MAX + 1 };

static const struct xform *make_binds(struct source *src, const struct doc_at *at,
                                      const float *matrices, uint32_t count)
{
    struct doc *d = &src->doc;
    struct xform *binds = DOC_KEEP(d, at, struct xform, count);
    uint32_t bad_rows = 0;
    for (uint32_t i = 0; binds && i < count; i++) {
        const float *m = matrices + 16 * (size_t)i;
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 3; r++)
                binds[i].col[c][r] = (double)m[4 * c + r];
        bad_rows += m[3] != 0 || m[7] != 0 || m[11] != 0 || m[15] != 1;
    }
    if (bad_rows)
        scene_note(d->scene, NOTE_REPAIRED, bad_rows,
                   "inverse bind matrices whose last row is not 0 0 0 1");
    return binds;
}

static const struct xform *identity_binds(struct source *src, const struct doc_at *at,
                                          uint32_t count)
{
    struct xform *binds = DOC_KEEP(&src->doc, at, struct xform, count);
    for (uint32_t i = 0; binds && i < count; i++)
        binds[i] = xform_identity();
    return binds;
}

static const struct xform *read_binds(struct source *src, const struct doc_at *skin_at,
                                      uint32_t joint_count)
{
    struct doc *d = &src->doc;
    struct doc_at at = doc_member(skin_at, "inverseBindMatrices");
    int32_t accessor = doc_index(d, skin_at, "inverseBindMatrices", src->accessor_count);
    if (accessor == SCENE_NONE) return identity_binds(src, &at, joint_count);
    const struct source_accessor *a = accessor_expect(src, &at, accessor, ACCESSOR_MAT4);
    if (!a) return NULL;
    if (a->count < joint_count) {
        (void)doc_fail(d, &at, ERR_MALFORMED, "%u matrices for %u joints", a->count, joint_count);
        return NULL;
    }
    // Only as many as there are joints: an accessor may be far longer.
    struct memo_key key = {{MEMO_BINDS, accessor, (int32_t)joint_count}};
    const struct xform *known = memo_find(&src->memo, &key);
    if (known) return known;
    const float *matrices = accessor_floats(src, &at, accessor);
    const struct xform *binds = matrices ? make_binds(src, &at, matrices, joint_count) : NULL;
    if (binds) memo_add(&src->memo, d, &at, &key, binds);
    return binds;
}

static void read_skin(struct source *src, const struct doc_at *at, struct scene_skin *skin)
{
    struct doc *d = &src->doc;
    if (!doc_is_object(d, at)) {
        (void)doc_fail(d, at, ERR_MALFORMED, "must be an object");
        return;
    }
    skin->name = doc_text_kept(d, at, "name");
    (void)doc_index(d, at, "skeleton", src->node_count);
    struct doc_list list = doc_list(d, at, "joints");
    if (d->error == ERR_OK && list.count == 0)
        (void)doc_fail(d, &list.at, ERR_MALFORMED, "a skin needs joints");
    if (list.count > JOINTS_MAX)
        (void)doc_fail(d, &list.at, ERR_LIMIT, "%u joints; a skin may have %u", list.count,
                       (unsigned)JOINTS_MAX);
    int32_t *joints = DOC_KEEP(d, &list.at, int32_t, list.count);
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at item = doc_item(&list, i);
        joints[i] = doc_value_index(d, &item, src->node_count);
    }
    if (d->error != ERR_OK) return;
    skin->joints = joints;
    skin->joint_count = list.count;
    skin->inverse_binds = read_binds(src, at, list.count);
}

bool skin_read(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d);
    struct doc_list list = doc_list(d, &root, "skins");
    d->scene->skins = DOC_KEEP(d, &list.at, struct scene_skin, list.count);
    if (d->error != ERR_OK) return false;
    d->scene->skin_count = list.count;
    for (uint32_t i = 0; i < list.count && d->error == ERR_OK; i++) {
        struct doc_at at = doc_item(&list, i);
        read_skin(src, &at, &d->scene->skins[i]);
    }
    return d->error == ERR_OK;
}

static void check_skin(struct source *src, const struct doc_at *node_at, struct scene_node *n)
{
    struct doc *d = &src->doc;
    uint32_t joint_end = src->mesh_joint_end[n->mesh];
    if (n->skin == SCENE_NONE) {
        if (joint_end > 0)
            scene_note(d->scene, NOTE_READ, 1,
                       "nodes without a skin whose mesh has skin weights: "
                       "they stay rigid");
        return;
    }
    uint32_t joint_count = d->scene->skins[n->skin].joint_count;
    if (joint_end > joint_count) {
        struct doc_at at = doc_member(node_at, "skin");
        (void)doc_fail(d, &at, ERR_MALFORMED,
                       "mesh %d uses joint %u, but skin %d has only %u joints", (int)n->mesh,
                       joint_end - 1, (int)n->skin, joint_count);
    } else if (joint_end == 0) {
        scene_note(d->scene, NOTE_REPAIRED, 1,
                   "nodes with a skin whose mesh has no skin weights: "
                   "they stay rigid");
        n->skin = SCENE_NONE;
    }
}

static void check_weights(struct source *src, const struct doc_at *node_at, struct scene_node *n)
{
    struct doc *d = &src->doc;
    uint32_t targets = n->mesh == SCENE_NONE ? 0 : d->scene->meshes[n->mesh].target_count;
    if (n->weight_count == 0 || n->weight_count == targets) return;
    scene_note(d->scene, NOTE_REPAIRED, 1, "nodes with %u weights for %u morph targets",
               n->weight_count, targets);
    float *weights = DOC_KEEP(d, node_at, float, targets);
    if (!weights) return;
    uint32_t common = n->weight_count < targets ? n->weight_count : targets;
    if (common) memcpy(weights, n->weights, common * sizeof *weights);
    n->weights = weights;
    n->weight_count = targets;
}

bool skin_check_nodes(struct source *src)
{
    struct doc *d = &src->doc;
    struct doc_at root = doc_root(d), list = doc_member(&root, "nodes");
    for (uint32_t i = 0; i < d->scene->node_count && d->error == ERR_OK; i++) {
        struct scene_node *n = &d->scene->nodes[i];
        struct doc_at at = {.up = &list, .index = (int32_t)i};
        check_weights(src, &at, n);
        if (n->mesh != SCENE_NONE) check_skin(src, &at, n);
    }
    return d->error == ERR_OK;
}
