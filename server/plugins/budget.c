#include "server/plugins/budget.h"

bool plugin_budget_skips(struct plugin_budget *b)
{
    if (b->off) return true;
    if (b->skip == 0) return false;
    b->skip--;
    return true;
}

enum plugin_verdict plugin_budget_spent(struct plugin_budget *b, uint64_t ns)
{
    uint64_t limit = b->limit_ns * (b->stepped ? 1 : PLUGIN_FIRST_STEP_TIMES);
    b->stepped = true;
    if (limit == 0 || ns <= limit) {
        if (++b->good < PLUGIN_GOOD_STEPS) return PLUGIN_FINE;
        b->good = 0;
        if (b->strikes > 0) b->strikes--;
        if (b->faults > 0) b->faults--;
        return PLUGIN_FINE;
    }
    b->good = 0;
    b->skip = (uint32_t)PLUGIN_SKIP_FIRST << (2 * b->strikes);
    b->off = ++b->strikes >= PLUGIN_STRIKES_MAX;
    return b->off ? PLUGIN_OFF : PLUGIN_OVERRUN;
}

enum plugin_verdict plugin_budget_fault(struct plugin_budget *b)
{
    b->good = 0;
    b->off = ++b->faults >= PLUGIN_FAULTS_MAX;
    return b->off ? PLUGIN_OFF : PLUGIN_FINE;
}
