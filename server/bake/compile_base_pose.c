#include <string.h>

#include "common/arena.h"
#include "common/check.h"
#include "server/bake/builder.h"
#include "server/bake/rig.h"
#include "server/character/input/pose_json.h"
#include "server/character/pose/skeleton.h"

// P0, the base pose. By default the bind pose: every joint stands where its inverse bind matrix
// says, under the one constant transform B that the topmost joint has in the file's rest pose.

static const double FIT_TOLERANCE = 1e-4; // relative, between skins that share a joint

static int32_t topmost_joint(const struct builder *b, const struct scene_skin *k)
{
    uint32_t best = 0;
    for (uint32_t j = 1; j < k->joint_count; j++)
        if (b->node_of_source[k->joints[j]] < b->node_of_source[k->joints[best]]) best = j;
    return (int32_t)best;
}

static bool same_place(const struct xform *a, const struct xform *b)
{
    double size = 0, off = 0;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++) {
            size = fmax(size, fabs(a->col[c][r]));
            off = fmax(off, fabs(a->col[c][r] - b->col[c][r]));
        }
    return off <= FIT_TOLERANCE * size;
}

// Where the skin's inverse binds put its joints; false when two skins disagree.
static bool place_joints(const struct builder *b, const struct scene_skin *k,
                         const struct xform *rest, struct xform *bind, bool *placed)
{
    int32_t top = topmost_joint(b, k);
    struct xform constant =
        xform_mul(&rest[b->node_of_source[k->joints[top]]], &k->inverse_binds[top]);
    for (uint32_t j = 0; j < k->joint_count; j++) {
        uint32_t node = b->node_of_source[k->joints[j]];
        struct xform inverse, place;
        if (!xform_invert(&k->inverse_binds[j], &inverse)) return false;
        place = xform_mul(&constant, &inverse);
        if (placed[node] && !same_place(&bind[node], &place)) return false;
        bind[node] = place;
        placed[node] = true;
    }
    return true;
}

static bool bind_locals(const struct builder *b, struct xform *bind, const bool *placed,
                        struct trs *out)
{
    const struct model *m = &b->model;
    for (uint32_t i = 0; i < m->nodes_count; i++) {
        const struct model_node *n = &m->nodes[i];
        struct xform local = xform_from_trs(&n->rest), inverse;
        out[i] = n->rest;
        if (!placed[i]) {
            if (n->flags & MODEL_NODE_SHEARED) local = xform_from_mat34(&n->rest_local);
            bind[i] = n->parent == MODEL_NONE ? local : xform_mul(&bind[n->parent], &local);
            continue;
        }
        local = bind[i];
        if (n->parent != MODEL_NONE) {
            if (!xform_invert(&bind[n->parent], &inverse)) return false;
            local = xform_mul(&inverse, &bind[i]);
        }
        if (!xform_to_trs(&local, &out[i])) return false;
    }
    return true;
}

static enum err bind_pose(struct builder *b, struct trs *out)
{
    const struct model *m = &b->model;
    struct xform *rest = BUILDER_ARRAY(b, struct xform, m->nodes_count);
    struct xform *bind = BUILDER_ARRAY(b, struct xform, m->nodes_count);
    bool *placed = BUILDER_ARRAY(b, bool, m->nodes_count);
    if (!rest || !bind || !placed) return builder_no_memory(b);
    skeleton_model_from_nodes(m, out, rest);
    bool fits = true;
    for (uint32_t k = 0; fits && k < b->scene->skin_count; k++)
        fits = place_joints(b, &b->scene->skins[k], rest, bind, placed);
    struct trs *locals = BUILDER_ARRAY(b, struct trs, m->nodes_count);
    if (!locals) return builder_no_memory(b);
    if (fits && bind_locals(b, bind, placed, locals)) {
        memcpy(out, locals, m->nodes_count * sizeof *out);
        return ERR_OK;
    }
    scene_note(b->scene, NOTE_REPAIRED, 1,
               "the inverse bind matrices fit no pose of the skeleton: the rest pose is the base "
               "pose");
    return ERR_OK;
}

static enum err rig_pose(struct builder *b, const struct rig *rig, struct trs *out)
{
    const struct model *m = &b->model;
    struct arena arena;
    if (!arena_create(&arena, 2 * pose_bytes(m) + 4096)) return builder_no_memory(b);
    struct pose pose = pose_take(m, &arena);
    pose_rest(m, pose);
    enum err e = pose_json_apply(m, rig->base_pose_pose, "/base_pose", pose, &arena, b->fault);
    memcpy(out, pose.locals, m->nodes_count * sizeof *out);
    arena_destroy(&arena);
    return e;
}

enum err compile_base_pose(struct builder *b)
{
    struct model *m = &b->model;
    const struct rig *rig = b->settings->rig;
    struct trs *out = BUILDER_ARRAY(b, struct trs, m->nodes_count);
    if (!out) return builder_no_memory(b);
    for (size_t i = 0; i < m->nodes_count; i++)
        out[i] = m->nodes[i].rest;
    m->base_pose = out;
    m->base_pose_count = m->nodes_count;
    if (rig && rig->base_pose_pose) return rig_pose(b, rig, out);
    if (rig && rig->base_pose == 1) return ERR_OK;
    return bind_pose(b, out);
}
