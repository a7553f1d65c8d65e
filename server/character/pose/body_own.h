#pragma once
#include <stdbool.h>

#include "server/character/pose/body.h"
#include "server/character/pose/body_guess.h"

// The stations of one body frame, in their order: body_ease says where parts are meant to be,
// body_trunk hangs the trunk from the head, body_limbs and body_feet do the rest.

struct body_goal { // what a part is to do in this frame
    double place[3], turn[4];
    bool has_place, has_turn;
};

struct body_work {
    const struct human *human;
    const struct body_frame *in;
    struct body_memory *memory;
    double dt_s;
    bool started; // a frame went before
    struct body_sense sense;
    struct body_guess guess;
    struct human_pose *pose;
    double places[HUMAN_BONES][3];
};

// The part's target, eased where its source has changed; where it was lost it goes over to the
// guess. A part that tells nothing, and has not lately, has neither place nor turn.
struct body_goal body_ease(struct body_work *w, enum human_part part, const double guess_place[3],
                           const double guess_turn[4]);

// Turns of the trunk from guess and goals, the head exactly at its goal; writes places of the trunk
// and the limbs' first joints.
void body_trunk(struct body_work *w, const struct body_goal *head, const struct body_goal hands[2]);
void body_arms(struct body_work *w, const struct body_goal hands[2]);
void body_legs(struct body_work *w);

// Where a foot that is not tracked stands or steps: its ankle's place and turn.
void body_foot(struct body_work *w, int side, struct body_goal *out);

// The turn relative to the parent bone's held within the bone's limits; what was cut, radians.
double body_hold(struct body_work *w, uint32_t bone);
// Places of `bone` and of all that hangs from it up to the limb's end, from its parent's.
void body_place_limb(struct body_work *w, enum human_limb limb, uint32_t from);
