#pragma once
#include <stddef.h>

#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Blending of sampled poses, as engines do it.
//
// Weighted: translations, scales and morph weights are averaged; rotations are summed with their
// signs aligned to the layer that weighs most on that node, then normalised (nlerp). Weights are
// normalised per node. A clip that does not animate a node contributes what its pose holds there
// (the rest, when the pose began as pose_rest); a mask leaves it out instead. Where all layers
// together weigh less than BLEND_FLOOR on a node, the rest pose fills up to it, so that fading the
// last layer out ends in the rest pose without a jump.
#define BLEND_FLOOR 0.1f

struct blend_layer {
    struct pose pose;
    float weight;              // >= 0
    const float *node_mask;    // nodes_count factors in [0, 1], or NULL = 1 everywhere
    const float *channel_mask; // channels_count, or NULL
};
// `out` may be one of the layers' poses.
void blend_layers(const struct model *m, const struct blend_layer *layers, size_t layer_count,
                  struct pose out);

// Additive: the difference of `pose` from `reference`, scaled by weight, laid on top of `out`:
// translations and morph weights add, rotations multiply in the node's own frame
// (out * slerp(identity, reference^-1 * pose, weight)), scales multiply by their ratio.
struct blend_addition {
    struct pose pose, reference;
    float weight;              // 0 leaves `out` untouched; rotations hold for -1 .. 2
    const float *node_mask;    // as above
    const float *channel_mask; // as above
};
void blend_add(const struct model *m, const struct blend_addition *addition, struct pose out);
