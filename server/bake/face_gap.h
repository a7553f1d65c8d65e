#pragma once
#include "server/bake/face_probe.h"

// The gap of a contour, after skinning: signed, along the closing direction, which turns with the
// face as the transforms of its vertices do.
struct face_gap {
    double widest, crossing; // over the pairs; crossing: how far below 0, as a positive number
    double *of_pair;         // [pair]
};

// Pairs the rims by arc length, finds what else must stand open for each closer to close (jawOpen
// for a mouthClose sculpted on an open mouth), and measures the neutral face. A closer that does
// not close its contour is dropped with a note.
MUST_CHECK enum err face_gap_prepare(struct face_bake *k, struct face_probe *p,
                                     struct face_contour *c);
// Sets the probe's weights for one closer: standing open with `weight` 0, closed with 1.
void face_gap_weights(struct face_probe *p, const struct face_contour *c, uint32_t closer,
                      double weight);
// Of the probe's pose. of_pair: upper_count places.
void face_gap_measure(const struct face_probe *p, const struct face_contour *c, double *of_pair);
// One pair: the rims' places, and the vector from lower to upper.
void face_gap_pair(const struct face_probe *p, const struct face_pair *pair, double upper[3],
                   double lower[3]);
