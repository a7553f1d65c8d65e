#ifndef SINEW_SINEW_H
#define SINEW_SINEW_H
/*
 * libsinew: animated characters from a sinewd server, as vertex buffers that are ready to draw.
 *
 * The client holds no rig and no clips. It sends input (where to go, a pose, a face) and gets
 * surfaces: for every character in view a vertex buffer that is brought up to date once a display
 * frame. This is the whole of it; client/lib/examples/hello_sinew.c is it in sixty lines:
 *
 *     struct sinew_options o;
 *     sinew_options_init(&o, sizeof o);
 *     o.url = "ws://127.0.0.1:7480";
 *     struct sinew_client *client;
 *     char why[SINEW_TEXT_MAX];
 *     if (sinew_open(&o, &client, why, sizeof why)) ...          // returns at once
 *     for (each display frame) {
 *         struct sinew_event e = {.struct_size = sizeof e};
 *         while (sinew_next_event(client, &e)) ...               // joined, actors, notices, lost
 *         sinew_update(client);                                  // brings the buffers to "now"
 *         struct sinew_actor a = {.struct_size = sizeof a};
 *         for (size_t i = 0; sinew_actor_at(client, i, &a) == SINEW_OK; i++)
 *             draw(a.vertices, a.indices, a.translation, a.rotation, a.scale);
 *     }
 *     sinew_close(client);
 *
 * THREADS. With own_thread = 1 (the default) the library runs one thread for network and decoding.
 * With own_thread = 0 it runs none: call sinew_poll often (at least ten times a second). One
 * thread of the application owns a client: it calls sinew_update and reads what is handed out.
 * The sinew_send_ calls may come from any thread, and so may sinew_get_stats. Different clients
 * share nothing.
 *
 * MEMORY. What the library hands out (pointers in struct sinew_actor, sinew_material,
 * sinew_texture) belongs to the library, is read-only, and stays valid and unchanged until the
 * next sinew_update or sinew_close of that client. `vertices`, `indices` and `uvs` keep their
 * addresses for as long as an actor's `surface` keeps its value, so they may be mapped or
 * registered once.
 *
 * STRUCTS begin with struct_size, which the caller sets to sizeof the struct: an older program
 * goes on working with a newer library. Fields are only ever added at the end.
 *
 * UNITS AND AXES. Right-handed, +Y up. Lengths are in the character file's unit; unit_m says how
 * many metres that is. Times are microseconds of a monotonic clock (sinew_now_us) unless the name
 * says otherwise (_s, _ms). Rotations are quaternions x, y, z, w.
 *
 * C99 and C++.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SINEW_API __attribute__((visibility("default")))
#else
#define SINEW_API
#endif

#define SINEW_VERSION_MAJOR 0
#define SINEW_VERSION_MINOR 1

enum { SINEW_TEXT_MAX = 512, SINEW_NAME_MAX = 64 }; /* bytes with the NUL */

/* Results. Negative ones leave every out-parameter untouched. */
enum sinew_result {
    SINEW_OK = 0,
    SINEW_ERR_USAGE = -1,     /* an argument makes no sense; struct_size not set */
    SINEW_ERR_MEMORY = -2,    /* out of memory, or over options.memory_max_bytes */
    SINEW_ERR_NETWORK = -3,   /* unreachable, refused, cut */
    SINEW_ERR_TLS = -4,       /* certificate or handshake */
    SINEW_ERR_PROTOCOL = -5,  /* the server does not keep to the protocol, or to its version */
    SINEW_ERR_REFUSED = -6,   /* the server said no: token, character, scene, full */
    SINEW_ERR_TIMEOUT = -7,   /* the time given has passed */
    SINEW_ERR_NOT_FOUND = -8, /* no such actor, name, texture, frame */
    SINEW_ERR_BUSY = -9,      /* the way out is full: send less */
    SINEW_ERR_STATE = -10     /* not possible now: not joined yet, closed, coarser detail shown */
};
SINEW_API const char *sinew_result_text(int result); /* "timed out"; never NULL */
SINEW_API const char *sinew_version(void);           /* of the library that runs: "0.1.0" */
SINEW_API uint64_t sinew_now_us(void);               /* this side's monotonic clock */

struct sinew_client; /* one connection, opaque */

/* ---- Opening ------------------------------------------------------------------------------ */

enum sinew_position_format {
    SINEW_POSITION_FLOAT3,  /* 12 bytes, model space */
    SINEW_POSITION_UINT16_4 /* 8 bytes, grid numbers and 0: model = origin + step * number */
};
enum sinew_normal_format {
    SINEW_NORMAL_FLOAT3,  /* 12 bytes, unit */
    SINEW_NORMAL_INT16_4, /* 8 bytes, 32767 = 1, and 0 */
    SINEW_NORMAL_OCT8_2,  /* 4 bytes: octahedral pair, 127 = 1, and two zero bytes */
    SINEW_NORMAL_NONE
};
enum sinew_playout {
    SINEW_PLAY_SMOOTH, /* jitter buffer: a little late, interpolated between frames */
    SINEW_PLAY_NEWEST, /* the newest frame as it is: least delay, no interpolation */
    SINEW_PLAY_EVERY   /* every frame once, one for each sinew_update: for recorders */
};

struct sinew_quality {       /* what is asked for; 0: the server chooses */
    uint32_t bits;           /* of a coordinate, 10 .. 16; the server's default is 14 */
    uint32_t rate_hz;        /* frames a second */
    uint32_t detail;         /* 0 by distance and link, 1 full, 2 medium or coarser, 3 coarse */
    uint32_t characters_max; /* nearest first */
    uint32_t raw;            /* 1: float32 surfaces; for tests. Not with UINT16_4 positions */
};

struct sinew_frame; /* below */

struct sinew_options {
    size_t struct_size;
    const char *url;       /* sinew://host:port (native, TLS), wss://host:port, ws://host:port */
    const char *ca_file;   /* PEM; NULL: the system's bundle where one is found */
    const char *pin;       /* SHA-256 of the certificate, hex, colons optional; replaces the CA */
    uint32_t insecure;     /* 1: any certificate. For trials on one machine */
    const char *token;     /* bearer token, or NULL */
    const char *ticket;    /* one-use ticket from POST /v1/sessions, or NULL */
    const char *role;      /* NULL: "player". "viewer" controls no character */
    const char *scene;     /* NULL: a private one */
    const char *character; /* NULL: the server's first */
    const char *program;   /* name and version for the server's log, or NULL */
    struct sinew_quality quality;

    uint32_t own_thread; /* 1 (default), or 0: sinew_poll drives */
    uint32_t reconnect;  /* 1 (default): comes back by itself and resumes */
    uint32_t textures;   /* 1: fetch texture files; they arrive after the first frames */
    uint32_t applied;    /* 1: SINEW_EVENT_APPLIED for every input */
    uint32_t decode;     /* 1 (default), or 0: frame headers only (load generators, monitors) */
    enum sinew_position_format position_format;
    enum sinew_normal_format normal_format;
    enum sinew_playout playout;
    uint32_t delay_max_ms;       /* SMOOTH: upper bound of the jitter buffer; default 200 */
    uint32_t connect_timeout_ms; /* one attempt, until joined; default 10000 */
    uint64_t memory_max_bytes;   /* surfaces, textures, frames of this client; default 1 GiB */

    /* Called for each frame that arrives: on the library's thread, or inside sinew_poll. Must not
     * call back into the library and should return at once. May be NULL. */
    void (*on_frame)(const struct sinew_frame *frame, void *owner);
    void *owner;

    const char *name;   /* of the player: others may show it over its head; or NULL */
    const char *recipe; /* JSON text, at most 12,288 bytes: how the character is customised from its
                         * first frame on; NULL: as it is. What does not fit brings a notice */
};

/* Fills in the defaults. Call it first, with sizeof(struct sinew_options). */
SINEW_API void sinew_options_init(struct sinew_options *options, size_t struct_size);

/* Starts connecting and returns at once; the strings are copied. SINEW_EVENT_JOINED follows, or
 * SINEW_EVENT_CLOSED. SINEW_ERR_USAGE: the URL, the pin or an option; SINEW_ERR_TLS: the CA file;
 * SINEW_ERR_MEMORY. `why` (may be NULL) gets one line on failure. */
SINEW_API int sinew_open(const struct sinew_options *options, struct sinew_client **out, char *why,
                         size_t why_bytes);

/* Says goodbye, waits for the library's thread (at most some 100 ms, or as long as the system's
 * name lookup takes), frees everything. NULL is fine. Owner thread only. */
SINEW_API void sinew_close(struct sinew_client *client);

/* Waits until joined (both thread modes). SINEW_ERR_TIMEOUT: not yet, it goes on trying.
 * Otherwise why it was given up, with a line in `why`. Owner thread only. */
SINEW_API int sinew_wait_joined(struct sinew_client *client, uint32_t timeout_ms, char *why,
                                size_t why_bytes);

/* own_thread = 0 only: reads, decodes, writes, reconnects. Returns early when something arrived.
 * Blocks for `timeout_ms` at most, and for name lookups (numeric addresses need none). SINEW_OK,
 * SINEW_ERR_TIMEOUT when nothing came, SINEW_ERR_STATE once closed for good. */
SINEW_API int sinew_poll(struct sinew_client *client, uint32_t timeout_ms);

/* For programs that have a loop of their own and poll many clients: the socket to wait for (-1:
 * none now), whether to wait for writing too, and after how long sinew_poll(client, 0) wants to be
 * called at the latest. own_thread = 0 only. */
struct sinew_wait {
    size_t struct_size;
    intptr_t socket;
    uint32_t want_write, timeout_ms;
};
SINEW_API int sinew_get_wait(struct sinew_client *client, struct sinew_wait *out);

/* Asks for another quality while connected. Any thread. */
SINEW_API int sinew_set_quality(struct sinew_client *client, const struct sinew_quality *quality);

/* ---- Events -------------------------------------------------------------------------------- */

enum sinew_event_kind {
    SINEW_EVENT_JOINED = 1, /* the session stands; `actor` is the own one (0: none) */
    SINEW_EVENT_RESUMED,    /* the same session goes on after a loss */
    SINEW_EVENT_LOST,       /* connection lost; coming back by itself in retry_ms */
    SINEW_EVENT_CLOSED,     /* over for good; `result`, `code` and `text` say why */
    SINEW_EVENT_ACTOR_IN,   /* `actor` (character name in `text`) has come into view */
    SINEW_EVENT_ACTOR_OUT,  /* `actor` is gone after the next sinew_update */
    SINEW_EVENT_SURFACE,    /* `actor` has a (new) surface after the next sinew_update */
    SINEW_EVENT_APPEARANCE, /* materials of `actor` are new after the next sinew_update */
    SINEW_EVENT_TEXTURE,    /* a texture file is whole after the next sinew_update */
    SINEW_EVENT_CATALOGUE,  /* names of the own character are known (sinew_shape_id ...) */
    SINEW_EVENT_NOTICE,     /* the server tells: `code`, `text` */
    SINEW_EVENT_REFUSED,    /* an input or setting was not applied: `sequence`, `code`, `text` */
    SINEW_EVENT_APPLIED     /* input `sequence` was first used in `tick` (options.applied) */
};
struct sinew_event {
    size_t struct_size;
    enum sinew_event_kind kind;
    int result;        /* enum sinew_result: CLOSED, LOST */
    uint32_t code;     /* of the server: client/lib/README.md lists them; 0: none */
    uint32_t actor;    /* 0: none */
    uint32_t sequence; /* input */
    uint32_t retry_ms;
    uint64_t tick;
    uint64_t time_us; /* when it happened, sinew_now_us */
    char text[SINEW_TEXT_MAX];
};
/* 1 and the oldest event, or 0. The queue holds 1,024; then the oldest are lost and counted
 * (stats.events_lost), JOINED, LOST, CLOSED last of all. Owner thread only. */
SINEW_API int sinew_next_event(struct sinew_client *client, struct sinew_event *out);

/* ---- What to draw -------------------------------------------------------------------------- */

/* Brings every buffer to what is to be seen now. The only call that changes what is handed out.
 * Returns how many actors have changed, or SINEW_ERR_USAGE. Owner thread only. */
SINEW_API int sinew_update(struct sinew_client *client);

enum sinew_topology { SINEW_TRIANGLES, SINEW_LINES, SINEW_POINTS };
struct sinew_part {
    uint32_t node, mesh, primitive;      /* glTF indices of the source file */
    uint32_t material;                   /* for sinew_material_at; UINT32_MAX: none */
    uint32_t topology;                   /* enum sinew_topology */
    uint32_t source_first, source_count; /* its source vertices */
    uint32_t index_first, index_count;   /* its stretch of `indices` */
    uint32_t flags;                      /* 0 */
};

enum sinew_actor_flags { SINEW_ACTOR_OWN = 1, SINEW_ACTOR_CONTROLLED = 2, SINEW_ACTOR_STALE = 4 };
struct sinew_actor {
    size_t struct_size;
    uint32_t actor;
    uint32_t flags;   /* STALE: the connection is lost, this is the last frame */
    uint32_t surface; /* changes when topology does: upload indices and UVs again; 0: none yet */
    uint32_t changes; /* counts the times that `vertices` were written: upload when it differs */
    const char *character;
    float unit_m;                 /* metres of the model's unit */
    float box_min[3], box_max[3]; /* of the rest surface, model space */

    /* world = translation + rotate(rotation, scale * position) */
    float translation[3], rotation[4], scale;

    const void *vertices; /* position, then normal, for each vertex; NULL without a frame */
    uint32_t vertex_count;
    uint32_t stride_bytes, normal_offset_bytes;
    enum sinew_position_format position_format;
    enum sinew_normal_format normal_format;
    float origin[3], step; /* UINT16_4 positions */

    const uint32_t *indices;
    uint32_t index_count;
    const struct sinew_part *parts;
    uint32_t part_count;
    uint32_t detail;                 /* 0 full, then coarser; a change changes `surface` */
    const float *uvs;                /* 2 a vertex, or NULL; first set, v down as in glTF */
    const uint8_t *colors;           /* RGBA a vertex, or NULL */
    const uint32_t *source_vertices; /* which source vertex each one is */
    uint32_t source_vertex_count;    /* of the whole character */
    uint32_t material_count;

    uint64_t tick;           /* of the (newer) frame that is shown */
    uint64_t server_time_us; /* that this shows, server's clock */
    uint32_t input_sequence; /* newest input of this session that is in it (own actor) */

    const char *name; /* of its player; "": none */
};
/* The i-th actor that has come into view (in order of arrival), or by id. SINEW_ERR_NOT_FOUND past
 * the last. Owner thread only. */
SINEW_API int sinew_actor_at(struct sinew_client *client, size_t i, struct sinew_actor *out);
SINEW_API int sinew_actor_get(struct sinew_client *client, uint32_t actor, struct sinew_actor *out);
SINEW_API uint32_t sinew_own_actor(struct sinew_client *client); /* 0: none */

/* What is shown of the actor as `sinewd eval --format bin` would write it: world space, source
 * order, 3 floats for each of source_vertex_count vertices. `normals` may be NULL.
 * SINEW_ERR_STATE: no frame yet, or not at full detail. Owner thread only. */
SINEW_API int sinew_gather(struct sinew_client *client, uint32_t actor, float *positions,
                           float *normals);

enum sinew_texture_use {
    SINEW_TEXTURE_BASE_COLOR,
    SINEW_TEXTURE_METALLIC_ROUGHNESS,
    SINEW_TEXTURE_NORMAL,
    SINEW_TEXTURE_OCCLUSION,
    SINEW_TEXTURE_EMISSIVE,
    SINEW_TEXTURE_USE_COUNT
};
enum sinew_alpha { SINEW_ALPHA_OPAQUE, SINEW_ALPHA_MASK, SINEW_ALPHA_BLEND };
struct sinew_texture_slot {
    uint8_t hash[16]; /* for sinew_texture_get; all zero: no texture */
    uint8_t uv_set;
    uint8_t wrap_s, wrap_t;                  /* 0 repeat, 1 clamp, 2 mirror */
    uint8_t nearest;                         /* 1: no filtering */
    float offset[2], scale[2], rotation_rad; /* of the UVs, KHR_texture_transform */
    float strength;                          /* normal scale, occlusion strength */
};
struct sinew_material { /* as in glTF 2.0, linear colours */
    size_t struct_size;
    char name[SINEW_NAME_MAX];
    uint32_t alpha; /* enum sinew_alpha */
    uint32_t double_sided, unlit;
    float base_color[4], emissive[3], metallic, roughness, alpha_cutoff;
    struct sinew_texture_slot textures[SINEW_TEXTURE_USE_COUNT];
};
SINEW_API int sinew_material_at(struct sinew_client *client, uint32_t actor, uint32_t material,
                                struct sinew_material *out);

struct sinew_texture {
    size_t struct_size;
    const char *mime;     /* "image/png", "image/jpeg", "image/webp", "image/ktx2";
                           * of a root's table "application/x-sinew-shares" */
    const uint8_t *bytes; /* the file as it is */
    size_t size_bytes;
};
/* SINEW_ERR_NOT_FOUND: not (yet) here. */
SINEW_API int sinew_texture_get(struct sinew_client *client, const uint8_t hash[16],
                                struct sinew_texture *out);

/* ---- Input --------------------------------------------------------------------------------- */
/*
 * What is set holds until it is set again, across reconnects too; what is set before the join or
 * while the connection is lost goes out as soon as there is one. Every call returns at once.
 * `sequence` (may be NULL) gets a number that rises with each; an actor's input_sequence tells
 * when it is seen. SINEW_ERR_USAGE: not finite, out of range, too many; SINEW_ERR_BUSY: more than
 * the link carries, not sent; SINEW_ERR_STATE: closed for good. Any thread.
 */

enum sinew_pose_fields {
    SINEW_POSE_ROTATION = 1,
    SINEW_POSE_TRANSLATION = 2,
    SINEW_POSE_SCALE = 4
};
struct sinew_pose_joint { /* local transform; fields not given stay */
    const char *name;     /* a name, "#N" (glTF node), or "humanoid:hips" */
    uint32_t fields;      /* enum sinew_pose_fields */
    float rotation[4], translation[3], scale[3];
};
struct sinew_pose { /* the clip at its time first, then the joints over it */
    size_t struct_size;
    const char *clip; /* name or "#N"; NULL: the rest pose */
    float time_s;
    const struct sinew_pose_joint *joints;
    size_t joint_count; /* at most 512 */
};
SINEW_API int sinew_send_pose(struct sinew_client *client, const struct sinew_pose *pose,
                              uint32_t *sequence);

enum sinew_place_fields { SINEW_PLACE_POSITION = 1, SINEW_PLACE_YAW = 2, SINEW_PLACE_SCALE = 4 };
struct sinew_place { /* where the character's origin stands */
    size_t struct_size;
    uint32_t fields;
    float position[3];
    float yaw_rad; /* about +Y, anticlockwise from above */
    float scale;   /* above 0, at most 1000 */
};
SINEW_API int sinew_send_place(struct sinew_client *client, const struct sinew_place *place,
                               uint32_t *sequence);

/* Ids of shapes and expressions, and of parameters, by name, "#N" or a common alias (eyeBlink_L is
 * eyeBlinkLeft). -1: no such name, or SINEW_EVENT_CATALOGUE has not come. Any thread. */
SINEW_API int32_t sinew_shape_id(struct sinew_client *client, const char *name);
SINEW_API int32_t sinew_parameter_id(struct sinew_client *client, const char *name);

struct sinew_value {
    uint16_t id;
    float value; /* face: 0 .. 1 as a rule, -2 .. 2 at most */
};
/* What stands for a name that people use for faces (ARKit, VRM, Unified Expressions, visemes): ids
 * for sinew_send_face, each with its share of the weight in `value`. Returns how many, at most
 * `capacity` (12 are enough); 0: nothing does. Any thread. */
SINEW_API size_t sinew_face_parts(struct sinew_client *client, const char *name,
                                  struct sinew_value *parts, size_t capacity);
/* At most 1,024 values. Those not given hold. */
SINEW_API int sinew_send_face(struct sinew_client *client, const struct sinew_value *values,
                              size_t count, uint32_t *sequence);
SINEW_API int sinew_send_customise(struct sinew_client *client, const struct sinew_value *values,
                                   size_t count, uint32_t *sequence);

enum sinew_control_fields {
    SINEW_CONTROL_MOVE = 1,
    SINEW_CONTROL_LOOK = 2,
    SINEW_CONTROL_TRIGGERS = 4,
    SINEW_CONTROL_GOTO = 8,
    SINEW_CONTROL_GOTO_END = 16,
    SINEW_CONTROL_VIEW = 32
};
enum sinew_action { SINEW_PRESS = 1, SINEW_RELEASE = 2, SINEW_GESTURE = 3 };
struct sinew_action_event { /* happens once, however often it is sent again */
    uint32_t action;        /* enum sinew_action */
    const char *name;       /* of the action, from the bindings; of the gesture */
    const char *json;       /* gesture: its parameters, a JSON object; else NULL */
};
enum sinew_root_fields {
    SINEW_ROOT_SPEED = 1,
    SINEW_ROOT_WEIGHT = 2,
    SINEW_ROOT_OFFSET = 4,
    SINEW_ROOT_SIDE = 8,     /* say which way round: mirrored with the next, else not */
    SINEW_ROOT_MIRRORED = 16 /* left and right change places */
};
struct sinew_root {
    const char *root, *clip; /* clip NULL: keep it */
    uint32_t fields;         /* enum sinew_root_fields */
    float speed, weight, offset_s;
};
struct sinew_muscle {
    const char *name;
    float activation; /* 0 .. 1 */
};
struct sinew_switch { /* an extra of the character (CATALOGUE's `extras`), for this stream */
    const char *name;
    int on;
};
struct sinew_control {
    size_t struct_size;
    uint32_t fields;        /* enum sinew_control_fields: what is set */
    float move[2], look[2]; /* x right, y forward: -1 .. 1 */
    float triggers[2];      /* left, right: 0 .. 1 */
    float go_to[2];         /* x, z */
    const struct sinew_action_event *events;
    const struct sinew_root *roots;
    const struct sinew_muscle *muscles;
    size_t event_count, root_count, muscle_count; /* at most 32 (unacknowledged), 16, 64 */
    float view[3]; /* direction in the scene, length 0.5 .. 2, that the player looks along: move's
                    * forward is there, and the character looks there */
    const struct sinew_switch *switches;
    size_t switch_count; /* at most 64 */
};
SINEW_API int sinew_send_control(struct sinew_client *client, const struct sinew_control *control,
                                 uint32_t *sequence);

enum sinew_device_flags {
    SINEW_DEVICE_POSITION = 1,
    SINEW_DEVICE_ROTATION = 2,
    SINEW_DEVICE_TRACKED = 4, /* measured, not guessed */
    SINEW_DEVICE_VELOCITY = 8,
    SINEW_DEVICE_ANGULAR = 16,
    SINEW_DEVICE_HELD = 32 /* a tracker_N that is a controller in a hand, by its grip */
};
struct sinew_device { /* OpenXR axes: +X right, +Y up, -Z forward; metres */
    const char *name; /* head, hand_l/r, pelvis, chest, shoulder_l/r, elbow_l/r, knee_l/r, foot_l/r,
                         gaze, tracker_1 .. tracker_12 */
    uint32_t flags;   /* enum sinew_device_flags: what is valid */
    float position[3], rotation[4], velocity[3], angular[3];
};
enum sinew_hand_fields { SINEW_HAND_CURL = 1, SINEW_HAND_SPLAY = 2, SINEW_HAND_JOINTS = 4 };
struct sinew_hand {
    uint32_t side;         /* 0 left, 1 right */
    uint32_t fields;       /* enum sinew_hand_fields */
    float curl[5];         /* thumb .. little: 0 straight .. 1 fist */
    float splay[5];        /* -1 .. 1 */
    float rotation[26][4]; /* OpenXR hand joints, in the hand device's space */
};
enum sinew_sensor_requests {
    SINEW_SENSOR_CALIBRATE = 1,    /* the wearer stands in a T-pose or at ease: measure now */
    SINEW_SENSOR_HANDS_WORLD = 2,  /* hands meet the world where the wearer's do */
    SINEW_SENSOR_HANDS_SCALED = 4, /* the wearer's proportions are scaled to the character's */
    SINEW_SENSOR_FORGET = 8        /* the calibration */
};
struct sinew_sensor {
    size_t struct_size;
    uint64_t sample_time_us; /* sinew_now_us when it was measured; 0: now */
    const struct sinew_device *devices;
    const struct sinew_hand *hands;
    size_t device_count, hand_count; /* at most 32, 2 */
    uint32_t requests;               /* enum sinew_sensor_requests */
};
/* Not repeated after a reconnect: a measurement grows old. */
SINEW_API int sinew_send_sensor(struct sinew_client *client, const struct sinew_sensor *sensor,
                                uint32_t *sequence);

/* The control bindings that the server sent at join: JSON, NUL-ended, or NULL. Valid until the
 * next sinew_update. Owner thread only. */
SINEW_API const char *sinew_bindings(struct sinew_client *client);
/* The catalogue: {"clips", "joints", "shapes", "parameters", "roots", "actions"}, and
 * "clip_seconds": how long each of "clips" is. The same rules. */
SINEW_API const char *sinew_catalogue(struct sinew_client *client);

/* ---- Figures ------------------------------------------------------------------------------- */

struct sinew_frame { /* one frame as it arrives (options.on_frame) */
    size_t struct_size;
    uint32_t actor, frame, input_sequence;
    uint32_t vertex_count, payload_bytes, detail;
    uint32_t key;     /* 1: needs no earlier frame */
    uint32_t decoded; /* 0: header only, or it could not be decoded */
    uint64_t tick;
    uint64_t server_time_us; /* server's clock */
    uint64_t receive_time_us;
    int64_t age_us;     /* from the tick's deadline to here; -1: clock offset not known yet */
    int64_t latency_us; /* from sending the newest input in it to here; -1: none is new */
};

struct sinew_percentiles {
    uint64_t count;
    uint32_t p50_us, p90_us, p99_us, max_us; /* within 3 % */
};
enum sinew_connection { SINEW_CONNECTING, SINEW_JOINED, SINEW_WAITING, SINEW_CLOSED };
struct sinew_stats { /* since sinew_open */
    size_t struct_size;
    enum sinew_connection connection; /* WAITING: lost, the next attempt is due later */
    double joined_s;                  /* time spent joined */
    uint64_t bytes_in, bytes_out;     /* on the wire, TLS and framing included */
    uint64_t frames;                  /* received, all actors */
    uint64_t frames_own;              /* of the own actor */
    uint64_t frames_key;
    uint64_t frames_missed; /* of the own actor: skipped by the server against the granted rate */
    uint64_t frames_undecoded; /* damaged, or their anchor was missing */
    uint64_t frames_unshown;   /* decoded, but replaced before a sinew_update */
    uint64_t resyncs;          /* key frames asked for */
    uint64_t vertex_bits;      /* payload bits, and */
    uint64_t vertices;         /* vertices, of all frames: bits per vertex per frame */
    uint64_t events_lost, messages_skipped, reconnects, resumes;
    struct sinew_percentiles age_us;       /* tick's deadline to arrival */
    struct sinew_percentiles shown_age_us; /* tick's deadline to sinew_update */
    struct sinew_percentiles latency_us;   /* input sent to frame received that has it */
    struct sinew_percentiles interval_us;  /* between frames of the own actor */
    struct sinew_percentiles rtt_us;
    int64_t clock_offset_us; /* server's clock minus ours */
    uint32_t clock_error_us; /* half the best round trip; 0: not known yet */
    uint32_t delay_us;       /* of the jitter buffer now */
    uint32_t tick_hz;        /* of the server */
    struct sinew_quality granted;
};
SINEW_API int sinew_get_stats(struct sinew_client *client, struct sinew_stats *out);

#ifdef __cplusplus
}
#endif
#endif
