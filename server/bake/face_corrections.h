#pragma once
#include "server/bake/face_generate.h"

// What a correction's hats are laid on, and the corrections that the rig file lists.
MUST_CHECK enum err face_dial_of_bone(struct face_bake *k, uint32_t bone_parameter, uint32_t shape,
                                      uint32_t *out);
MUST_CHECK enum err face_dial_of_parameter(struct face_bake *k, uint32_t parameter, uint32_t *out);
// Whether the shape has corrections that belong to the parameter.
bool face_has_correction(const struct face_bake *k, uint32_t shape, uint32_t parameter);
// From now on no bone's correction of the shape counts what the parameter moves.
void face_leave_to_parameter(struct face_bake *k, uint32_t shape, uint32_t parameter);
// The hat of knot i between its neighbours, neutral included.
void face_hat(const double *knots, uint32_t count, uint32_t i, float hat[3]);

MUST_CHECK enum err face_read_corrections(struct face_generator *g);
