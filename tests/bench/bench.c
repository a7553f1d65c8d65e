#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/clock.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_alternate(struct bench_variant *variants, size_t count, int rounds)
{
    CHECK(count >= 1 && count <= BENCH_VARIANTS_MAX && rounds >= 1);
    size_t runs = (size_t)rounds;
    double *ns = malloc(count * runs * sizeof *ns);
    CHECK(ns);
    for (int i = -(rounds / 8 + 2); i < rounds; i++)
        for (size_t v = 0; v < count; v++) {
            uint64_t begin = clock_ns();
            variants[v].run(variants[v].context);
            uint64_t end = clock_ns();
            if (i >= 0) ns[v * runs + (size_t)i] = (double)(end - begin);
        }
    for (size_t v = 0; v < count; v++) {
        double *own = ns + v * runs;
        qsort(own, runs, sizeof *own, by_value);
        variants[v].median_ns = own[runs / 2];
        variants[v].p10_ns = own[runs / 10];
        variants[v].p90_ns = own[runs * 9 / 10];
    }
    free(ns);
}

static void first_line(FILE *f, char *out, int size)
{
    if (!f || !fgets(out, size, f)) out[0] = 0;
    out[strcspn(out, "\n")] = 0;
}

static const char *cpu_name(void)
{
    static char name[128];
    if (name[0]) return name;
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        snprintf(name, sizeof name, "%s", value + 2);
        name[strcspn(name, "\n\"\\")] = 0;
        break;
    }
    if (f) fclose(f);
    if (!name[0]) snprintf(name, sizeof name, "unknown");
    return name;
}

static const char *commit_name(void)
{
    static char name[64];
    if (name[0]) return name;
    FILE *f = popen("git rev-parse --short HEAD 2>/dev/null", "r"); // NOLINT(cert-env33-c)
    first_line(f, name, sizeof name);
    if (f) pclose(f);
    if (!name[0]) snprintf(name, sizeof name, "unknown");
    return name;
}

void bench_print(const char *name, const struct bench_variant *v, const char *inputs,
                 const struct bench_variant *reference, int share)
{
    double ratio = 1;
    if (reference)
        ratio = share ? v->median_ns / reference->median_ns : reference->median_ns / v->median_ns;
    printf("{\"name\":\"%s\",\"variant\":\"%s\",%s,\"median_us\":%.3f,\"p10_us\":%.3f,"
           "\"p90_us\":%.3f,\"%s\":%.4g,\"reference\":\"%s\",\"cpu\":\"%s\",\"commit\":\"%s\"}\n",
           name, v->name, inputs, v->median_ns / 1e3, v->p10_ns / 1e3, v->p90_ns / 1e3,
           share ? "share" : "ratio", ratio, reference ? reference->name : v->name, cpu_name(),
           commit_name());
    fflush(stdout);
}

void bench_skip(const char *name, const char *why)
{
    printf("{\"name\":\"%s\",\"skipped\":\"%s\"}\n", name, why);
    fflush(stdout);
}
