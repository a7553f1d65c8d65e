#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "proto/input_messages.h"
#include "proto/wire.h"

// POSE: the contracts' POSE object. The clip first, at time_s; then joints override: a given
// field replaces, the rest stays. Local transforms, the model's unit.

enum pose_fields { POSE_ROTATION = 1, POSE_TRANSLATION = 2, POSE_SCALE = 4 };
enum { POSE_JOINTS_MAX = 512 };
struct pose_joint {
    char name[INPUT_NAME_MAX]; // a name, #N, or humanoid:hips
    uint8_t fields;            // enum pose_fields, at least one
    float rotation[4];         // x, y, z, w; norm 0.5 .. 2, made unit by the receiver
    float translation[3], scale[3];
};
struct pose_message { // 55 kB: keep one, not one a call
    struct input_head head;
    char clip[INPUT_NAME_MAX]; // "": none
    float time_s;
    uint32_t joint_count;
    struct pose_joint joints[POSE_JOINTS_MAX];
};

MUST_CHECK enum err pose_message_encode(struct wire_writer *w, const struct pose_message *in);
// Writes only the joints that there are; on error nothing but joints past any used count.
MUST_CHECK enum err pose_message_decode(const uint8_t *payload, size_t size_bytes,
                                        struct pose_message *out);

// The JSON form, {"clip", "time_s", "joints": {NAME: {"rotation", "translation", "scale"}}}: for
// scripts and files. Unknown members are refused by name. `head` is left alone. Offline only.
struct cJSON;
MUST_CHECK enum err pose_message_from_json(const struct cJSON *json, struct pose_message *out,
                                           struct fault *fault);
