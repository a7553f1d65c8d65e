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
enum { BODY_PRIOR_WIDTH = 48 }; // features in a row, filled up with zeros

struct body_prior {
    uint32_t center_count;
    const int16_t *centers; // [center][BODY_PRIOR_WIDTH], as body_prior_scale makes them
    const float *weights;   // [1 + BODY_FEATURES + center][BODY_GUESS_NUMBERS]
};

// The committed table; body_prior_table.c says what it was made from, by which licences.
const struct body_prior *body_prior_standard(void);

// Features as the prior compares them: each divided by what makes a difference, bounded, and in
// whole steps, so that distances are sums of integers.
void body_prior_scale(const double features[BODY_FEATURES], int16_t out[BODY_PRIOR_WIDTH]);
// The square of the distance of two moments, in steps.
int32_t body_prior_distance2(const int16_t a[BODY_PRIOR_WIDTH], const int16_t b[BODY_PRIOR_WIDTH]);
// The basis functions at scaled features: 1 + BODY_FEATURES + center_count of them.
void body_prior_basis(const int16_t *centers, uint32_t center_count,
                      const int16_t features[BODY_PRIOR_WIDTH], float *out);

void body_prior_add(const struct body_prior *p, const double features[BODY_FEATURES],
                    double numbers[BODY_GUESS_NUMBERS]);
