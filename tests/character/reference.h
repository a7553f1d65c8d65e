#pragma once
#include "server/character/pose/pose.h"
#include "tests/character/synthetic.h"

// The method's formulas written down directly in double, one vertex at a time, for tests to
// compare with. Slow on purpose.

// Skins base-space positions x and normals n (one a vertex) into `pose`; normals leave unit.
void reference_skin(const struct synthetic *s, struct pose pose, enum model_skinning skinning,
                    const double (*x)[3], const double (*n)[3], double (*out_x)[3],
                    double (*out_n)[3]);

// x and n0' after the pose's morph weights.
void reference_face(const struct synthetic *s, struct pose pose, double (*x)[3], double (*n)[3]);

// slerp by acos and sin, shortest arc.
void reference_slerp(const double a[4], const double b[4], double t, double out[4]);
