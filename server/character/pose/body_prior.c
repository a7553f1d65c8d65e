#include "server/character/pose/body_prior.h"

#include <math.h>

// What makes a difference: metres, parts of unit vectors, metres a second.
static const struct {
    uint32_t count;
    float divisor;
} scales[] = {
    {1, 0.12f},              // the head's height
    {6, 0.25f},              // its up and front
    {6, 0.20f},              // hands' places
    {12, 0.60f},             // hands' axes
    {3, 0.50f},  {3, 0.40f}, // the head's speed, lately and longer
    {6, 1.20f},  {6, 1.00f}, // the hands'
    {1, 0.08f},              // the height against what it was
    {1, 0.30f},  {1, 0.30f}, // turning
};
static const float BOUND = 4;   // of a scaled feature
static const float REACH = 36;  // squared distance at which a center counts a quarter
static const float STEPS = 500; // to one

void body_prior_scale(const double features[BODY_FEATURES], int16_t out[BODY_PRIOR_WIDTH])
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        for (uint32_t k = 0; k < scales[i].count; k++, at++) {
            float v = (float)features[at] / scales[i].divisor;
            v = v < -BOUND ? -BOUND : v > BOUND ? BOUND : v;
            out[at] = (int16_t)(STEPS * v + (v < 0 ? -0.5f : 0.5f));
        }
    while (at < BODY_PRIOR_WIDTH)
        out[at++] = 0;
}

// At most 46 * 4000^2 < 2^30.
int32_t body_prior_distance2(const int16_t a[BODY_PRIOR_WIDTH], const int16_t b[BODY_PRIOR_WIDTH])
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < BODY_PRIOR_WIDTH; i++) {
        int16_t d = (int16_t)(a[i] - b[i]);
        sum += (int32_t)d * (int32_t)d;
    }
    return sum;
}

void body_prior_basis(const int16_t *centers, uint32_t center_count,
                      const int16_t features[BODY_PRIOR_WIDTH], float *out)
{
    *out++ = 1;
    for (uint32_t i = 0; i < BODY_FEATURES; i++)
        *out++ = (float)features[i] / STEPS;
    for (uint32_t c = 0; c < center_count; c++) {
        const int16_t *center = centers + (size_t)c * BODY_PRIOR_WIDTH;
        float far2 = (float)body_prior_distance2(features, center) / (STEPS * STEPS);
        float near = REACH / (REACH + far2);
        out[c] = near * near;
    }
}

void body_prior_add(const struct body_prior *p, const double features[BODY_FEATURES],
                    double numbers[BODY_GUESS_NUMBERS])
{
    int16_t scaled[BODY_PRIOR_WIDTH];
    float basis[1 + BODY_FEATURES + BODY_PRIOR_CENTERS_MAX], sum[BODY_GUESS_NUMBERS] = {0};
    uint32_t rows = 1 + BODY_FEATURES + p->center_count;
    body_prior_scale(features, scaled);
    body_prior_basis(p->centers, p->center_count, scaled, basis);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 0; k < BODY_GUESS_NUMBERS; k++)
            sum[k] += basis[r] * p->weights[(size_t)r * BODY_GUESS_NUMBERS + k];
    for (uint32_t k = 0; k < BODY_GUESS_NUMBERS; k++)
        numbers[k] += (double)sum[k];
}
