#pragma once
#include "common/stable_math.h"

// Critically damped, closed form: x and its rate towards 0 after h seconds.
static inline void ease_spring(double *x, double *rate, double omega, double h)
{
    double decay = stable_exp(-omega * h), b = *rate + omega * *x;
    double next = (*x + b * h) * decay;
    *rate = (*rate - omega * b * h) * decay;
    *x = next;
}
