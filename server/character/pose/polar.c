#include "server/character/pose/polar.h"

#include <stdbool.h>

// One-sided Jacobi: turn pairs of columns of A until all are square to each other, A V = U S.
// It needs no inverse, so singular matrices are no special case until the end, and a matrix whose
// columns are already square (no shear: nearly every joint) takes no turn at all.

enum { SWEEPS_MAX = 16 };

static double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

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
    double alpha = dot3(a[p], a[p]), beta = dot3(a[q], a[q]), gamma = dot3(a[p], a[q]);
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
    cross3(v, u, q);
    q[3] = 1 + dot3(v, u);
    if (q[3] < 1e-12) { // opposite: half a turn about any axis square to v
        int k = fabs(v[0]) < 0.6 ? 0 : 1;
        double axis[3] = {k == 0, k == 1, 0};
        cross3(v, axis, q);
        q[3] = 0;
    }
    normalise4(q);
}

// Rotation matrix (columns) to quaternion, by its largest component.
static void quat_from_basis(double b[3][3], double q[4])
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
        sigma[c] = sqrt(dot3(a[c], a[c]));

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
    if (rank == 2) cross3(u[(lost + 1) % 3], u[(lost + 2) % 3], u[lost]);
    double basis[3][3] = {{0}}; // sign * U V^T
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++)
                basis[c][r] += sign * u[k][r] * v[k][c];
    quat_from_basis(basis, rotation);
}
