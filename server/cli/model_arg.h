#pragma once
#include "common/err.h"
#include "server/model/model_file.h"

// Opens what a MODEL argument names: a .sinew file, or anything that bake takes (then it is baked
// in memory).
MUST_CHECK enum err model_arg_open(const char *path, struct model_file **out, struct fault *fault);
