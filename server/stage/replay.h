#pragma once
#include <stdint.h>

#include "common/err.h"
#include "server/stage/body.h"
#include "server/stage/script.h"

// A script replayed offline, tick by tick, without budgets: what a stream shows for the same
// inputs at the same ticks, unquantised. Tick 0 is the session's first (WELCOME's tick); tick k is
// at k / hz seconds.

// The newest tick at or before time_s (to 1e-6 s).
uint64_t replay_tick_at(double time_s, uint32_t hz);

// Runs `body` (fresh, or told things beforehand) from tick 0 to last_tick and makes that tick's
// surface in body->blocks. Allocates.
MUST_CHECK enum err replay_run(struct body *body, const struct script *script, uint32_t hz,
                               uint64_t last_tick, struct fault *fault);

// Source order, scene space (the placement applied): vertex_count * 3 floats each.
void replay_world(const struct body *body, float *positions, float *normals);
