#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/err.h"
#include "common/simd.h"
#include "proto/pose_message.h"
#include "server/character/input/control.h"
#include "server/character/pose/clip.h"
#include "server/character/pose/face_state.h"
#include "server/character/pose/motion.h"
#include "server/character/pose/pose.h"
#include "server/character/pose/root_motion.h"
#include "server/character/pose/roots.h"
#include "server/character/pose/springs.h"
#include "server/character/surface/surface.h"
#include "server/model/model.h"
#include "server/plugins/plugins.h"
#include "server/stage/body_sensors.h"
#include "server/stage/body_swing.h"

// One character: what inputs have set, and its surface at one tick of its own time. A stream and
// the offline replay run the same bodies, so they show the same. One owner at a time; the surface
// stages may be split over threads. All memory is taken at creation.
struct body_joint {
    uint32_t node;
    uint32_t fields; // enum pose_fields
    struct trs local;
};
struct body_state {
    bool posed;   // a POSE stands; else the default clip plays
    int32_t clip; // of the POSE, or MODEL_NONE
    float time_s; // in it
    uint32_t joint_count;
    struct body_joint joints[POSE_JOINTS_MAX];
    float position[3], yaw_rad, scale; // PLACE: the model's unit, scene space
};

struct body_options {
    const struct model *model;         // outlives the body
    const struct face_map *map;        // outlives it too
    const struct correct_map *correct; // that too; NULL: no correctives
    const struct puppet *puppet;       // that too; NULL: sensors are refused
    int32_t default_clip;              // body_default_clip, or MODEL_NONE
    enum model_skinning skinning;
    enum simd_level level;
    const struct ground *ground;              // outlives the body; NULL: flat
    bool without_extras, without_correctives; // offline; extras stay at rest
    bool without_springs;                     // offline
    struct plugin_host *plugins;              // outlives the body; NULL: none are run
    uint64_t (*clock_ns)(void);               // NULL: what extras cost is not measured
};
struct body {
    struct body_options options;
    struct body_state state;
    struct control control;
    struct body_sensors sensors;
    struct face_state face; // FACE, look-at and CUSTOMISE
    bool faceless;          // offline: morph weights count as 0
    uint64_t change;        // rises with every input that touches the surface
    uint64_t refused;       // poses that were not finite where a driver reads them
    bool jumped;            // placed far from where it stood: whoever shows it clears this
    uint64_t surface;       // number of the surface in `blocks`; rises when it changes; 0: none yet
    struct surface_block *blocks; // blocks_count

    // private
    struct arena arena;
    size_t scratch_mark;
    struct pose pose;
    struct roots_pose roots; // several roots; used while `rooted`
    struct root_motion motions[MODEL_ROOTS_MAX];
    struct pose fading; // scratch of a root's fade
    struct pose sensed; // what sensors say, where they drive some of the roots
    bool rooted;        // a root has been given a motion of its own
    double roots_age_s, face_age_s;
    struct springs springs; // without a model: none
    struct extras extras;
    struct plugin **plugins;   // [extra]; NULL: the model has none
    struct fault plugin_fault; // of the first that could not be opened, until it is told
    uint64_t told_skips;       // [extra] bit: a replay's
    struct xform *nodes;       // [node] of the last pose; only with extras
    double extras_age_s;       // of the instant that the extras go on from
    double posed_age_s;        // of the last pose
    struct body_way way;
    double *driver_weights; // of the last pose that was finite
    struct clip_cursor cursor;
    struct motion motion; // drives while control.live
    struct surface_frame frame;
    uint64_t shown_change;
    double shown_time_s;
    bool stale; // the pose has moved on since body_begin
};

MUST_CHECK enum err body_create(const struct body_options *options, struct body *out);
void body_destroy(struct body *b); // safe on zero

// An idle-like clip, else the first, else MODEL_NONE.
int32_t body_default_clip(const struct model *m);

// Brings the pose to `age_s` seconds after the body's first tick. False: the surface in `blocks`
// is that of this pose already, and the stages must not be run. Then body_begin, and the stages in
// order with a barrier between; each takes (part, part_count).
bool body_pose(struct body *b, double age_s);
// What it looks like depends on how it has moved: body_pose must be called in every tick, whether
// anybody looks or not, or else a replay would show something else.
bool body_has_memory(const struct body *b);
// Before body_pose, once a tick: which plugins are left out of it. A plugin must see every tick's
// surface: where body_has_plugins, body_run follows each body_pose that was true.
void body_before_tick(struct body *b);
void body_missed_tick(struct body *b); // instead: a tick that is made up for goes without them
bool body_has_plugins(const struct body *b);
uint64_t body_skipped(const struct body *b); // [extra] bit: left out of the frame made last
// What has become of plugins since it was asked last, one at a time.
bool body_plugin_event(struct body *b, struct plugin_event *out);
void body_begin(struct body *b);
bool body_has_face(const struct body *b); // after body_begin: false: no need for body_face and turn
void body_face(struct body *b, size_t part, size_t part_count);
void body_turn(struct body *b, size_t part, size_t part_count);
void body_skin(struct body *b, size_t part, size_t part_count);
// After body_skin, when body_has_correctives (after body_begin) says so.
bool body_has_correctives(const struct body *b);
void body_keep(struct body *b, size_t part, size_t part_count);
void body_extras(struct body *b, size_t part, size_t part_count);
void body_correct(struct body *b, size_t part, size_t part_count);
void body_settle(struct body *b, size_t part, size_t part_count);
void body_run(struct body *b); // all of them, after body_pose was true

// scene_from_model as a FRAME says it.
void body_placement(const struct body *b, float translation[3], float rotation[4], float *scale);

// Private to body*.c.
size_t body_plugins_bytes(const struct model *m);
void body_plugins_open(struct body *b);
void body_plugins_close(struct body *b);
void body_plugins_inherit(struct body *b, const struct body *from);

// Takes over what `from`, of an older version of the model, was told: by names.
void body_inherit(struct body *b, const struct body *from);
