#pragma once
#include "server/bake/source.h"

// /images, /textures (with their samplers) and /materials, passed through.
bool material_read(struct source *src);
