#pragma once
#include <stdint.h>

// How long to stay away before the next try. Bounded so that a crowd is back within ten seconds of
// its server: the longest wait is six, the rest is for handshakes.
//
// `attempt`: tries in a row that failed without the server saying when to come back.
// `advice_ms`: what it said, 0: nothing; never earlier than that, and at most a minute.
// `random`: 0 .. 1, spreads those who were cut at the same moment.
uint32_t backoff_ms(uint32_t attempt, uint32_t advice_ms, double random);
