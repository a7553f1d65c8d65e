#pragma once
#include <math.h>
#include <stdbool.h>

// Small plain types for vectors, rotations and affine transforms, and their double-precision
// arithmetic. Right-handed, +Y up; quaternions x, y, z, w (Hamilton); column vectors; matrices
// column-major: col[0..2] are the basis vectors, col[3] the translation.
//
// Transforms are named to_from: model_from_joint * joint_from_bind = model_from_bind.

struct vec3 {
    float x, y, z;
};
struct quat {
    float x, y, z, w;
};
struct trs { // applied scale first, then rotation, then translation
    struct vec3 translation;
    struct quat rotation; // unit
    struct vec3 scale;
};
struct mat34 {
    float col[4][3];
};
struct xform { // the same in double: the arithmetic of hierarchies and of the bake
    double col[4][3];
};
_Static_assert(sizeof(struct trs) == 40 && sizeof(struct mat34) == 48, "no padding");

struct xform xform_identity(void);
struct xform xform_from_trs(const struct trs *t); // normalises the rotation; zero rotation = none
struct xform xform_from_mat34(const struct mat34 *m);
struct mat34 mat34_from_xform(const struct xform *m);
struct xform xform_mul(const struct xform *to_mid, const struct xform *mid_from);
double xform_det3(const struct xform *m); // determinant of the 3x3 part
// False (and *out untouched) when the 3x3 part is singular to working precision.
bool xform_invert(const struct xform *m, struct xform *out);
void xform_point(const struct xform *m, const double in[3], double out[3]);
// Splits into translation, unit rotation, scale (a mirror goes into a negative x scale). False
// when scale and rotation alone cannot say it (shear, zero axis): then *out is the closest.
bool xform_to_trs(const struct xform *m, struct trs *out);
// The unit quaternion x, y, z, w of a rotation matrix (b: its columns); identity for no rotation.
void xform_rotation(double b[3][3], double q[4]);

struct quat quat_normalise(struct quat q); // identity for zero or non-finite input
bool xform_is_finite(const struct xform *m);
