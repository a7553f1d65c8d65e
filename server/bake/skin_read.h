#pragma once
#include "server/bake/source.h"

// /skins. Any number of joints; what the file gives as `skeleton` does not matter.
bool skin_read(struct source *src);
// Nodes, meshes and skins against each other: joint numbers inside the skin, as many node weights
// as targets.
bool skin_check_nodes(struct source *src);
