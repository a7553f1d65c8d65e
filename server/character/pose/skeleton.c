#include "server/character/pose/skeleton.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/vector.h"
#include "server/character/pose/polar.h"

// xform_mul, inline: a pose multiplies two matrices a joint, and the call costs as much.
static inline void multiply(const struct xform *a, const struct xform *b,
                            struct xform *restrict out)
{
    for (int c = 0; c < 4; c++) {
        double x = b->col[c][0], y = b->col[c][1], z = b->col[c][2];
        for (int r = 0; r < 3; r++)
            out->col[c][r] = a->col[0][r] * x + a->col[1][r] * y + a->col[2][r] * z;
    }
    for (int r = 0; r < 3; r++)
        out->col[3][r] += a->col[3][r];
}

static inline void convert(const struct mat34 *m, struct xform *out)
{
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            out->col[c][r] = (double)m->col[c][r];
}

// The TRS only approximates a sheared matrix, so the matrix rules until the pose moves.
static inline struct xform local_matrix(const struct model_node *node, const struct trs *local)
{
    bool sheared = (node->flags & MODEL_NODE_SHEARED) != 0 &&
                   // Bits are meant, not values.
                   // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
                   memcmp(local, &node->rest, sizeof *local) == 0;
    struct xform m;
    if (!sheared) return xform_from_trs(local);
    convert(&node->rest_local, &m);
    return m;
}

void skeleton_model_from_nodes(const struct model *m, const struct trs *locals,
                               struct xform *model_from_node)
{
    for (size_t i = 0; i < m->nodes_count; i++) {
        const struct model_node *node = &m->nodes[i];
        struct xform local = local_matrix(node, &locals[i]);
        if (node->parent == MODEL_NONE)
            model_from_node[i] = local;
        else
            multiply(&model_from_node[node->parent], &local, &model_from_node[i]);
    }
}

struct xform skeleton_parent_from_node(const struct model *m, uint32_t node,
                                       const struct trs *local)
{
    return local_matrix(&m->nodes[node], local);
}

struct xform skeleton_model_from_node(const struct model *m, const struct trs *locals,
                                      uint32_t node)
{
    struct xform out = local_matrix(&m->nodes[node], &locals[node]);
    for (int32_t up = m->nodes[node].parent; up != MODEL_NONE; up = m->nodes[up].parent) {
        struct xform local = local_matrix(&m->nodes[up], &locals[up]);
        out = xform_mul(&local, &out);
    }
    return out;
}

static inline size_t root_of(const struct skeleton_roots *roots, const struct model_slot *s)
{
    return roots->root_count > 1 ? s->root : 0;
}

static inline double gain_of(const struct skeleton_roots *roots, const struct model_slot *s)
{
    size_t root = root_of(roots, s);
    return root == 0 || !roots->gains || (s->flags & MODEL_SLOT_APART) ? 1 : roots->gains[root];
}

static inline void slot_matrix(const struct model *m, const struct skeleton_roots *roots,
                               size_t slot, size_t root, struct xform *out)
{
    struct xform node_from_base;
    const struct model_slot *s = &m->slots[slot];
    convert(&s->inverse_bind, &node_from_base);
    multiply(&roots->model_from_node[root * m->nodes_count + s->node], &node_from_base, out);
}

static inline void blended_matrix(const struct model *m, const struct skeleton_roots *roots,
                                  size_t slot, struct xform *out)
{
    double gain = gain_of(roots, &m->slots[slot]);
    slot_matrix(m, roots, slot, root_of(roots, &m->slots[slot]), out);
    if (gain == 1) return;
    struct xform first;
    slot_matrix(m, roots, slot, 0, &first);
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            out->col[c][r] = gain * out->col[c][r] + (1 - gain) * first.col[c][r];
}

// An axis scaled to nothing leaves a determinant of rounding noise: that is no mirror.
static bool mirrors(const struct xform *s, double det)
{
    if (det >= 0) return false;
    double size2 = vector_dot(s->col[0], s->col[0]) * vector_dot(s->col[1], s->col[1]) *
                   vector_dot(s->col[2], s->col[2]);
    return det < -1e-12 * sqrt(size2);
}

void skeleton_palette(const struct model *m, const struct xform *model_from_node,
                      struct skeleton_slot *palette)
{
    skeleton_palette_roots(
        m, &(struct skeleton_roots){.model_from_node = model_from_node, .root_count = 1}, palette);
}

void skeleton_dual_palette(const struct model *m, const struct xform *model_from_node,
                           struct skeleton_dual_slot *palette)
{
    skeleton_dual_palette_roots(
        m, &(struct skeleton_roots){.model_from_node = model_from_node, .root_count = 1}, palette);
}

void skeleton_palette_roots(const struct model *m, const struct skeleton_roots *roots,
                            struct skeleton_slot *palette)
{
    for (size_t i = 0; i < m->slots_count; i++) {
        struct xform s;
        blended_matrix(m, roots, i, &s);
        struct skeleton_slot *out = &palette[i];
        double cofactor[3][3];
        vector_cross(s.col[1], s.col[2], cofactor[0]);
        vector_cross(s.col[2], s.col[0], cofactor[1]);
        vector_cross(s.col[0], s.col[1], cofactor[2]);
        double sign = mirrors(&s, vector_dot(s.col[0], cofactor[0])) ? -1 : 1;
        for (int c = 0; c < 4; c++) {
            for (int r = 0; r < 3; r++)
                out->col[c][r] = (float)s.col[c][r];
            out->col[c][3] = c == 3 ? 1 : 0;
        }
        for (int c = 0; c < 3; c++) {
            for (int r = 0; r < 3; r++)
                out->normal[c][r] = (float)(sign * cofactor[c][r]);
            out->normal[c][3] = out->unused[c] = 0; // equal poses give equal bytes
        }
        out->unused[3] = 0;
    }
}

static void dual_of(const struct xform *s, struct skeleton_dual_slot *out)
{
    double q[4], h[6];
    const double *t = s->col[3];
    polar_decompose(s, q, h);
    *out = (struct skeleton_dual_slot){
        .dual = {(float)(0.5 * (t[0] * q[3] + t[1] * q[2] - t[2] * q[1])),
                 (float)(0.5 * (t[1] * q[3] + t[2] * q[0] - t[0] * q[2])),
                 (float)(0.5 * (t[2] * q[3] + t[0] * q[1] - t[1] * q[0])),
                 (float)(-0.5 * (t[0] * q[0] + t[1] * q[1] + t[2] * q[2]))},
        .gain = 1};
    for (int k = 0; k < 4; k++)
        out->rotation[k] = (float)q[k];
    for (int k = 0; k < 6; k++)
        out->stretch[k] = (float)h[k];
}

size_t skeleton_dual_count(const struct model *m)
{
    return m->slots_count * (m->roots_count > 1 ? 2 : 1);
}

void skeleton_dual_palette_roots(const struct model *m, const struct skeleton_roots *roots,
                                 struct skeleton_dual_slot *palette)
{
    for (size_t i = 0; i < m->slots_count; i++) {
        const struct model_slot *slot = &m->slots[i];
        size_t root = root_of(roots, slot);
        struct xform s;
        if (roots->apart)
            slot_matrix(m, roots, i, root, &s);
        else
            blended_matrix(m, roots, i, &s);
        dual_of(&s, &palette[i]);
        if (!roots->apart || !roots->gains || roots->gains[root] == 1 || root == 0) continue;
        palette[i].gain = (float)roots->gains[root];
        if (!(slot->flags & MODEL_SLOT_APART)) slot_matrix(m, roots, i, 0, &s);
        dual_of(&s, &palette[m->slots_count + i]);
    }
}
