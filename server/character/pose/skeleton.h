#pragma once
#include <stddef.h>

#include "common/arena.h"
#include "common/xform.h"
#include "server/model/model.h"

// Local transforms to the matrices that skinning reads. The chain is multiplied in double: rigs
// with a scale-100 root or a far origin lose nothing until the last rounding to float.

// nodes_count transforms, model (the file's world) from node. Nodes flagged MODEL_NODE_SHEARED
// use their rest matrix while `locals` still equals the rest TRS bit for bit.
void skeleton_model_from_nodes(const struct model *m, const struct trs *locals,
                               struct xform *model_from_node);
// Of one node: from its parent, and along its parents from the model.
struct xform skeleton_parent_from_node(const struct model *m, uint32_t node,
                                       const struct trs *local);
struct xform skeleton_model_from_node(const struct model *m, const struct trs *locals,
                                      uint32_t node);

// What a kernel reads of one slot S = model_from_node * inverse_bind: model from base space.
struct skeleton_slot {            // linear blend
    _Alignas(64) float col[4][4]; // basis vectors and translation, rows 0..2; row 3 is 0 0 0 1
    float normal[3][4];           // sign(det) * cofactor of the 3x3 part, columns; [3] unused
    float unused[4];
};
struct skeleton_dual_slot { // dual quaternion: S = R H + t, H symmetric, R a proper rotation
    _Alignas(64) float rotation[4]; // R, x y z w
    float dual[4];                  // (t, 0) * R / 2
    float stretch[6];               // H: xx yy zz xy xz yz
    float gain; // of its weight; the rest takes the slot `slots_count` further on, the first root's
    float unused;
};

// Several roots: model_from_node is [root][node], and `gains` [root] says how much of each root's
// slots is its own, the rest being the first root's; NULL: all of it. A joint that the first root
// lacks keeps all. Matrices blend; dual quaternions do not, and get a second half instead.
struct skeleton_roots {
    const struct xform *model_from_node;
    size_t root_count; // 1: slots of every root take the one pose
    const double *gains;
    bool apart; // dual: every root skins by itself, see skin_apart; else its matrices are blended
};

// slots_count matrices; dual: skeleton_dual_count.
void skeleton_palette_roots(const struct model *m, const struct skeleton_roots *roots,
                            struct skeleton_slot *palette);
void skeleton_dual_palette_roots(const struct model *m, const struct skeleton_roots *roots,
                                 struct skeleton_dual_slot *palette);
size_t skeleton_dual_count(const struct model *m); // twice slots_count with several roots
// The same with one pose for all roots; slots_count of each.
void skeleton_palette(const struct model *m, const struct xform *model_from_node,
                      struct skeleton_slot *palette);
void skeleton_dual_palette(const struct model *m, const struct xform *model_from_node,
                           struct skeleton_dual_slot *palette);
