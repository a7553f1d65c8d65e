#pragma once
#include <stdint.h>

// What a clip is for, by its name: the usual words of English, Chinese and Japanese, as they
// stand in names of modelling tools and libraries ("Armature|Walk_01", "RunningForward", "走る").

// enum model_move_kind, or -1. *rank: lower is a better name for it.
int32_t control_guess(const char *name, uint32_t *rank);
