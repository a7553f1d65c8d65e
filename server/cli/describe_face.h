#pragma once
#include "server/model/model.h"

struct cJSON;

// What `inspect --json` says under "face": parameters, the bake's report of contours and
// corrections, expressions. The caller's to delete.
struct cJSON *describe_face(const struct model *m);
