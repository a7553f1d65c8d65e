#pragma once
#include <stddef.h>
#include <stdint.h>

#include "server/bake/builder.h"

// Distances along the surface: over the triangles' edges, welded vertices being one, in the rest
// pose. Edge paths are longer than straight ones by a few percent, which softening does not mind.
struct geodesic {
    struct builder *b;
    double (*place)[3];   // [vertex] rest pose, file units; borrowed
    uint32_t *edge_first; // [weld vertex + 1] CSR
    uint32_t *edges;      // the other end
    double *area;         // [weld vertex] third of its triangles
    // of the search that runs
    double *distance; // [vertex], HUGE_VAL where it has not been
    uint32_t *heap, *touched;
    size_t heap_count, touched_count;
    uint64_t work;
};

MUST_CHECK enum err geodesic_open(struct builder *b, double (*place)[3], struct geodesic *out);

// How far each weld vertex is from `seeds` (weld vertices, each `start` away to begin with), into
// out [vertex]; HUGE_VAL beyond `reach`.
void geodesic_measure(struct geodesic *g, const uint32_t *seeds, const double *start,
                      size_t seed_count, double reach, double *out);

// Makes `tables` (table_count of vertex_count each) soft where table `which` changes: each becomes
// its mean over the surface within `reach`, weighted towards the middle, so that an edge turns
// into a slope 2 * reach wide. Where `which` does not change within reach, nothing does.
MUST_CHECK enum err geodesic_soften(struct geodesic *g, double reach, float *tables,
                                    uint32_t table_count, uint32_t which, size_t vertex_count);
