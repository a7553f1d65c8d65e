#pragma once
#include "server/character/pose/motion.h"

// What the files of motion share.

// One-shot actions: presses begin them, end them or queue them, `lay` puts one over the target.
void motion_act(struct motion *n, const struct model *m, struct control *c, double dt_s);
void motion_lay_action(struct motion *n, const struct model *m);
bool motion_walks(const struct motion *n);
// The legs are the action's, so that feet go free.
bool motion_action_has_legs(const struct motion *n, const struct model *m);

// Jumps and falls.
void motion_jump(struct motion *n, const struct model *m);
void motion_fly(struct motion *n, const struct model *m, double dt_s, double scale);
// The clip of a flight's stage, or NULL: none is shown.
const struct model_move *motion_flight_move(const struct motion *n, const struct model *m);
bool motion_is_jump(const struct model *m, int32_t action);
