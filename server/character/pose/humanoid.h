#pragma once
#include <stdbool.h>
#include <stdint.h>

// The bones of a VRM 1.0 humanoid, by number, and guesses of them from other tools' joint names.
enum { HUMANOID_BONE_COUNT = 55, HUMANOID_HIPS = 0 };

const char *humanoid_name(int32_t bone);
int32_t humanoid_find(const char *name);      // VRM 1.0 name; -1 when it is none
int32_t humanoid_find_vrm0(const char *name); // VRM 0.x name: its thumbs count otherwise
// By the usual names of motion capture and modelling tools ("LeftUpLeg", "mixamorig:Hips",
// "lShldr", "hip", ...). -1 when it looks like no bone of a body.
int32_t humanoid_guess(const char *name);
