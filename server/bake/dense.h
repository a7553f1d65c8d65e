#pragma once
#include <stdbool.h>
#include <stddef.h>

// Small dense linear algebra in double, row-major n x n, for the bake's solves. Plain loops in a
// fixed order: the same bits on every machine.

// Inverts a symmetric positive definite matrix by Cholesky. False when it is not one to working
// precision. `work` has n * n places; a is destroyed.
bool dense_invert_spd(double *a, size_t n, double *inverse, double *work);
// Inverts any regular matrix by LU with partial pivoting. False when singular to working
// precision; a is destroyed.
bool dense_invert(double *a, size_t n, double *inverse);
double dense_norm1(const double *a, size_t n); // largest column sum of magnitudes
// Singular values of a 3x3 (columns), largest first.
void dense_singular3(double m[3][3], double values[3]);
bool dense_invert3(double m[3][3], double inverse[3][3]); // columns; false when singular
