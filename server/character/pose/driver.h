#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "server/model/model.h"

// Pose drivers: the pose's read joints against the examples' poses, by the kernels of the method,
// in double; then w = Wt k. Blind to q against -q; finite for every rotation. The bake solves with
// the same functions, so that weights at the centers are what the solver promised, bit for bit.

// One joint of a pose as the kernels read it: local rotation (any length but zero), translation.
struct driver_sample {
    double rotation[4], translation[3];
};
struct driver_sample driver_read(const struct trs *local);

// What the kernels sum up for one joint: the squared embedding distance e with k = exp(-e/s2)
// (MODEL_KERNEL_ROTATION), or the squared r_joint (all others); without the joint's weight.
double driver_distance(const struct model_driver_joint *joint, enum model_kernel kernel,
                       const struct driver_sample *a, const struct driver_sample *b);
// The kernel's value for the weighted sum of the above.
double driver_kernel(enum model_kernel kernel, double sum, double radius);

// All weights of the model, solve after solve (weight_first), one a center. `out` has
// driver_weight_count(m) places. False, with `out` untouched, when the pose is not finite in a
// joint that is read: the caller keeps what it had and counts it.
size_t driver_weight_count(const struct model *m);
bool driver_weights(const struct model *m, const struct trs *locals, double *out);
