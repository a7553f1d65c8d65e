#pragma once
#include <stdbool.h>
#include <stdint.h>

// How many frames a second one session gets, and how fine: what it asked for, or what its link
// carries. Pure: times come from the caller, nothing is allocated.
//
// Signals: frames that were due while an older one was still on its way (the link is the limit),
// and the age of frames at the client, by its ACKs, beyond the least that was seen (a queue grows
// somewhere on the path). Looked at every half second: two bad windows at the most pass before the
// rate fits (2 s); it is back from the bottom after a dozen good ones (10 s).
enum { PACE_HZ_MIN = 5, PACE_DETAIL_MAX = 2 };

struct pace {
    uint32_t asked_hz;
    double hz;         // now; PACE_HZ_MIN .. asked_hz
    double ceiling_hz; // what was too much last time, and a little more each good window
    double credit;     // frames due; one is sent at 1
    uint32_t coarser;  // details below what was asked for: 0 .. PACE_DETAIL_MAX
    // this window
    uint64_t window_from_ns;
    uint32_t due, blocked, sent;
    uint32_t blocked_runs; // stretches of ticks in which nothing could be sent
    bool in_run;
    double age_worst_s;
    // over windows
    double age_best_s; // least age lately: the link's own delay; 0: no ACK yet
    uint32_t good_windows, bad_windows, blocked_windows;
};

enum pace_change { // bits, what pace_step did: for NOTICE
    PACE_RATE_LOWERED = 1,
    PACE_RATE_RESTORED = 2,
    PACE_DETAIL_LOWERED = 4,
    PACE_DETAIL_RESTORED = 8
};

// `phase`, 0 .. 1: in which of several ticks its frames fall when not every tick has one.
void pace_init(struct pace *p, uint32_t asked_hz, double phase, uint64_t now_ns);
void pace_ask(struct pace *p, uint32_t asked_hz); // SETTINGS

// Once a tick, with the seconds since the last tick: true when a frame is due. `can_send`: the
// transport would begin it at once. A frame that is due and cannot begin is counted as blocked and
// stays due, so that it goes as soon as the link has room.
bool pace_due(struct pace *p, double tick_s, bool can_send);
// What blocked so far in this window was none of the link's doing: begins it anew.
void pace_forgive(struct pace *p);
// An ACK told the age of a frame, seconds from its tick to its arrival.
void pace_age(struct pace *p, double age_s);
// Once a tick: closes the window when it is over. Returns enum pace_change bits.
uint32_t pace_step(struct pace *p, uint64_t now_ns);
