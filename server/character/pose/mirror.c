#include "server/character/pose/mirror.h"

#include "server/character/pose/skeleton.h"

static struct xform mirrored(const struct xform *m) // M m M
{
    struct xform out = *m;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            if ((r == 0) != (c == 0)) out.col[c][r] = -out.col[c][r];
    return out;
}

void mirror_prepare(const struct mirror *mirror)
{
    skeleton_model_from_nodes(mirror->model, mirror->model->base_pose, mirror->base);
}

void mirror_pose(const struct mirror *p, const struct trs *locals, struct trs *out)
{
    const struct model *m = p->model;
    skeleton_model_from_nodes(m, locals, p->posed);
    for (uint32_t i = 0; i < m->nodes_count; i++) {
        struct xform inverse, moved;
        uint32_t partner = p->partners[i];
        if (!xform_invert(&p->base[i], &inverse)) inverse = xform_identity();
        moved = xform_mul(&p->posed[i], &inverse);
        moved = mirrored(&moved);
        p->across[partner] = xform_mul(&moved, &p->base[partner]);
    }
    for (uint32_t i = 0; i < m->nodes_count; i++) {
        struct xform local = p->across[i], inverse;
        int32_t parent = m->nodes[i].parent;
        out[i] = m->base_pose[i];
        if (parent != MODEL_NONE) {
            if (!xform_invert(&p->across[parent], &inverse)) continue;
            local = xform_mul(&inverse, &local);
        }
        (void)xform_to_trs(&local, &out[i]);
    }
}
