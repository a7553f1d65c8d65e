#pragma once

// Elementary functions in double from plain IEEE operations: the same bits on every machine and
// with every libm, for what must never change once baked (pose drivers). Within 2 units in the
// last place over the ranges that are used; finite input gives finite output unless it overflows.
double stable_exp(double x);                                // 0 below -745, infinite above 709.7
double stable_log(double x);                                // x > 0
double stable_atan2(double y, double x);                    // y >= 0: [0, pi]; 0 for (0, 0)
void stable_sincos(double x, double *sine, double *cosine); // |x| below 1e5; both 0 beyond
