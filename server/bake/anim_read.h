#pragma once
#include "server/bake/source.h"

// /animations as clips; needs nodes and meshes. Clips keep the file's numbers, also those that
// have nothing left to play.
bool anim_read(struct source *src);
