#pragma once
#include "server/character/pose/pose.h"
#include "server/model/model.h"

// Look-at (VRMC_vrm 1.0): yaw (left) and pitch (down) in degrees through the range maps, to the
// eyes' rotations or to expressions.

// Values of lookUp, lookDown, lookLeft, lookRight into `values` [expression]; those that are not
// looked with become 0. Only for models that look by expression.
void gaze_expressions(const struct model *m, double yaw, double pitch, float *values);
// The eyes of a pose, only for models that look by bone: turned about the head's own axes from
// where the pose has them. factor: what overrides leave of it.
void gaze_bones(const struct model *m, double yaw, double pitch, double factor, struct trs *locals);
