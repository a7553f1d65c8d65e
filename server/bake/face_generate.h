#pragma once
#include "server/bake/face_gap.h"
#include "server/bake/geodesic.h"

// Generated correction meshes: for one closing shape and one customisation at a limit, the
// smoothest displacement of the closing side that gives the neutral closed gap, in base space.
struct face_generator {
    struct face_bake *k;
    struct face_probe *probe;
    struct geodesic edges;
    double (*rest)[3];            // [vertex]
    uint8_t *state;               // [weld vertex]
    double (*u)[3], (*deltas)[3]; // [weld vertex] [vertex]
};
MUST_CHECK enum err face_generator_open(struct face_bake *k, struct face_probe *p,
                                        struct face_generator *out);
// set: puts the customisation into probe->values; weights are the contour's. Adds channels for
// every own channel of the shape that the displacement touches, with `hat` laid on `dial`.
MUST_CHECK enum err face_generate(struct face_generator *g, const struct face_contour *c,
                                  uint32_t closer, const float *values, uint32_t dial,
                                  const float hat[3]);
