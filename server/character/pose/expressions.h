#pragma once
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// VRM expressions (VRMC_vrm 1.0): what values become outputs, and what outputs do to morph
// weights. Without a memory.
//
//   value    kept inside 0 .. 1; binary ones are 1 above 0.5, else 0
//   output   value times what overrides leave to its group; a binary one is 0 when anything takes
//            from it
//   factor   of a group: 0 when an expression with a value blocks it, else 1 - the sum of the
//            values that blend it, not below 0. Of its own group an expression overrides nothing.
struct expression_factors {
    float blink, look_at, mouth; // what is left of each group
};
// values, outputs: [expression]; NaN: nobody has set it, 0. They may be the same array.
struct expression_factors expressions_resolve(const struct model *m, const float *values,
                                              float *outputs);
// Adds what the outputs say to the channels' weights.
void expressions_mix(const struct model *m, const float *outputs, float *weights);
