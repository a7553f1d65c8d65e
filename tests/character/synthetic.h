#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/pool.h"
#include "server/model/model.h"

// A valid baked model made in memory, for tests and benches that need exact control: a random
// hierarchy, a tube of quads with a seam (welded twins), influences by region, morph channels
// and clips of every interpolation. The same settings give the same model.
struct synthetic_settings {
    uint64_t seed;
    uint32_t nodes;      // >= 1; node 0 is the root
    uint32_t segments;   // quads around the tube, >= 3
    uint32_t rings;      // rows of vertices along it, >= 2; vertices = (segments + 1) * rings
    uint32_t influences; // 1 .. 16 a vertex at most, <= nodes
    bool all_influences; // every vertex has exactly that many; else 1 .. that many
    float root_scale;    // of node 0; 0 = 1
    bool mirrored;       // node 0's x scale is negative at rest, not in the bind pose
    bool tangents;
    uint32_t channels, channels_with_normals; // the first ones bring normal deltas
    uint32_t clips;                           // clip 0 linear, 1 cubic, 2 step, then again
    uint32_t keys;                            // a track, >= 1; 30 a second
    bool smooth; // keys swing as recorded motion does; else each is a wild rotation of its own
};

struct synthetic_vertex { // what a vertex was made from, source order
    float position[3], normal[3];
    uint32_t influence_count;
    uint16_t slots[MODEL_INFLUENCES_MAX];
    float weights[MODEL_INFLUENCES_MAX]; // sum 1
};

struct synthetic {
    struct pool pool;
    struct model model;
    struct synthetic_vertex *vertices;
};

void synthetic_make(const struct synthetic_settings *settings, struct synthetic *out);
void synthetic_free(struct synthetic *s);

// Deterministic random numbers for tests.
struct synthetic_random {
    uint64_t state;
};
uint64_t synthetic_bits(struct synthetic_random *r);
double synthetic_between(struct synthetic_random *r, double low, double high);
struct quat synthetic_rotation(struct synthetic_random *r, double angle_max);

// Diagonal of the rest surface's box in base space.
double synthetic_diagonal(const struct synthetic *s);
