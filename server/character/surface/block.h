#pragma once
#include "server/model/model.h"

// 16 vertices of a deformed surface, in model space, structure of arrays. Lanes past the block's
// lane_count repeat the last vertex.
struct surface_block {
    _Alignas(64) float position[3][MODEL_LANES];
    float normal[3][MODEL_LANES]; // unit; zero only where the source's is zero
};
struct surface_tangent_block {
    _Alignas(64) float direction[3][MODEL_LANES]; // unit and square to the normal, or zero
    float sign[MODEL_LANES];                      // +-1: bitangent = sign * cross(normal, tangent)
};
_Static_assert(sizeof(struct surface_block) == sizeof(struct model_rest_block), "same layout");
