#pragma once
#include <stddef.h>

// A small complete character as glTF text with everything inline: a bar of 8 vertices bent by
// two joints, one blendshape ("wide"), one clip ("bend", 1 s, 90 degrees), one material. The
// caller frees it.
char *sample_gltf(size_t *size_bytes);
