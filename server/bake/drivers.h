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
    // Of an edit (edit.h): its solves are the edited model's; nothing that it shows has changed.
    bool stands, same;
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
    double diagonal;                   // of M0's box
    uint32_t *vertex_of_lane;          // [lane] or UINT32_MAX
    uint8_t *dual_vertex;              // [vertex] Av = R H
    const struct model *edited;        // of an edit: the model as it was; NULL: a bake
    const struct cJSON *edited_report; // its drivers_json
    uint32_t driver_count;
    struct driver_plan *drivers;
};

double driver_box_diagonal(const float *positions, size_t vertex_count);
enum err drivers_no_memory(struct driver_bake *k);
#define DRIVERS_ARRAY(k, type, count) POOL_ARRAY((k)->pool, type, count)

MUST_CHECK enum err driver_plan_read(struct driver_bake *k);
// The surface of one example into `positions` (vertex_count * 3, source order): world positions at
// Pi (*is_base false) or base-space positions.
MUST_CHECK enum err driver_surface_read(struct driver_bake *k, const struct example_plan *e,
                                        double *positions, bool *is_base);
// The same from memory, pose space or base space alike: one place a vertex. `bytes` may be written.
enum driver_surface_format { DRIVER_SURFACE_F32, DRIVER_SURFACE_OBJ, DRIVER_SURFACE_GLB };
MUST_CHECK enum err driver_surface_parse(struct driver_bake *k, const struct example_plan *e,
                                         enum driver_surface_format format, uint8_t *bytes,
                                         size_t size_bytes, double *positions);
MUST_CHECK enum err driver_delta_make(struct driver_bake *k);

// Of an edit. Y of an example as it stands: X + Av D, vertex_count * 3.
MUST_CHECK enum err driver_delta_surface(struct driver_bake *k, const struct example_plan *e,
                                         double *positions);
// D anew for the surface `y` at the example's pose. Vertices that are where `before` has them
// (float for float) keep the D that they have; NULL: none does.
MUST_CHECK enum err driver_delta_sculpt(struct driver_bake *k, struct example_plan *e,
                                        const double *y, const double *before);
// The surface of M0 has moved by `moved` (vertex_count * 3): D anew so that Y stays.
MUST_CHECK enum err driver_delta_follow(struct driver_bake *k, struct example_plan *e,
                                        const double *moved);
// A pose that is new: vertices that collapse in it take R H for Av from now on, and D of every
// example changes there so that Y stays.
MUST_CHECK enum err driver_delta_admit(struct driver_bake *k, const struct trs *locals);
MUST_CHECK enum err driver_mirror_poses(struct driver_bake *k);  // before the deltas
MUST_CHECK enum err driver_mirror_deltas(struct driver_bake *k); // after them
// Whether the joints that `b` reads are those across from `a`'s.
MUST_CHECK enum err driver_mirror_is_across(struct driver_bake *k, const struct driver_plan *a,
                                            const struct driver_plan *b, bool *is);
// Of an edit: pose and D of `to` from `from`, mirrored; both drivers' joints are what they are.
MUST_CHECK enum err driver_mirror_example(struct driver_bake *k, const struct example_plan *from,
                                          struct example_plan *to);
// Whether two poses are one as far as a driver's joint reads them.
bool driver_joint_agrees(const struct driver_bake *k, const struct model_driver_joint *j,
                         const struct trs *a, const struct trs *b);
// Gives every example its center: 0 at the base pose, that of its duplicate, or one of its own.
MUST_CHECK enum err driver_centers_assign(struct driver_bake *k, struct driver_plan *d,
                                          uint32_t *center_count);
MUST_CHECK enum err driver_solve_make(struct driver_bake *k);
MUST_CHECK enum err driver_share_make(struct driver_bake *k);

// Of an edit (driver_stands.c): the examples of the driver `index`, and its solves, from the model.
MUST_CHECK enum err driver_stands_examples(struct driver_bake *k, struct driver_plan *d,
                                           uint32_t index);
MUST_CHECK enum err driver_stands_solves(struct driver_bake *k, struct driver_plan *d,
                                         uint32_t index);
// The steps of a solve that both ways take (driver_solve.c). `mine`: [vertex], or NULL: all.
MUST_CHECK enum err driver_solve_start(struct driver_bake *k, struct driver_plan *d,
                                       struct solve_plan *s, uint32_t center_count);
MUST_CHECK enum err driver_solve_gather(struct driver_bake *k, struct solve_plan *s,
                                        const uint8_t *mine);
// The joints of a per_vertex driver that count for a vertex, one bit each.
uint64_t driver_solve_joints_of(const struct driver_bake *k, const struct driver_plan *d,
                                uint32_t v);
MUST_CHECK enum err driver_pack_tables(struct driver_bake *k);
MUST_CHECK enum err driver_report_make(struct driver_bake *k); // samples weights, residuals, JSON

// Weights of a solve at a pose, as the frame will compute them.
void driver_solve_weights(const struct driver_bake *k, const struct driver_plan *d,
                          const struct solve_plan *s, const struct trs *locals, double *weights);
