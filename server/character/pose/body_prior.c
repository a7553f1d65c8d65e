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
static const float BOUND = 4;  // of a scaled feature
static const float REACH = 36; // squared distance at which a center counts a quarter

void body_prior_scale(const double features[BODY_FEATURES], float out[BODY_FEATURES])
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        for (uint32_t k = 0; k < scales[i].count; k++, at++) {
            float v = (float)features[at] / scales[i].divisor;
            out[at] = v < -BOUND ? -BOUND : v > BOUND ? BOUND : v;
        }
}

void body_prior_basis(const int16_t *centers, uint32_t center_count,
                      const float features[BODY_FEATURES], float *out)
{
    *out++ = 1;
    for (uint32_t i = 0; i < BODY_FEATURES; i++)
        *out++ = features[i];
    for (uint32_t c = 0; c < center_count; c++) {
        const int16_t *center = centers + (size_t)c * BODY_FEATURES;
        float sum[8] = {0}, far2 = 0;
        uint32_t i = 0;
        for (; i + 8 <= BODY_FEATURES; i += 8)
            for (uint32_t k = 0; k < 8; k++) {
                float d = features[i + k] - BODY_PRIOR_UNIT * (float)center[i + k];
                sum[k] += d * d;
            }
        for (; i < BODY_FEATURES; i++) {
            float d = features[i] - BODY_PRIOR_UNIT * (float)center[i];
            sum[i % 8] += d * d;
        }
        for (uint32_t k = 0; k < 8; k++)
            far2 += sum[k];
        float near = REACH / (REACH + far2);
        out[c] = near * near;
    }
}

void body_prior_add(const struct body_prior *p, const double features[BODY_FEATURES],
                    double numbers[BODY_GUESS_NUMBERS])
{
    float scaled[BODY_FEATURES], basis[1 + BODY_FEATURES + BODY_PRIOR_CENTERS_MAX];
    float sum[BODY_GUESS_NUMBERS] = {0};
    uint32_t rows = 1 + BODY_FEATURES + p->center_count;
    body_prior_scale(features, scaled);
    body_prior_basis(p->centers, p->center_count, scaled, basis);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 0; k < BODY_GUESS_NUMBERS; k++)
            sum[k] += basis[r] * (float)p->weights[(size_t)r * BODY_GUESS_NUMBERS + k];
    for (uint32_t k = 0; k < BODY_GUESS_NUMBERS; k++)
        numbers[k] += (double)(p->units[k] * sum[k]);
}
