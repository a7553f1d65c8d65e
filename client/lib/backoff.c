#include "client/lib/backoff.h"

enum { FIRST_MS = 500, MOST_MS = 4000, ADVICE_MAX_MS = 60000 };

uint32_t backoff_ms(uint32_t attempt, uint32_t advice_ms, double random)
{
    double span = FIRST_MS;
    if (advice_ms > ADVICE_MAX_MS) advice_ms = ADVICE_MAX_MS;
    if (advice_ms > 0) return advice_ms + (uint32_t)(advice_ms * 0.5 * random);
    for (uint32_t i = 0; i < attempt && span < MOST_MS; i++)
        span *= 2;
    return (uint32_t)(span * (0.5 + random));
}
