#pragma once
#include "server/character/pose/body_memory.h"
#include "server/character/pose/body_sense.h"

// What the body is thought to do beyond what is tracked: everything that the solve needs besides
// head and hands. Body frame, metres.
struct body_guess {
    double pelvis[4], chest[4]; // turns
    double shoulders[2][3];     // upper arms' joints from where they rest, in the chest's frame
    double elbows[2][3];        // from the middle between shoulder and hand, as a share of the arm
    double ankles[2][3], feet[2][4]; // places and turns
    double knees[2][3];              // from the middle between hip and ankle, share of the leg
    double contact[2];               // 1: the foot stands, 0: it does not
};

// By rule, from head and hands alone.
void body_guess_by_rule(const struct human *h, const struct body_sense *s, struct body_guess *out);
// What a pose shows.
void body_guess_of_pose(const struct human *h, const struct human_pose *p, struct body_guess *out);

// As numbers that mean the same for every body and place: in the frame of the head's heading,
// places from the head (ankles' heights from the floor), lengths for a head at 1.56 m.
enum { BODY_GUESS_NUMBERS = 50 };
void body_guess_pack(const struct human *h, const struct body_sense *s, const struct body_guess *g,
                     double out[BODY_GUESS_NUMBERS]);
void body_guess_unpack(const struct human *h, const struct body_sense *s,
                       const double in[BODY_GUESS_NUMBERS], struct body_guess *out);
// The numbers of the mirrored body.
void body_guess_mirror(const double in[BODY_GUESS_NUMBERS], double out[BODY_GUESS_NUMBERS]);
