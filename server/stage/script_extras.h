#pragma once
#include <stdbool.h>

#include "common/err.h"
#include "server/stage/body.h"

struct cJSON;

// A script's `activate` {MUSCLE: 0..1} or `extras` {NAME: true|false} into a CONTROL message.
// False: not in that form, or more than a message takes.
bool script_read_extras(const struct cJSON *json, struct input_control *out);
// `skip`: the plugins that are left out of frames from this line on, as a stream recorded them: a
// list of names. ERR_NOT_FOUND: no such extra; ERR_MALFORMED.
MUST_CHECK enum err script_skip(const struct cJSON *json, struct body *b, struct fault *fault);
