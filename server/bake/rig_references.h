#pragma once
#include "common/err.h"
#include "server/bake/rig.h"
#include "server/model/model.h"

// Joints, shapes, materials and files that a rig file names must be there, also in sections that
// nothing uses yet. The fault begins with the JSON path.
MUST_CHECK enum err rig_references_check(const struct rig *rig, const struct model *model,
                                         struct fault *fault);
