#pragma once
#include "server/character/pose/body_guess.h"

// What motion has taught about the parts that are not tracked: a smooth function from the features
// of head and hands (body_sense.h) to what has to be added to the rule's guess.
struct body_prior;

// The committed table, made by tests/tools/make_body_prior from motion of other people; see its
// note on licences. NULL when the build has none.
const struct body_prior *body_prior_standard(void);

void body_prior_add(const struct body_prior *p, const double features[BODY_FEATURES],
                    double numbers[BODY_GUESS_NUMBERS]);
