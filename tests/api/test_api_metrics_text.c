#include "server/api/metrics_text.h"
#include "tests/testing.h"

int testing_failures;

static char text[4096];

static void families_are_written_as_prometheus_reads_them(void)
{
    struct metrics_text m = {.text = text, .capacity_bytes = sizeof text};
    metrics_counter(&m, "a_total", "Things.", 3);
    metrics_begin(&m, "b", "gauge", "More.");
    metrics_value(&m, "state=\"x\"", 0.5);
    EXPECT(!m.failed && m.series == 2);
    EXPECT(strcmp(text, "# HELP a_total Things.\n# TYPE a_total counter\na_total 3\n"
                        "# HELP b More.\n# TYPE b gauge\nb{state=\"x\"} 0.5\n") == 0);
}

static void histograms_are_cumulative(void)
{
    const double bounds[] = {0.001, 0.01};
    const uint64_t counts[] = {5, 0, 2};
    struct metrics_text m = {.text = text, .capacity_bytes = sizeof text};
    const struct metrics_buckets buckets = {bounds, counts, 2, 1.5};
    metrics_histogram(&m, "h_seconds", "Times.", &buckets);
    EXPECT(strstr(text, "h_seconds_bucket{le=\"0.001\"} 5\nh_seconds_bucket{le=\"0.01\"} 5\n"
                        "h_seconds_bucket{le=\"+Inf\"} 7\nh_seconds_sum 1.5\nh_seconds_count 7\n"));
}

static void nothing_is_written_past_the_block(void)
{
    for (size_t room = 1; room < 120; room++) {
        char *exact = malloc(room);
        struct metrics_text m = {.text = exact, .capacity_bytes = room};
        metrics_counter(&m, "a_total", "Things.", 3);
        metrics_counter(&m, "b_total", "Things.", 3);
        EXPECT(m.failed == (room <= 2 * strlen("# HELP a_total Things.\n# TYPE a_total counter\n"
                                               "a_total 3\n")));
        free(exact);
    }
}

int main(void)
{
    RUN(families_are_written_as_prometheus_reads_them);
    RUN(histograms_are_cumulative);
    RUN(nothing_is_written_past_the_block);
    TESTING_MAIN_END;
}
