#pragma once
#include <stdint.h>

#include "server/character/pose/human.h"

// What the body solve remembers from frame to frame: plain numbers without pointers or padding, so
// its bytes may be saved and loaded (same machine order), and a copy goes on exactly as the
// original would.
struct body_memory {
    uint32_t started, reserved;
};
