#pragma once
#include "server/bake/gait.h"

// Finds what a character stands on: parts of its surface that come down to the ground in a gait and
// stay there while the body moves on. Parts that keep their distance belong to one foot; the
// joints that carry this foot alone are its leg. Nothing goes by names.

// Into g->legs, from a move that goes over the ground; none where fewer than two feet are found.
MUST_CHECK enum err legs_find(struct gait *g, const struct model_move *move);
