#pragma once
#include "common/err.h"
#include "server/model/model.h"

// Checks everything that the rest of the program relies on: each index in range, each count
// consistent with its neighbours, each float finite, names ended. A file that passes can crash
// nothing. Linear in the model's size; allocates one bit a lane. The fault names the table and
// the entry ("nodes[3].parent").
MUST_CHECK enum err validate_model(const struct model *m, struct fault *fault);
