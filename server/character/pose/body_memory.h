#pragma once
#include <stdint.h>

#include "server/character/pose/human.h"

// What the body solve remembers from frame to frame: plain numbers without pointers or padding, so
// its bytes may be saved and loaded (same byte order), and a copy goes on exactly as the original
// would.

enum { BODY_LAGS = 3 }; // of the sense's running means

struct body_part_memory {         // how a part's target eases
    double place[3], turn[4];     // as shown last
    double offset[3], twist[4];   // what is left of the step when its source changed
    double last[3], last_turn[4]; // as told last, in the frame of the head's heading
    double lost_s;
    uint32_t source; // of the place: 0 never seen, 1 guessed, 2 valid, 3 tracked
    uint32_t turn_source;
};

struct body_sense_memory { // running means of what is told, for speeds and what was before
    double head[BODY_LAGS][3];
    double hands[BODY_LAGS][2][3]; // from the head, body frame
    double heading[BODY_LAGS][2];  // sine, cosine
    double ahead[2];               // the body's heading, slower than the head's
};

struct body_foot_memory {
    double place[3], turn[4]; // of the ankle; as shown last
    double from[3], from_turn[4];
    double to[3], speed[3];
    double step_s;    // since it left the floor
    uint32_t planted; // 1: it stands
    uint32_t reserved;
};

struct body_limb_memory {
    double line[3], pole[3];   // as shown last
    double parent[4], far;     // of what it hangs from; from root to end
    double blade[4];           // the shoulder blade's turn in the chest
    double turns[2][4];        // of both bones, each against its parent bone's
    uint32_t pulled, reserved; // limits kept it from its target
};

struct body_memory {
    uint32_t started, frames;
    double still_s;
    struct body_part_memory parts[HUMAN_PART_COUNT];
    struct body_sense_memory sense;
    struct body_foot_memory feet[2];
    struct body_limb_memory limbs[HUMAN_LIMB_COUNT];
    double pelvis[4], chest[4]; // as guessed last
};
