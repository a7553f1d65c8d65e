#pragma once
#include "server/character/pose/customise.h"
#include "server/character/pose/expressions.h"
#include "server/model/face_names.h"

// What a character's face has been told, and what becomes of a pose for it: FACE values by shape
// or expression, where the eyes look, customisation. An id of FACE is a shape below shapes_count,
// then an expression.
struct face_state {
    const struct model *model;
    float *values;     // [shape, then expression]; NaN: nobody has set it
    float *outputs;    // [expression] of the last pose
    float *wanted;     // [expression] scratch
    bool looks;        // the eyes look at `yaw`, `pitch`; else as the pose has them
    double yaw, pitch; // degrees, left and down
    struct customise customise;
    uint64_t expressed; // rises when an output that colours or moves a texture changes
};
// A number that changes whenever materials look another way.
static inline uint64_t face_state_looks(const struct face_state *f)
{
    return f->customise.looks + f->expressed;
}
size_t face_state_bytes(const struct model *m);
struct face_state face_state_take(const struct model *m, struct arena *a);
size_t face_state_ids(const struct model *m); // shapes and expressions
// One name's parts to their shares of a value, -2 .. 2.
void face_state_set(struct face_state *f, const struct face_parts *parts, float value);

// The base pose goes in, with the weights that clips give. face_state_weights: what the face
// shows, eyes included; dt_s since the last call moves pull-back (the first one settles).
// faceless: all shapes stay at rest. Then drivers read; then face_state_bones moves what is
// customised. Any number of roots: bones first of the pose that drivers read.
void face_state_weights(struct face_state *f, struct pose pose, double dt_s, bool faceless);
void face_state_bones(struct face_state *f, struct trs *locals);
