#pragma once
#include <stddef.h>

#include "common/arena.h"
#include "server/model/model.h"

// The state of a skeleton at one instant: every node's local transform and every morph channel's
// weight. It borrows its memory; copying the struct copies two pointers.
struct pose {
    struct trs *locals; // model->nodes_count: parent from node, the file's unit
    float *weights;     // model->channels_count; any finite value, 1 = the whole shape
};

// Arena space that one pose takes, and the pose taken from it (its content is not set).
size_t pose_bytes(const struct model *m);
struct pose pose_take(const struct model *m, struct arena *a);

// The file's rest transforms and default morph weights.
void pose_rest(const struct model *m, struct pose out);
void pose_copy(const struct model *m, struct pose from, struct pose to);
