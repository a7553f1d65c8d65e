#pragma once
#include <stdint.h>

#include "client/lib/include/sinew/sinew.h"
#include "common/err.h"

// One member of a script line ("control", "sensor", "face", "customise", "pose", "place") from
// JSON to the library's calls. script_inputs_check looks at everything that needs no server.
struct cJSON;
MUST_CHECK enum err script_inputs_check(const struct cJSON *item, struct fault *fault);
MUST_CHECK enum err script_inputs_send(struct sinew_client *client, const struct cJSON *item,
                                       uint32_t *sequence, struct fault *fault);
