#pragma once
#include "common/err.h"

struct cJSON;

// Checks the whole rig file against its schema. The fault names the JSON path.
MUST_CHECK enum err rig_schema_check(const struct cJSON *root, struct fault *fault);
