#include "server/character/pose/polar.h"

#include <stdbool.h>

#include "common/vector.h"

// One-sided Jacobi: turn pairs of columns of A until all are square to each other, A V = U S.
// It needs no inverse, so singular matrices are no special case until the end, and a matrix whose
// columns are already square (no shear: nearly every joint) takes no turn at all.

enum { SWEEPS_MAX = 16 };

static void turn_columns(double p[3], double q[3], double c, double s)
{
    for (int r = 0; r < 3; r++) {
        double old = p[r];
        p[r] = c * old - s * q[r];
        q[r] = s * old + c * q[r];
    }
}

static bool make_square(double a[3][3], double v[3][3], int p, int q)
{
    double alpha = vector_dot(a[p], a[p]), beta = vector_dot(a[q], a[q]),
           gamma = vector_dot(a[p], a[q]);
    if (!(fabs(gamma) > 1e-14 * sqrt(alpha * beta))) return false;
    double zeta = (beta - alpha) / (2 * gamma);
    double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    turn_columns(a[p], a[q], c, s);
    turn_columns(v[p], v[q], c, s);
    return true;
}

static void jacobi(double a[3][3], double v[3][3])
{
    for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        bool turned = make_square(a, v, 0, 1);
        turned = make_square(a, v, 0, 2) || turned;
        turned = make_square(a, v, 1, 2) || turned;
        if (!turned) return;
    }
}

static void normalise4(double q[4])
{
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++)
        q[i] = n > 0 ? q[i] / n : (i == 3);
}

// The shortest turn from unit v to unit u.
static void shortest_turn(const double v[3], const double u[3], double q[4])
{
    vector_cross(v, u, q);
    q[3] = 1 + vector_dot(v, u);
    if (q[3] < 1e-12) { // opposite: half a turn about any axis square to v
        int k = fabs(v[0]) < 0.6 ? 0 : 1;
        double axis[3] = {k == 0, k == 1, 0};
        vector_cross(v, axis, q);
        q[3] = 0;
    }
    normalise4(q);
}

// sign * V diag(sigma) V^T
static void stretch_from(double v[3][3], const double sigma[3], double sign, double h[6])
{
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    for (int e = 0; e < 6; e++) {
        h[e] = 0;
        for (int k = 0; k < 3; k++)
            h[e] += sign * sigma[k] * v[k][row[e]] * v[k][col[e]];
    }
}

static double largest(const double sigma[3])
{
    return fmax(fmax(sigma[0], sigma[1]), sigma[2]);
}

void polar_decompose(const struct xform *m, double rotation[4], double stretch[6])
{
    double a[3][3], v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, sigma[3], u[3][3] = {{0}};
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            a[c][r] = m->col[c][r];
    jacobi(a, v);
    for (int c = 0; c < 3; c++)
        sigma[c] = sqrt(vector_dot(a[c], a[c]));

    int rank = 0, kept = 0, lost = 0;
    double floor = 1e-10 * largest(sigma);
    for (int c = 0; c < 3; c++) {
        bool keeps = sigma[c] > floor;
        rank += keeps;
        if (keeps) kept = c;
        if (!keeps) lost = c;
        for (int r = 0; r < 3; r++)
            u[c][r] = keeps ? a[c][r] / sigma[c] : 0;
    }
    double sign = rank == 3 && xform_det3(m) < 0 ? -1 : 1;
    stretch_from(v, sigma, sign, stretch);
    if (rank == 0) {
        rotation[0] = rotation[1] = rotation[2] = 0;
        rotation[3] = 1;
        return;
    }
    if (rank == 1) {
        shortest_turn(v[kept], u[kept], rotation);
        return;
    }
    if (rank == 2) vector_cross(u[(lost + 1) % 3], u[(lost + 2) % 3], u[lost]);
    double basis[3][3] = {{0}}; // sign * U V^T
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++)
                basis[c][r] += sign * u[k][r] * v[k][c];
    xform_rotation(basis, rotation);
}
