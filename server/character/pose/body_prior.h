#pragma once
#include "server/character/pose/body_guess.h"

// What motion has taught about the parts that nothing tracks: a smooth function from the features
// of head and hands (body_sense.h), now and over the last second, to what has to be added to the
// rule's guess. It is a sum over `center_count` remembered moments, each counting the more the
// nearer the features are to its own, and of a plain slope over the features; far from all that it
// has seen it fades to the slope, which is bounded.
//
// Row r of `weights`: what its basis function adds to each number; rows are a constant, the
// features, the centers. Read-only, shared by all bodies.
enum { BODY_PRIOR_CENTERS_MAX = 512 };
#define BODY_PRIOR_UNIT (1.0f / 8000)

struct body_prior {
    uint32_t center_count;
    const int16_t
        *centers; // [center][BODY_FEATURES], scaled by body_prior_scale, of BODY_PRIOR_UNIT
    const int16_t *weights; // [1 + BODY_FEATURES + center][BODY_GUESS_NUMBERS]
    const float *units;     // [BODY_GUESS_NUMBERS] of the weights
};

// The committed table; body_prior_table.c says what it was made from, by which licences.
const struct body_prior *body_prior_standard(void);

// Features as the prior compares them: each divided by what makes a difference, and bounded.
void body_prior_scale(const double features[BODY_FEATURES], float out[BODY_FEATURES]);
// The basis functions at scaled features: 1 + BODY_FEATURES + center_count of them.
void body_prior_basis(const int16_t *centers, uint32_t center_count,
                      const float features[BODY_FEATURES], float *out);

void body_prior_add(const struct body_prior *p, const double features[BODY_FEATURES],
                    double numbers[BODY_GUESS_NUMBERS]);
