#pragma once
#include "common/err.h"
#include "server/bake/rig.h"
#include "server/bake/scene.h"

// The rig file's `body`: `humanoid` says which joint is which bone of a VRM humanoid, over what
// the source says or its joints' names tell, for a character whose joints have other names. Lives
// in the scene's pool. A joint that is not there is left to rig_references_check, which lists those
// there are.
MUST_CHECK enum err rig_body_read(const struct rig *rig, struct scene *scene, struct fault *fault);
