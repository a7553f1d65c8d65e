#pragma once
#include "server/bake/source.h"

// /meshes: primitives, morph targets and their names. Fills src->mesh_joint_end.
bool mesh_read(struct source *src);
