#pragma once
#include <stdbool.h>

#include "common/err.h"
#include "server/character/pose/digits.h"
#include "server/character/pose/human.h"

// What sensors need to know of a character, found once: its skeleton as a human body, its fingers
// and eyes. Immutable.
struct puppet {
    bool is_human;
    char why[160]; // it is not
    struct human human;
    struct digits digits;
};

// Allocates while it runs, keeps nothing. ERR_MEMORY. A character that is no human body is fine.
MUST_CHECK enum err puppet_of_model(const struct model *m, struct puppet *out);
