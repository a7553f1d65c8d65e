#pragma once
#include <stdbool.h>
#include <stdint.h>

// A token bucket: `burst` at once, then `per_s`. Full at first. The caller gives the time.
struct bucket {
    uint32_t burst, per_s;
    double level;
    uint64_t seen_ns;
};

static inline void bucket_init(struct bucket *b, uint32_t burst, uint32_t per_s, uint64_t now_ns)
{
    *b = (struct bucket){.burst = burst, .per_s = per_s, .level = burst, .seen_ns = now_ns};
}

static inline void bucket_refill(struct bucket *b, uint64_t now_ns)
{
    if (now_ns <= b->seen_ns) return;
    b->level += (double)(now_ns - b->seen_ns) * 1e-9 * b->per_s;
    if (b->level > b->burst) b->level = b->burst;
    b->seen_ns = now_ns;
}

// False: that much is not there; nothing was taken.
static inline bool bucket_take(struct bucket *b, uint32_t amount, uint64_t now_ns)
{
    bucket_refill(b, now_ns);
    if (b->level < amount) return false;
    b->level -= amount;
    return true;
}
