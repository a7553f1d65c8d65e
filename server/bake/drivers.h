#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/pool.h"
#include "common/xform.h"
#include "server/bake/builder.h"
#include "server/bake/rig.h"
#include "server/model/model.h"

struct cJSON;

// What the stages of the driver bake share (method A, making). Private to driver_*.c and
// compile_drivers.c. Everything is in `pool`.
//
//   plan     the rig file's drivers with names looked up, examples with their poses
//   surface  example surfaces read: Y in pose space, or E in base space
//   delta    X, Av and the deltas D = Av^-1 (Y - X); which vertices take R H for Av
//   mirror   drivers that mirror another
//   solve    centers, kernel matrix, automatic radius, W
//   share    drivers that share vertices, solved together: D to D'
//   pack     the model's tables

// Sparse deltas in base space, by ascending vertex.
struct delta_set {
    uint32_t count;
    uint32_t *vertices;
    double (*deltas)[3];
};

struct example_plan {
    const char *name;
    char path[96];      // JSON path, for faults
    struct trs *locals; // [node] Pi
    const struct cJSON *surface;
    uint32_t center;    // set by solve; 0 = stands at P0
    bool merged;        // another example stands at the same pose with the same surface
    struct delta_set d; // D, as sculpted
    double gain, residual;
};

struct driver_plan {
    const char *name;
    char path[64];
    const char *mirror_of; // or NULL
    uint32_t joint_count;
    struct model_driver_joint *joints;
    bool *per_unit_auto; // [joint]
    enum model_kernel kernel;
    enum model_weights weights;
    bool radius_auto, per_vertex;
    double radius, ridge; // ridge < 0: automatic
    uint32_t example_count;
    struct example_plan *examples;
    uint32_t solve_count;
    struct solve_plan *solves;
};

// One solve of a driver: a subset of its joints and the vertices that take its weights.
struct solve_plan {
    uint32_t joint_count;
    struct model_driver_joint *joints;
    uint32_t center_count;
    struct example_plan **center_example; // [center] NULL at 0 when D0 = 0
    // [center] the first that its joints cannot tell it from, mostly itself: with per_vertex some
    // joints are left out. Others than itself take part in nothing: their weights are always 0.
    uint32_t *same_as;
    double *centers; // [center][joint][MODEL_CENTER_DOUBLES]
    double *matrix;  // W, row-major
    double radius, condition, loo_error;
    // Vertices that some of its examples move, ascending, and their deltas, dense: D as sculpted,
    // then D' once drivers that share vertices are solved together.
    uint32_t touched_count;
    uint32_t *touched;
    uint32_t *place;     // [vertex] 1 + its place in `touched`, 0 = not touched
    double (*deltas)[3]; // [center][touched]
    // For the report: weights over sampled poses.
    double weight_low, weight_high, weight_sum, slope_per_degree;
};

struct driver_bake {
    struct builder *b;
    const struct rig *rig;
    struct pool *pool;
    struct fault *fault;
    double diagonal;          // of M0's box
    uint32_t *vertex_of_lane; // [lane] or UINT32_MAX
    uint8_t *dual_vertex;     // [vertex] Av = R H
    uint32_t driver_count;
    struct driver_plan *drivers;
};

enum err drivers_no_memory(struct driver_bake *k);
#define DRIVERS_ARRAY(k, type, count) POOL_ARRAY((k)->pool, type, count)

MUST_CHECK enum err driver_plan_read(struct driver_bake *k);
// The surface of one example into `positions` (vertex_count * 3, source order): world positions at
// Pi (*is_base false) or base-space positions.
MUST_CHECK enum err driver_surface_read(struct driver_bake *k, const struct example_plan *e,
                                        double *positions, bool *is_base);
MUST_CHECK enum err driver_delta_make(struct driver_bake *k);
MUST_CHECK enum err driver_mirror_poses(struct driver_bake *k);  // before the deltas
MUST_CHECK enum err driver_mirror_deltas(struct driver_bake *k); // after them
// Whether two poses are one as far as a driver's joint reads them.
bool driver_joint_agrees(const struct driver_bake *k, const struct model_driver_joint *j,
                         const struct trs *a, const struct trs *b);
// Gives every example its center: 0 at the base pose, that of its duplicate, or one of its own.
MUST_CHECK enum err driver_centers_assign(struct driver_bake *k, struct driver_plan *d,
                                          uint32_t *center_count);
MUST_CHECK enum err driver_solve_make(struct driver_bake *k);
MUST_CHECK enum err driver_share_make(struct driver_bake *k);
MUST_CHECK enum err driver_pack_tables(struct driver_bake *k);
MUST_CHECK enum err driver_report_make(struct driver_bake *k); // samples weights, residuals, JSON

// Weights of a solve at a pose, as the frame will compute them.
void driver_solve_weights(const struct driver_bake *k, const struct driver_plan *d,
                          const struct solve_plan *s, const struct trs *locals, double *weights);
