#pragma once
#include <stdint.h>

#include "common/err.h"

// INPUT messages to actors. A message is checked and resolved when it comes (names to indices), is
// folded into the actor's next state, and acts in the next tick: states that came between two
// ticks, newest wins. Later kinds add a row to the table in input.c.
struct actor;

// payload: of MESSAGE_POSE, PLACE, FACE; ERR_UNSUPPORTED for the kinds that are not made yet.
// ERR_STALE: its sequence is not above the newest seen (dropped, no harm). ERR_MALFORMED,
// ERR_TRUNCATED: broken; ERR_NOT_FOUND, ERR_AMBIGUOUS: a name, told in the fault (the STREAM codes
// UNKNOWN_NAME, AMBIGUOUS_NAME). On error the actor is untouched, but for the sequence. Loop
// thread, between ticks; no allocation.
MUST_CHECK enum err input_apply(struct actor *a, uint8_t type, const uint8_t *payload,
                                size_t size_bytes, struct fault *fault);
