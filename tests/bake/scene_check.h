#pragma once
#include "server/bake/scene.h"

// What scene.h promises to later stages, looked up: NULL when all of it holds, else what does not.
const char *scene_check(const struct scene *s);
