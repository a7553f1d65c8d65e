#pragma once
#include "server/character/pose/body_memory.h"

// What head and hands tell, now and over the last second, in the frame of the head's heading: the
// features that guesses are made from.

enum { BODY_FEATURES = 46 };

struct body_sense {
    double head[3], head_turn[4];
    double hands[2][3], hand_turns[2][4];
    double heading[2]; // sine and cosine of the head's yaw: it faces (sine, 0, cosine)
    double frame[4];   // turn of the heading about +Y
    double ahead[2];   // where the body faces: slower, and drawn by the hands
    double unit;       // metres times this are those of a body whose head's joint is at 1.56 m
    double features[BODY_FEATURES];
};

// One frame; running means go on by dt_s, and start where they are in the first frame.
void body_sense(const struct human *h, const double head[3], const double head_turn[4],
                double hands[2][3], double hand_turns[2][4], double dt_s, bool started,
                struct body_sense_memory *memory, struct body_sense *out);

// The features of the mirrored motion.
void body_sense_mirror(const double in[BODY_FEATURES], double out[BODY_FEATURES]);
