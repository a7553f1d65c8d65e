#pragma once
#include <stdint.h>

#include "common/err.h"
#include "proto/input_messages.h"
#include "proto/pose_message.h"
#include "server/stage/body.h"

// INPUT messages to bodies. A message is checked and resolved when it comes (names to indices) and
// changes what the body was told; the next tick shows it. Of states that come between two ticks
// the newest wins. Later kinds add a row to the table in input.c. No allocation.
struct input_desk { // decoded messages are large: room for one, lent by the caller
    union {
        struct pose_message pose;
        struct input_values values;
        struct input_place place;
        struct input_control control;
        struct input_sensor sensor;
    } message;
    struct body_joint joints[POSE_JOINTS_MAX];
};

// payload: of MESSAGE_POSE, PLACE, FACE, CUSTOMISE, CONTROL, SENSOR; ERR_UNSUPPORTED for kinds that
// are not made yet. ERR_MALFORMED, ERR_TRUNCATED: broken; ERR_NOT_FOUND, ERR_AMBIGUOUS: a name,
// told in the fault. On error the body is untouched.
MUST_CHECK enum err input_apply(struct input_desk *desk, struct body *b, uint8_t type,
                                const uint8_t *payload, size_t size_bytes, struct fault *fault);

// The same from decoded messages: for scripts. `head` is not looked at.
MUST_CHECK enum err input_pose(struct input_desk *desk, struct body *b,
                               const struct pose_message *message, struct fault *fault);
void input_control(struct body *b, const struct input_control *message);
void input_place(struct body *b, const struct input_place *message);
MUST_CHECK enum err input_face(struct body *b, const struct input_value *values, size_t count,
                               struct fault *fault); // ids: face_state.h
// Of both: values of unknown ids are left out, ERR_OK with a line in the fault that says so;
// ERR_NOT_FOUND when none is known.
MUST_CHECK enum err input_customise(struct body *b, const struct input_value *values, size_t count,
                                    struct fault *fault);
// Motions of single roots (method C); all are checked before one is changed.
MUST_CHECK enum err input_roots(struct body *b, const struct input_root *roots, size_t count,
                                struct fault *fault);
