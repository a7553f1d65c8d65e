#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/wire.h"

// The INPUT family: CONTROL, SENSOR, FACE, CUSTOMISE, PLACE (POSE is in pose_message.h). Values
// are states that hold until another message sets them; happenings (press, release, gesture) are
// events with numbers of their own, repeated in every CONTROL until a FRAME's input_sequence
// covers a message that carried them, and used once by the server.
//
// Encoders write a whole envelope, ERR_LIMIT when it does not fit, ERR_MALFORMED for values a
// decoder would refuse. Decoders take a payload, leave *out untouched on error, refuse non-finite
// numbers and counts past the limits, and skip bytes past the known fields. No allocation.

struct input_head {
    uint32_t sequence;       // rises by >= 1 with every INPUT message of a session, from 1
    uint64_t client_time_us; // client's monotonic clock
};

enum { INPUT_NAME_MAX = 64 }; // bytes with the NUL

enum input_control_fields { // which of the states a message sets
    INPUT_MOVE = 1,
    INPUT_LOOK = 2,
    INPUT_TRIGGERS = 4,
    INPUT_GOTO = 8,
    INPUT_GOTO_END = 16, // forget a goto
    INPUT_VIEW = 32      // where the player looks
};
enum input_event_kind { INPUT_PRESS = 1, INPUT_RELEASE = 2, INPUT_GESTURE = 3 };
enum {
    INPUT_EVENTS_MAX = 32,
    INPUT_ROOTS_MAX = 16,
    INPUT_MUSCLES_MAX = 64,
    INPUT_SWITCHES_MAX = 64,
    INPUT_GESTURE_JSON_MAX = 1024
};
struct input_event {
    uint32_t number; // rises by 1 with every event of a session, from 1; the server uses each once
    uint8_t kind;    // enum input_event_kind
    char name[INPUT_NAME_MAX]; // action, from the bindings; of a gesture its name
    uint16_t json_bytes;       // gesture only: its parameters, a JSON object as text; else 0
    const char *json;          // borrowed, not NUL-ended
};
enum input_root_fields {
    INPUT_ROOT_SPEED = 1,
    INPUT_ROOT_WEIGHT = 2,
    INPUT_ROOT_OFFSET = 4,
    INPUT_ROOT_SIDE = 8,      // which way round is said: by the next bit
    INPUT_ROOT_MIRRORED = 16, // left and right change places
};
struct input_root { // one root of a character with several
    char root[INPUT_NAME_MAX];
    char clip[INPUT_NAME_MAX]; // "": keep the clip
    uint32_t fields;           // enum input_root_fields
    float speed, weight, offset_s;
};
struct input_muscle {
    char name[INPUT_NAME_MAX];
    float activation; // 0 .. 1
};
struct input_switch { // an extra of the character, on or off for this stream
    char name[INPUT_NAME_MAX];
    bool on;
};
struct input_control {
    struct input_head head;
    uint32_t fields;        // enum input_control_fields
    float move[2], look[2]; // x right, y forward: -1 .. 1
    float triggers[2];      // left, right: 0 .. 1
    float go_to[2];         // x, z in the model's unit, scene space
    float view[3]; // direction in the scene, length 0.5 .. 2: what "forward" means; 0 unset
    uint32_t event_count, root_count, muscle_count, switch_count;
    struct input_event events[INPUT_EVENTS_MAX];
    struct input_root roots[INPUT_ROOTS_MAX];
    struct input_muscle muscles[INPUT_MUSCLES_MAX];
    struct input_switch switches[INPUT_SWITCHES_MAX];
};

// Device poses: right-handed, +X right, +Y up, -Z forward, metres (OpenXR).
#define INPUT_DEVICE_MAP(X)                                                                        \
    X(0, head)                                                                                     \
    X(1, hand_l)                                                                                   \
    X(2, hand_r)                                                                                   \
    X(3, pelvis)                                                                                   \
    X(4, chest)                                                                                    \
    X(5, shoulder_l)                                                                               \
    X(6, shoulder_r)                                                                               \
    X(7, elbow_l)                                                                                  \
    X(8, elbow_r)                                                                                  \
    X(9, knee_l)                                                                                   \
    X(10, knee_r)                                                                                  \
    X(11, foot_l)                                                                                  \
    X(12, foot_r)                                                                                  \
    X(13, gaze)      /* where the eyes look: its -Z */                                             \
    X(14, tracker_1) /* on a part of the body that calibration finds */                            \
    X(15, tracker_2)                                                                               \
    X(16, tracker_3)                                                                               \
    X(17, tracker_4)                                                                               \
    X(18, tracker_5)                                                                               \
    X(19, tracker_6)                                                                               \
    X(20, tracker_7)                                                                               \
    X(21, tracker_8)                                                                               \
    X(22, tracker_9) X(23, tracker_10) X(24, tracker_11) X(25, tracker_12)
enum input_device_id {
#define X(id, name) INPUT_DEVICE_##name = (id),
    INPUT_DEVICE_MAP(X)
#undef X
        INPUT_DEVICE_COUNT
};
const char *input_device_name(uint8_t id); // NULL past the last
bool input_device_find(const char *name, uint8_t *id);

enum input_device_flags {
    INPUT_POSITION_VALID = 1,
    INPUT_ROTATION_VALID = 2,
    INPUT_TRACKED = 4, // measured, not guessed
    INPUT_VELOCITY_VALID = 8,
    INPUT_ANGULAR_VALID = 16,
    INPUT_HELD = 32 // a tracker that is a controller in a hand, by its grip; which hand is found
};
struct input_device {
    uint8_t id;    // enum input_device_id; others are skipped by the decoder
    uint8_t flags; // enum input_device_flags
    float position[3];
    float rotation[4]; // x, y, z, w; a norm outside 0.5 .. 2 is refused when ROTATION_VALID
    float velocity[3]; // metres a second
    float angular[3];  // radians a second
};
enum { INPUT_HAND_JOINTS = 26 }; // OpenXR order: palm, wrist, thumb metacarpal .. little tip
enum input_hand_fields { INPUT_HAND_CURL = 1, INPUT_HAND_SPLAY = 2, INPUT_HAND_JOINTS_SET = 4 };
struct input_hand {
    uint8_t side;                         // 0 left, 1 right
    uint8_t fields;                       // enum input_hand_fields
    float curl[5];                        // thumb .. little: 0 straight .. 1 fist
    float splay[5];                       // -1 .. 1
    float rotation[INPUT_HAND_JOINTS][4]; // in the hand device's space
};
enum { INPUT_DEVICES_MAX = 32, INPUT_TRACKERS = 12 };
enum input_sensor_requests {
    INPUT_CALIBRATE = 1,    // the wearer stands in a T-pose or at ease: measure from this sample on
    INPUT_HANDS_WORLD = 2,  // hands meet the world where the wearer's do
    INPUT_HANDS_SCALED = 4, // the wearer's proportions are scaled to the character's
    INPUT_FORGET = 8        // the calibration: begin as with the first sample
};
struct input_sensor {
    struct input_head head;
    uint64_t sample_time_us; // when measured, client's clock; 0: head.client_time_us
    uint16_t requests;       // enum input_sensor_requests; other bits are skipped
    uint32_t device_count, hand_count;
    struct input_device devices[INPUT_DEVICES_MAX];
    struct input_hand hands[2];
};

// FACE and CUSTOMISE: values by the ids of the CATALOGUE ("shapes", "parameters"). Absent ids
// hold. FACE weights are 0 .. 1 as a rule, -2 .. 2 at most; parameters are any finite number.
enum { INPUT_VALUES_MAX = 1024 };
struct input_value {
    uint16_t id;
    float value;
};
struct input_values {
    struct input_head head;
    uint32_t value_count;
    struct input_value values[INPUT_VALUES_MAX];
};

enum input_place_fields { INPUT_PLACE_POSITION = 1, INPUT_PLACE_YAW = 2, INPUT_PLACE_SCALE = 4 };
struct input_place { // where the character's origin stands; fields absent hold
    struct input_head head;
    uint32_t fields;
    float position[3]; // the model's unit, scene space
    float yaw_rad;     // about +Y, anticlockwise from above
    float scale;       // > 0; at most 1000
};

MUST_CHECK enum err input_encode_control(struct wire_writer *w, const struct input_control *in);
MUST_CHECK enum err input_decode_control(const uint8_t *payload, size_t size_bytes,
                                         struct input_control *out); // json borrows the payload
MUST_CHECK enum err input_encode_sensor(struct wire_writer *w, const struct input_sensor *in);
MUST_CHECK enum err input_decode_sensor(const uint8_t *payload, size_t size_bytes,
                                        struct input_sensor *out);
// What an encoder would refuse: for messages that came some other way.
MUST_CHECK enum err input_check_sensor(const struct input_sensor *in);
// type: MESSAGE_FACE or MESSAGE_CUSTOMISE
MUST_CHECK enum err input_encode_values(struct wire_writer *w, uint8_t type,
                                        const struct input_values *in);
MUST_CHECK enum err input_decode_values(const uint8_t *payload, size_t size_bytes, uint8_t type,
                                        struct input_values *out);
MUST_CHECK enum err input_encode_place(struct wire_writer *w, const struct input_place *in);
MUST_CHECK enum err input_decode_place(const uint8_t *payload, size_t size_bytes,
                                       struct input_place *out);

// The head alone, of any INPUT payload (POSE too): for ordering before the rest is looked at.
MUST_CHECK enum err input_decode_head(const uint8_t *payload, size_t size_bytes,
                                      struct input_head *out);
