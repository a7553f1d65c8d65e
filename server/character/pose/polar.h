#pragma once
#include "common/xform.h"

// Polar decomposition of a transform's 3x3 part: R H with R a proper rotation (x y z w) and H
// symmetric (xx yy zz xy xz yz). A mirror goes into H, which is then negative. The same input
// gives the same bits; any finite input is safe. An axis scaled to nothing is completed to a
// proper rotation; with only one axis left R is the shortest turn that keeps it; with none R is
// the identity.
void polar_decompose(const struct xform *m, double rotation[4], double stretch[6]);
