#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "server/bake/builder.h"

struct cJSON;

// What the stages of compile_extras share: one extra is read at a time, its region first. The rig
// file has been checked against its schema. Private to server/bake/extras_*.c and
// compile_extras.c; all memory is the scene's pool.
struct extras_reader {
    struct builder *b;
    double unit_m;
    char path[96];             // of the extra, for faults
    double (*place)[3];        // [vertex] in the base pose's world, file units
    const struct xform *nodes; // [node] there
    float *share;              // [vertex] of the extra's region: 0 .. 1, equal on welded vertices
    struct model_extra *extra; // being made
    // tables being filled; counts stand in b->model
    struct model_soft *softs;
    struct model_muscle *muscles;
    struct model_fibre *fibres;
    struct model_plugin *plugins;
    struct model_particle *particles;
    struct model_link *links;
    struct model_hold *holds;
    struct model_spring_collider *colliders;
    size_t particle_room, link_room, hold_room;
};

enum err extras_bad(const struct extras_reader *r, const char *key, const char *what);
double extras_number(const struct cJSON *json, const char *key, double otherwise);
double extras_length(const struct extras_reader *r, const struct cJSON *json, const char *key,
                     double otherwise_m); // file units
MUST_CHECK enum err extras_node(const struct extras_reader *r, const struct cJSON *json,
                                const char *key, uint32_t *node);

// ---- the region (extras_region.c)
// As `vertices` says: a list or {"color": N}. False: the key is not there.
bool extras_region_listed(const struct cJSON *json);
MUST_CHECK enum err extras_region_read(struct extras_reader *r, const struct cJSON *json);
void extras_region_round(struct extras_reader *r, const double at[3], double radius);
void extras_region_by_weight(struct extras_reader *r, uint32_t node);
void extras_region_center(const struct extras_reader *r, double middle[3]);
// The extra's blocks; they are the last of `blocks`.
MUST_CHECK enum err extras_region_write(struct extras_reader *r, struct model_extra_block *blocks);

// ---- particles over the region (extras_particles.c)
struct extras_net {
    uint32_t count;      // particles
    uint32_t *vertex;    // [particle] the vertex that it stands at
    uint32_t *cluster;   // [vertex] the nearest particle, UINT32_MAX outside
    uint32_t *first;     // [particle + 1] CSR
    uint32_t *neighbour; // ascending
};
// At most `most` particles spread over the vertices with `inside` set; all of them where they are
// no more. Vertices that share an edge make their particles neighbours.
MUST_CHECK enum err extras_net_spread(struct extras_reader *r, const uint8_t *inside, uint32_t most,
                                      struct extras_net *net);
// A particle that rides where skinning has the vertex.
struct model_particle extras_particle_at(const struct extras_reader *r, uint32_t vertex);
MUST_CHECK enum err extras_particle_add(struct extras_reader *r, const struct model_particle *p);
MUST_CHECK enum err extras_link_add(struct extras_reader *r, uint32_t a, uint32_t b,
                                    float strength);
// How the region's vertices hang on the particles: smooth weights of the four nearest, times the
// vertex's share where `shared`; `exact`: corrected so that a linear field is met. Adds the holds
// of the extra's blocks.
MUST_CHECK enum err extras_bind(struct extras_reader *r, const struct extras_net *net, bool shared,
                                bool exact, const struct model_extra_block *blocks);

// ---- kinds
MUST_CHECK enum err extras_read_jiggle(struct extras_reader *r, const struct cJSON *json,
                                       struct model_extra_block *blocks);
MUST_CHECK enum err extras_read_muscle(struct extras_reader *r, const struct cJSON *json,
                                       struct model_extra_block *blocks);
MUST_CHECK enum err extras_read_cloth(struct extras_reader *r, const struct cJSON *json,
                                      struct model_extra_block *blocks);
MUST_CHECK enum err extras_read_plugin(struct extras_reader *r, const struct cJSON *json,
                                       struct model_extra_block *blocks);
// The `colliders` of a soft extra.
MUST_CHECK enum err extras_read_colliders(struct extras_reader *r, const struct cJSON *json,
                                          struct model_soft *soft);
