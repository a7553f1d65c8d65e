#include "server/character/input/live_link.h"

#include <math.h>
#include <string.h>

enum { VERSION = 6, UUID_BYTES = 37, NAME_BYTES_MAX = 256, TIME_BYTES = 16 };

// In the order of the packet.
static const char *const names[LIVE_LINK_BLENDS] = {
    "eyeBlinkLeft",      "eyeLookDownLeft",    "eyeLookInLeft",
    "eyeLookOutLeft",    "eyeLookUpLeft",      "eyeSquintLeft",
    "eyeWideLeft",       "eyeBlinkRight",      "eyeLookDownRight",
    "eyeLookInRight",    "eyeLookOutRight",    "eyeLookUpRight",
    "eyeSquintRight",    "eyeWideRight",       "jawForward",
    "jawLeft",           "jawRight",           "jawOpen",
    "mouthClose",        "mouthFunnel",        "mouthPucker",
    "mouthLeft",         "mouthRight",         "mouthSmileLeft",
    "mouthSmileRight",   "mouthFrownLeft",     "mouthFrownRight",
    "mouthDimpleLeft",   "mouthDimpleRight",   "mouthStretchLeft",
    "mouthStretchRight", "mouthRollLower",     "mouthRollUpper",
    "mouthShrugLower",   "mouthShrugUpper",    "mouthPressLeft",
    "mouthPressRight",   "mouthLowerDownLeft", "mouthLowerDownRight",
    "mouthUpperUpLeft",  "mouthUpperUpRight",  "browDownLeft",
    "browDownRight",     "browInnerUp",        "browOuterUpLeft",
    "browOuterUpRight",  "cheekPuff",          "cheekSquintLeft",
    "cheekSquintRight",  "noseSneerLeft",      "noseSneerRight",
    "tongueOut"};

const char *live_link_name(size_t blend)
{
    return names[blend];
}

bool live_link_is(const uint8_t *bytes, size_t size_bytes)
{
    static const uint8_t version[4] = {VERSION, 0, 0, 0};
    return size_bytes >= sizeof version && memcmp(bytes, version, sizeof version) == 0;
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

enum err live_link_read(const uint8_t *bytes, size_t size_bytes, float out[LIVE_LINK_VALUES])
{
    float values[LIVE_LINK_VALUES];
    size_t at = 4 + UUID_BYTES;
    if (!live_link_is(bytes, size_bytes)) return ERR_MALFORMED;
    if (size_bytes < at + 4) return ERR_TRUNCATED;
    uint32_t name_bytes = big_endian(bytes + at);
    if (bytes[4] != '$' || name_bytes > NAME_BYTES_MAX) return ERR_MALFORMED;
    at += 4;
    if (size_bytes < at + name_bytes) return ERR_TRUNCATED;
    at += name_bytes;
    // Without a face the time is the last, and it may be cut off.
    if (size_bytes <= at + TIME_BYTES) return ERR_NOT_FOUND;
    at += TIME_BYTES;
    if (bytes[at++] != LIVE_LINK_VALUES) return ERR_MALFORMED;
    if (size_bytes < at + 4 * LIVE_LINK_VALUES) return ERR_TRUNCATED;
    for (size_t i = 0; i < LIVE_LINK_VALUES; i++) {
        uint32_t bits = big_endian(bytes + at + 4 * i);
        memcpy(&values[i], &bits, sizeof bits);
        if (!isfinite(values[i])) return ERR_MALFORMED;
    }
    memcpy(out, values, sizeof values);
    return ERR_OK;
}
