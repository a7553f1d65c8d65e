#include "common/xform.h"

#include <stddef.h>

#include "common/vector.h"

struct xform xform_identity(void)
{
    return (struct xform){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}}};
}

struct xform xform_from_trs(const struct trs *t)
{
    double x = (double)t->rotation.x, y = (double)t->rotation.y, z = (double)t->rotation.z,
           w = (double)t->rotation.w;
    double n = x * x + y * y + z * z + w * w;
    double s = n > 0 ? 2 / n : 0;
    double sx = (double)t->scale.x, sy = (double)t->scale.y, sz = (double)t->scale.z;
    return (struct xform){{
        {(1 - s * (y * y + z * z)) * sx, s * (x * y + z * w) * sx, s * (x * z - y * w) * sx},
        {s * (x * y - z * w) * sy, (1 - s * (x * x + z * z)) * sy, s * (y * z + x * w) * sy},
        {s * (x * z + y * w) * sz, s * (y * z - x * w) * sz, (1 - s * (x * x + y * y)) * sz},
        {(double)t->translation.x, (double)t->translation.y, (double)t->translation.z},
    }};
}

struct xform xform_from_mat34(const struct mat34 *m)
{
    struct xform out;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            out.col[c][r] = (double)m->col[c][r];
    return out;
}

struct mat34 mat34_from_xform(const struct xform *m)
{
    struct mat34 out;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            out.col[c][r] = (float)m->col[c][r];
    return out;
}

struct xform xform_mul(const struct xform *to_mid, const struct xform *mid_from)
{
    struct xform out;
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            out.col[c][r] =
                to_mid->col[0][r] * mid_from->col[c][0] + to_mid->col[1][r] * mid_from->col[c][1] +
                to_mid->col[2][r] * mid_from->col[c][2] + (c == 3 ? to_mid->col[3][r] : 0);
    return out;
}

double xform_det3(const struct xform *m)
{
    double yz[3];
    vector_cross(m->col[1], m->col[2], yz);
    return vector_dot(m->col[0], yz);
}

bool xform_invert(const struct xform *m, struct xform *out)
{
    double row[3][3];
    vector_cross(m->col[1], m->col[2], row[0]);
    vector_cross(m->col[2], m->col[0], row[1]);
    vector_cross(m->col[0], m->col[1], row[2]);
    double det = vector_dot(m->col[0], row[0]);
    double size = sqrt(vector_dot(m->col[0], m->col[0]) * vector_dot(m->col[1], m->col[1]) *
                       vector_dot(m->col[2], m->col[2]));
    if (!(fabs(det) > 1e-14 * size)) return false; // written so that NaN fails too
    struct xform inverse;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            inverse.col[c][r] = row[r][c] / det;
    for (int r = 0; r < 3; r++)
        inverse.col[3][r] = -vector_dot(row[r], m->col[3]) / det;
    *out = inverse;
    return true;
}

void xform_point(const struct xform *m, const double in[3], double out[3])
{
    double moved[3];
    for (int r = 0; r < 3; r++)
        moved[r] =
            m->col[0][r] * in[0] + m->col[1][r] * in[1] + m->col[2][r] * in[2] + m->col[3][r];
    for (int r = 0; r < 3; r++)
        out[r] = moved[r];
}

// Largest-component form, so that no rotation divides by a small number.
void xform_rotation(double b[3][3], double q[4])
{
    double trace = b[0][0] + b[1][1] + b[2][2];
    if (trace > 0) {
        q[3] = trace + 1;
        q[0] = b[1][2] - b[2][1];
        q[1] = b[2][0] - b[0][2];
        q[2] = b[0][1] - b[1][0];
    } else {
        int i = b[1][1] > b[0][0] ? 1 : 0;
        if (b[2][2] > b[i][i]) i = 2;
        int j = (i + 1) % 3, k = (i + 2) % 3;
        q[i] = 1 + b[i][i] - b[j][j] - b[k][k];
        q[j] = b[i][j] + b[j][i];
        q[k] = b[i][k] + b[k][i];
        q[3] = b[j][k] - b[k][j];
    }
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] = n > 0 ? q[i] / n : (i == 3);
}

bool xform_to_trs(const struct xform *m, struct trs *out)
{
    double length[3], basis[3][3];
    bool exact = true;
    for (int c = 0; c < 3; c++) {
        length[c] = sqrt(vector_dot(m->col[c], m->col[c]));
        exact = exact && length[c] > 0;
        for (int r = 0; r < 3; r++)
            basis[c][r] = length[c] > 0 ? m->col[c][r] / length[c] : (c == r);
    }
    if (xform_det3(m) < 0) {
        length[0] = -length[0];
        for (int r = 0; r < 3; r++)
            basis[0][r] = -basis[0][r];
    }
    exact = exact && fabs(vector_dot(basis[0], basis[1])) < 1e-5 &&
            fabs(vector_dot(basis[1], basis[2])) < 1e-5 &&
            fabs(vector_dot(basis[2], basis[0])) < 1e-5;
    out->translation = (struct vec3){(float)m->col[3][0], (float)m->col[3][1], (float)m->col[3][2]};
    double q[4];
    xform_rotation(basis, q);
    out->rotation = (struct quat){(float)q[0], (float)q[1], (float)q[2], (float)q[3]};
    out->scale = (struct vec3){(float)length[0], (float)length[1], (float)length[2]};
    return exact;
}

struct quat quat_normalise(struct quat q)
{
    double x = (double)q.x, y = (double)q.y, z = (double)q.z, w = (double)q.w;
    double n = sqrt(x * x + y * y + z * z + w * w);
    if (!(n > 0) || !isfinite(n)) return (struct quat){0, 0, 0, 1};
    return (struct quat){(float)(x / n), (float)(y / n), (float)(z / n), (float)(w / n)};
}

bool xform_is_finite(const struct xform *m)
{
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < 3; r++)
            if (!isfinite(m->col[c][r])) return false;
    return true;
}
