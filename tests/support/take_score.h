#pragma once
#include "server/character/pose/body_prior.h"
#include "tests/support/take.h"

// How near a body solve that is told of `parts` alone (a bit each) comes to recorded motion: all
// joints of the skeleton, relative to the head, the legs' told apart. Means over joints and frames;
// the others the worst of any frame. Feet that are tracked count for no slide.
struct take_score {
    size_t frames;
    double upper_cm, whole_cm;
    double head_mm, head_deg, hand_mm, hand_deg; // off what was told
    double other_mm;                             // the other told parts
    double slide_cm;  // of a foot within 1 cm of where its ankle stands, until it is lifted
    double limit_deg; // beyond joint limits
    double us;        // a frame
    size_t hands_met; // frames with both hands within 1 mm and 0.5 degrees
};
struct take_score take_score(const struct take *t, const struct body_prior *prior, unsigned parts);
