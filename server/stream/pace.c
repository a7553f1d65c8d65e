#include "server/stream/pace.h"

#include <math.h>

enum {
    WINDOW_MS = 500,
    GOOD_WINDOWS_FOR_DETAIL = 4,
    BAD_WINDOWS_FOR_DETAIL = 2,
    BLOCKED_RUNS = 3,
    STALL_WINDOWS = 2
};

// Ages beyond the link's own delay: above BAD a queue grows, below GOOD there is room.
static const double age_bad_s = 0.12, age_good_s = 0.06;
static const double climb = 1.3, fall = 0.9, probe = 0.02;

void pace_init(struct pace *p, uint32_t asked_hz, double phase, uint64_t now_ns)
{
    *p = (struct pace){.asked_hz = asked_hz,
                       .hz = asked_hz,
                       .ceiling_hz = asked_hz,
                       .credit = 1 + phase,
                       .window_from_ns = now_ns};
}

void pace_ask(struct pace *p, uint32_t asked_hz)
{
    bool limited = p->hz < p->asked_hz;
    p->asked_hz = asked_hz;
    if (!limited || p->hz > asked_hz) p->hz = p->ceiling_hz = asked_hz;
}

bool pace_due(struct pace *p, double tick_s, bool can_send)
{
    p->credit += p->hz * tick_s;
    if (p->credit < 0.999) return false;
    p->due++;
    if (!can_send) {
        p->blocked++;
        p->blocked_runs += !p->in_run;
        p->in_run = true;
        if (p->credit >= 2) p->credit -= 1; // not caught up, but still in its own ticks
        return false;
    }
    p->in_run = false;
    p->credit = p->credit >= 3 ? 0 : p->credit - 1; // what a stopped server owes is forgotten
    p->sent++;
    return true;
}

void pace_forgive(struct pace *p)
{
    p->due = p->blocked = p->sent = p->blocked_runs = p->blocked_windows = 0;
    p->in_run = false;
    p->age_worst_s = 0;
}

void pace_age(struct pace *p, double age_s)
{
    if (age_s > p->age_worst_s) p->age_worst_s = age_s;
    if (p->age_best_s == 0 || age_s < p->age_best_s) p->age_best_s = fmax(age_s, 1e-4);
}

static void go_down(struct pace *p, double seconds)
{
    double carried = p->sent / seconds;
    // At most by half: in the first window a link drains what it held before.
    double hz = fmax(fmin(p->hz, carried) * fall, p->hz / 2);
    p->hz = fmax(hz, fmin(PACE_HZ_MIN, p->asked_hz));
    p->ceiling_hz = fmax(carried, p->hz);
    p->good_windows = 0;
    p->bad_windows++;
    // Half the rate is not enough, or it does not help: coarser surfaces are smaller ones.
    bool low = p->hz < 0.5 * p->asked_hz;
    if (p->coarser < PACE_DETAIL_MAX && low && p->bad_windows >= BAD_WINDOWS_FOR_DETAIL) {
        p->coarser++;
        p->bad_windows = 0;
    }
}

static void go_up(struct pace *p)
{
    p->bad_windows = 0;
    p->good_windows++;
    // Carefully where it was too much last time, then faster and faster.
    double doubled = probe * (double)(1u << (p->good_windows < 8 ? p->good_windows - 1 : 7));
    p->ceiling_hz = fmin(p->ceiling_hz * fmin(1 + doubled, climb) + 0.1, p->asked_hz);
    p->hz = fmin(p->hz * climb + 1, p->ceiling_hz);
    if (p->coarser > 0 && p->hz >= p->asked_hz && p->good_windows >= GOOD_WINDOWS_FOR_DETAIL) {
        p->coarser--;
        p->good_windows = 0;
    }
}

uint32_t pace_step(struct pace *p, uint64_t now_ns)
{
    if (now_ns - p->window_from_ns < (uint64_t)WINDOW_MS * 1000000u) return 0;
    double seconds = (double)(now_ns - p->window_from_ns) * 1e-9;
    double beyond = p->age_worst_s - p->age_best_s;
    bool blocked = p->blocked * 8 > p->due && p->blocked > 2;
    p->blocked_windows = blocked ? p->blocked_windows + 1 : 0;
    // One gap is a stall: that the link is slow shows when it is busy again and again, or for long.
    bool slow = blocked && (p->blocked_runs >= BLOCKED_RUNS || p->blocked_windows > STALL_WINDOWS);
    // On a slow link a frame takes its time, about a period, without any queue.
    double bad_s = fmax(age_bad_s, 2 / p->hz), good_s = fmax(age_good_s, 1.2 / p->hz);
    double before_hz = p->hz;
    uint32_t before_coarser = p->coarser;
    if (p->due > 0 && (slow || beyond > bad_s))
        go_down(p, seconds);
    else if (p->due > 0 && p->blocked * 16 <= p->due && beyond < good_s)
        go_up(p);
    // The least age is forgotten slowly: routes change, clocks drift.
    p->age_best_s *= 1.01;
    p->due = p->blocked = p->sent = p->blocked_runs = 0;
    p->age_worst_s = 0;
    p->window_from_ns = now_ns;
    uint32_t change = 0;
    if (p->hz < before_hz && before_hz >= p->asked_hz) change |= PACE_RATE_LOWERED;
    if (p->hz > before_hz && p->hz >= p->asked_hz) change |= PACE_RATE_RESTORED;
    if (p->coarser > before_coarser) change |= PACE_DETAIL_LOWERED;
    if (p->coarser < before_coarser) change |= PACE_DETAIL_RESTORED;
    return change;
}
