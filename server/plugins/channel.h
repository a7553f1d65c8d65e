#pragma once
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

#include "server/plugins/image.h"

// The memory that the server and a helper process share: this head, the image, room for a state.
// The server asks, the helper answers; what the helper writes is checked as a stranger's.
enum {
    CHANNEL_MAGIC = 0x53574831,
    CHANNEL_FD = 3,              // of the helper
    CHANNEL_STATE_MAX = 16 << 20 // bytes; sparse until used
};
enum channel_command { CHANNEL_CREATE, CHANNEL_STEP, CHANNEL_SAVE, CHANNEL_LOAD };
struct channel_head {
    uint32_t magic, command;
    struct image_counts counts;
    float metres_per_unit;
    uint32_t reset;
    double dt_s, place[3], yaw_rad;
    _Atomic uint64_t asked; // number of the newest request
    sem_t request, reply;
    // the helper's
    _Atomic uint64_t answered; // number of the request that was answered last
    int32_t result;            // of it
    uint32_t reserved;
    uint64_t state_bytes;
    char message[256]; // when it could not begin
};
static inline uint64_t channel_image_at(void)
{
    return (sizeof(struct channel_head) + 63) & ~(uint64_t)63;
}
static inline uint64_t channel_state_at(const struct image_counts *c)
{
    return channel_image_at() + image_lay(c).end;
}
static inline uint64_t channel_bytes(const struct image_counts *c)
{
    return channel_state_at(c) + CHANNEL_STATE_MAX;
}
