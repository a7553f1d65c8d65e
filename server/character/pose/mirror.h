#pragma once
#include <stdint.h>

#include "common/xform.h"
#include "server/model/model.h"

// A pose with left and right changed over, in model space about the plane x = 0: the partner of a
// joint stands at G' = M G G(P0)^-1 M G(P0 of the partner), so that the axes of the two sides may
// differ. Borrows all; one thread at a time, since it writes its scratch.
struct mirror {
    const struct model *model;
    const uint32_t *partners;     // [node] the node across, or itself; both ways
    struct xform *base;           // [node] G(P0), by mirror_prepare
    struct xform *posed, *across; // [node] scratch
};
void mirror_prepare(const struct mirror *mirror);
// `locals` and `out` may be the same.
void mirror_pose(const struct mirror *mirror, const struct trs *locals, struct trs *out);
