#pragma once
#include "server/character/input/calibration.h"

// Where devices sit: which tracker is on which part of the body, and how far from the part's joint.
// Found from one instant at which the wearer stands in a T-pose or at ease (arms down). Pure.
struct seating_device {
    bool placed, turned, held; // held: a controller, by its grip
    double place[3];           // in the body's axes, the wearer's metres above the floor
    double turn[4];
    double fitted[2][3]; // the place on the character, as of its trunk and legs, and of its arms
};
struct seating_view {
    const struct human *human;
    double scale; // the character's metres from the wearer's
    double eye_height;
    bool world; // hands meet the world: how long the wearer's arms are is nobody's concern
    struct seating_device devices[INPUT_DEVICE_COUNT];
};
enum seating_stance { SEATING_T_POSE, SEATING_AT_EASE };

// Gives every unnamed tracker a part that no named device holds, or none: the assignment of least
// distance from where the parts of a body of that height are.
enum seating_stance seating_find(const struct seating_view *v, uint8_t part_of[INPUT_TRACKERS]);
// The seats of trackers, and of named body trackers other than head and hands (how those sit is
// known, as of what is held), from the stance that the wearer takes. Needs `fitted`.
void seating_measure(const struct seating_view *v, enum seating_stance stance,
                     struct calibration *c);
// Between the palms in a T-pose, the wearer's metres, by the hands' devices; 0: no hands, or no
// span that anybody has.
double seating_span(const struct seating_view *v, const uint8_t part_of[INPUT_TRACKERS]);
double seating_span_of(const struct human *h); // the character's own

// Of a device whose seat was not measured: a headset's view between the eyes, a grip in the palm,
// anything else at its joint, in line with its part.
void seating_usual(const struct human *h, enum human_part part, struct calibration_seat *out);
void seating_eyes(const struct human *h, double from_head_joint[3]); // T-pose, metres
void seating_eyes_at_rest(const struct human *h, double place[3]);   // body frame
double seating_shoulder_height(const struct human *h);
bool seating_is_arm(enum human_part part); // hands and elbows
