#include "server/bake/dense.h"

#include <math.h>
#include <string.h>

#include "common/vector.h"

static bool cholesky(double *a, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double sum = a[j * n + j];
        for (size_t k = 0; k < j; k++)
            sum -= a[j * n + k] * a[j * n + k];
        if (!(sum > 1e-15 * a[j * n + j]) || !isfinite(sum)) return false;
        double pivot = sqrt(sum);
        a[j * n + j] = pivot;
        for (size_t i = j + 1; i < n; i++) {
            sum = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = sum / pivot;
        }
    }
    return true;
}

bool dense_invert_spd(double *a, size_t n, double *inverse, double *work)
{
    if (!cholesky(a, n)) return false;
    memset(work, 0, n * n * sizeof *work); // L^-1, lower
    for (size_t c = 0; c < n; c++) {
        work[c * n + c] = 1 / a[c * n + c];
        for (size_t i = c + 1; i < n; i++) {
            double sum = 0;
            for (size_t k = c; k < i; k++)
                sum += a[i * n + k] * work[k * n + c];
            work[i * n + c] = -sum / a[i * n + i];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = i; k < n; k++)
                sum += work[k * n + i] * work[k * n + j];
            inverse[i * n + j] = inverse[j * n + i] = sum;
        }
    return true;
}

static void swap_rows(double *a, size_t n, size_t i, size_t j)
{
    for (size_t k = 0; i != j && k < n; k++) {
        double t = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = t;
    }
}

bool dense_invert(double *a, size_t n, double *inverse)
{
    double scale = dense_norm1(a, n);
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++)
        inverse[i * n + i] = 1;
    for (size_t c = 0; c < n; c++) { // Gauss-Jordan
        size_t best = c;
        for (size_t i = c + 1; i < n; i++)
            if (fabs(a[i * n + c]) > fabs(a[best * n + c])) best = i;
        if (!(fabs(a[best * n + c]) > 1e-13 * scale)) return false;
        swap_rows(a, n, c, best);
        swap_rows(inverse, n, c, best);
        double pivot = a[c * n + c];
        for (size_t k = 0; k < n; k++) {
            a[c * n + k] /= pivot;
            inverse[c * n + k] /= pivot;
        }
        for (size_t i = 0; i < n; i++) {
            double f = a[i * n + c];
            if (i == c || f == 0) continue;
            for (size_t k = 0; k < n; k++) {
                a[i * n + k] -= f * a[c * n + k];
                inverse[i * n + k] -= f * inverse[c * n + k];
            }
        }
    }
    return true;
}

double dense_norm1(const double *a, size_t n)
{
    double largest = 0;
    for (size_t c = 0; c < n; c++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += fabs(a[i * n + c]);
        largest = fmax(largest, sum);
    }
    return largest;
}

static void turn_columns(double p[3], double q[3], double cs, double sn)
{
    for (int r = 0; r < 3; r++) {
        double x = p[r], y = q[r];
        p[r] = cs * x - sn * y;
        q[r] = sn * x + cs * y;
    }
}

// One-sided Jacobi: turns pairs of columns until they are square to each other.
void dense_singular3(double m[3][3], double values[3])
{
    double c[3][3];
    memcpy(c, m, sizeof c);
    for (int sweep = 0; sweep < 30; sweep++) {
        double off = 0;
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                double pp = vector_dot(c[p], c[p]), qq = vector_dot(c[q], c[q]),
                       pq = vector_dot(c[p], c[q]);
                off = fmax(off, fabs(pq) / (sqrt(pp * qq) + 1e-300));
                if (pq == 0) continue;
                double tau = (qq - pp) / (2 * pq);
                double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
                double cs = 1 / sqrt(1 + t * t), sn = cs * t;
                turn_columns(c[p], c[q], cs, sn);
            }
        if (off < 1e-15) break;
    }
    for (int i = 0; i < 3; i++)
        values[i] = sqrt(vector_dot(c[i], c[i]));
    for (int i = 0; i < 2; i++)
        for (int j = i + 1; j < 3; j++)
            if (values[j] > values[i]) {
                double t = values[i];
                values[i] = values[j];
                values[j] = t;
            }
}

bool dense_invert3(double m[3][3], double inverse[3][3])
{
    double row[3][3];
    for (int i = 0; i < 3; i++) {
        const double *a = m[(i + 1) % 3], *b = m[(i + 2) % 3];
        row[i][0] = a[1] * b[2] - a[2] * b[1];
        row[i][1] = a[2] * b[0] - a[0] * b[2];
        row[i][2] = a[0] * b[1] - a[1] * b[0];
    }
    double det = vector_dot(m[0], row[0]);
    double size = sqrt(vector_dot(m[0], m[0]) * vector_dot(m[1], m[1]) * vector_dot(m[2], m[2]));
    if (!(fabs(det) > 1e-12 * size)) return false;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            inverse[c][r] = row[r][c] / det;
    return true;
}
