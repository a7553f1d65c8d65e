#include "server/api/metrics_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/err.h"

static void put(struct metrics_text *m, const char *format, ...) PRINTF_LIKE(2, 3);
static void put(struct metrics_text *m, const char *format, ...)
{
    if (m->failed) return;
    va_list args;
    va_start(args, format);
    size_t room = m->capacity_bytes - m->used_bytes;
    int n = vsnprintf(m->text + m->used_bytes, room, format, args);
    va_end(args);
    m->failed = n < 0 || (size_t)n >= room;
    if (!m->failed) m->used_bytes += (size_t)n;
}

void metrics_begin(struct metrics_text *m, const char *name, const char *type, const char *help)
{
    m->name = name;
    put(m, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_value(struct metrics_text *m, const char *labels, double value)
{
    m->series++;
    if (labels)
        put(m, "%s{%s} %.17g\n", m->name, labels, value);
    else
        put(m, "%s %.17g\n", m->name, value);
}

void metrics_counter(struct metrics_text *m, const char *name, const char *help, uint64_t value)
{
    metrics_begin(m, name, "counter", help);
    metrics_value(m, NULL, (double)value);
}

void metrics_gauge(struct metrics_text *m, const char *name, const char *help, double value)
{
    metrics_begin(m, name, "gauge", help);
    metrics_value(m, NULL, value);
}

void metrics_histogram(struct metrics_text *m, const char *name, const char *help,
                       const struct metrics_buckets *buckets)
{
    metrics_begin(m, name, "histogram", help);
    uint64_t total = 0;
    for (size_t i = 0; i < buckets->count; i++) {
        total += buckets->counts[i];
        put(m, "%s_bucket{le=\"%g\"} %llu\n", name, buckets->bounds[i], (unsigned long long)total);
    }
    total += buckets->counts[buckets->count];
    put(m, "%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)total);
    put(m, "%s_sum %.9g\n%s_count %llu\n", name, buckets->sum, name, (unsigned long long)total);
    m->series += buckets->count + 3;
}
