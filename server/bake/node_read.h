#pragma once
#include "server/bake/source.h"

// /nodes and /scenes: the hierarchy, checked to be a forest, and which nodes the default scene
// shows. Meshes and skins have been counted before (their indices are checked here).
bool node_read(struct source *src);
