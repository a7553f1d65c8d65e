#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/input_messages.h"
#include "server/character/input/bones.h"
#include "server/character/input/osc.h"

// What one sender of UDP datagrams says of one wearer, kept: VMC protocol 2.5 to 3.0 (bones, root,
// devices, blendshapes), VRChat's trackers, and Live Link Face, told apart by their bytes and
// addresses. Unity's left-handed axes end here: bones are in the body frame, devices in OpenXR's.
//
// A pose is several datagrams, any of which may be lost: the last value of everything holds, and
// what has come is committed at once, on the sender's own boundary (/VMC/Ext/T, Blend/Apply), after
// 5 ms of silence, or when it is older than a tick. Plain data; one owner.
enum { OSC_BLENDS_MAX = 256, OSC_TRACKERS_MAX = INPUT_TRACKERS, OSC_SERIAL_BYTES = 48 };
#define OSC_SILENCE_NS 5000000U

enum osc_result {
    OSC_USED,
    OSC_UNKNOWN,   // an address, a bone or a device that nobody here needs
    OSC_MALFORMED, // framing, too few arguments, wrong types, no number
    OSC_RESULTS
};
enum osc_protocol { OSC_VMC, OSC_VRCHAT, OSC_LIVE_LINK, OSC_OTHER, OSC_PROTOCOLS };
const char *osc_protocol_name(enum osc_protocol p);
const char *osc_result_name(enum osc_result r);

struct osc_blend {
    char name[INPUT_NAME_MAX];
    float value;
};
struct osc_said {
    bool any_bone, any_device;
    struct input_bones bones;
    uint32_t device_set; // bit [enum input_device_id]
    struct input_device devices[INPUT_DEVICE_COUNT];
    uint32_t blend_count;
    struct osc_blend blends[OSC_BLENDS_MAX];
};
struct osc_source {
    struct osc_said said; // as committed

    // private
    struct osc_said making;
    bool pending, bone_pending, device_pending, blend_pending, holds;
    uint32_t news;                                    // since the last tick
    uint64_t first_ns, last_ns;                       // of what is pending
    uint64_t device_ns[INPUT_DEVICE_COUNT];           // when each was heard of last
    bool raw;                                         // device poses without the sender's scaling
    char serials[OSC_TRACKERS_MAX][OSC_SERIAL_BYTES]; // of tracker_1 ..
    uint64_t counts[OSC_PROTOCOLS][OSC_RESULTS];
    uint64_t now_ns; // while a datagram is read
};

void osc_source_start(struct osc_source *s);
// True: something of it was used; a sender of junk is not worth listening to.
bool osc_source_take(struct osc_source *s, const uint8_t *bytes, size_t size_bytes,
                     uint64_t now_ns);
enum osc_news { OSC_NEW_BONES = 1, OSC_NEW_DEVICES = 2, OSC_NEW_BLENDS = 4 };
// At a tick: what of `said` is new (enum osc_news). Devices that were silent for half a second are
// no longer tracked, after ten seconds no longer valid.
uint32_t osc_source_commit(struct osc_source *s, uint64_t now_ns, uint64_t tick_ns);
