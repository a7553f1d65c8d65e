#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/lib/mesh.h"
#include "common/err.h"
#include "proto/appearance_message.h"
#include "proto/frame_message.h"
#include "proto/session_messages.h"
#include "proto/surface/codec.h"

// The actors in view, their surfaces, and their frames from the bytes to decoded rows that wait
// to be shown (show.c). Under the client's lock.
enum {
    ACTORS_MAX = 1024,
    ACTORS_MESHES_MAX = 256,
    ACTORS_SLOTS_SMOOTH = 32, // 350 ms at 90 Hz
    ACTORS_SLOTS_EVERY = 128
};

struct actors_slot { // a decoded frame
    void *rows;      // struct surface_row, or 6 floats a vertex in a raw frame
    size_t capacity_bytes;
    bool raw, shown;
    uint32_t lod, vertex_count, flags, frame, input_sequence;
    uint64_t tick, server_time_us, receive_time_us;
    float translation[3], rotation[4], scale;
    struct surface_grid grid;
};

struct actors_detail { // the anchors of one detail
    struct surface_anchors anchors;
    void *memory;
    size_t memory_bytes;
    struct surface_grid grid;
};

struct actor_materials {
    uint32_t version, count;
    struct appearance_material *items;
};

struct actor {
    uint32_t id, flags, model, version;
    char character[SESSION_NAME_MAX], name[SESSION_NAME_MAX];
    bool gone;         // after the next sinew_update
    struct mesh *mesh; // of arriving frames; NULL: its SURFACE is not here
    struct actors_detail details[SURFACE_LODS_MAX];
    struct actors_slot *slots; // ring, oldest first
    uint32_t slot_capacity, slot_first, slot_count;
    uint32_t newest_frame;
    uint64_t newest_tick, newest_receive_us, rendered_us;
    uint32_t rendered_frame;
    uint64_t resync_at_us;
    struct actor_materials materials_new, materials;
    bool materials_fresh;

    // What the application sees; changed only by show.c.
    struct mesh *shown_mesh;
    void *vertices;
    size_t vertices_bytes;
    void *retired; // the buffer before, until the next sinew_update
    struct mesh *retired_mesh;
    struct actor_materials retired_materials;
    bool has_frame;
    uint32_t shown_lod, changes;
    struct actors_slot shown; // `rows` is not used
    uint64_t shown_time_us;
    double shown_blend;
};

struct actors {
    struct actor **items; // ACTORS_MAX pointers, at the first use
    uint32_t count;
    struct mesh *meshes[ACTORS_MESHES_MAX];
    uint32_t mesh_count, mesh_id;
    uint32_t own;
    struct surface_packer *packer;
    size_t packer_vertices;
    struct surface_normals *normals;
};

struct sinew_client;
struct actor *actors_find(const struct actors *a, uint32_t id); // gone ones too
// Each takes a payload; errors mean a server that breaks the protocol.
MUST_CHECK enum err actors_on_actor(struct sinew_client *c, const struct message *m);
MUST_CHECK enum err actors_on_gone(struct sinew_client *c, const struct message *m);
MUST_CHECK enum err actors_on_surface(struct sinew_client *c, const struct message *m);
MUST_CHECK enum err actors_on_appearance(struct sinew_client *c, const struct message *m);
MUST_CHECK enum err actors_on_frame(struct sinew_client *c, const struct message *m,
                                    uint64_t now_us);
// A new connection. resumed: actors stay, their anchors go; otherwise all go.
void actors_rejoin(struct sinew_client *c, bool resumed);
void actors_remove(struct sinew_client *c, uint32_t index); // of a gone actor, by show.c
void actors_materials_free(struct sinew_client *c, struct actor_materials *m);
struct actors_slot *actors_slot_at(const struct actor *a, uint32_t i); // 0: the oldest
bool actors_same_grid(const struct surface_grid *a, const struct surface_grid *b);
void actors_pop_slot(struct actor *a);
void actors_free(struct sinew_client *c);
