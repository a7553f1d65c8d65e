#pragma once
#include "server/bake/face_bake.h"
#include "server/bake/geodesic.h"

// The smoothest displacement of a stretch of the surface that is known in some vertices: least
// sum of squared Laplacians over the welded edges, by conjugate gradients.
enum face_smooth_state { FACE_STAYS, FACE_FREE, FACE_HELD };
struct face_smooth {
    const struct geodesic *g;
    const uint8_t *state; // [weld vertex] enum face_smooth_state
    double (*u)[3];       // [weld vertex] in: of FACE_HELD ones; out: of FACE_FREE ones too
};
MUST_CHECK enum err face_smooth(struct face_bake *k, const struct face_smooth *job);
