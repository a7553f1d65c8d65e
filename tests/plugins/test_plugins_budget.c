// What becomes of a plugin that takes too long: skipped for more and more frames, then off.
#include "server/plugins/budget.h"
#include "tests/testing.h"
int testing_failures;

static uint32_t frames_until_back(struct plugin_budget *b)
{
    uint32_t frames = 0;
    while (frames < 100000 && plugin_budget_skips(b))
        frames++;
    return frames;
}

static void overruns_are_skipped_for_longer_and_longer_then_off(void)
{
    struct plugin_budget b = {.limit_ns = 1000};
    EXPECT(plugin_budget_spent(&b, 16000) == PLUGIN_FINE); // the first step loads pages
    EXPECT(plugin_budget_spent(&b, 1000) == PLUGIN_FINE);
    uint32_t before = 0;
    for (int i = 0; i < PLUGIN_STRIKES_MAX - 1; i++) {
        EXPECT(plugin_budget_spent(&b, 1001) == PLUGIN_OVERRUN);
        uint32_t frames = frames_until_back(&b);
        EXPECT(frames > before);
        before = frames;
    }
    EXPECT(plugin_budget_spent(&b, 1001) == PLUGIN_OFF);
    EXPECT(b.off && plugin_budget_skips(&b));
}

static void good_steps_make_up_for_an_overrun(void)
{
    struct plugin_budget b = {.limit_ns = 1000, .stepped = true};
    for (int i = 0; i < 10 * PLUGIN_STRIKES_MAX; i++) {
        EXPECT(plugin_budget_spent(&b, 5000) == PLUGIN_OVERRUN);
        (void)frames_until_back(&b);
        for (int k = 0; k < PLUGIN_GOOD_STEPS; k++)
            EXPECT(plugin_budget_spent(&b, 10) == PLUGIN_FINE);
    }
    EXPECT(!b.off);
}

static void offline_there_is_no_budget(void)
{
    struct plugin_budget b = {0};
    for (int i = 0; i < 100; i++)
        EXPECT(plugin_budget_spent(&b, UINT64_MAX / 2) == PLUGIN_FINE);
    EXPECT(!plugin_budget_skips(&b));
}

static void results_that_cannot_be_used_end_it(void)
{
    struct plugin_budget b = {.limit_ns = 1000};
    for (int i = 0; i < PLUGIN_FAULTS_MAX - 1; i++)
        EXPECT(plugin_budget_fault(&b) == PLUGIN_FINE);
    EXPECT(plugin_budget_fault(&b) == PLUGIN_OFF && b.off);
}

int main(void)
{
    RUN(overruns_are_skipped_for_longer_and_longer_then_off);
    RUN(good_steps_make_up_for_an_overrun);
    RUN(offline_there_is_no_budget);
    RUN(results_that_cannot_be_used_end_it);
    TESTING_MAIN_END;
}
