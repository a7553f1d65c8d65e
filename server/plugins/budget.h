#pragma once
#include <stdbool.h>
#include <stdint.h>

// What a plugin may take of a tick, and what happens when it takes more: it is skipped for some
// frames, each time for more of them, and at last switched off. Plain data.
enum {
    PLUGIN_STRIKES_MAX = 4, // overruns, each forgiven after PLUGIN_GOOD_STEPS good steps
    PLUGIN_FAULTS_MAX = 8,  // results that are not used
    PLUGIN_SKIP_FIRST = 8,  // frames; four times as many at each further overrun
    PLUGIN_GOOD_STEPS = 600,
    PLUGIN_FIRST_STEP_TIMES = 16 // the first step may take so many budgets: it loads pages
};
struct plugin_budget {
    uint64_t limit_ns; // 0: none, offline
    uint32_t strikes, faults, good, skip;
    bool stepped, off;
};
enum plugin_verdict { PLUGIN_FINE, PLUGIN_OVERRUN, PLUGIN_OFF };

// Whether the coming frame is skipped; counts it.
bool plugin_budget_skips(struct plugin_budget *b);
// A step took so long.
enum plugin_verdict plugin_budget_spent(struct plugin_budget *b, uint64_t ns);
// A step whose result could not be used.
enum plugin_verdict plugin_budget_fault(struct plugin_budget *b);
