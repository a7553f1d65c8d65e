#pragma once
#include "server/bake/face_generate.h"

// Contours of a face whose rig file gives none: from the shapes that close lids and lips
// themselves. Two rims of one surface that stand apart open and meet closed; at each place along
// them the pair that comes nearest. Added to the contours with `found`; what does not look like a
// contour is left out with a note.
MUST_CHECK enum err face_find_contours(struct face_generator *g);
