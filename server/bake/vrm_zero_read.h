#pragma once
#include "server/bake/vrm_read.h"

// The VRM 0.x extension. Its vectors are in Unity's axes, which mirror z: they are turned here.
void vrm_zero_read(struct vrm_writer *w, const struct doc_at *vrm);
