#pragma once
#include <stdint.h>

// Monotonic nanoseconds; never goes back, unrelated to the calendar. Code below server/stage and
// client/lib takes times as arguments instead of calling this.
uint64_t clock_ns(void);
// Nanoseconds since 1970 UTC, for logs and token expiry only: it may jump.
uint64_t clock_wall_ns(void);
