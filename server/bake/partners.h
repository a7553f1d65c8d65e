#pragma once
#include <stdint.h>

#include "server/bake/builder.h"

// [node] the node across the plane x = 0: by the VRM humanoid, else by the words for left and right
// in the names; a node without one is its own. Both ways. Kept by the builder.
MUST_CHECK enum err mirror_partners(struct builder *b, const uint32_t **out);
