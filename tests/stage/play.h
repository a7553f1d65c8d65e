#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/surface/codec.h"
#include "server/stage/body.h"
#include "server/stage/stage.h"

// Sessions played in one process: a stage with made-up time, and players that take events and
// frames as a session would and decode them as a client would.
enum play_model { PLAY_SAMPLE, PLAY_PUP }; // 8 vertices with one clip; a dog from the assets
struct model_file *play_model_file(enum play_model model); // made once; borrowed
void play_forget_models(void);

struct play {
    struct stage *stage;
    struct ticker ticker;
    uint64_t now_ns;
};
// One character: "sample" or "pup".
bool play_open(struct play *p, uint32_t workers, enum play_model model,
               const struct stage_limits *limits);
void play_close(struct play *p);
bool play_serve(struct play *p, const char *name, enum play_model model); // (a new version of) it
void play_tick(struct play *p);                                           // the next one
void play_halt(struct play *p, uint32_t ticks); // the machine was busy for so long: then one

enum { PLAYER_ACTORS_MAX = 12 };
struct player_lod {
    size_t vertex_count;
    uint32_t *vertices; // source (detail 0) or detail-0 vertex
    uint16_t *predictors;
    struct surface_anchors anchors;
    void *memory;
    struct surface_row *rows; // of the newest frame
    uint32_t frame;           // its number
};
struct player_actor {
    uint32_t number; // 0: free
    uint32_t model, version;
    uint32_t lod_count;
    struct player_lod lods[SURFACE_LODS_MAX];
    struct frame_message head; // of the newest frame; payload not kept
    uint32_t frames, keys, stills, bytes;
    float *raw; // 6 a vertex, of the newest raw frame
};
struct player {
    struct play *play;
    struct view *view;
    struct player_actor actors[PLAYER_ACTORS_MAX];
    struct surface_packer *packer;
    uint32_t entered, changed, left;
    uint32_t undecodable; // frames that this end could not have decoded
    uint64_t hash;        // over all frames taken: headers' and payloads' bytes
    uint32_t sequence;
};
bool player_join(struct player *out, struct play *p, const struct stage_join *join);
void player_leave(struct player *p);
void player_take_events(struct player *p);
void player_take(struct player *p);                // events, then every frame there is
struct player_actor *player_own(struct player *p); // NULL: none seen yet
// Source order positions of an actor's newest frame, placed; detail 0. vertex_count * 3.
void player_positions(const struct player_actor *a, float *out);

// Encoded inputs, as a client sends them.
enum err player_pose(struct player *p, const char *clip, float time_s);
enum err player_place(struct player *p, float x, float y, float z, float yaw_rad, float scale);
enum err player_face(struct player *p, uint16_t shape, float weight);
enum err player_move(struct player *p, float right, float ahead); // CONTROL

// A body of its own without correctives, on what the caller keeps.
void play_body(const struct model *model, const struct face_map *map, struct body *out);
